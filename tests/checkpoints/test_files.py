"""Which checkpoints a run leaves, and when; that they are whole is in `test_full_disk`."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch.utils.data import DataLoader

from tests.support.mistakes import said
from zoo.checkpoints.files import AtomicCheckpointIO, newest_last_checkpoint
from zoo.errors import ZooError
from zoo.training.callbacks import BestCheckpoint, LastCheckpoint
from zoo.training.trainer import ZooTrainer

STEPS = 4


class Scripted(LightningModule):
    """Learns nothing and logs the validation losses that it is told, one an epoch."""

    def __init__(self, losses: list[float]) -> None:
        super().__init__()
        self.losses = losses
        self.weight = nn.Parameter(torch.zeros(()))

    def training_step(self, batch: Tensor, index: int) -> Tensor:
        return self.weight * batch.mean()

    def validation_step(self, batch: Tensor, index: int) -> None:
        self.log("val/loss", self.losses[self.current_epoch])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Writes(Callback):
    """Remembers after which steps the last checkpoint was new."""

    def __init__(self, last: Path) -> None:
        self.last, self.steps = last, list[int]()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self.last.exists():
            step = torch.load(self.last, weights_only=True)["global_step"]
            if step not in self.steps:
                self.steps.append(step)


def run(folder: Path, losses: list[float], *callbacks: Callback) -> None:
    data = DataLoader(torch.ones(STEPS, 1))  # type: ignore[arg-type]
    settings = {
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
    }
    trainer = ZooTrainer(
        default_root_dir=folder,
        max_epochs=len(losses),
        accelerator="cpu",
        callbacks=list(callbacks),
        **settings,  # type: ignore[arg-type]
    )
    trainer.fit(Scripted(losses), data, data)


@pytest.mark.parametrize(
    ("losses", "best"), [([3.0, 1.0, 2.0], 1), ([1.0, 2.0, 3.0], 0), ([3.0, 2.0, 1.0], 2)]
)
def test_the_best_checkpoint_is_that_of_the_lowest_validation_loss(
    tmp_path: Path, losses: list[float], best: int
) -> None:
    run(tmp_path, losses, BestCheckpoint(dirpath=str(tmp_path / "kept")))
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["best.ckpt"]
    assert torch.load(tmp_path / "kept/best.ckpt", weights_only=True)["epoch"] == best


def test_the_last_checkpoint_is_written_every_so_many_steps_and_at_the_end(tmp_path: Path) -> None:
    writes = Writes(tmp_path / "last.ckpt")
    run(tmp_path, [1.0, 1.0, 1.0], writes, LastCheckpoint(every_n_steps=5, dirpath=str(tmp_path)))
    assert writes.steps == [5, 10]
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["global_step"] == 3 * STEPS


def test_an_error_that_is_not_of_the_disk_is_no_sentence_about_it(tmp_path: Path) -> None:
    class Unwilling:
        def __reduce__(self) -> str:
            raise RuntimeError("not to be pickled")

    with pytest.raises(RuntimeError, match="not to be pickled"):
        AtomicCheckpointIO().save_checkpoint({"weight": Unwilling()}, tmp_path / "last.ckpt")
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("")
    with pytest.raises(ZooError, match=r"checkpoints/last\.ckpt could not be written"):
        AtomicCheckpointIO().save_checkpoint({}, tmp_path / "checkpoints" / "last.ckpt")


def test_the_newest_of_all_runs_is_found_and_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"has no last\.ckpt: give"):
        newest_last_checkpoint(tmp_path)
    for age, name in ((100, "version_1"), (300, "version_2"), (200, "version_10")):
        path = tmp_path / name / "checkpoints" / "last.ckpt"
        path.parent.mkdir(parents=True)
        path.touch()
        os.utime(path, (age, age))
    assert newest_last_checkpoint(tmp_path) == tmp_path / "version_2/checkpoints/last.ckpt"


def test_callbacks_of_the_users_own_do_not_cost_the_last_and_the_best(
    tmp_path: Path, made_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = "lightning.pytorch.callbacks"
    own = [
        {"class_path": f"{module}.EarlyStopping", "init_args": {"monitor": "val/loss"}},
        {"class_path": f"{module}.ModelCheckpoint", "init_args": {"filename": "of_my_own"}},
    ]
    Path("own.yaml").write_text(yaml.safe_dump({"trainer": {"callbacks": own, "max_epochs": 1}}))
    flags = ["--config", "own.yaml", "--last_checkpoint.every_n_steps", "1"]
    assert said(["fit", "--config", str(made_root / "recipe.yaml"), *flags]).status == 0
    kept = {path.name for path in Path("runs/version_0/checkpoints").iterdir()}
    assert {"best.ckpt", "last.ckpt", "of_my_own.ckpt"} <= kept


class RunsOnLoad:
    """Creates a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.target,)


@pytest.mark.parametrize("weights_only", [None, False])
def test_resuming_never_unpickles_other_objects_than_tensors_and_plain_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weights_only: bool | None
) -> None:
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    checkpoint, target = tmp_path / "last.ckpt", tmp_path / "target"
    torch.save({"state_dict": {}, "callbacks": RunsOnLoad(target)}, checkpoint)
    data = DataLoader(torch.ones(STEPS, 1))  # type: ignore[arg-type]
    trainer = ZooTrainer(
        default_root_dir=tmp_path, accelerator="cpu", logger=False, enable_progress_bar=False
    )
    with pytest.raises(ZooError, match=r"last\.ckpt cannot be read as a checkpoint"):
        trainer.fit(Scripted([1.0]), data, ckpt_path=checkpoint, weights_only=weights_only)
    assert not target.exists()


def test_a_checkpoint_with_numbers_of_numpy_resumes(tmp_path: Path) -> None:
    checkpoint = tmp_path / "last.ckpt"
    torch.save({"state_dict": {}, "rate": np.float64(0.5)}, checkpoint)
    assert AtomicCheckpointIO().load_checkpoint(checkpoint)["rate"] == 0.5
