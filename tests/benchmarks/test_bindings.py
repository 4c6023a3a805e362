"""PUG:SPARE and BiSCoR-Ctrl, on files with exactly the fields that are published."""

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from tests.support.samples import Sample
from zoo.benchmarks.biscor import BiSCoR
from zoo.benchmarks.pug_spare import PUGSpare
from zoo.benchmarks.roots import read_benchmark
from zoo.errors import ZooError
from zoo.scenes import blocks
from zoo.sources.readers.pug_spare import PUGSpare as Captions

COLORS = ("Red", "Blue", "Green", "Yellow", "Pink")
ANIMALS = ("Elephant", "Zebra", "Lion", "Bear", "Horse", "Hippo")
PUG = "pug_spare/PUG_SPARE.csv"
BISCOR = "biscor/color/test-00000-of-00001.parquet"


def pug_row(first: tuple[str, str], second: tuple[str, str], position: str = "") -> dict[str, str]:
    name = "_".join((*first, *second, position)) + ".png"
    return {
        "filename": name,
        "world_name": "Desert",
        "character_name": first[1],
        "character_texture": first[0],
        "character2_name": second[1],
        "character2_texture": second[0],
        "character_pos": position,
    }


def pug(rows: list[dict[str, str]], **asked) -> Sample:
    return Sample(PUGSpare(**asked), PUG, tuple(rows), "seen")


ROWS = [
    pug_row(first, second)
    for first, second in product(product(COLORS, ANIMALS), repeat=2)
    if first[0] != second[0] and first[1] != second[1]
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    pug(ROWS).write(tmp_path)
    return tmp_path


def bindings(text: str) -> list[tuple[str, ...]]:
    return [tuple(part.split()) for part in text.split(" and ")]


@pytest.mark.parametrize("seed", [0, 1])
def test_subsets_of_pug_spare_have_as_many_held_out_bindings_in_caption_and_swap(root, seed):
    contents = read_benchmark(PUGSpare(block_seed=seed), [root])
    held_out = blocks.draw_block(sorted(COLORS), sorted(ANIMALS), seed)
    swaps = [case for case in contents.cases if case.protocol == "i2t"]
    for case in swaps:
        counts = [sum(b in held_out for b in bindings(text)) for text in case.texts]
        assert counts == [blocks.SPLITS.index(case.subset)] * 2
        assert sorted(case.texts[0].split()) == sorted(case.texts[1].split())
        assert case.images[0].source == "published"
        name = "_".join(word for pair in bindings(case.texts[0]) for word in pair)
        assert case.images[0].key == f"pug_spare/Desert/{name}_.png"
    counts = Counter(case.subset for case in swaps)
    assert counts["unseen"] == 3 * 3 * 2 * 2
    assert counts["partial"] == 2 * (3 * 3 * (2 * 3 + 2 * 2))
    assert 0 < counts["seen"] < 30


def test_both_orders_are_right_among_all_captions_of_pug_spare(root):
    contents = read_benchmark(PUGSpare(), [root])
    galleries = [case for case in contents.cases if case.protocol == "retrieval"]
    assert [case.subset for case in galleries] == list(blocks.SPLITS)
    for case in galleries:
        assert len(case.texts) == len(set(case.texts)) == 5 * 6 * 4 * 5
        for image, right in zip(case.images, case.match, strict=True):
            words = Path(image.key).stem.strip("_").split("_")
            first, second = " ".join(words[:2]), " ".join(words[2:])
            its = {case.texts[j] for j in right.nonzero()[0]}
            assert its == {f"{first} and {second}", f"{second} and {first}"}
    assert contents.notes["captions"] == "600 in the file, 7,392 as published"


def test_captions_to_train_on_never_name_what_is_held_out_and_are_not_asked_about(root):
    held_out = blocks.draw_block(sorted(COLORS), sorted(ANIMALS), 0)
    samples = Captions(root / PUG).read()
    trained = {text for sample in samples for text in (sample.caption, *sample.negatives)}
    assert len(samples) > 50
    assert all(held_out.isdisjoint(bindings(text)) for text in trained)
    asked = {c.texts[0] for c in read_benchmark(PUGSpare(), [root]).cases if c.protocol == "i2t"}
    assert asked.isdisjoint(trained)
    assert {c for text in trained for c, _ in bindings(text)} == set(COLORS)
    splits = Counter(sample.split for sample in Captions(root / PUG, None).read())
    assert splits["train"] == len(samples)
    assert sum(splits.values()) == len(ROWS)
    assert splits[None] > 0


def test_all_positions_count_and_animals_alike_do_not(tmp_path):
    one = pug_row(("Red", "Bear"), ("Red", "Lion"))
    same = pug_row(("Red", "Bear"), ("Blue", "Bear"))
    again = pug_row(("Red", "Bear"), ("Blue", "Lion"), "left")
    pug([*ROWS, one, same, again]).write(tmp_path)
    assert len(Captions(tmp_path / PUG, None).read()) == len(ROWS) + 1


def biscor(*rows: dict, file: str = BISCOR, **asked) -> Sample:
    pictures = ("image", "negative_image")
    needed = "caption", "negative_caption"
    return Sample(BiSCoR(**asked), file, rows, "color", needed=needed, pictures=pictures)


PAIR = {
    "caption": "a red sphere and a blue cylinder",
    "negative_caption": "a blue sphere and a red cylinder",
}


def test_a_row_of_biscor_is_a_case_of_two_images_and_two_captions(tmp_path):
    biscor(PAIR, {**PAIR, "caption": "another"}).write(tmp_path)
    contents = read_benchmark(BiSCoR(), [tmp_path])
    assert [(c.id, c.subset, c.protocol) for c in contents.cases] == [
        ("0", "color", "group"),
        ("1", "color", "group"),
    ]
    first = contents.cases[0]
    assert first.texts == tuple(PAIR.values())
    assert first.match.tolist() == [[True, False], [False, True]]
    assert [str(i).rpartition("#")[2] for i in first.images] == ["image", "negative_image"]
    assert [subset.name for subset in contents.missing_subsets] == ["size", "material", "quantity"]
    assert contents.notes == {"color cases": "2 in the file, 1,000 as published"}
    assert "zoo data get biscor " in contents.missing_subsets[0].instructions


def test_splits_of_biscor_are_files_of_their_own_and_only_one_has_published_values(tmp_path):
    sample = biscor(PAIR, file="biscor/Size/development-00000-of-00001.parquet")
    sample.write(tmp_path)
    assert read_benchmark(BiSCoR(), [tmp_path]).cases == []
    asked = BiSCoR(split="development")
    [case] = read_benchmark(asked, [tmp_path]).cases
    assert case.subset == "size"
    assert not any(subset.published for subset in asked.subsets)
    given = BiSCoR({"quantity": str(tmp_path / sample.file)}, ["quantity"])
    assert [case.subset for case in read_benchmark(given, [tmp_path]).cases] == ["quantity"]


def lacking(rows: list[dict[str, str]], name: str) -> list[dict[str, str]]:
    return [{k: v for k, v in row.items() if k != name} for row in rows]


BAD = {
    "a column of PUG:SPARE is absent": (
        pug(lacking(ROWS, "world_name")),
        r"PUG_SPARE\.csv:2: field 'world_name' is missing",
    ),
    "a field of PUG:SPARE is blank": (
        pug([ROWS[0], {**ROWS[1], "character2_texture": " "}]),
        r"PUG_SPARE\.csv:3: field 'character2_texture' is blank",
    ),
    "too few colours": (pug(ROWS[:2]), r"PUG_SPARE\.csv has 2 colours and 3 animals"),
    "a column of BiSCoR is absent": (
        biscor({"caption": "a"}),
        r"test-00000-of-00001\.parquet\[0\]: field 'negative_caption' is missing",
    ),
    "a caption of BiSCoR is blank": (
        biscor(PAIR, {**PAIR, "caption": ""}),
        r"test-00000-of-00001\.parquet\[1\]: field 'caption' is blank",
    ),
    "an image of BiSCoR is absent": (
        Sample(BiSCoR(), BISCOR, (PAIR,), "color", pictures=("image",)),
        r"parquet has no column negative_image, only",
    ),
    "a shard of BiSCoR is absent": (
        biscor(PAIR, file="biscor/color/test-00000-of-00002.parquet"),
        r"the shard test-00001-of-00002\.parquet is missing",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_in_a_file_is_said_in_one_sentence_with_its_place(name, tmp_path):
    sample, says = BAD[name]
    sample.write(tmp_path)
    with pytest.raises(ZooError, match=says) as error:
        read_benchmark(sample.benchmark, [tmp_path])
    assert "\n" not in str(error.value)
    assert re.search(r": \S", str(error.value))


def test_a_file_of_pug_spare_cut_short_is_named_with_its_line(tmp_path):
    path = pug(ROWS[:30]).write(tmp_path)
    path.write_text(path.read_text().rstrip()[:-60])
    with pytest.raises(ZooError, match=r"PUG_SPARE\.csv:30 has \d fields"):
        read_benchmark(PUGSpare(), [tmp_path])
