"""The private names of Lightning, with the versions in which they exist."""

import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import (
    ModelCheckpoint,
    ModelSummary,
    RichProgressBar,
    WeightAveraging,
)
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from lightning.pytorch.loops.evaluation_loop import _EvaluationLoop
from lightning.pytorch.loops.fit_loop import _FitLoop
from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
from lightning.pytorch.strategies import ModelParallelStrategy
from lightning.pytorch.trainer.connectors.signal_connector import _SignalConnector
from packaging.requirements import Requirement

from zoo.support import lightning_internals

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
CHECKED_VERSIONS = ("2.6.1", "2.6.4", "2.6.5", "2.6.6")
EXCLUDED_VERSIONS = ("2.6.0", "2.6.2", "2.6.3", "2.7.0")


def test_only_checked_versions_are_allowed() -> None:
    dependencies = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]["dependencies"]
    versions = next(r.specifier for r in map(Requirement, dependencies) if r.name == "lightning")
    assert all(versions.contains(version) for version in CHECKED_VERSIONS)
    assert not any(versions.contains(version) for version in EXCLUDED_VERSIONS)


@pytest.mark.parametrize(
    ("owner", "names"),
    [
        (
            _SignalConnector,
            (
                "register_signal_handlers",
                "teardown",
                "_get_current_signal_handlers",
                "_register_signal",
            ),
        ),
        (_EvaluationLoop, ("_evaluation_step", "_on_evaluation_end")),
        (
            _TrainingEpochLoop,
            (
                "_should_check_val_fx",
                "_should_accumulate",
                "_num_ready_batches_reached",
                "_broadcast_sigterm_tensor",
            ),
        ),
        (_FitLoop, ("_can_stop_early",)),
        (RichProgressBar, ("_get_train_description",)),
        (ModelCheckpoint, ("_save_last_checkpoint", "_monitor_candidates")),
        (WeightAveraging, ("_swap_models",)),
    ],
)
def test_classes_have_the_names(owner: type, names: tuple[str, ...]) -> None:
    assert [name for name in names if not hasattr(owner, name)] == []


def test_objects_have_the_names(tmp_path: Path) -> None:
    trainer = Trainer(logger=False, accelerator="cpu", default_root_dir=tmp_path)
    owners = [
        (trainer, "_signal_connector"),
        (trainer._signal_connector, "_original_handlers"),
        (trainer._accelerator_connector, "cluster_environment"),
        (trainer.fit_loop.epoch_loop, "_batches_that_stepped"),
        (ModelSummary(), "_max_depth"),
        (WeightAveraging(), "_average_model"),
        (ModelParallelStrategy(), "_data_parallel_size"),
        (CSVLogger(tmp_path), "_version"),
    ]
    assert [name for owner, name in owners if not hasattr(owner, name)] == []


def test_the_loggers_of_numbered_folders_have_a_version(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    for logger in (CSVLogger(tmp_path), TensorBoardLogger(tmp_path)):
        assert not lightning_internals.has_version(logger)
        lightning_internals.set_version(logger, tmp_path / "version_7")
        assert logger.version == 7


def test_the_signal_connector_of_a_trainer_is_replaced(tmp_path: Path) -> None:
    trainer = Trainer(logger=False, accelerator="cpu", default_root_dir=tmp_path)
    connector = lightning_internals.SignalConnector(trainer)
    lightning_internals.set_signal_connector(trainer, connector)
    assert lightning_internals.signal_connector(trainer) is connector


def test_an_average_is_swapped_with_the_weights() -> None:
    module = LightningModule()
    module.weight = torch.nn.Parameter(torch.ones(1))
    callback = WeightAveraging()
    assert not lightning_internals.has_average(callback)
    trainer = SimpleNamespace(lightning_module=module)
    callback.setup(trainer, module, "fit")  # type: ignore[arg-type]
    assert lightning_internals.has_average(callback)
    module.weight.data.fill_(2)
    lightning_internals.swap_average(callback, module)
    assert module.weight.item() == 1
