"""ColorFoil's foils: made once by seed of COCO's captions, kept, and said to be ours."""

import json
from pathlib import Path
from random import Random

import pytest

from tests.benchmarks.official import Asked, hold
from zoo.benchmarks import ColorFoil
from zoo.benchmarks.colorfoil import CSS_COLORS, FOIL_COLORS, replace_colors
from zoo.errors import ZooError


def test_whole_words_that_name_colours_are_replaced_alike_by_others() -> None:
    assert len(CSS_COLORS) == 147
    for seed in range(50):
        words = replace_colors(
            "a red dog, a red cat, a redhead and lime pie in White", Random(seed)
        ).split()
        assert words[1] == words[4] in FOIL_COLORS
        assert words[1] != "red"
        assert words[9] in FOIL_COLORS
        assert [words[i] for i in (0, 2, 3, 5, 7)] == ["a", "dog,", "a", "cat,", "redhead"]
        assert words[-1] == "White"
    assert replace_colors("a dog", Random(0)) == "a dog"


def test_an_images_first_caption_with_a_colour_stands_against_its_foil(
    shared_data: Path, tmp_path: Path
) -> None:
    content = json.loads((shared_data / "coco/annotations/captions_val2017.json").read_text())
    first: dict[int, str] = {}
    for annotation in content["annotations"]:
        if any(word in CSS_COLORS for word in annotation["caption"].split(" ")):
            first.setdefault(annotation["image_id"], annotation["caption"].strip())
    benchmark = ColorFoil(folder=str(tmp_path))
    contents = benchmark.read(shared_data)
    assert {case.id: case.texts[0] for case in contents.cases} == {
        str(image): caption for image, caption in first.items()
    }
    (kept,) = tmp_path.iterdir()
    assert contents.notes["colorfoil"].startswith("foils sampled by zoo, not the authors'")
    assert str(kept) in contents.notes["colorfoil"]
    before = kept.stat().st_mtime_ns
    rows = [json.loads(line) for line in kept.read_text().splitlines()[1:]]
    asked = [
        Asked(
            "colorfoil",
            str(int(row["image"][:12])),
            lambda s, row=row: {"i2t": s(row["caption"]) > s(row["foil"])},
            shared_data / "coco/val2017" / row["image"],
        )
        for row in rows
    ]
    assert hold(benchmark, [shared_data], asked) == len(first) > 20
    assert kept.stat().st_mtime_ns == before
    assert [c.texts for c in ColorFoil(2, str(tmp_path)).read(shared_data).cases] != [
        case.texts for case in contents.cases
    ]
    shared = ColorFoil(files={"colorfoil": str(kept)}).read(shared_data)
    assert [case.texts for case in shared.cases] == [case.texts for case in contents.cases]


def test_a_file_of_foils_that_was_cut_short_or_spoilt_is_named(
    shared_data: Path, tmp_path: Path
) -> None:
    benchmark = ColorFoil(folder=str(tmp_path))
    benchmark.read(shared_data)
    (kept,) = tmp_path.iterdir()
    whole = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join(whole[:-1]))
    with pytest.raises(ZooError, match=r"holds \d+ of its \d+ foils: delete the file"):
        benchmark.read(shared_data)
    kept.write_text(whole[0] + '{"image": "000000000001.jpg", "caption": "a"}\n')
    with pytest.raises(ZooError, match=r"jsonl:2: field 'foil' is missing: delete the file"):
        benchmark.read(shared_data)
