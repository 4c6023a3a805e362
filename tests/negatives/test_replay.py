"""Negatives from a file."""

import json
from pathlib import Path
from random import Random

import pytest

from zoo.errors import ZooError
from zoo.negatives.replay import Replay


def written(folder: Path, *lines: object) -> Path:
    file = folder / "negatives.jsonl"
    file.write_text(
        "".join(
            (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)) + "\n"
            for line in lines
        ),
        "utf-8",
    )
    return file


def line(caption: str, negative: str | None) -> dict[str, str | None]:
    return {"caption": caption, "negative": negative}


def test_negatives_come_by_caption_whatever_its_spacing(tmp_path: Path) -> None:
    replay = Replay(
        written(tmp_path, line("a dog \u2028bites a man", "a man bites a dog"), line("a cat", None))
    )
    assert replay.negative(" a dog bites  a man", Random(0)) == "a man bites a dog"
    assert replay.negative("a cat", Random(0)) is None


def test_one_of_several_is_drawn_by_the_random_state(tmp_path: Path) -> None:
    replay = Replay(
        written(tmp_path, line("a b c", "b a c"), line("a b c", "c b a"), line("a b c", None))
    )
    drawn = [replay.negative("a b c", Random(s)) for s in range(30)]
    assert set(drawn) == {"b a c", "c b a"}
    assert drawn == [replay.negative("a b c", Random(s)) for s in range(30)]


def test_captions_that_the_file_lacks_are_named_at_the_start(tmp_path: Path) -> None:
    replay = Replay(written(tmp_path, line("a", "b")))
    replay.check(["a"])
    with pytest.raises(ZooError, match=r"no line for 2 of 3 captions \('c'\).*strict: false"):
        replay.check(["a", "c", "d"])
    with pytest.raises(ZooError, match=r"no line for 1 of 1 captions \('c'\)"):
        replay.negative("c", Random(0))


def test_where_not_strict_they_have_none(tmp_path: Path) -> None:
    replay = Replay(written(tmp_path, line("a", "b")), strict=False)
    replay.check(["c"])
    assert replay.negative("c", Random(0)) is None


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("{", r"negatives.jsonl:2 is not"),
        ({"caption": "a"}, r":2 is not .* \('negative'\)"),
        ([1], r":2 is not"),
        ({"caption": "a", "negative": 3}, r":2 has a caption or negative that is not text"),
        ({"caption": "A dog.", "negative": "a dog"}, r":2 has the caption itself"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, broken: object, message: str) -> None:
    with pytest.raises(ZooError, match=message):
        Replay(written(tmp_path, line("a", "b"), broken))


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"cannot be read .*zoo negatives export"):
        Replay(tmp_path / "absent.jsonl")
