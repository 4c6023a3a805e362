"""Counts of captions: worked by hand, read back, and refused where they are not counts."""

from pathlib import Path
from random import Random

import pytest

from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.units.rules.corpus_counts import CorpusCounts, count_corpus, default_counts, read_counts
from zoo.units.rules.rule import RuleExtractor

CAPTIONS = [
    ("A man sitting on a red bench", "1"),
    ("Two men sitting on a wooden bench", "1"),
    ("A dog under a red bench", "2"),
]


def test_heads_attributes_and_relations_are_counted() -> None:
    lines = count_corpus(CAPTIONS, TextBlobTagger()).splitlines()
    assert lines[0] == "heads: bench 3 dog 1 man 1 men 1"
    assert "attributes bench: red 2 wooden 1" in lines
    assert "objects person sitting_on: bench 2" in lines
    assert "subjects sitting_on chair: man 1 men 1" in lines
    assert "objects bird under: bench 1" not in lines
    assert "images: [all] 2 bench 2 dog 1 man 1" in lines
    assert [line for line in lines if line.startswith("together")] == [
        "together bench: dog 1 man 1"
    ]


def test_rare_values_are_left_out() -> None:
    lines = count_corpus(CAPTIONS, TextBlobTagger(), min_count=2).splitlines()
    assert lines[0] == "heads: bench 3"
    assert all(int(number) >= 2 for line in lines for number in line.split(": ")[1].split()[1::2])


def test_a_rare_object_takes_the_predicates_of_its_class() -> None:
    text = "heads: bench 50\nobjects person sitting_on: bench 50 stool 2\n"
    counts = CorpusCounts(text)
    assert counts.predicates_between("person", "bench") == {"sitting on": 50}
    assert counts.predicates_between("person", "stool") == {"sitting on": 52}
    assert counts.predicates_between("person", "table") == {"sitting on": 52}
    assert counts.predicates_between("dog", "bench") == {}


def test_foils_are_drawn_by_the_counts_given(tmp_path: Path) -> None:
    file = tmp_path / "counts.txt"
    file.write_text(
        "heads: bench 50\nobjects person sitting_on: bench 50\nobjects person lying_on: bench 50\n"
    )
    extractor = RuleExtractor(tagger=TextBlobTagger(), counts=str(file))
    (relation,) = extractor.extract("A man sitting on a bench", "1", "2").relations
    assert [foil.predicate for foil in relation.foils] == ["lying on"]
    assert extractor.describe()["counts"] != RuleExtractor().describe()["counts"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hats: a 1\n", "unknown table 'hats'"),
        ("heads: a 1 b\n", "is not a file of counts"),
        ("", "no heads"),
    ],
)
def test_a_file_without_counts_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "counts.txt"
    file.write_text(text)
    with pytest.raises(ZooError, match=message):
        read_counts(file)
    with pytest.raises(ZooError, match=r"zoo units count"):
        read_counts(tmp_path / "missing.txt")


def test_the_packaged_counts_cover_common_words() -> None:
    counts = default_counts()
    assert counts.heads["man"] > counts.heads["woman"] > counts.heads["zebra"] > 0
    assert {"sitting on", "on"} <= set(counts.predicates_between("person", "bench"))
    assert set(counts.weights_of_sort("man")[0]) >= {"woman", "dog"}


def test_heads_of_one_image_do_not_replace_each_other() -> None:
    counts = CorpusCounts(
        "heads: toilet 9 sink 9 bench 9\n"
        "images: [all] 100 toilet 9 sink 9 bench 9 bathroom 9\n"
        "together toilet: sink 6\ntogether bathroom: sink 5\ntogether bench: sink 1\n"
    )
    assert counts.share_images("sinks", "toilet")
    assert not counts.can_replace("sink", "toilet")
    assert counts.can_replace("bench", "toilet")
    assert "sink" not in counts.other_heads_of("toilet")
    assert counts.is_expected_with("sink", ["bench", "bathroom"])
    assert not counts.is_expected_with("sink", ["bench"])


def test_a_foil_head_takes_the_compounds_of_the_corpus() -> None:
    counts = CorpusCounts(
        "heads: pool 8 lake 8 dog 4\ncompounds pool: pool 4 swimming_pool 4 tide_pool 1\n"
    )
    drawn = {counts.draw_compound("pool", Random(seed)) for seed in range(30)}
    assert drawn == {"pool", "swimming pool"}
    assert counts.draw_compound("lake", Random(0)) == "lake"


def test_heads_are_counted_by_their_attribute() -> None:
    counts = CorpusCounts("heads: dog 10 cat 4\nattributes dog: brown 7\nattributes cat: brown 1\n")
    assert counts.heads_after(["brown"]) == {"dog": 7, "cat": 1}
    assert counts.heads_after([]) == {"dog": 3, "cat": 3}
    assert counts.heads_after(["striped"]) == {}


def test_swaps_make_both_directions_as_frequent() -> None:
    counts = CorpusCounts(
        "heads: man 9 woman 9\n"
        "subjects watching person: man 30 woman 10\n"
        "objects person watching: woman 20 man 5\n"
    )
    # man, woman: 30.5 * 20.5; woman, man: 10.5 * 5.5
    expected = 10.5 * 5.5 / (30.5 * 20.5)
    assert counts.swap_probability("man", "watching", "woman") == pytest.approx(expected)
    assert counts.swap_probability("woman", "watching", "man") == 1
    assert counts.swap_probability("man", "watching", "man") == 1


def test_heads_of_relations_are_counted_with_the_attribute() -> None:
    counts = CorpusCounts("heads: dog 10 boy 4\nattributes dog: brown 7\nattributes boy: young 2\n")
    subjects = {"dog": 6.0, "boy": 8.0, "cat": 2.0}
    assert counts.with_attributes(subjects, []) == pytest.approx({"dog": 6 * 0.3, "boy": 8 * 0.5})
    assert counts.with_attributes(subjects, ["brown"]) == pytest.approx({"dog": 6 * 0.7})


def test_a_head_is_rare_with_another_if_both_share_fewer_images_than_chance_predicts() -> None:
    # chance predicts 100 * 50 / 1000 = 5 images with both, and 100 * 40 / 1000 = 4
    images = "heads: wall 9\nimages: [all] 1000 wall 100 stove 50 bus 40 desk 50\n"
    counts = CorpusCounts(f"{images}together desk: wall 2\ntogether stove: wall 1\n")
    assert counts.is_rare_with("walls", ["stoves"])
    assert not counts.is_rare_with("wall", ["desk"])  # 2 images are not fewer than 0.4 * 5
    assert not counts.is_rare_with("wall", ["bus"])  # too few images are predicted
    assert counts.is_rare_with("wall", ["bus", "desk", "stove"])
