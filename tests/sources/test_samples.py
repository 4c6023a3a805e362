"""Samples in tables: what readers give, as it was, from this process or another run's tables."""

import importlib
import logging
import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from zoo.errors import ZooError
from zoo.sources import samples
from zoo.sources.folders import FolderLister
from zoo.sources.images import ImageFinder
from zoo.sources.readers.base import Reader
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.readers.negclip_tsv import NegClipTsv
from zoo.sources.sample import ImageRef, Sample, usable_negatives
from zoo.sources.sample_cache import cached_samples
from zoo.sources.samples import CaptionColumn, Samples
from zoo.sources.source import drop_missing_images, read_source, split_by_image
from zoo.support.compiled_tables import ROWS

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(0, 1 << 40)
four = st.tuples(numbers, numbers, numbers, numbers)
references = st.builds(
    ImageRef, text, text, st.none() | four, st.none() | st.tuples(numbers, numbers)
)
one = st.builds(
    Sample,
    *(references, text, text, text, st.none() | text),
    st.lists(text, max_size=3).map(tuple),
    st.lists(numbers, max_size=3).map(tuple),
    text,
    st.booleans(),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(one, max_size=12))
def test_samples_are_what_was_written(written: list[Sample]) -> None:
    found = Samples.from_samples(written)
    assert list(found) == found[:] == written
    assert [found[-1 - i] for i in range(len(found))] == written[::-1]
    assert [found.image(row) for row in found.image_rows] == [s.image for s in written]
    usable = found.captions.column("usable_negative").to_pylist()
    assert usable == [bool(usable_negatives(s)) for s in written]


def test_samples_go_on_past_a_batch_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "ROWS", 2)
    monkeypatch.setattr("zoo.support.compiled_tables.ROWS", 2)
    written = [
        Sample(ImageRef("coco", str(i // 2)), f"caption {i}", str(i // 2), str(i)) for i in range(7)
    ]
    found = Samples.from_samples(written)
    assert list(found) == written
    assert list(CaptionColumn(found, np.array([5, 0, 6]))) == [
        "caption 5",
        "caption 0",
        "caption 6",
    ]
    with pytest.raises(IndexError, match="sample 7 is out of range"):
        found[7]


def table(folder: Path, *rows: str) -> Path:
    file = folder / "captions.csv"
    file.write_text("\n".join(["image,caption", *rows]) + "\n")
    return file


def test_a_file_is_read_once_for_all_processes_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_times = []
    plain = CsvTable.samples
    monkeypatch.setattr(CsvTable, "samples", lambda self: read_times.append(1) or plain(self))
    file = table(tmp_path, "a.jpg,one dog")
    first, again = cached_samples(CsvTable(file)), cached_samples(CsvTable(file))
    assert (
        list(first)
        == list(again)
        == list(pickle.loads(pickle.dumps(again)))
        == list(plain(CsvTable(file)))
    )
    assert len(read_times) == 1
    cached_samples(CsvTable(file, separator=","))
    assert len(read_times) == 2  # of other settings
    table(tmp_path, "a.jpg,two dogs")
    assert [s.caption for s in cached_samples(CsvTable(file))] == ["two dogs"]


def test_an_image_that_comes_later_is_found_where_it_is_then(tmp_path: Path) -> None:
    file = table(tmp_path, "a.jpg,one dog")
    assert cached_samples(CsvTable(file))[0].image.key == "a.jpg"
    (tmp_path / "notes.txt").touch()
    Image.new("RGB", (8, 8)).save(tmp_path / "a.jpg")
    assert cached_samples(CsvTable(file))[0].image.key == str(tmp_path / "a.jpg")


@pytest.mark.parametrize("beside", [True, False])
def test_the_same_file_from_another_working_directory_means_the_images_there(
    beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = table(tmp_path, "a.jpg,one dog")
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        Image.new("RGB", (8, 8)).save(folder / "a.jpg")
        own = table(folder, "a.jpg,one dog").relative_to(folder)
        monkeypatch.chdir(folder)
        sample = cached_samples(CsvTable(own if beside else file))[0]
        assert sample.image.key == str(folder / "a.jpg")


def test_a_reader_without_a_file_of_its_own_is_read_by_each_process() -> None:
    class Counted(Reader):
        times = 0

        def samples(self) -> list[Sample]:
            Counted.times += 1
            return [Sample(ImageRef("file", "x"), "a dog", "x", "0")]

    for _ in range(2):
        assert cached_samples(Counted()).tables.folder is None
    assert Counted.times == 2


def test_a_warning_of_a_reader_is_said_in_every_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "neg.tsv"
    row = "a dog\t000000000001.jpg\t['a cat']\t[0, 9]"
    file.write_text(f"title\tfilepath\tneg_caption\tneg_image\n{row}\n")
    said = []
    for _ in range(2):
        with caplog.at_level(logging.WARNING):
            cached_samples(NegClipTsv(file))
        said.append([record.getMessage() for record in caplog.records])
        caplog.clear()
    assert said[0] == said[1]
    assert "left out 1 of 2 hard images, whose rows are beyond the file's 1" in said[0][0]


def own_reader(folder: Path, monkeypatch: pytest.MonkeyPatch, says: str = "a dog") -> type[Reader]:
    """Returns a reader of one's own, which takes files and asks a helper for its captions."""
    (folder / "own_words.py").write_text(f"WORDS = {says!r}\n")
    (folder / "own_reader.py").write_text(
        "import logging\n"
        "from pathlib import Path\n"
        "from zoo.sources import ImageRef, Sample\n"
        "from zoo.sources.readers import Reader\n"
        "from own_words import WORDS\n"
        "class Own(Reader):\n"
        "    def __init__(self, file, *more):\n"
        "        self.file, self.more = Path(file), more\n"
        "    @property\n"
        "    def files(self):\n"
        "        return (self.file,)\n"
        "    def samples(self):\n"
        "        logging.getLogger('own_reader').warning('a line is left out')\n"
        "        words = [WORDS, *self.more]\n"
        "        return [Sample(ImageRef('file', 'x'), w, 'x', w) for w in words]\n"
    )
    for module in ("own_words", "own_reader"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    found: type[Reader] = importlib.import_module("own_reader").Own
    return found


def test_readers_of_other_positional_arguments_have_tables_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = own_reader(tmp_path, monkeypatch)
    file = table(tmp_path)
    for more in ((), ("a cat",), ("a cow", "a hen")):
        found = cached_samples(own(file, *more))
        assert [s.caption for s in found] == ["a dog", *more]
        assert found.tables.folder is not None


def test_a_reader_whose_helper_module_changed_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = table(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for says in ("a dog", "a cat"):
        own = own_reader(tmp_path, monkeypatch, says)
        assert [s.caption for s in cached_samples(own(file))] == [says]


def test_a_warning_of_a_reader_of_ones_own_is_said_in_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own = own_reader(tmp_path, monkeypatch)
    file = table(tmp_path)
    for _ in range(2):
        cached_samples(own(file))
        assert [r.getMessage() for r in caplog.records] == ["a line is left out"]
        caplog.clear()


def test_captions_are_read_again_where_the_table_of_their_images_is_gone(tmp_path: Path) -> None:
    class Copied(CsvTable):
        def samples(self) -> list[Sample]:
            cells = tmp_path / f"cells{len(list(tmp_path.glob('cells*')))}.arrow"
            cells.touch()
            return [Sample(ImageRef("parquet", f"{cells}#0#image"), "a dog", "x", "0")]

    file = table(tmp_path)
    first = cached_samples(Copied(file))[0].image.key
    assert cached_samples(Copied(file))[0].image.key == first
    Path(first.partition("#")[0]).rename(tmp_path / "cells_gone")
    again = cached_samples(Copied(file))[0].image.key
    assert again != first
    assert Path(again.partition("#")[0]).is_file()


def test_a_sample_that_no_table_can_hold_is_told_of_its_reader(tmp_path: Path) -> None:
    class Wrong(Reader):
        def samples(self) -> list[Sample]:
            return [Sample(ImageRef("file", "x"), 7, "x", "0")]  # type: ignore[arg-type]

    with pytest.raises(ZooError, match=r"Wrong\.samples\(\) returned a field of the wrong type"):
        read_source(Wrong())


def captions(folder: Path, n: int) -> KarpathyJson:
    images = [
        f'{{"cocoid": {i}, "imgid": {i}, "split": "train", "sentences": '
        f'[{{"raw": "dog {i}", "sentid": {2 * i}}}, {{"raw": "cat {i}", "sentid": {2 * i + 1}}}]}}'
        for i in range(n)
    ]
    (folder / "captions.json").write_text(f'{{"images": [{", ".join(images)}], "dataset": "x"}}')
    return KarpathyJson(folder / "captions.json", ["train"])


def images(folder: Path, *some: int) -> Path:
    (folder / "val2017").mkdir(exist_ok=True)
    for i in some:
        (folder / "val2017" / f"{i:012}.jpg").touch()
    return folder


def test_missing_images_are_left_out_with_all_of_their_captions(tmp_path: Path) -> None:
    source = read_source(captions(tmp_path, 4))
    finder = ImageFinder([images(tmp_path, 0, 2, 3)])
    with pytest.raises(ZooError, match=r"1 of 4 images are missing in .* \(first: coco:1\)"):
        drop_missing_images(source, finder, tolerate_missing=False)
    found = drop_missing_images(source, finder, tolerate_missing=True)
    assert (found.kept.tolist(), found.missing) == ([0, 1, 4, 5, 6, 7], 1)
    assert [str(image) for image in found.images] == ["coco:0", "coco:2", "coco:3"]
    assert list(found.training_groups("one")) == [[0, 1], [4, 5], [6, 7]]
    train, val = split_by_image(found, None, 1)
    assert sorted([*train.kept, *val.kept]) == found.kept.tolist()
    assert (len(train.image_ids), len(val.image_ids)) == (2, 1)


def test_captions_of_an_image_are_a_group_wherever_they_stand() -> None:
    order = [3, 1, 3, 0, 1, 3]
    written = [
        Sample(ImageRef("coco", str(i)), str(k), f"image {i}", str(k)) for k, i in enumerate(order)
    ]
    source = read_source(Fixed(written))
    assert list(source.training_groups("one")) == [[0, 2, 5], [1, 4], [3]]
    assert source.image_ids.to_pylist() == ["image 3", "image 1", "image 0"]
    assert list(source.training_groups("all")) == [[i] for i in range(6)]


class Fixed(Reader):
    def __init__(self, written: list[Sample]) -> None:
        self.written = written

    def samples(self) -> list[Sample]:
        return self.written


def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes every folder that is listed from now on."""
    seen: list[str] = []
    plain = FolderLister._list_folder

    def noted(self: FolderLister, folder: str) -> frozenset[str]:
        seen.append(folder)
        return plain(self, folder)

    monkeypatch.setattr(FolderLister, "_list_folder", noted)
    return seen


def test_folders_of_images_are_listed_once_until_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = images(tmp_path, 7, 9)
    for folder in (root, root / "val2017"):
        os.utime(folder, (1e9, 1e9))
    seen = listed(monkeypatch)
    for _ in range(2):
        finder = ImageFinder([root])
        assert finder.find(ImageRef("coco", "9")) == root / "val2017" / "000000000009.jpg"
        assert finder.find(ImageRef("coco", "8")) is None
        keys = pa.chunked_array([["7", "8", "9"]])
        assert finder.missing_mask("coco", keys).tolist() == [False, True, False]
    assert sorted(seen) == [str(root), str(root / "val2017")]
    images(root, 8)
    assert ImageFinder([root]).find(ImageRef("coco", "8")) is not None


def test_a_folder_whose_time_was_set_back_is_listed_again(tmp_path: Path) -> None:
    root = images(tmp_path, 7)
    inner = root / "val2017"
    for folder in (root, inner):
        os.utime(folder, (1e9, 1e9))
    assert ImageFinder([root]).find(ImageRef("coco", "8")) is None
    before = inner.stat().st_ctime_ns
    images(root, 8)
    while inner.stat().st_ctime_ns == before or inner.stat().st_mtime != 1e9:
        os.utime(inner, (1e9, 1e9))
    assert ImageFinder([root]).find(ImageRef("coco", "8")) is not None


def test_a_folder_that_just_changed_or_has_links_is_listed_by_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = images(tmp_path, 7)
    seen = listed(monkeypatch)
    for _ in range(2):
        assert ImageFinder([root]).find(ImageRef("coco", "7")) is not None
    assert len(seen) == 4
    target = tmp_path / "elsewhere.jpg"
    target.touch()
    (root / "val2017" / "000000000008.jpg").symlink_to(target)
    for folder in (root, root / "val2017"):
        os.utime(folder, (1e9, 1e9))
    assert ImageFinder([root]).find(ImageRef("coco", "8")) is not None
    target.unlink()
    for folder in (root, root / "val2017"):
        os.utime(folder, (1e9, 1e9))
    assert ImageFinder([root]).find(ImageRef("coco", "8")) is None


def test_lines_of_a_file_with_every_field_are_what_they_were(tmp_path: Path) -> None:
    file = tmp_path / "captions.jsonl"
    file.write_text(
        '{"image": "coco:7@1,2,3,4", "caption": " a dog ", "split": "a", "companions": [1]}\n'
        '{"image": "b.jpg", "caption": "b", "caption_id": 7, "image_id": 8, "negatives": ["n"]}\n'
    )
    assert list(read_source(JsonLines(file)).samples) == JsonLines(file).read()


def test_samples_are_compiled_as_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never more than a batch of them waits for its table."""
    compiled = 0

    class Many(Reader):
        def samples(self) -> Iterator[Sample]:
            for n in range(ROWS * 2 + 1):
                assert n - compiled <= ROWS
                yield Sample(ImageRef("file", "x"), "a dog", "x", str(n))

    def counted(some: list[Sample], images: dict[tuple[ImageRef, str], int]) -> pa.RecordBatch:
        nonlocal compiled
        compiled += len(some)
        return plain(some, images)

    plain = samples._captions
    monkeypatch.setattr(samples, "_captions", counted)
    assert len(cached_samples(Many())) == compiled == ROWS * 2 + 1


def test_a_reader_yields_what_stands_before_a_faulty_line(tmp_path: Path) -> None:
    wrong = {
        "a.jsonl": '{"image": "x.jpg", "caption": "a dog"}\nno json\n',
        "a.csv": "image,caption\nx.jpg,a dog\nx.jpg\n",
        "a.token.txt": "1.jpg#0\ta dog\nno caption\n",
    }
    for name, text in wrong.items():
        (tmp_path / name).write_text(text)
        each = guess_reader(tmp_path / name).checked_samples()
        assert next(each).caption == "a dog"
        with pytest.raises(ZooError, match=name):
            next(each)
