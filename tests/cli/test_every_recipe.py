"""Every recipe of configs/ runs through the command line as its own comment says.

Its files are as they are published.
"""

import json
import math
import shlex
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.support.published import make_published, write_replacements
from tests.support.runs import last_checkpoint, losses
from tests.support.t5 import write_small_t5
from zoo.batch import Batch
from zoo.cli import main
from zoo.cli.recipes import shipped_recipes
from zoo.objectives.base import Loss
from zoo.scores import Scores
from zoo.sources.readers.flickr_token import FlickrToken

SMALL = {
    "model": {
        "backbone": {
            "class_path": "zoo.backbones.backbone.Backbone",
            "init_args": {"name": "zoo-tiny", "pretrained": None},
        }
    },
    "data": {
        "class_path": "zoo.datamodules.captions.CaptionDataModule",
        "init_args": {"batch_size": 2, "expected_images": None, "workers": 0},
    },
    "trainer": {
        "accelerator": "cpu",
        "precision": "32-true",
        "fast_dev_run": 1,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    },
}


SMALL_HEAD = ["--model.head.layers", "1", "--model.head.width", "64", "--model.head.ffn", "64"]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_published(tmp_path_factory.mktemp("published"))


def fit_command(recipe: str) -> list[str]:
    """Returns the first `zoo fit` of a recipe's comment, as arguments."""
    lines = shipped_recipes()[recipe].read_text("utf-8").splitlines()
    first = next(line.lstrip("# ") for line in lines if line.startswith("#   zoo fit "))
    return shlex.split(first)[1:]


# of recipes with the same parts, one is in the default run
DISTINCT = (
    *("ce_clip.yaml", "clove.yaml", "cs_clip.yaml", "degla.yaml", "fsc_clip.yaml", "negclip.yaml"),
    *("read_clip_decoder.yaml", "super_clip.yaml", "tf_trohn_img.yaml", "triplet_clip.yaml"),
)


@pytest.mark.parametrize(
    "recipe",
    [
        *DISTINCT,
        *(
            pytest.param(recipe, marks=pytest.mark.slow)
            for recipe in sorted(shipped_recipes().keys() - set(DISTINCT))
        ),
    ],
)
def test_a_recipe_trains_as_its_comment_says(
    recipe: str, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, float] = {}

    def keep_loss(
        stage: str, batch: Batch, scores: Scores, loss: Loss, chance_loss: Tensor | None = None
    ) -> dict[str, Tensor]:
        seen[stage] = float(loss.total.detach())
        return {"loss": loss.total.detach()}

    monkeypatch.setattr("zoo.module.zoo_module.compute_step_metrics", keep_loss)
    monkeypatch.chdir(tmp_path)
    command = [word.replace("DATA_ROOT", str(published)) for word in fit_command(recipe)]
    assert recipe in command
    command += ["--config", json.dumps(SMALL)]
    if recipe.startswith("world"):
        assert main([*["scenes", "world", "--n", "12", "--out"], str(published / "scenes")]) == 0
    if recipe.startswith(("world", "tsvlc", "clove")):
        command += ["--data.val_images", "2"]
    if recipe.startswith("siglip2"):
        command += ["--model.head.bias", "-10"]  # zoo-tiny brings none, in place of SigLIP 2
    if recipe.startswith("tf_"):
        command += SMALL_HEAD
    if recipe == "read_clip_decoder.yaml":
        small_t5 = str(write_small_t5(tmp_path / "t5"))
        command += ["--model.objective.decoder", small_t5]
        command += ["--model.objective.decoder_tokenizer", small_t5]
    assert main(command) == 0
    assert math.isfinite(seen["train"])
    assert math.isfinite(seen["val"])


@pytest.fixture(scope="module")
def flickr8k(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real data under a root of its own, with a table of replacements."""
    root = tmp_path_factory.mktemp("flickr8k")
    for folder in ("flickr8k", "sugarcrepe", "coco"):
        (root / folder).symlink_to(shared_data / folder)
    captions = [
        sample.caption for sample in FlickrToken(root / "flickr8k" / "Flickr8k.token.txt").read()
    ]
    write_replacements(root / "replacements.arrow", captions)
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe",
    ["fsc_clip", "fsc_clip_lora", "labclip", "tf_local", "tf_global", "finetune_coco", "siglip"],
)
def test_a_recipe_trains_on_flickr8k_resumes_exports_and_is_measured(
    recipe: str, flickr8k: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    configs = [
        word
        for name in (recipe, "flickr8k", "tiny_from_scratch")
        for word in ("--config", f"{name}.yaml")
    ]
    short = {
        "data": {
            "class_path": "zoo.datamodules.captions.CaptionDataModule",
            "init_args": {"batch_size": 8, "workers": 0},
        }
    }
    short["trainer"] = {
        "log_every_n_steps": 1,
        "limit_val_batches": 1,
        "num_sanity_val_steps": 0,
        "enable_progress_bar": False,
    }
    fit = [
        "fit",
        *configs,
        "--config",
        json.dumps(short),
        "--data_root",
        str(flickr8k),
        *(SMALL_HEAD if recipe.startswith("tf_") else []),
    ]
    assert main([*fit, "--trainer.max_steps", "3"]) == 0
    assert main([*fit, "--trainer.max_steps", "5", "--ckpt_path", "last"]) == 0
    assert torch.load(last_checkpoint(tmp_path, 1), weights_only=True)["global_step"] == 5
    assert list(losses(tmp_path, 1)) == [3, 4]
    assert all(math.isfinite(loss) for loss in losses(tmp_path, 1).values())
    assert main(["export", str(last_checkpoint(tmp_path, 1)), "exported"]) == 0
    assert (
        main(
            [
                "validate",
                "--benchmarks",
                "sugarcrepe",
                "--data_root",
                str(flickr8k),
                "--ckpt_path",
                "last",
                "--out",
                "measured",
            ]
        )
        == 0
    )
    metrics = json.loads((tmp_path / "measured" / "results.json").read_text())["presets"][0][
        "metrics"
    ]
    assert sum(metric["n"] for metric in metrics if metric["metric"] == "i2t") == 481
