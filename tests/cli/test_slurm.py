"""submitit's own local executor does a study's runs as SLURM would."""

import time
from pathlib import Path

import pytest

from tests.support.made import make_root
from zoo.cli import main

LONGEST = 240.0  # seconds that the jobs may take
STUDY = """
recipes:
  CLIP: [recipe.yaml, {model: {objective: {class_path: CLIP}}}]
  NegCLIP: [recipe.yaml, {model: {objective: {class_path: NegCLIP}}}]
seeds: [0]
with:
  trainer: {max_epochs: -1, max_steps: 1, limit_val_batches: 0, num_sanity_val_steps: 0}
validate: {benchmarks: "pairs:pairs.csv", cache: false}
"""
ARGUMENTS = ["study", "two.yaml", "--data_root", ".", "--trial", "0"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with made data, a recipe and a study of two runs."""
    folder = make_root(tmp_path)
    (folder / "two.yaml").write_text(STUDY)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.slow
def test_each_run_is_a_job_and_whole_runs_are_not_sent_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = ["--slurm", "cluster=local", "timeout_min=4"]
    assert main([*ARGUMENTS, *local]) == 0
    assert "2 jobs: " in capsys.readouterr().out
    jobs, began = folder / "studies/two/slurm", time.monotonic()
    while len(list(jobs.glob("*_result.pkl"))) < 2:
        told = "\n".join(file.read_text()[-2000:] for file in sorted(jobs.glob("*.err")))
        assert time.monotonic() - began < LONGEST, told
        time.sleep(1)
    measured = [
        folder / f"studies/two/measured/{name}/seed_0/results.json" for name in ("clip", "negclip")
    ]
    assert all(map(Path.is_file, measured))
    assert main([*ARGUMENTS, *local]) == 0
    assert "all runs are finished: remove --slurm" in capsys.readouterr().out
    assert main([*ARGUMENTS, "--table"]) == 0
    assert "CLIP" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["slurm_partitions=gpu", "timeout_min=long"])
def test_what_submitit_does_not_know_is_named(
    folder: Path, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ARGUMENTS, "--slurm", "cluster=local", given]) == 1
    said = capsys.readouterr().err
    assert "submitit cannot submit the study" in said
    assert given.partition("=")[0].removeprefix("slurm_") in said
    assert "correct --slurm" in said
