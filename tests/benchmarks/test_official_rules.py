"""Each benchmark of one image a case: its official rule as loops over the published file."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.official import Asked, hold, there
from zoo.benchmarks import BLA, VALSE, SugarCrepePP, VLCheckList
from zoo.benchmarks.roots import read

Score = Callable[[str], float]


def pairwise(right: str, wrong: str) -> Callable[[Score], dict[str, bool]]:
    """Counts a tie as wrong."""
    return lambda s: {"i2t": s(right) > s(wrong)}


def entries(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def visual_genome(shared_data: Path) -> Path:
    return shared_data / "vg160"


def test_sugarcrepe_pp_asks_that_both_captions_score_above_the_foil(shared_data: Path) -> None:
    def questions() -> Iterator[Asked]:
        for subset in SugarCrepePP.offers:
            for entry in entries(shared_data / f"benchmarks/sugarcrepe_pp/{subset}.json"):
                yield Asked(
                    subset,
                    str(entry["id"]),
                    lambda s, e=entry: {
                        "i2t": s(e["caption"]) > s(e["negative_caption"])
                        and s(e["caption2"]) > s(e["negative_caption"])
                    },
                    there(shared_data / "coco/val2017" / entry["filename"]),
                )

    assert hold(SugarCrepePP(), [shared_data], questions()) == 309
    notes = read(SugarCrepePP(), [shared_data]).notes
    assert notes["swap_obj identical"] == "2 with the same text as a right and as a wrong answer"
    assert notes["swap_att cases"] == "130 in the file, 666 as published"


def test_bla_asks_twice_an_entry_which_of_two_captions_is_true(
    shared_data: Path, visual_genome: Path
) -> None:
    def questions() -> Iterator[Asked]:
        for subset, name in (
            ("ap", "active_passive"),
            ("co", "coordination"),
            ("rc", "relative_clause"),
        ):
            for entry in entries(shared_data / f"benchmarks/bla/{name}_captions.json"):
                group = entry["caption_group"][0]
                photo = visual_genome / f"visual_genome/images/{entry['image_id']}.jpg"
                for k in ("1", "2"):
                    rule = pairwise(group[f"True{k}"], group[f"False{k}"])
                    yield Asked(subset, f"{entry['index']}-{k}", rule, photo)

    roots = [shared_data, visual_genome]
    assert hold(BLA(), roots, questions()) == 2 * (613 + 654 + 672)
    assert not read(BLA(), roots).notes


def valse_photo(entry: dict[str, Any], root: Path, visual_genome: Path) -> Path | None:
    name: str = entry["image_file"]
    if entry["dataset"] == "visual7w":
        return there(visual_genome / "visual_genome/images" / name.replace("v7w_", ""))
    return there(root / "coco/val2017" / name[-16:])


@pytest.mark.parametrize(("folder", "photographs"), [("valse", 34), ("valse_vg", 39)])
def test_valse_asks_of_what_two_annotators_found_valid(
    folder: str, photographs: int, shared_data: Path, visual_genome: Path
) -> None:
    files = {path.stem: path for path in (shared_data / "benchmarks" / folder).glob("*.json")}
    subsets = [subset for subset in VALSE.offers if subset in files]

    def questions() -> Iterator[Asked]:
        for subset in subsets:
            for key, entry in entries(files[subset]).items():
                if entry["mturk"]["caption"] >= 2:
                    photo = valse_photo(entry, shared_data, visual_genome)
                    yield Asked(subset, key, pairwise(entry["caption"], entry["foil"]), photo)

    named = VALSE({name: str(path) for name, path in files.items()}, subsets)
    roots = [shared_data, visual_genome]
    assert hold(named, roots, questions()) == photographs
    invalid = sum(e["mturk"]["caption"] < 2 for s in subsets for e in entries(files[s]).values())
    said = [text for key, text in read(named, roots).notes.items() if key.endswith(" invalid")]
    assert sum(int(text.split()[0]) for text in said) == invalid


def corpus_of(file: Path, folder: Path) -> str:
    """The name of a corpus of Visual Genome in the authors' tree, from the place of its file."""
    parts = file.relative_to(folder).with_suffix("").parts
    if parts[0] == "Object":
        name, _, kind = parts[-1].rpartition("_")
        return f"Object/{parts[1]}/{kind}/{name}"
    return f"{parts[0]}/{parts[2]}/{parts[1]}"


@pytest.mark.parametrize("rows", [100, pytest.param(1_000, marks=pytest.mark.slow)])
def test_vl_checklist_asks_of_the_first_caption_and_foil_of_the_first_rows(
    rows: int, shared_data: Path, visual_genome: Path
) -> None:
    folder = shared_data / "benchmarks/vl_checklist_vg"
    files = {corpus_of(path, folder): path for path in folder.rglob("*.json")}
    subsets = [subset for subset in VLCheckList.offers if subset in files]
    assert len(files) == len(subsets) == 20

    def questions() -> Iterator[Asked]:
        for subset in subsets:
            for i, (name, texts) in enumerate(entries(files[subset])[:rows]):
                photo = visual_genome / "visual_genome/images" / Path(name).name
                rule = pairwise(texts["POS"][0], texts["NEG"][0])
                yield Asked(subset, str(i), rule, there(photo))

    named = VLCheckList(rows, {name: str(path) for name, path in files.items()}, subsets)
    roots = [shared_data, visual_genome]
    seen = hold(named, roots, questions())
    assert seen == sum(min(rows, len(entries(path))) for path in files.values())
    notes = read(named, roots).notes
    assert notes.get("Attribute/color/vg rows", "") == (
        "the first 100 of 278, as published" if rows == 100 else ""
    )
    if rows == 1_000:
        assert seen == 5_327
        assert notes["Attribute/color/vg identical"].startswith("2 with the same text")


def test_vl_checklist_has_56_corpora_whose_files_are_named_as_in_the_authors_tree(
    shared_data: Path,
) -> None:
    assert len(VLCheckList.offers) == 56
    files = [subset.files[0].removeprefix("vl_checklist/") for subset in VLCheckList.published]
    for folder in ("vl_checklist", "vl_checklist_vg"):
        root = shared_data / "benchmarks" / folder
        for path in root.rglob("*.json"):
            assert path.relative_to(root).as_posix() in files
