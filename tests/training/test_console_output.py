"""What a run shows: the model in words, and nothing that Lightning counts and nobody asked for."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.callbacks import RichModelSummary
from torch import nn

from zoo.cli import main
from zoo.support import progress
from zoo.training.console_output import Bar, ParameterSummary, ProgressLog, parameter_count_lines
from zoo.training.trainer import ZooTrainer

NOISE = ("FLOPs", "train mode", "v_num", "`Trainer.fit` stopped", "to estimate", "Trainable")


class Part(nn.Linear):
    name = "ViT-X"


def test_a_line_names_each_part_with_its_parameters() -> None:
    module = nn.Module()
    module.backbone, module.head, module.objective = Part(3, 2), nn.Linear(1, 1), nn.Identity()
    module.backbone.bias.requires_grad_(False)
    assert list(parameter_count_lines(module)) == [
        "backbone ViT-X: trained parameters 6, frozen 2",
        "head Linear: trained parameters 2, frozen 0",
        "objective Identity: no parameters",
    ]


def test_buffers_that_checkpoints_keep_are_counted_and_others_are_not() -> None:
    module = nn.Module()
    module.head, module.objective = nn.Linear(1, 1), nn.Identity()
    for part in (module.head, module.objective):
        part.register_buffer("queue", torch.zeros(3, 500))
        part.register_buffer("mask", torch.zeros(7), persistent=False)
    assert list(parameter_count_lines(module)) == [
        "head Linear: trained parameters 2, frozen 0, numbers in buffers 1,500",
        "objective Identity: numbers in buffers 1,500",
    ]


@pytest.mark.parametrize(("epochs", "said"), [(-1, "Epoch 4"), (12, "Epoch 4/12")])
def test_the_bar_counts_epochs_from_1_and_names_their_number_where_there_is_one(
    epochs: int, said: str
) -> None:
    bar = Bar()
    bar._trainer = SimpleNamespace(
        max_epochs=epochs,
        max_steps=-1,
        num_training_batches=1,
        accumulate_grad_batches=1,
        sanity_checking=False,
        state=SimpleNamespace(fn="fit"),
    )
    assert bar._get_train_description(3).rstrip() == said


def test_a_run_without_a_terminal_logs_its_model_its_progress_and_none_of_lightnings_counts(
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Here after every batch, since half a minute is made no time at all."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.0)
    recipe = str(made_root / "recipe.yaml")
    settings = ["--trainer.max_epochs", "2", "--trainer.enable_progress_bar", "true"]
    settings += ["--trainer.enable_model_summary", "true"]
    assert main(["fit", "--config", recipe, *settings]) == 0
    output, told = capfd.readouterr()
    assert "head Cosine: trained parameters 1, frozen 0" in output + told
    assert "trained to 4 steps" in told
    assert [noise for noise in NOISE if noise in output + told] == []
    lines = told.splitlines()
    training = [line for line in lines if line.startswith("step:")]
    assert len(training) == 4
    for line, (step, epoch) in zip(training, [(1, 1), (2, 1), (3, 2), (4, 2)], strict=True):
        assert re.fullmatch(
            rf"step: {step} of 4 after 0:\d\d:\d\d, 0:\d\d:\d\d left, epoch {epoch} of 2, "
            r"loss \d\.\d+, learning rate [\d.e-]+, [\d,]+ images per second",
            line,
        ), line
    validation = [line for line in lines if line.startswith("batch of validation:")]
    assert validation, "a long validation is not silent either"
    assert validation[-1].startswith("batch of validation: 1 of 1 after 0:")


def test_what_a_user_asks_for_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = {"logger": False, "enable_checkpointing": False}
    kinds = [type(c) for c in ZooTrainer(**quiet).callbacks]
    assert ProgressLog in kinds, "there is no terminal here"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    kinds = [type(c) for c in ZooTrainer(**quiet).callbacks]
    assert Bar in kinds
    assert ProgressLog not in kinds
    assert ParameterSummary in kinds
    deep = ZooTrainer(callbacks=[RichModelSummary(max_depth=2)], **quiet)
    assert ParameterSummary not in [type(c) for c in deep.callbacks]
    none = ZooTrainer(enable_progress_bar=False, enable_model_summary=False, **quiet)
    assert not {Bar, ProgressLog, ParameterSummary} & {type(c) for c in none.callbacks}
