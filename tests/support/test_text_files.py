"""Reading text files: pipes, and JSON that would lose or hide something."""

import gzip
import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.cli.units import main
from zoo.errors import ZooError
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.source import read_source
from zoo.support import text_files
from zoo.support.text_files import read_json
from zoo.units.reader import read_units

CAPTIONS = [f"a red dog number {i} sits beside the blue cat on the table" for i in range(3_000)]


@contextmanager
def piped(content: str) -> Iterator[Path]:
    """A pipe as the shell's <(...) makes it."""
    out, into = os.pipe()

    def fill() -> None:
        with open(into, "w", encoding="utf-8") as file:
            file.write(content)

    writer = threading.Thread(target=fill)
    writer.start()
    try:
        yield Path(f"/dev/fd/{out}")
    finally:
        os.close(out)
        writer.join(60)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("PlainText", "\n".join(CAPTIONS)),
        ("CsvTable", "\n".join(["image,caption", *(f"x.jpg,{c}" for c in CAPTIONS)])),
        (
            "JsonLines",
            "\n".join(f'{{"image": "x.jpg", "caption": "{caption}"}}' for caption in CAPTIONS),
        ),
        ("FlickrToken", "\n".join(f"{i}_a.jpg#0\t{c}" for i, c in enumerate(CAPTIONS))),
    ],
)
def test_every_caption_of_a_pipe_is_read_and_its_kind_told_by_its_first_line(
    kind: str, content: str
) -> None:
    assert len(content) > 1 << 17
    with piped(content + "\n") as path:
        source = read_source(guess_reader(path))
        assert type(source.reader).__name__ == kind
        assert [sample.caption for sample in source.samples] == CAPTIONS
        assert len(source.describe()["files"]) == 1  # its hash is taken of the same content


def test_units_are_extracted_from_a_pipe_and_read_from_one(tmp_path: Path) -> None:
    captions = CAPTIONS[::100]
    with piped("".join(f"{c}\n" for c in captions)) as path:
        assert main(["extract", str(path), "--out", str(tmp_path / "u.jsonl")]) == 0
    with piped((tmp_path / "u.jsonl").read_text("utf-8")) as path:
        assert [record.caption for record in read_units(path).values()] == captions


DEEP = "[" * 100_000 + "]" * 100_000
TWICE = '{"caption": "a dog", "image": "x.jpg", "caption": "a cat"}'
READ: dict[str, Callable[[Path], object]] = {
    "COCO's JSON": lambda path: CocoCaptions(path).read(),
    "Karpathy's JSON": lambda path: KarpathyJson(path).read(),
    "JSON lines": lambda path: JsonLines(path).read(),
    "annotations": read_json,
    "a units file": read_units,
    "published units": read_units,
}


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"images": ' + DEEP + "}", "nested too deeply"),
        (TWICE, "the key 'caption' is repeated in an object"),
        ('{"images": ' + "1" * 5_000 + "}", "digits"),
    ],
    ids=["nested", "twice", "long number"],
)
def test_json_that_would_lose_or_break_something_is_named(
    tmp_path: Path, kind: str, content: str, told: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(f"[{content}]" if kind == "published units" else content)
    with pytest.raises(ZooError, match=rf"x\.json.*{told}"):
        READ[kind](path)


def test_a_case_that_sugarcrepe_gives_twice_is_named(tmp_path: Path) -> None:
    case = '{"filename": "000000000001.jpg", "caption": "a", "negative_caption": "b"}'
    (tmp_path / "sugarcrepe").mkdir()
    (tmp_path / "sugarcrepe/add_obj.json").write_text(f'{{"0": {case}, "1": {case}, "0": {case}}}')
    with pytest.raises(
        ZooError, match=r"add_obj\.json is not JSON \(the key '0' is repeated in an object"
    ):
        SugarCrepe().read(tmp_path)


def test_a_units_file_may_begin_with_a_mark_of_its_byte_order(
    tmp_path: Path, made_root: Path
) -> None:
    whole = (made_root / "units.jsonl").read_bytes()
    (tmp_path / "u.jsonl").write_bytes(b"\xef\xbb\xbf" + whole)
    assert read_units(tmp_path / "u.jsonl") == read_units(made_root / "units.jsonl")


def test_a_gz_that_unpacks_to_more_than_is_read_is_refused_before_it_is_all_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "captions.json.gz"
    path.write_bytes(gzip.compress(b" " * (64 << 20), compresslevel=1))
    monkeypatch.setattr(text_files, "MAX_UNPACKED", 1_000_000)
    tracemalloc.start()
    with pytest.raises(ZooError, match=r"captions\.json\.gz unpacks to more than 1,000,000 bytes"):
        read_json(path)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_a_gz_of_several_members_is_read_as_one_file(tmp_path: Path) -> None:
    path = tmp_path / "captions.json.gz"
    path.write_bytes(gzip.compress(b"[1,") + gzip.compress(b"2]"))
    assert read_json(path) == [1, 2]
