"""Every recipe of configs/ runs through the command line as its own comment says, on files as they are published."""

import json
import math
import shlex
from pathlib import Path

import pytest

from tests.published import make_published
from zoo.cli import main
from zoo.module import ZooModule
from zoo.recipes import shipped_recipes

SMALL = {
    "model": {"backbone": {"class_path": "zoo.backbone.Backbone", "init_args": {"name": "zoo-tiny", "pretrained": None}}},
    "data": {
        "class_path": "zoo.datamodules.captions.CaptionDataModule",
        "init_args": {"batch_size": 4, "expect_n": None, "workers": 0},
    },
    "trainer": {
        "accelerator": "cpu",
        "precision": "32-true",
        "fast_dev_run": 1,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    },
}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_published(tmp_path_factory.mktemp("published"))


def fit_command(recipe: str) -> list[str]:
    """Returns the first `zoo fit` of a recipe's comment, as arguments."""
    lines = shipped_recipes()[recipe].read_text("utf-8").splitlines()
    first = next(line.lstrip("# ") for line in lines if line.startswith("#   zoo fit "))
    return shlex.split(first)[1:]


@pytest.mark.parametrize("recipe", shipped_recipes())
def test_a_recipe_trains_as_its_comment_says(recipe: str, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, float] = {}
    monkeypatch.setattr(ZooModule, "log_step", lambda self, stage, batch, scores, loss: seen.update({stage: float(loss.total.detach())}))
    monkeypatch.chdir(tmp_path)
    command = [word.replace("DATA_ROOT", str(published)) for word in fit_command(recipe)]
    assert recipe in command
    assert main([*command, "--config", json.dumps(SMALL)]) == 0
    assert math.isfinite(seen["train"])
    assert math.isfinite(seen["val"])
