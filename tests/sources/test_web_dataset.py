"""Captions and images from tars of webdataset and img2dataset."""

import os
import pickle
import re
import shutil
import tarfile
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from tests.support.shards import picture, sample, write_shards, write_tar
from zoo.errors import ZooError
from zoo.sources import tar_index
from zoo.sources.images import BrokenImage, ImageFinder, image_identity
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.web_dataset import WebDataset
from zoo.sources.sample import ImageRef
from zoo.sources.tar_index import Tars, find_or_build_tar_index, read_index
from zoo.sources.tars import read_members


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_caption_of_each_key_comes_in_the_order_of_the_tars(tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "shards")
    samples = WebDataset(str(folder)).read()
    assert [s.caption for s in samples] == [f"a picture {i}" for i in range(6)]
    assert samples[4].caption_id == "00001/000000004"
    assert samples[4].origin == f"{folder}/00001.tar#000000004.jpg"
    finder = ImageFinder([])
    assert [finder.load(s.image).width for s in samples] == [8 + i for i in range(6)]
    assert finder.read_stored_bytes(samples[4].image) == picture(4)
    assert finder.find_missing([s.image for s in samples]) == []


def test_a_folder_a_tar_and_a_pattern_are_read_alike(tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "shards", n=9)
    # img2dataset writes a table beside each tar
    (folder / "00000.parquet").write_bytes(b"")
    of_folder, of_pattern = (
        guess_reader(path).read() for path in (folder, f"{folder}/{{00000..00002}}.tar")
    )
    assert of_folder == of_pattern
    assert guess_reader(folder / "00001.tar").read() == of_folder[3:6]
    assert WebDataset(f"{folder}/0000{{0,2}}.tar").read() == of_folder[:3] + of_folder[6:]


def test_a_field_of_the_json_may_be_the_caption(tmp_path: Path) -> None:
    folder = str(write_shards(tmp_path / "shards"))
    found = WebDataset(folder, caption_field="said").read()
    assert [s.caption for s in found] == [f"number {i}" for i in range(6)]
    for field, told in (
        ("sad", r"has no field 'sad' \(did you mean said\?\)"),
        ("width", "8 in field 'width'"),
    ):
        with pytest.raises(ZooError, match=rf"00000\.tar#000000000\.json has .*{told}|{told}"):
            WebDataset(folder, caption_field=field).read()


def test_a_smaller_draw_is_a_part_of_a_larger_one_and_another_seed_draws_others(
    tmp_path: Path,
) -> None:
    folder = str(write_shards(tmp_path / "shards", n=40, per_shard=10))
    draws = [
        [s.caption for s in WebDataset(folder, draw=n, seed=seed).read()]
        for n, seed in ((10, 0), (20, 0), (10, 1))
    ]
    everything = [s.caption for s in WebDataset(folder).read()]
    assert [len(draw) for draw in draws] == [10, 20, 10]
    assert set(draws[0]) < set(draws[1])
    assert set(draws[0]) != set(draws[2])
    assert all(draw == [c for c in everything if c in draw] for draw in draws)
    with pytest.raises(ZooError, match="has 40 images, but draw is 41: reduce it"):
        WebDataset(folder, draw=41).read()


def test_samples_are_given_as_they_are_read(tmp_path: Path) -> None:
    write_tar(tmp_path / "shards" / "00000.tar", sample(0) + sample(1))
    write_tar(tmp_path / "shards" / "00001.tar", sample(2)[:1])
    each = WebDataset(str(tmp_path / "shards")).checked_samples()
    assert [next(each).caption for _ in range(2)] == ["a picture 0", "a picture 1"]
    with pytest.raises(ZooError, match=r"00001\.tar#000000002 has no caption"):
        next(each)


def test_a_tar_is_gone_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_shards(tmp_path / "shards")
    first = WebDataset(str(folder))
    samples = first.read()
    monkeypatch.setattr("zoo.sources.tar_index.read_members", None)
    again = WebDataset(str(folder))
    assert again.read() == samples
    assert again.files == first.files
    assert Tars().member(str(folder / "00001.tar"), "000000005.jpg") == picture(5)
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_tar(folder / "00001.tar", sample(7))
    assert [s.caption for s in WebDataset(str(folder)).read()][3:] == ["a picture 7"]


def test_an_index_names_every_member_and_where_it_lies(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "a.tar", [("x" * 120 + ".jpg", picture(1)), ("b.txt", b"b")])
    tars = Tars()
    assert tars.member(str(tar), "x" * 120 + ".jpg") == picture(1)
    assert tars.member(str(tar), "b.txt") == b"b"
    assert tars.member(str(tar), "c.txt") is None
    assert pickle.loads(pickle.dumps(tars)).member(str(tar), "b.txt") == b"b"


def test_a_published_image_is_itself_in_a_tar_as_well() -> None:
    assert image_identity(ImageRef("tar", "/a/0.tar#coco/000000391895.jpg")) == "coco:391895"
    assert image_identity(ImageRef("tar", "/a/0.tar#flickr/1007129816.jpg")) == "flickr:1007129816"
    # numbers of img2dataset are no numbers of COCO
    assert image_identity(ImageRef("tar", "/a/0.tar#000000391895.jpg")).startswith("tar:")


SPOILT: dict[str, tuple[Callable[[list[tuple[str, bytes]]], object], str]] = {
    "no caption": (lambda files: files.pop(1), r"#000000000 has no caption \(\.txt\): repair"),
    "no image": (lambda files: files.pop(0), r"#000000000 has no image \(\.jpg, "),
    "two members of one key": (
        lambda files: files.append(("000000000.jpeg", b"")),
        r"has two members 000000000\.jpeg: the files of each sample need a unique key",
    ),
    "a foreign encoding": (
        lambda files: files.__setitem__(1, ("000000000.txt", "café".encode("latin-1"))),
        r"#000000000\.txt is not UTF-8 text \(unexpected end of data at byte 3\)",
    ),
    "an empty caption": (
        lambda files: files.__setitem__(1, ("000000000.txt", b" \n")),
        r"#000000000\.txt has an empty caption",
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_bad_sample_is_named_by_tar_and_key(name: str, tmp_path: Path) -> None:
    spoil, told = SPOILT[name]
    files = sample(0) + sample(1)
    spoil(files)
    write_tar(tmp_path / "shards" / "00000.tar", files)
    with pytest.raises(ZooError, match=rf"shards/00000\.tar.*{told}") as error:
        WebDataset(str(tmp_path / "shards")).read()
    assert "\n" not in str(error.value)


def test_bad_samples_may_be_left_out_and_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = [*sample(0), *sample(1)[:1], *sample(2), *sample(3)[1:]]
    write_tar(tmp_path / "shards" / "00000.tar", files)
    samples = WebDataset(str(tmp_path / "shards"), tolerate_broken=True).read()
    assert [s.caption for s in samples] == ["a picture 0", "a picture 2"]
    told = r"left out 2 samples of .*, the first because .*#000000001 has no"
    assert re.search(told, caplog.text)


@pytest.mark.parametrize(
    ("end", "last"),
    [(-700, "000000002.jpg"), (None, "000000002.jpg"), (600, "000000000.jpg"), (100, "none")],
    ids=["within the last", "after the last", "within the first", "within its header"],
)
def test_a_tar_cut_off_is_named_with_its_last_member(
    end: int | None, last: str, tmp_path: Path
) -> None:
    tar = write_tar(tmp_path / "shards" / "00000.tar", [*sample(0), sample(2)[0]])
    with tarfile.open(tar) as whole:
        member = whole.getmembers()[-1]
    blocks = -(-member.size // tarfile.BLOCKSIZE)
    without_its_end = tar.read_bytes()[: member.offset_data + blocks * tarfile.BLOCKSIZE]
    tar.write_bytes(without_its_end[:end])
    told = rf"00000\.tar is not a complete tar .*Its last readable member is {last}"
    with pytest.raises(ZooError, match=told):
        WebDataset(str(tmp_path / "shards")).read()
    assert not list((tmp_path / "cache").rglob("*.arrow"))


def test_a_tar_of_the_same_size_and_time_has_an_index_of_its_own(tmp_path: Path) -> None:
    tar = tmp_path / "00000.tar"
    for words in ("a red dog", "a big cat"):
        before = tar.stat().st_ctime_ns if tar.exists() else None
        write_tar(tar, [("1.jpg", picture(1)), ("1.txt", words.encode())])
        os.utime(tar, (1e9, 1e9))
        while tar.stat().st_ctime_ns == before:
            os.utime(tar, (1e9, 1e9))
        assert [s.caption for s in WebDataset(str(tar)).read()] == [words]


def test_an_index_of_another_tar_is_refused(tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "shards")
    first, second = folder / "00000.tar", folder / "00001.tar"
    shutil.copy(find_or_build_tar_index(str(first)), f"{second}.arrow")
    # tars are filled up to records of 10,240 bytes, so that these have one size
    (sample_of_second,) = WebDataset(str(second), draw=1).read()
    with pytest.raises(
        ZooError, match=r"00001\.tar#.* is not at the position given in .*\.tar\.arrow, which"
    ):
        ImageFinder([]).load(sample_of_second.image)
    write_tar(second, [file for i in range(30) for file in sample(i)])
    with pytest.raises(ZooError, match=r"00001\.tar\.arrow is the index of a tar of 20,480"):
        WebDataset(str(folder)).read()
    (folder / "00001.tar.arrow").write_bytes(b"ARROW1")
    with pytest.raises(ZooError, match=r"00001\.tar\.arrow is a damaged tar index"):
        WebDataset(str(folder)).read()


def test_an_index_of_another_version_is_made_anew_or_refused_where_it_lies_beside_its_tar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (write_shards(tmp_path / "shards") / f"0000{n}.tar" for n in range(2))
    monkeypatch.setattr("zoo.sources.tar_index.VERSION", b"0")
    before = find_or_build_tar_index(str(first))
    shutil.copy(find_or_build_tar_index(str(second)), f"{second}.arrow")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert find_or_build_tar_index(str(first)) != before
    assert Tars().member(str(first), "000000001.jpg") == picture(1)
    with pytest.raises(ZooError, match=r"00001\.tar\.arrow is not a tar index of this version"):
        WebDataset(str(second)).read()


def _index(tar: str, barrier: Barrier, made: str) -> None:
    def listed(*asked: object) -> object:
        Path(made, str(os.getpid())).touch()
        return read_members(*asked)  # type: ignore[arg-type]

    tar_index.read_members = listed  # type: ignore[assignment]
    barrier.wait()
    assert read_index(find_or_build_tar_index(tar)).num_rows == 9


def test_of_two_processes_at_once_one_lists_a_tar_and_the_other_waits(tmp_path: Path) -> None:
    tar, made = write_shards(tmp_path / "shards") / "00000.tar", tmp_path / "made"
    made.mkdir()
    context = get_context("fork")
    barrier = context.Barrier(2)
    both = [context.Process(target=_index, args=(str(tar), barrier, str(made))) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert len(list(made.iterdir())) == 1


def test_a_tar_that_becomes_another_within_a_run_is_named(tmp_path: Path) -> None:
    tar = write_shards(tmp_path / "shards") / "00000.tar"
    finder = ImageFinder([])
    images = [s.image for s in WebDataset(str(tar)).read()]
    finder.load(images[0])
    write_tar(tar, sample(8) + sample(9))
    with pytest.raises(ZooError, match=r"00000\.tar#000000001\.jpg is not at the position"):
        finder.load(images[1])
    tar.write_bytes(tar.read_bytes()[:1000])
    with pytest.raises(ZooError, match=r"00000\.tar ends within 000000002\.jpg"):
        finder.load(images[2])


def test_an_image_that_is_none_is_named_by_tar_and_member(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "a.tar", [("0.jpg", b"no image"), ("0.txt", b"a dog")])
    (one,) = WebDataset(str(tar)).read()
    with pytest.raises(
        BrokenImage, match=r"a\.tar \(tar:.*a\.tar#0\.jpg\) is damaged or not an image"
    ):
        ImageFinder([]).load(one.image)
