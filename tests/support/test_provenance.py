"""Random weights are called so, wherever the model came from; trained and loaded ones are not."""

import logging
from pathlib import Path

import pytest
import torch

import zoo
from tests.support.runs import last_checkpoint
from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import TextInput, Tuning
from zoo.checkpoints.load import load_checkpoint
from zoo.cli import main
from zoo.cli.rescore import main as rescore
from zoo.heads.base import starts_at_random
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.module import ZooModule
from zoo.publishing.export import export
from zoo.results.reader import read_results
from zoo.support.provenance import LOADED, RANDOM, TRAINED, describe_random_weights

TOWERS = ("image tower", "text tower")
SAID = "random weights: the image tower and the text tower were neither pretrained nor trained"


def small(tune: str = "both", **given: object) -> Backbone:
    return Backbone("zoo-tiny", tuning=Tuning(tune), **given)  # type: ignore[arg-type]


def fit(recipe: Path, folder: Path, *flags: str) -> Path:
    """Trains for a step; returns the checkpoint."""
    where = ["--trainer.logger.save_dir", str(folder / "runs"), "--trainer.max_steps", "1"]
    where += ["--trainer.limit_val_batches", "0"]
    assert main(["fit", "--config", str(recipe), *where, *flags]) == 0
    return last_checkpoint(folder)


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (dict.fromkeys(TOWERS, RANDOM), SAID),
        (
            {TOWERS[0]: "pretrained, openai", TOWERS[1]: TRAINED, "head": RANDOM},
            "random weights: the head was neither pretrained nor trained",
        ),
        ({TOWERS[0]: LOADED, TOWERS[1]: TRAINED}, None),
        ({}, None),
    ],
)
def test_a_sentence_names_the_random_parts(weights: dict[str, str], sentence: str | None) -> None:
    assert describe_random_weights(weights) == sentence


def test_a_model_can_be_loaded_in_inference_mode() -> None:
    with torch.inference_mode():
        module = zoo.load("zoo-tiny", device="cpu").module  # type: ignore[union-attr]
    assert set(module.weight_origins.values()) == {RANDOM}


def test_a_model_without_weights_is_random_and_says_so_when_loaded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert zoo.load("zoo-tiny", device="cpu").module.weight_origins == dict.fromkeys(
            TOWERS, RANDOM
        )
    assert SAID in caplog.text


def test_weights_put_in_by_hand_are_not_called_random() -> None:
    module = ZooModule(small())
    module.backbone.model.load_state_dict(small().model.state_dict())
    assert module.weight_origins == dict.fromkeys(TOWERS, LOADED)


def test_a_head_is_random_only_where_it_draws_its_weights() -> None:
    assert "head" not in ZooModule(small(), head=Linear()).weight_origins
    module = ZooModule(small(text=TextInput(lengths=[])), head=CrossModal(layers=1))
    assert module.weight_origins["head"] == RANDOM
    module.head.load_state_dict(module.head.state_dict())
    assert module.weight_origins["head"] == LOADED


def test_whether_a_head_is_random_is_found_without_a_draw() -> None:
    backbone, head = small(text=TextInput(lengths=[])), CrossModal(layers=1)
    head.attach(backbone.shapes)
    before = torch.random.get_rng_state()
    assert starts_at_random(head, backbone.shapes)
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_file_of_weights_is_pretrained_and_a_checkpoint_of_random_ones_is_not(
    tmp_path: Path,
) -> None:
    plain, of_random = tmp_path / "plain.pt", tmp_path / "random.ckpt"
    torch.save(small().model.state_dict(), plain)
    found = small(pretrained=str(plain), activation="gelu").origin_by_tower
    assert found == dict.fromkeys(TOWERS, f"pretrained, {plain}")
    module = ZooModule(small())
    checkpoint = {"state_dict": dict(module.state_dict())}
    module.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, of_random)
    assert small(pretrained=str(of_random)).origin_by_tower == dict.fromkeys(TOWERS, RANDOM)


def test_a_trained_checkpoint_keeps_which_towers_are_still_random(
    made_root: Path, tmp_path: Path
) -> None:
    file = fit(made_root / "recipe.yaml", tmp_path, "--model.backbone.tuning.towers", "text")
    expected = {TOWERS[0]: RANDOM, TOWERS[1]: TRAINED}
    assert load_checkpoint(file).weight_origins == expected
    export(file, tmp_path / "exported")
    assert load_checkpoint(tmp_path / "exported").weight_origins == expected


def test_a_measurement_says_random_weights_in_table_results_and_log(
    made_root: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.WARNING):
        zoo.evaluate(
            ZooModule(small()),
            [f"pairs:{made_root / 'pairs.csv'}"],
            made_root,
            out=tmp_path / "out",
        )
    assert caplog.messages.count(SAID) == 1
    assert SAID in capsys.readouterr().out
    assert read_results(tmp_path / "out").header["model"]["weights"] == dict.fromkeys(
        TOWERS, RANDOM
    )
    rescore([str(tmp_path / "out"), "--preset", "strict"])
    assert SAID in capsys.readouterr().out


def test_a_measurement_of_what_was_trained_does_not(
    made_root: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = fit(made_root / "recipe.yaml", tmp_path)
    capsys.readouterr()
    with caplog.at_level(logging.WARNING):
        zoo.evaluate(zoo.load(file, device="cpu"), [f"pairs:{made_root / 'pairs.csv'}"], made_root)
    assert "random weights" not in caplog.text + capsys.readouterr().out
