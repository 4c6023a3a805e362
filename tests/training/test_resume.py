"""Killed in mid-epoch and resumed, a run has the losses of an unbroken one, to the last bit.

It is resumed by `--ckpt_path last`.
"""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zoo.objectives
from tests.support.parallel import shipped
from tests.support.runs import Killed, in_process, last_checkpoint, losses, variant
from zoo.checkpoints.files import best_of
from zoo.cli import main
from zoo.objectives.base import Objective
from zoo.support.configurable import class_path

KILLED_AFTER, KEPT_EVERY = (
    6,
    5,
)  # steps; an epoch has four: the checkpoint is one step into the second epoch, the kill two
WITH_BIAS = {"class_path": "zoo.heads.cosine.Cosine", "init_args": {"scale": 10, "bias": -10}}
WITH_DROPOUT = {
    "class_path": "zoo.heads.cross_modal.CrossModal",
    "init_args": {"width": 16, "ffn": 32, "attention_heads": 2, "layers": 1},
}
OBJECTIVES = {
    cls.__name__: {"objective": {"class_path": class_path(cls)}}
    for cls in shipped(zoo.objectives, Objective)
}
MODELS: dict[str, dict[str, Any]] = OBJECTIVES | {
    "SigLIP": OBJECTIVES["SigLIP"] | {"head": WITH_BIAS},
    "FLAIR": OBJECTIVES["FLAIR"] | {"head": WITH_BIAS},
    "CLIP with dropout": OBJECTIVES["CLIP"] | {"head": WITH_DROPOUT},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wait(until: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not until():
        assert time.monotonic() - began < 120
        time.sleep(0.002)


def after(steps: int, metrics: dict[int, float]) -> dict[int, float]:
    return {step: value for step, value in metrics.items() if step >= steps}


def beside(made_root: Path) -> dict[str, Any]:
    """Returns what makes further positives and negative images."""
    file = {"init_args": {"file": str(made_root / "beside.jsonl")}}
    return {
        "positives": {"class_path": "zoo.positives.Paraphrases", **file},
        "negative_images": {"class_path": "zoo.sources.NegativeImages", **file},
    }


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.slow
def test_a_killed_run_goes_on_as_if_nothing_had_been(
    model: str, folder: Path, made_root: Path
) -> None:
    """The unbroken run has no workers, so that their number is held to change nothing as well."""
    whole = folder / "whole"
    whole.mkdir()
    arguments = [
        "fit",
        "--config",
        str(variant(folder, made_root, MODELS[model], {"batch_size": 2, **beside(made_root)})),
    ]
    unbroken = in_process(whole, arguments)
    unbroken.join()
    assert sorted(losses(whole)) == list(range(8))
    for workers in ("0", "2"):
        broken = folder / f"workers{workers}"
        broken.mkdir()
        loading = [*arguments, "--data.workers", workers]
        kill = [
            "--trainer.callbacks+=tests.support.runs.Killed",
            "--trainer.callbacks.steps",
            str(KILLED_AFTER),
        ]
        killed = in_process(
            broken, [*loading, *kill, "--last_checkpoint.every_n_steps", str(KEPT_EVERY)]
        )
        killed.join()
        assert killed.exitcode == -signal.SIGKILL
        resumed = in_process(broken, [*loading, "--ckpt_path", "last"])
        resumed.join()
        assert losses(broken, version=1) == after(KEPT_EVERY, losses(whole))
        assert losses(broken, version=1, column="val/loss") == after(
            KEPT_EVERY, losses(whole, column="val/loss")
        )


def test_a_run_that_stops_within_an_epoch_goes_on_in_it(folder: Path, made_root: Path) -> None:
    arguments = ["fit", "--config", str(variant(folder, made_root, data={"batch_size": 2}))]
    assert main(arguments) == 0
    assert main([*arguments, "--trainer.max_steps", "3"]) == 0
    assert main([*arguments, "--ckpt_path", str(last_checkpoint(folder, version=1))]) == 0
    assert sorted(losses(folder, version=2)) == [3, 4, 5, 6, 7]
    seen = losses(folder, column="train/share_same_text")
    assert losses(folder, version=2, column="train/share_same_text") == after(3, seen)


@pytest.mark.slow
def test_a_weighted_run_on_two_readers_goes_on_within_an_epoch(
    folder: Path, made_root: Path
) -> None:
    table = made_root / "captions.tsv"
    header, *lines = table.read_text().splitlines(keepends=True)
    (folder / "few.tsv").write_text("".join([header, *lines[:3]]))
    readers = [
        {"class_path": "CsvTable", "init_args": {"file": str(file)}}
        for file in (table, folder / "few.tsv")
    ]
    data = {"train": readers, "train_weights": [0.6, 0.4], "units": None, "val_images": None}
    model = {"objective": {"class_path": "NegCLIP"}}
    arguments = ["fit", "--config", str(variant(folder, made_root, model, data))]
    kill = [f"--trainer.callbacks+={Killed.__module__}.Killed", "--trainer.callbacks.steps", "6"]
    kept = ["--last_checkpoint.every_n_steps", "5"]
    for run in (arguments, [*arguments, *kill, *kept], [*arguments, "--ckpt_path", "last"]):
        process = in_process(folder, run)
        process.join()
    whole = losses(folder)
    assert sorted(whole) == list(range(8))  # 12 + 3 rows in batches of 4, twice
    assert losses(folder, version=1) == {step: whole[step] for step in range(6)}
    assert losses(folder, version=2) == after(5, whole)


def test_the_best_checkpoint_stays_the_one_to_beat_after_a_resume(
    folder: Path, made_root: Path
) -> None:
    """Chosen by a metric that never changes, and so never beats itself."""
    arguments = [
        "fit",
        "--config",
        str(variant(folder, made_root)),
        "--best_checkpoint.monitor",
        "val/missing_negatives",
    ]
    assert main([*arguments, "--trainer.max_epochs", "1"]) == 0
    assert (
        main(
            [
                *arguments,
                "--ckpt_path",
                str(last_checkpoint(folder)),
                "--trainer.max_epochs",
                "2",
            ]
        )
        == 0
    )
    first, resumed = (losses(folder, version, "val/missing_negatives") for version in range(2))
    assert set(first.values()) == set(resumed.values())
    best = last_checkpoint(folder).parent / "best.ckpt"
    assert best.is_file()
    assert best_of(last_checkpoint(folder, version=1)).resolve() == best.resolve()
    assert [path.name for path in last_checkpoint(folder, version=1).parent.iterdir()] == [
        "last.ckpt"
    ]


@pytest.mark.slow
def test_a_run_killed_at_any_moment_leaves_a_whole_checkpoint_to_resume_from(
    folder: Path, made_root: Path
) -> None:
    """Every step writes a checkpoint here, so that the kill mostly comes while one is written."""
    arguments = [
        "fit",
        "--config",
        str(variant(folder, made_root, data={"batch_size": 2})),
        "--trainer.max_epochs",
        "3",
    ]
    killed = in_process(folder, [*arguments, "--last_checkpoint.every_n_steps", "1"])
    wait(last_checkpoint(folder).is_file)
    assert killed.pid is not None
    os.kill(killed.pid, signal.SIGKILL)
    killed.join()
    assert main([*arguments, "--ckpt_path", "last"]) == 0
    resumed = losses(folder, version=1)
    assert 0 < min(resumed) < 11
    assert main(arguments) == 0
    assert resumed == after(min(resumed), losses(folder, version=2))
