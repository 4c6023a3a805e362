"""Files here and at URLs, read in part: a server that is slow, ends early or answers 503."""

from pathlib import Path

import pytest

from tests.support.shards import picture, served, write_shards
from zoo.errors import ZooError
from zoo.sources import remote_files
from zoo.sources.images import ImageFinder
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.web_dataset import WebDataset
from zoo.sources.remote_files import expand_braces, read_range, size_and_version
from zoo.sources.sample import ImageRef


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(remote_files, "PAUSE", 0.0)


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("a.tar", ["a.tar"]),
        ("{08..11}.tar", ["08.tar", "09.tar", "10.tar", "11.tar"]),
        ("{a,b}/{1..2}", ["a/1", "a/2", "b/1", "b/2"]),
        ("{a}", ["{a}"]),
    ],
)
def test_braces_stand_for_numbers_and_words(pattern: str, meant: list[str]) -> None:
    assert expand_braces(pattern) == meant


def test_shards_at_a_url_are_those_of_the_folder(tmp_path: Path) -> None:
    folder = write_shards(tmp_path / "shards")
    with served(folder) as (url, asked):
        reader = guess_reader(f"{url}/{{00000..00001}}.tar")
        samples = reader.read()
        assert [s.caption for s in samples] == [s.caption for s in guess_reader(folder).read()]
        assert [s.caption_id for s in samples] == [
            s.caption_id for s in guess_reader(folder).read()
        ]
        finder = ImageFinder([])
        assert finder.read_stored_bytes(samples[4].image) == picture(4)
        assert finder.find(samples[4].image) == reader.files[1]
        before = len(asked)
        assert finder.read_stored_bytes(samples[5].image) == picture(5)
        assert asked[before:] == ["GET /00001.tar"]
        WebDataset(f"{url}/00000.tar").read()
        assert not any("GET /00000.tar" in line for line in asked[before:])


@pytest.mark.parametrize(
    ("fault", "told"),
    [("503", "server error 503"), ("cut", "payload is not completed"), ("stalled", "imeout")],
)
def test_a_server_that_fails_is_asked_again_with_its_reason(
    fault: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(remote_files, "TIMEOUT", 0.3)
    (tmp_path / "a.bin").write_bytes(bytes(range(200)))
    with served(tmp_path, {0: fault, 1: fault}) as (url, asked):
        assert read_range(f"{url}/a.bin", 10, 20) == bytes(range(10, 30))
    assert len(asked) == 3
    assert told in caplog.text
    assert "(1 of 5)" in caplog.text
    assert "(2 of 5)" in caplog.text
    assert "(3 of 5)" not in caplog.text


@pytest.mark.parametrize(
    ("fault", "told", "times"),
    [
        ("503", "server error 503 .*, 5 times", 5),
        ("404", "not found", 1),
        ("whole", "the server does not support range requests", 1),
    ],
)
def test_a_server_that_goes_on_failing_is_told_in_a_sentence(
    fault: str, told: str, times: int, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(200)))
    with served(tmp_path, {-1: fault}) as (url, asked):
        with pytest.raises(ZooError, match=rf"a\.bin cannot be read \({told}\): check") as error:
            read_range(f"{url}/a.bin", 10, 20)
        assert len(asked) == times
        assert "\n" not in str(error.value)


def test_a_server_that_is_not_there_and_a_tar_that_is_not_are_named(tmp_path: Path) -> None:
    with served(tmp_path) as (url, _):
        with pytest.raises(ZooError, match=r"none\.tar cannot be read \(not found\)"):
            WebDataset(f"{url}/none.tar").read()
        with pytest.raises(ZooError, match=r"none\.tar cannot be read \(not found\)"):
            ImageFinder([]).load(ImageRef("tar", f"{url}/none.tar#a.jpg"))
    with pytest.raises(ZooError, match=r"cannot be read \(.*onnect.*, 5 times\)"):
        size_and_version(f"{url}/none.tar")


def test_a_scheme_that_nobody_reads_is_named() -> None:
    with pytest.raises(ZooError, match=r"nonsense://a\.tar cannot be read \(.*nonsense"):
        size_and_version("nonsense://a.tar")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"none\.tar cannot be read \(No such file"):
        WebDataset(str(tmp_path / "none.tar")).read()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ZooError, match=r"empty has no \*\.tar: give a folder"):
        WebDataset(str(tmp_path / "empty")).read()
