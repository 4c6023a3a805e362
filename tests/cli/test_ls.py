"""`zoo ls`: what it prints is what one types."""

import importlib
from pathlib import Path

import open_clip
import pytest
from jsonargparse import ArgumentParser

from zoo.backbones.factory import resolve_architecture
from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.protocols.base import Protocol
from zoo.cli import main, units
from zoo.cli.ls import LISTS, backbones, first_comment, shipped_backbones
from zoo.cli.recipes import find_recipe, shipped_recipes, shipped_studies
from zoo.results.presets.preset import Preset, preset_of
from zoo.support.class_names import BASE_CLASS_BY_KIND, class_of, import_all, list_classes


def listed(what: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Returns the names that a list prints first in its lines."""
    assert main(["ls", what]) == 0
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]]


def base_of(what: str) -> type:
    module = importlib.import_module(list_classes(what)[0][1].rpartition(".")[0])
    cls = getattr(module, list_classes(what)[0][1].rpartition(".")[2])
    return next(base for base in cls.__mro__ if base.__name__ == BASE_CLASS_BY_KIND[what])


@pytest.mark.parametrize(
    "what",
    [
        "objectives",
        "heads",
        "views",
        "segments",
        "negatives",
        "positives",
        "readers",
        "datamodules",
        "published_weights",
    ],
)
def test_a_class_is_found_by_what_is_listed_as_an_argument_of_its_kind(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import_all([what])
    parser = ArgumentParser(exit_on_error=False)
    parser.add_argument("--part", type=base_of(what))
    names = listed(what, capsys)
    assert len(names) == len(list_classes(what))
    for name, (_, path, _) in zip(names, list_classes(what), strict=True):
        found = parser.parse_args(["--part", name], _skip_validation=True).part
        assert found.class_path == path


@pytest.mark.parametrize("what", ["extractors", "taggers", "readers"])
def test_what_is_listed_is_typed_behind_the_flags_of_units(
    what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    import_all([what])  # as the command does before it parses
    flag = f"--{what.removesuffix('s')}"
    for name, (_, path, _) in zip(listed(what, capsys), list_classes(what), strict=True):
        given = units.parser().parse_args(
            ["extract", "captions.txt", "--out", "units.jsonl", flag, name], _skip_validation=True
        )
        assert given.extract[what.removesuffix("s")].class_path == path


def test_benchmarks_protocols_and_presets_are_found_by_the_names_that_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for what, base in (("benchmarks", Benchmark), ("protocols", Protocol), ("presets", Preset)):
        for name in listed(what, capsys):
            assert class_of(name, what, base).name == name
    for name in set(listed("presets", capsys)) - {"file"}:  # which takes an argument
        assert preset_of(name).name == name


def test_backbones_and_recipes_are_found_by_the_names_that_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = listed("backbones", capsys)
    # open_clip's files, not its list, which other tests may have added to
    files = Path(open_clip.__file__).parent.glob("model_configs/*.json")
    assert set(names) == {*shipped_backbones(), *(file.stem for file in files)}
    assert [resolve_architecture(name)[0] for name in names] == names
    for name in listed("configs", capsys):
        assert find_recipe(name).name == name


def test_without_a_list_the_lists_are_counted_with_the_flags_that_take_their_names(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["ls"]) == 0
    page = capsys.readouterr().out
    lines = {line.split()[0]: line for line in page.splitlines()[1:] if line}
    assert set(lines) - {"`zoo"} == {*LISTS, *BASE_CLASS_BY_KIND}
    assert lines["objectives"].split()[1] == str(len(list_classes("objectives")))
    assert lines["backbones"].split()[1] == str(len(backbones()))
    assert lines["heads"].rstrip().endswith("--head NAME")
    assert "`zoo ls LIST`" in page


def test_benchmarks_at_length_say_whose_they_are_how_many_cases_and_how_to_get_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["ls", "benchmarks", "--long"]) == 0
    page = {text.partition(":")[0]: text for text in capsys.readouterr().out.split("\n\n")}
    assert list(page) == [name for name, _, _ in list_classes("benchmarks")]
    assert "  licence: MIT\n  cite: Hsieh et al." in page["sugarcrepe"]
    assert "swap_obj 245" in page["sugarcrepe"]
    assert "facebook/winoground at revision b400e17" in page["winoground"]
    assert "accept the licence at huggingface.co/datasets/facebook" in page["winoground"]
    assert "  run as pairs:FILE" in page["pairs"]
    assert main(["ls", "heads", "--long"]) == 1
    assert "--long works only with benchmarks" in capsys.readouterr().err


def test_a_file_is_told_of_by_the_first_sentence_of_its_comment(tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    for comment, says in (
        ("# One line.\n# Another.\n", "One line."),
        ("# It goes on\n# over v1.5 of a line. And more.\n", "It goes on over v1.5 of a line."),
        ("# A title\n#   zoo study some\n", "A title"),
        ("# A title\n#\n# What it is.\n", "A title"),
        ("a: 1\n", ""),
    ):
        file.write_text(f"{comment}b: 2\n")
        assert first_comment(file) == says


def test_every_shipped_recipe_and_study_is_told_of_in_a_whole_sentence() -> None:
    files = [*shipped_recipes().values(), *shipped_studies().values()]
    assert len(files) > 40
    assert [file.name for file in files if not first_comment(file).endswith(".")] == []
