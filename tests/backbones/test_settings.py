"""Groups of a backbone's arguments: overlays and flags change a part and keep the rest."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.runs import last_checkpoint
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Augmentation, Compute, Tuning
from zoo.checkpoints.load import load_checkpoint
from zoo.cli import main
from zoo.cli.fit import parse_settings
from zoo.errors import ZooError


def overlay(**groups: Any) -> list[str]:
    backbone = {"class_path": "Backbone", "init_args": groups}
    return ["--config", json.dumps({"model": {"backbone": backbone}})]


def test_overlays_and_flags_change_a_part_of_a_group_and_keep_the_rest(made_root: Path) -> None:
    settings = parse_settings(
        [
            *("fit", "--config", str(made_root / "recipe.yaml")),
            *overlay(tuning={"towers": "text"}, compute={"chunk": 4}, text={"lengths": [12]}),
            *overlay(tuning={"lora": {"rank": 3}}, compute={"compile": "eager"}),
            *("--model.backbone.tuning.lora.alpha", "2"),
            *("--model.backbone.text.context_length", "40"),
            *("--model.backbone.compute.compile", "null"),
        ]
    ).model.backbone.init_args
    tuning, compute, text = settings.tuning, settings.compute, settings.text
    assert (tuning.towers, tuning.lora.rank, tuning.lora.alpha) == ("text", 3, 2.0)
    assert tuning.batch_norm == "frozen"
    assert (compute.chunk, compute.compile) == (4, None)
    assert (text.lengths, text.context_length) == ([12], 40)
    assert settings.augmentation.crop_scale == (0.9, 1.0)
    assert settings.name == "zoo-tiny"


def test_augmentation_that_was_taken_away_is_given_again(made_root: Path) -> None:
    common = ["fit", "--config", str(made_root / "recipe.yaml"), *overlay(augmentation=None)]
    again = parse_settings([*common, *overlay(augmentation={"crop_scale": [0.4, 1.0]})])
    assert again.model.backbone.init_args.augmentation.crop_scale == (0.4, 1.0)


def test_a_checkpoint_records_groups_as_plain_data_and_gives_them_back(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = overlay(
        tuning={"towers": "text", "lora": {"rank": 2}}, augmentation=None, compute={"chunk": 3}
    )
    steps = ["--trainer.max_steps", "1", "--trainer.limit_val_batches", "0"]
    assert main(["fit", "--config", str(made_root / "recipe.yaml"), *given, *steps]) == 0
    held = torch.load(last_checkpoint(tmp_path), weights_only=True)["hyper_parameters"]
    recorded = held["backbone"]["init_args"]
    lora = {"rank": 2, "alpha": 1.0, "targets": ["attn", "c_fc", "c_proj", "conv1"]}
    assert recorded["tuning"] == {
        "towers": "text",
        "lora": lora,
        "batch_norm": "frozen",
        "image_groups": None,
        "text_groups": None,
    }
    assert recorded["compute"] == {
        "chunk": 3,
        "compile": None,
        "channels_last": False,
        "packed": False,
        "checkpoint_blocks": False,
    }
    assert recorded["augmentation"] is None
    backbone = load_checkpoint(last_checkpoint(tmp_path)).backbone
    assert backbone.tuning.towers == "text"
    assert isinstance(backbone.tuning, Tuning)
    assert isinstance(backbone.tuning.lora, LoRA)
    assert backbone.compute == Compute(3)
    assert backbone.augmentation != Augmentation()


@pytest.mark.parametrize(
    ("group", "told"),
    [
        ({"tuning": "image"}, r"tuning='image'\): give a Tuning, as in tuning=Tuning\(towers="),
        ({"tuning": None}, r"tuning=None\): give a Tuning"),
        ({"text": 40}, r"text=40\): give a TextInput"),
        ({"augmentation": Compute()}, r"give an Augmentation"),
        ({"compute": {"chunk": 3}}, r"compute=\{'chunk': 3\}\): give a Compute"),
    ],
)
def test_a_group_of_another_type_is_told_which_it_has_to_be(
    group: dict[str, Any], told: str
) -> None:
    with pytest.raises(ZooError, match=told):
        Backbone("zoo-tiny", **group)
