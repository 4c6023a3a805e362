"""Which reader a caption file gets."""

import json
from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.sources.readers.guess import guess_reader


def written(folder: Path, name: str, content: str) -> Path:
    file = folder / name
    file.write_text(content, "utf-8")
    return file


KARPATHY = {
    "images": [
        {
            "filename": "1_a.jpg",
            "imgid": 0,
            "split": "test",
            "sentences": [{"raw": "a dog", "sentid": 0}],
        },
    ],
    "dataset": "flickr8k",
}
COCO = {"images": [{"id": 7}], "annotations": [{"image_id": 7, "id": 1, "caption": "a dog"}]}


@pytest.mark.parametrize(
    ("name", "content", "reader"),
    [
        ("a.txt", "a dog\n\n  a cat \n", "PlainText"),
        ("a.token.txt", "\n12_ab.jpg#0\ta dog\n", "FlickrToken"),
        ("a.csv", "image,caption\nx.jpg,a dog\n", "CsvTable"),
        ("a.tsv", "filepath\ttitle\nx.jpg\ta dog\n", "CsvTable"),
        (
            "b.tsv",
            "\ttitle\tfilepath\tneg_caption\tneg_image\n0\ta dog\tx.jpg\t['dog a']\t[0]\n",
            "NegClipTsv",
        ),
        ("a.jsonl", '{"image": "x.jpg", "caption": "a dog"}\n', "JsonLines"),
        ("karpathy.json", json.dumps(KARPATHY), "KarpathyJson"),
        ("coco.json", json.dumps(COCO), "CocoCaptions"),
    ],
)
def test_the_kind_is_told_by_ending_and_content(
    tmp_path: Path, name: str, content: str, reader: str
) -> None:
    found = guess_reader(written(tmp_path, name, content))
    assert type(found).__name__ == reader
    assert found.read()[0].caption == "a dog"


def test_plain_text_keeps_line_numbers(tmp_path: Path) -> None:
    samples = guess_reader(written(tmp_path, "a.txt", "a dog\n\n  a cat \n")).read()
    assert [(s.caption, s.caption_id) for s in samples] == [("a dog", "1"), ("a cat", "3")]
    assert samples[1].origin.endswith("a.txt:3")


def test_what_is_no_caption_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"absent.txt cannot be read"):
        guess_reader(tmp_path / "absent.txt")
    with pytest.raises(ZooError, match="is not a single JSON object"):
        guess_reader(written(tmp_path, "a.json", "[1]"))
    packed = tmp_path / "a.json.gz"
    packed.write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(ZooError, match="is not a text file: unpack it"):
        guess_reader(packed)
