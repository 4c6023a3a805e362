"""A word becomes another one of its list, and the rest of the caption stays."""

from pathlib import Path
from random import Random

import pytest

from zoo.errors import ZooError
from zoo.negatives.replace_listed import ReplaceListed
from zoo.support.configurable import from_config, to_config


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    file = tmp_path / "lists.txt"
    file.write_text("# colours\nred blue Amber\n\nwood glass\non in_front_of\n", "utf-8")
    return file


def negatives(caption: str, file: Path | None, n: int = 100) -> set[str | None]:
    generator = ReplaceListed(file)
    return {generator.negative(caption, Random(seed)) for seed in range(n)}


def test_every_word_of_a_list_becomes_every_other_word_of_it(lists: Path) -> None:
    assert negatives("a red door of wood", lists) == {
        "a blue door of wood",
        "an amber door of wood",
        "a red door of glass",
    }


def test_a_word_that_the_caption_has_is_not_put_in_again(lists: Path) -> None:
    assert negatives("red and blue", lists) == {"amber and blue", "red and amber"}
    assert negatives("red, blue and amber", lists) == {None}


def test_only_whole_words_are_replaced_and_only_in_one_place(lists: Path) -> None:
    assert negatives("a bored red-haired man reds", lists) == {None}
    assert negatives("wood on wood?", lists) == {
        "glass on wood?",
        "wood on glass?",
        "wood in front of wood?",
    }


def test_phrases_are_found_and_case_is_kept(lists: Path) -> None:
    assert negatives("In front of it", lists) == {"On it"}
    assert negatives("Amber tree", lists) == {"Red tree", "Blue tree"}


def test_lists_are_equally_likely_however_many_words_they_have(lists: Path) -> None:
    generator = ReplaceListed(lists)
    found = [generator.negative("red blue wood", Random(seed)) for seed in range(1000)]
    assert 0.45 < found.count("red blue glass") / 1000 < 0.55


def test_the_package_has_lists_and_takes_no_synonym() -> None:
    found = negatives("a big grey cat", None, 500)
    assert {"a small grey cat", "a big red cat"} <= found
    assert not {"a large grey cat", "a big gray cat", None} & found
    assert negatives("a dog runs", None) == {None}


def test_its_file_is_recorded(lists: Path) -> None:
    again = from_config(to_config(ReplaceListed(lists)), ReplaceListed)
    assert again.describe() == {"generator": "replace_listed", "file": str(lists)}
    assert ReplaceListed().describe() == {"generator": "replace_listed"}


@pytest.mark.parametrize(
    ("content", "message"),
    [("red blue\nwood\n", "has the line 'wood'"), ("# none\n", "has no list")],
)
def test_a_list_of_one_word_and_a_file_of_none_are_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "lists.txt"
    file.write_text(content, "utf-8")
    with pytest.raises(ZooError, match=message):
        ReplaceListed(file)
    with pytest.raises(ZooError, match="cannot be read"):
        ReplaceListed(tmp_path / "missing.txt")
