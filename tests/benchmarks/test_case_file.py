"""Case files: half-truths that are settled, written and read again."""

import json
import shutil
from pathlib import Path

import pytest

from tests.benchmarks.test_half_truth_rules import PARK, SEA
from zoo.benchmarks.base import Contents
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.half_truth.case_file import CaseFileHeader, read_cases, write_cases
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.units.reader import read_units, write_units
from zoo.units.record import UnitRecord

PRESETS = ("checked", "paper", "public_code")


def units_of(folder: Path, image_id: str = "coco:17") -> Path:
    path = folder / "units.jsonl"
    park = UnitRecord("1_0", image_id, PARK.caption, PARK.entities, PARK.relations)
    write_units([park, SEA], path)
    return path


def settled(units: Path, out: Path, preset: str = "paper") -> tuple[CaseFileHeader, Contents]:
    """Writes what the benchmark makes of units, and returns the header and what was written."""
    benchmark = HalfTruth(str(units), preset, 2, 3)
    contents = benchmark.build_cases(units, list(read_units(units).values()))
    header = write_cases(
        out,
        contents.cases,
        contents.files,
        contents.notes,
        contents.baselines,
        preset=preset,
        max_images=2,
        seed=3,
    )
    return header, contents


def plain(contents: Contents) -> list[object]:
    return [
        (c.images, c.texts, c.match.tolist(), c.protocol, c.subset, c.id, c.right_listed_first)
        for c in contents.cases
    ]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_case_file_has_the_cases_that_the_units_give(tmp_path: Path, preset: str) -> None:
    header, made = settled(units_of(tmp_path), tmp_path / "cases.jsonl", preset)
    read = HalfTruth(str(tmp_path / "cases.jsonl")).read(tmp_path)
    assert plain(read) == plain(made)
    assert len(made.cases) == header.cases >= 7
    assert read.baselines == made.baselines
    assert read.notes["preset"] == preset
    assert read.notes["cases"] == f"{header.cases}, SHA-256 {header.sha256}"
    assert read.files == [tmp_path / "cases.jsonl"]


def test_the_header_counts_cases_and_names_the_units(tmp_path: Path) -> None:
    units = units_of(tmp_path)
    header, made = settled(units, tmp_path / "cases.jsonl")
    of = [case.subset for case in made.cases]
    assert header.conditions == {name: of.count(name) for name in of}
    assert header.images == len({case.images for case in made.cases})
    assert list(header.units) == ["units.jsonl"]
    assert (header.preset, header.seed, header.max_images) == ("paper", 3, 2)
    settled(units, tmp_path / "again.jsonl")
    again = (tmp_path / "again.jsonl").read_bytes()
    assert (tmp_path / "cases.jsonl").read_bytes() == again


def test_an_image_file_is_named_as_it_lies_from_the_case_file(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "a.png").write_bytes(b"")
    settled(units_of(folder, "images/a.png"), folder / "cases.jsonl")
    shutil.move(folder, tmp_path / "there")
    _, cases = read_cases(tmp_path / "there" / "cases.jsonl")
    image = ImageRef("file", str(tmp_path / "there" / "images" / "a.png"))
    assert {case.images for case in cases if case.id == "1_0"} == {(image,)}


def test_conditions_asked_for_have_their_cases_and_baselines_alone(tmp_path: Path) -> None:
    settled(units_of(tmp_path), tmp_path / "cases.jsonl")
    read = HalfTruth(str(tmp_path / "cases.jsonl"), subsets=["Swap", "Ant"]).read(tmp_path)
    assert [case.subset for case in read.cases] == ["Ant", "Swap"]
    assert list(read.baselines["longer text"]) == ["Ant", "Swap"]


def test_a_case_file_that_is_cut_off_says_how_much_is_left(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    header, _ = settled(units_of(tmp_path), path)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for end in (first, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:end])
        left = whole[first:end].count(b"\n")
        with pytest.raises(
            ZooError, match=f"is truncated: it holds {left} complete cases of"
        ) as cut:
            read_cases(path)
        assert f"of {header.cases}: download or build it again" in str(cut.value)
    path.write_bytes(whole[: first // 2])
    with pytest.raises(ZooError, match="is truncated in its first line"):
        HalfTruth(str(path)).read(tmp_path)


def test_a_case_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    settled(units_of(tmp_path), path)
    path.write_text(path.read_text().replace("ignores", "watches"))
    with pytest.raises(ZooError, match="was changed: its cases do not match the SHA-256"):
        read_cases(path)


def test_a_case_file_of_a_newer_format_asks_for_a_newer_zoo(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    settled(units_of(tmp_path), path)
    path.write_text(path.read_text().replace('{"half_truths":1', '{"half_truths":2', 1))
    with pytest.raises(
        ZooError, match="has format 2, but this version of zoo reads formats up to 1"
    ):
        HalfTruth(str(path)).read(tmp_path)


def test_a_header_that_lacks_a_field_names_it(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    settled(units_of(tmp_path), path)
    first, _, rest = path.read_text().partition("\n")
    header = json.loads(first)
    del header["seed"]
    path.write_text(json.dumps(header, separators=(",", ":")) + "\n" + rest)
    with pytest.raises(ZooError, match=r"cases\.jsonl:1: field 'seed' is missing"):
        read_cases(path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"preset": "public_code"}, "preset='public_code'.* which has preset='paper'"),
        ({"seed": 7}, "seed=7.* which has seed=3"),
        ({"max_images": 9}, "max_images=9.* which has max_images=2"),
    ],
)
def test_settled_cases_are_not_made_otherwise(
    tmp_path: Path, arguments: dict[str, object], named: str
) -> None:
    path = tmp_path / "cases.jsonl"
    settled(units_of(tmp_path), path)
    assert HalfTruth(str(path), preset="paper", seed=3, max_images=2).read(tmp_path).cases
    with pytest.raises(ZooError, match=named):
        HalfTruth(str(path), **arguments).read(tmp_path)  # type: ignore[arg-type]
