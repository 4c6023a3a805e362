"""Files that version 0.1.0 wrote are read: a run with its checkpoint, an export and results.

tests/fixtures/checkpoint_0_1_0/run.tar.xz holds a run of recipe.yaml on the made data (`make_root`
with the relative folder `made`), and the export of its checkpoint. The embeddings of unused tokens
are 0, so that it is small. expected.json holds what version 0.1.0 computed from it.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

import zoo
from tests.support.made import make_root
from tests.support.runs import losses
from zoo.backbones.catalogue.entry import read_entry
from zoo.checkpoints.load import load_model_of_results
from zoo.cli import main
from zoo.results.reader import read_results
from zoo.support.renames import MODULES, translate_checkpoint, translate_classes

FIXTURES = Path(__file__).parents[1] / "fixtures" / "checkpoint_0_1_0"
EXPECTED: dict[str, Any] = json.loads((FIXTURES / "expected.json").read_text())
CHECKPOINT = "runs/version_0/checkpoints/last.ckpt"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with tarfile.open(FIXTURES / "run.tar.xz") as archive:
        archive.extractall(filter="data")
    make_root(Path("made"))
    return tmp_path


def check_embeddings(model: zoo.Model) -> None:
    images = [Image.open(f"made/pictures/00{i}.png") for i in (0, 5)]
    lines = Path("made/captions.tsv").read_text().splitlines()
    texts = [lines[1 + i].split("\t")[1] for i in (0, 5)]
    # last digits depend on the processor and the number of threads
    for values, name in (
        (model.encode_images(images), "images"),
        (model.encode_texts(texts), "texts"),
        (model.score(images, texts), "scores"),
    ):
        np.testing.assert_allclose(values, EXPECTED[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("path", [CHECKPOINT, "exported"])
def test_checkpoints_and_exports_give_the_recorded_embeddings(path: str, folder: Path) -> None:
    check_embeddings(zoo.load(path))


def test_a_checkpoint_is_exported(folder: Path) -> None:
    main(["export", CHECKPOINT, "exported_again", "--format", "open_clip"])
    check_embeddings(zoo.load("exported_again"))


def test_a_run_is_resumed_with_its_own_recipe(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`last` finds the run by the settings in its run.json, which have old names."""
    config = folder / "runs" / "version_0" / "config.yaml"
    main(["fit", "--config", str(config), "--trainer.max_epochs", "3", "--ckpt_path", "last"])
    resumed = losses(folder, version=1)
    by_step = {str(step): loss for step, loss in resumed.items()}
    assert by_step == pytest.approx(EXPECTED["losses"], rel=1e-5)
    assert "other settings" not in caplog.text


def test_a_checkpoint_is_evaluated_and_results_name_the_model(folder: Path) -> None:
    arguments = ["--benchmarks", "pairs:made/pairs.csv", "--ckpt_path", CHECKPOINT, "--out", "out"]
    main(["validate", *arguments])
    results = read_results(Path("out"))
    (metric,) = results.by_preset[0].metrics
    assert metric.value == EXPECTED["i2t"]
    load_model_of_results(EXPECTED["model"])


def test_recipes_and_entries_with_old_names_are_read(folder: Path) -> None:
    recipe = yaml.safe_load((FIXTURES / "recipe.yaml").read_text())
    data = translate_classes(recipe)["data"]["init_args"]
    assert (data["resample"], data["expected_images"], data["truncation"]) == (False, 12, False)
    assert not {"redraw", "expect_n", "overlong"} & data.keys()
    entry = {
        "says": "a model",
        "paper": "none",
        "architecture": "zoo-tiny",
        "rule": "CSCLIP",
        "unknown": ["activation", "file", "sha256", "licence", "trained_on"],
    }
    Path("entry.yaml").write_text(yaml.safe_dump(entry))
    described = read_entry(Path("entry.yaml"))
    assert (described.description, described.weights_class) == ("a model", "CSCLIP")


def test_current_names_are_not_changed(folder: Path) -> None:
    assert not MODULES.keys() & set(MODULES.values())
    recipe = zoo.load("exported").module.constructor_config()
    checkpoint = {"hyper_parameters": recipe, "zoo": {"data": {"truncation": {"truncated": 1}}}}
    assert translate_checkpoint(checkpoint) == checkpoint
