"""Where `--config` looks."""

from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.recipes import find_recipe, shipped_recipes, with_recipes


def test_a_shipped_recipe_is_found_from_any_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_recipe("cs_clip.yaml") == shipped_recipes()["cs_clip.yaml"]
    assert find_recipe("cs_clip") == shipped_recipes()["cs_clip.yaml"]


def test_a_file_of_the_working_directory_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cs_clip.yaml").write_text("seed_everything: 1\n")
    assert find_recipe("cs_clip.yaml").resolve() == tmp_path / "cs_clip.yaml"


def test_an_unknown_recipe_gets_the_near_names() -> None:
    with pytest.raises(ZooError, match=r"cs_clap\.yaml.*cs_clip\.yaml"):
        find_recipe("cs_clap.yaml")


def test_both_spellings_of_the_flag_are_located_and_inline_json_is_left() -> None:
    path = str(shipped_recipes()["clip.yaml"])
    argv = ["fit", "--config", "clip.yaml", "--config=clip", "--config", '{"model": {}}', "--x", "clip.yaml"]
    assert with_recipes(argv) == ["fit", "--config", path, f"--config={path}", "--config", '{"model": {}}', "--x", "clip.yaml"]
