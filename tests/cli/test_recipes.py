"""Where `--config` looks."""

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.cli.test_every_recipe import SMALL
from tests.support.published import make_published
from zoo.cli import main
from zoo.cli.fit import parse_settings
from zoo.cli.recipes import find_recipe, load_recipe, shipped_recipes
from zoo.errors import ZooError


def test_a_shipped_recipe_is_found_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_recipe("cs_clip.yaml") == shipped_recipes()["cs_clip.yaml"]
    assert find_recipe("cs_clip") == shipped_recipes()["cs_clip.yaml"]


def test_a_file_of_the_working_directory_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cs_clip.yaml").write_text("seed_everything: 1\n")
    assert find_recipe("cs_clip.yaml").resolve() == tmp_path / "cs_clip.yaml"


def test_an_unknown_recipe_gets_the_near_names() -> None:
    with pytest.raises(ZooError, match=r"cs_clap\.yaml.*cs_clip\.yaml"):
        find_recipe("cs_clap.yaml")


def test_a_name_is_made_a_path_and_inline_json_is_left() -> None:
    path = shipped_recipes()["tiny_from_scratch.yaml"]
    settings = yaml.safe_load(path.read_text("utf-8"))
    for name in ("tiny_from_scratch.yaml", "tiny_from_scratch", str(path)):
        assert load_recipe(name, []) == (str(path), settings)
    assert load_recipe('{"model": {}}', []) == ('{"model": {}}', {"model": {}})


def test_the_place_of_the_data_root_is_filled() -> None:
    text, settings = load_recipe("clip.yaml", ["some/root"])
    assert json.loads(text) == settings
    assert settings["data"]["init_args"]["image_roots"] == ["some/root"]
    assert (
        settings["data"]["init_args"]["train"]["init_args"]["file"]
        == "some/root/coco/dataset_coco.json"
    )


def test_a_recipe_that_reads_the_data_root_requires_it() -> None:
    with pytest.raises(
        ZooError, match=r"reads \$\{data_root\}/coco/dataset_coco.json.*--data_root"
    ):
        parse_settings(["fit", "--config", "clip.yaml"])


def test_an_overlay_that_replaces_every_path_needs_no_data_root(tmp_path: Path) -> None:
    overlay = tmp_path / "own.yaml"
    reader = {"class_path": "CsvTable", "init_args": {"file": "own.csv"}}
    overlay.write_text(yaml.safe_dump({"data": {"init_args": {
        "train": reader, "val": None, "image_roots": ["images"], "expected_images": None
    }}}))  # fmt: skip
    settings = parse_settings(["fit", "--config", "clip.yaml", "--config", str(overlay)])
    assert settings.data.init_args.image_roots == ["images"]


def test_a_broken_recipe_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("model: [1\n")
    with pytest.raises(ZooError, match=r"broken\.yaml is not valid YAML"):
        load_recipe(str(tmp_path / "broken.yaml"), [])


@pytest.mark.slow
def test_every_command_of_the_flickr8k_overlay_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_published(tmp_path / "root")
    monkeypatch.chdir(tmp_path)
    lines = (
        shipped_recipes()["flickr8k.yaml"]
        .read_text("utf-8")
        .replace("DATA_ROOT", str(root))
        .splitlines()
    )
    commands = [
        shlex.split(line.lstrip("# "))[1:] for line in lines if line.startswith("#   zoo fit ")
    ]
    assert [command[2] for command in commands] == [
        "clip.yaml",
        "cs_clip.yaml",
        "fsc_clip.yaml",
        "negclip.yaml",
    ]
    for command in commands:
        assert main([*command, "--config", json.dumps(SMALL)]) == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "seed_everything: 1\nseed_everything: 2\n",
            "a.yaml:2 repeats the key 'seed_everything' of line 1",
        ),
        (
            "data:\n  init_args:\n    batch_size: 4\n    workers: 0\n    'batch_size': 8\n",
            "a.yaml:5 repeats the key 'batch_size' of line 3",
        ),
        ("trainer: {callbacks: [{a: 1, a: 2}]}\n", "a.yaml:1 repeats the key 'a'"),
    ],
)
def test_a_key_that_comes_twice_is_named_by_its_lines(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ZooError, match=re.escape(told)):
        load_recipe(str(tmp_path / "a.yaml"), [])


def test_an_alias_is_no_second_key(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("trainer: &one {max_epochs: 1}\nmodel: {a: *one, b: *one}\n")
    path = str(tmp_path / "a.yaml")
    assert load_recipe(path, [])[0] == path


def test_an_overlay_keeps_the_arguments_that_it_does_not_name(tmp_path: Path) -> None:
    """An argument that was added later gets its former value in old checkpoints alone."""
    overlay = tmp_path / "more_units.yaml"
    part = {"class_path": "zoo.objectives.CSCLIP", "init_args": {"lambda_u": 1.0}}
    overlay.write_text(yaml.safe_dump({"model": {"objective": part}}))
    below = tmp_path / "sigmoid.yaml"
    sigmoid = {"class_path": "zoo.objectives.CSCLIP", "init_args": {"pairs": "sigmoid"}}
    below.write_text(yaml.safe_dump({"model": {"objective": sigmoid}}))
    words = ["fit", "--config", "cs_clip.yaml", "--config", str(below), "--config", str(overlay)]
    objective = parse_settings([*words, "--data_root", str(tmp_path)]).model.objective.init_args
    assert (objective.pairs, objective.lambda_u) == ("sigmoid", 1.0)
