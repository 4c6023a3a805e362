"""submitit's own local executor does a study's runs as SLURM would."""

import time
from pathlib import Path

import pytest

from tests.support.made import make_root
from zoo.cli import main

NEEDED = "submitit sends jobs: `make test-extras` brings it"
LONGEST = 240.0  # seconds that the jobs may take
STUDY = """
recipes:
  CLIP: [recipe.yaml, {model: {objective: {class_path: CLIP}}}]
seeds: [0, 1]
with:
  trainer: {max_epochs: -1, max_steps: 1, limit_val_batches: 0, num_sanity_val_steps: 0}
validate: {benchmarks: "pairs:pairs.csv", cache: false}
"""
ARGUMENTS = ["study", "two.yaml", "--data_root", ".", "--trial", "0"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with made data, a recipe and a study of two runs."""
    pytest.importorskip("submitit", reason=NEEDED)
    folder = make_root(tmp_path)
    (folder / "two.yaml").write_text(STUDY)
    monkeypatch.chdir(folder)
    return folder


def test_each_run_is_a_job_and_whole_runs_are_not_sent_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    local = ["--slurm", "cluster=local", "timeout_min=4"]
    assert main([*ARGUMENTS, *local]) == 0
    assert "2 jobs: " in capsys.readouterr().err
    measured = [folder / f"studies/two/measured/clip/seed_{i}/results.json" for i in (0, 1)]
    began = time.monotonic()
    while not all(map(Path.is_file, measured)):
        told = sorted((folder / "studies/two/slurm").glob("*.err"))
        said = "\n".join(file.read_text()[-2000:] for file in told)
        assert time.monotonic() - began < LONGEST, said
        time.sleep(1)
    assert main([*ARGUMENTS, *local]) == 0
    assert "all runs are whole: leave --slurm out" in capsys.readouterr().err
    assert main([*ARGUMENTS, "--table"]) == 0
    assert "CLIP" in capsys.readouterr().out


def test_a_parameter_that_submitit_does_not_know_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*ARGUMENTS, "--slurm", "cluster=local", "partition=gpu"]) == 1
    said = capsys.readouterr().err
    assert "submitit cannot send the study" in said
    assert "partition" in said
    assert "mend --slurm" in said
