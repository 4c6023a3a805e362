"""Where further positives come from."""

import json
from pathlib import Path
from random import Random

import pytest

from zoo.errors import ZooError
from zoo.positives.other_caption import OtherCaption
from zoo.positives.paraphrases import Paraphrases


def test_another_caption_of_the_image_is_drawn_among_those_of_other_words() -> None:
    own, others = "A cat.", ["a cat", "A cat.", "one cat sits", "a grey cat"]
    drawn = {OtherCaption().positive(own, others, Random(i)) for i in range(20)}
    assert drawn == {"one cat sits", "a grey cat"}
    assert OtherCaption().positive(own, ["a cat", own], Random(0)) is None


def test_images_of_one_caption_each_are_refused() -> None:
    with pytest.raises(ZooError, match=r"no image has two: use a file of paraphrases"):
        OtherCaption().check(["a cat", "a dog"], {"1": ["a cat"], "2": ["a dog", "a dog"]})
    OtherCaption().check(["a cat"], {"1": ["a cat", "one cat"]})


def written(folder: Path, *lines: object) -> Path:
    file = folder / "paraphrases.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("\n".join(texts) + "\n")
    return file


def test_a_paraphrase_of_a_file_is_found_by_its_caption(tmp_path: Path) -> None:
    lines = [{"caption": "a  cat", "positive": text} for text in ("one cat", "a feline")]
    found = Paraphrases(written(tmp_path, *lines))
    assert {found.positive("a cat", (), Random(i)) for i in range(20)} == {"one cat", "a feline"}
    with pytest.raises(ZooError, match=r"no line for 1 of 2 captions \('a dog'\): add them"):
        found.check(["a cat", "a dog"], {})
    loose = Paraphrases(found.file, strict=False)
    loose.check(["a cat", "a dog"], {})
    assert loose.positive("a dog", (), Random(0)) is None


def test_a_caption_may_have_what_other_files_end_lines_with(tmp_path: Path) -> None:
    line = json.dumps({"caption": "a cat\u2028", "positive": "one\x85cat"}, ensure_ascii=False)
    assert Paraphrases(written(tmp_path, line)).positive("a cat", (), Random(0)) == "one\x85cat"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("not json", r":1 is not .*fix the line"),
        ({"caption": "a cat"}, r":1 is not .*'positive'.*fix the line"),
        ({"caption": "a cat", "positive": 3}, r":1 has a caption or positive that is not text"),
        ({"caption": "a cat", "positive": "A cat!"}, r":1 has the caption itself"),
    ],
)
def test_a_broken_line_is_told_by_its_number(tmp_path: Path, line: object, told: str) -> None:
    with pytest.raises(ZooError, match=told):
        Paraphrases(written(tmp_path, line))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"none\.jsonl cannot be read .*give JSON lines"):
        Paraphrases(tmp_path / "none.jsonl")
