from collections.abc import Iterable
from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.regions_and_phrases.base import Segments
from zoo.regions_and_phrases.phrases import Chunks, Coarse, Fine, Triplets
from zoo.scenes.captions import describe_scene
from zoo.scenes.graph import sample_scene
from zoo.units.reader import write_units
from zoo.units.record import Entity, Relation, UnitRecord
from zoo.units.rules.rule import RuleExtractor

PETS = "a black cat and a white dog"
PARK = "a small boy holds a red kite under a tall tree"


def rules() -> RuleExtractor:
    return RuleExtractor(tagger=TextBlobTagger())


@pytest.fixture
def units(tmp_path: Path) -> str:
    """A file with the units of two texts, one of them in two records."""
    boy, kite, tree = "small boy", "red kite", "tall tree"
    told = (Relation(boy, "holding", kite), Relation(kite, "under", tree))
    records = [
        UnitRecord("0", "i", PARK, tuple(map(Entity, (boy, kite, tree))), told),
        UnitRecord("1", "j", PARK, (Entity("kite"),)),
        UnitRecord("2", "k", PETS, (Entity("black cat"), Entity("white dog")), told[:1]),
    ]
    write_units(records, tmp_path / "units.jsonl")
    return str(tmp_path / "units.jsonl")


def test_the_papers_example_falls_into_its_segments() -> None:
    assert Coarse(extractor=rules()).split(PETS) == ("black cat", "white dog", PETS)
    assert Fine(extractor=rules()).split(PETS) == (
        "cat",
        "dog",
        "black cat",
        "white dog",
        PETS,
    )
    chunks = Chunks(TextBlobTagger())
    assert chunks.split("A red cube and a blue sphere.") == (
        "A red cube",
        "a blue sphere",
        "A red cube and a blue sphere.",
    )


def test_relations_are_segments_where_the_text_says_more_than_one_of_them(units: str) -> None:
    related = ("small boy holding red kite", "red kite under tall tree")
    assert Coarse(units).split(PARK) == (
        "small boy",
        "red kite",
        "tall tree",
        *related,
        PARK,
    )
    assert Fine(units).split(PARK)[:4] == ("boy", "kite", "tree", "small boy")
    assert Coarse(units).split(PETS) == ("black cat", "white dog", PETS), "the text is its relation"


def test_predicates_are_segments_without_their_subject_and_object(units: str) -> None:
    parts = ("small boy", "red kite", "tall tree", "holding", "under")
    assert Triplets(units).split(PARK) == (*parts, PARK)


def test_a_text_of_no_units_file_is_named_unless_there_is_an_extractor(units: str) -> None:
    unknown = "a green bird"
    with pytest.raises(
        ZooError,
        match=rf"{units}: units of 'a green bird' are missing, which Fine needs: "
        "run `zoo units extract`, or set an extractor",
    ):
        Fine(units).split(unknown)
    both = Coarse([units], rules())
    assert both.split(unknown) == ("green bird", unknown)
    assert len(both.split(PARK)) == 6, "the file comes before the extractor"
    assert both.describe()["units"] == [units]
    assert both.describe()["extractor"] == "rule"


def test_a_text_without_phrases_is_its_only_segment_and_none_comes_twice() -> None:
    assert Coarse(extractor=rules()).split("running") == ("running",)
    assert Fine(extractor=rules()).split("cat") == ("cat",)

    class Words(Segments):
        def phrases(self, text: str) -> Iterable[str]:
            return text.split()

    assert Words().split("big big dog") == ("big", "dog", "big big dog")


@pytest.mark.parametrize("wrong", ["", " ", None])
def test_a_maker_that_gives_no_phrase_is_told_so(wrong: object) -> None:
    class Broken(Segments):
        def phrases(self, text: str) -> Iterable[str]:
            return [wrong]  # type: ignore[list-item]

    with pytest.raises(ZooError, match=r"Broken.phrases\('a dog'\) returned .*: return strings"):
        Broken().split("a dog")


@pytest.mark.parametrize("size", [48, 128])
def test_rules_find_the_phrases_of_a_scene_graph_in_captions_and_their_swaps(size: int) -> None:
    fine, swaps = Fine(extractor=rules()), 0
    for index in range(12):
        for told in describe_scene(sample_scene(0, index, size, (2, 4)), "image"):
            first, second = (entity.text for entity in told.record.entities)
            heads = first.split()[-1], second.split()[-1]
            assert set(fine.split(told.record.caption)) == {
                *heads,
                first,
                second,
                told.record.caption,
            }
            if told.attribute_swap is None:
                continue
            swaps += 1
            place = -3 if "metal" in first or "rubber" in first else -2
            color, other = first.split()[place], second.split()[_color_of(second)]
            swapped = first.replace(color, other), second.replace(other, color)
            assert set(fine.split(told.attribute_swap)) == {
                *heads,
                *swapped,
                told.attribute_swap,
            }
    assert swaps > 20


def _color_of(phrase: str) -> int:
    return -3 if "metal" in phrase or "rubber" in phrase else -2
