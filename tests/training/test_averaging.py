"""EMA: what the average is, who sees it, and resuming with it."""

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor

from tests.support.runs import in_process, last_checkpoint, losses, variant
from zoo.cli import main
from zoo.errors import ZooError
from zoo.training.averaging import EMA

DECAY = 0.5
WITH_EMA = [
    "--trainer.callbacks+=zoo.training.EMA",
    "--trainer.callbacks.decay",
    str(DECAY),
]
LORA = {
    "backbone": {
        "class_path": "zoo.backbones.backbone.Backbone",
        "init_args": {"name": "zoo-tiny", "tuning": {"lora": {"rank": 2}}},
    }
}


class Watched(Callback):
    """Keeps the average, worked out here, and what validation saw."""

    expected: dict[str, Tensor]
    validated: dict[str, Tensor]

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        now = {
            name: parameter.detach().double() for name, parameter in pl_module.named_parameters()
        }
        before = getattr(Watched, "expected", None) if trainer.global_step > 1 else None
        Watched.expected = (
            now
            if before is None
            else {n: DECAY * before[n] + (1 - DECAY) * t for n, t in now.items()}
        )

    def on_validation_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, *_rest: Any
    ) -> None:
        Watched.validated = {
            name: parameter.detach().clone() for name, parameter in pl_module.named_parameters()
        }


def test_the_average_is_on_the_device_that_trains() -> None:
    trainer: Any = SimpleNamespace(strategy=SimpleNamespace(root_device=torch.device("meta")))
    callback, module = EMA(), LightningModule()
    module.layer = torch.nn.Linear(2, 2)
    callback.setup(trainer, module, "fit")
    state: dict[str, Any] = {"state_dict": module.state_dict()}
    callback.on_save_checkpoint(trainer, module, state)
    averages = [value for value in state["state_dict"].values() if value.dim()]
    assert len(averages) == 2
    assert {value.device.type for value in averages} == {"meta"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_checkpoints_and_validation_have_the_average_and_training_goes_on_without_it(
    folder: Path, made_root: Path
) -> None:
    """The last checkpoint, written when training has ended, has both as well."""
    recipe = ["fit", "--config", str(variant(folder, made_root, LORA, {"batch_size": 2}))]
    watched = [
        "--trainer.callbacks+=tests.training.test_averaging.Watched",
        "--trainer.max_epochs",
        "1",
    ]
    assert main([*recipe, *WITH_EMA, *watched]) == 0
    content = torch.load(last_checkpoint(folder), weights_only=True)
    for found in (content["state_dict"], Watched.validated):
        for name, tensor in Watched.expected.items():
            torch.testing.assert_close(found[name].double(), tensor, rtol=1e-5, atol=1e-6)
    frozen = "backbone.model.visual.conv1.base_layer.weight"
    assert torch.equal(content["state_dict"][frozen], content["current_model_state"][frozen])
    moved = "backbone.model.visual.conv1.lora_A.default.weight"
    assert not torch.equal(content["state_dict"][moved], content["current_model_state"][moved])
    assert main([*recipe, "--trainer.max_epochs", "1"]) == 0
    assert losses(folder) == losses(folder, version=1)


def test_a_run_with_an_average_is_not_resumed_without(
    folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = ["fit", "--config", str(variant(folder, made_root))]
    assert main([*recipe, *WITH_EMA, "--trainer.max_steps", "1"]) == 0
    assert main([*recipe, "--ckpt_path", "last"]) == 1
    assert (
        "this run does not average weights: add zoo.training.EMA to trainer.callbacks"
        in capsys.readouterr().err
    )


@pytest.mark.slow
def test_a_resumed_run_has_the_average_of_an_unbroken_one(folder: Path, made_root: Path) -> None:
    """Killed in its second epoch; and one that had ended and goes on for another epoch."""
    recipe = ["fit", "--config", str(variant(folder, made_root, data={"batch_size": 2})), *WITH_EMA]
    constant = [
        "--model.optimizer.decay",
        "none",
    ]  # the rate of a run does not depend on its length
    whole = folder / "whole"
    whole.mkdir()
    in_process(whole, [*recipe, *constant, "--trainer.max_epochs", "2"]).join()
    broken = folder / "broken"
    broken.mkdir()
    kill = [
        "--trainer.callbacks+=tests.support.runs.Killed",
        "--trainer.callbacks.steps",
        "6",
        "--last_checkpoint.every_n_steps",
        "5",
    ]
    killed = in_process(broken, [*recipe, *constant, "--trainer.max_epochs", "2", *kill])
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    in_process(
        broken, [*recipe, *constant, "--trainer.max_epochs", "2", "--ckpt_path", "last"]
    ).join()
    ended = folder / "ended"
    ended.mkdir()
    in_process(ended, [*recipe, *constant, "--trainer.max_epochs", "1"]).join()
    in_process(
        ended, [*recipe, *constant, "--trainer.max_epochs", "2", "--ckpt_path", "last"]
    ).join()
    expected = torch.load(last_checkpoint(whole), weights_only=True)
    for resumed in (broken, ended):
        found = torch.load(last_checkpoint(resumed, version=1), weights_only=True)
        for key in ("state_dict", "current_model_state"):
            assert all(
                torch.equal(found[key][name], tensor) for name, tensor in expected[key].items()
            ), (resumed.name, key)
        column = "val/loss"
        assert (
            losses(resumed, version=1, column=column).items()
            <= losses(whole, column=column).items()
        )


def test_a_decay_out_of_range_is_refused() -> None:
    with pytest.raises(ZooError, match=r"EMA\(decay=1.*\): give a number from 0 and below 1"):
        EMA(decay=1.0)
