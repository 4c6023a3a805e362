"""Downloads against a server on loopback that fails in the ways servers do."""

import hashlib
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.file_server import serve_files
from zoo.downloads import fetch
from zoo.downloads.fetch import download_files
from zoo.downloads.files import PublishedFile, compute_checksum, mirror_url, part_path
from zoo.sources import remote_files

HOST = "data.example.org"
CONTENT = bytes(range(256)) * 2000


def published(name: str, content: bytes = CONTENT, checked: bool = True) -> PublishedFile:
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}" if checked else ""
    size = len(content) if checked else None
    return PublishedFile(f"https://{HOST}/{name}", f"set/{name}", size, digest)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_files, "PAUSE", 0.01)
    monkeypatch.setattr(remote_files, "TIMEOUT", 0.3)


def leftovers(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*.download"))


def test_files_arrive_in_parallel_under_their_paths_and_no_part_remains(tmp_path: Path) -> None:
    contents = {f"{i}.json": bytes([i]) * 1000 * i for i in range(1, 9)}
    files = [published(name, content) for name, content in contents.items()]
    arrived, finished = [], []
    with serve_files({f"{HOST}/{name}": content for name, content in contents.items()}) as server:
        failures = download_files(files, tmp_path, server.url, 3, arrived.append, finished.append)
    assert failures == []
    assert {p.name: p.read_bytes() for p in (tmp_path / "set").iterdir()} == contents
    assert (sum(arrived), sum(finished)) == (sum(map(len, contents.values())), 8)


@pytest.mark.parametrize("fault", ["503", "429", "500", "cut", "stalled", "drip"])
def test_a_server_that_fails_once_is_asked_again(tmp_path: Path, fault: str) -> None:
    with serve_files({f"{HOST}/a": CONTENT}, {f"{HOST}/a": [fault]}) as server:
        assert download_files([published("a")], tmp_path, server.url) == []
        spans = server.ranges(f"{HOST}/a")
    assert (tmp_path / "set" / "a").read_bytes() == CONTENT
    start = {"cut": len(CONTENT) // 2, "drip": 64 << 10}.get(fault)
    assert spans == ["", f"bytes={start}-" if start else ""]


def test_the_pause_that_a_server_asks_for_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(fetch.time, "sleep", pauses.append)
    faults = ["503 after 7", "503 after 9999", "503"]
    with serve_files({f"{HOST}/a": CONTENT}, {f"{HOST}/a": faults}) as server:
        assert download_files([published("a")], tmp_path, server.url) == []
    assert pauses == [7.0, fetch.LONGEST_PAUSE, 0.04]


def test_tries_start_again_after_progress_but_end_without_it(tmp_path: Path) -> None:
    with serve_files({f"{HOST}/a": CONTENT}, {f"{HOST}/a": ["cut"] * 9 + ["503"] * 5}) as server:
        [failure] = download_files([published("a")], tmp_path, server.url)
        assert len(server.requests) == 9 + 4  # the last cut is the first of five failures
    assert "server error 503 Service Unavailable, 5 times" in str(failure.error)
    assert leftovers(tmp_path) == [".a.download"]


@pytest.mark.parametrize("status", ["404", "403"])
def test_a_missing_file_is_not_asked_for_twice_and_others_still_arrive(
    tmp_path: Path, status: str
) -> None:
    with serve_files({f"{HOST}/b": CONTENT}, {f"{HOST}/a": [status]}) as server:
        [failure] = download_files([published("a"), published("b")], tmp_path, server.url)
        assert len(server.requests) == 2
    reason = "not found" if status == "404" else "server error 403 Forbidden"
    assert str(failure.error) == (
        f"{server.url}/{HOST}/a cannot be downloaded ({reason}): check the address"
    )
    assert [path.name for path in (tmp_path / "set").iterdir()] == ["b"]


def test_the_first_alternative_that_exists_is_taken(tmp_path: Path) -> None:
    first = published("a", checked=False)
    file = PublishedFile(
        first.url, first.path, alternatives=(published("b", checked=False), published("c"))
    )
    with serve_files({f"{HOST}/b": b"second", f"{HOST}/c": CONTENT}) as server:
        assert download_files([file], tmp_path, server.url) == []
    assert [(p.name, p.read_bytes()) for p in (tmp_path / "set").iterdir()] == [("b", b"second")]


def test_a_file_with_another_checksum_never_gets_its_name(tmp_path: Path) -> None:
    with serve_files({f"{HOST}/a": CONTENT}, {f"{HOST}/a": ["other"]}) as server:
        [failure] = download_files([published("a")], tmp_path, server.url)
        assert "is not the published file (expected 512,000 bytes, sha256:" in str(failure.error)
        assert list((tmp_path / "set").iterdir()) == []
        assert download_files([published("a")], tmp_path, server.url) == []


def test_a_web_page_is_not_taken_for_the_file(tmp_path: Path) -> None:
    with serve_files({f"{HOST}/a": CONTENT}, {f"{HOST}/a": ["page"]}) as server:
        [failure] = download_files([published("a", checked=False)], tmp_path, server.url)
        assert len(server.requests) == 1
    assert "/a is answered with a web page instead of the file: open" in str(failure.error)
    assert list((tmp_path / "set").iterdir()) == []


def test_a_server_that_ignores_ranges_is_read_from_the_start(tmp_path: Path) -> None:
    with serve_files({f"{HOST}/a": CONTENT}, {f"{HOST}/a": ["cut", "whole"]}) as server:
        assert download_files([published("a")], tmp_path, server.url) == []
    assert (tmp_path / "set" / "a").read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_is_not_used(tmp_path: Path) -> None:
    part = part_path(tmp_path / "set" / "a")
    part.parent.mkdir()
    for size in (len(CONTENT), None):
        part.write_bytes(CONTENT + b"more")
        file = PublishedFile(f"https://{HOST}/a", "set/a", size, published("a").checksum)
        with serve_files({f"{HOST}/a": CONTENT}) as server:
            assert download_files([file], tmp_path, server.url) == []
        assert (tmp_path / "set" / "a").read_bytes() == CONTENT


def test_a_part_of_a_file_without_checksum_is_not_used(tmp_path: Path) -> None:
    part = part_path(tmp_path / "set" / "a")
    part.parent.mkdir()
    part.write_bytes(b"an older version")
    with serve_files({f"{HOST}/a": CONTENT}) as server:
        assert download_files([published("a", checked=False)], tmp_path, server.url) == []
        assert server.ranges(f"{HOST}/a") == [""]
    assert (tmp_path / "set" / "a").read_bytes() == CONTENT


def test_a_file_that_another_process_downloads_is_left_to_it(tmp_path: Path) -> None:
    import fcntl

    part = part_path(tmp_path / "set" / "a")
    part.parent.mkdir()
    with part.open("ab") as handle, serve_files({f"{HOST}/a": CONTENT}) as server:
        fcntl.flock(handle, fcntl.LOCK_EX)
        [failure] = download_files([published("a")], tmp_path, server.url)
        assert server.requests == []
    assert "is being downloaded by another process" in str(failure.error)


def test_a_killed_download_resumes_where_it_was(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from zoo.downloads.fetch import download_files\n"
        "from zoo.downloads.files import PublishedFile\n"
        f"file = {published('a')!r}\n"
        "download_files([file], Path(sys.argv[1]), sys.argv[2])"
    )
    with serve_files({f"{HOST}/a": CONTENT}, {f"{HOST}/a": ["drip"]}) as server:
        part = part_path(tmp_path / "set" / "a")
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), server.url])
        deadline = time.monotonic() + 60
        while not (part.exists() and part.stat().st_size == 64 << 10):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
        process.wait()
        assert not (tmp_path / "set" / "a").exists()
        assert download_files([published("a")], tmp_path, server.url) == []
        assert server.ranges(f"{HOST}/a") == ["", f"bytes={64 << 10}-"]
    assert (tmp_path / "set" / "a").read_bytes() == CONTENT
    assert leftovers(tmp_path) == []


def test_a_checksum_can_be_the_id_of_a_file_in_git(tmp_path: Path) -> None:
    # `printf 'hello\n' | git hash-object --stdin`
    (tmp_path / "a").write_bytes(b"hello\n")
    assert compute_checksum(tmp_path / "a", "git") == (
        "git:ce013625030ba8dba906f756967f9e9ca394464a"
    )


def test_a_mirror_has_each_file_under_host_and_path() -> None:
    assert mirror_url("https://a.org/b/c.zip", "http://m/x/") == "http://m/x/a.org/b/c.zip"
    assert mirror_url("https://a.org/b/c.zip", "") == "https://a.org/b/c.zip"


def test_a_file_without_checksum_is_given_up_after_five_cut_connections(tmp_path: Path) -> None:
    with serve_files({f"{HOST}/a": CONTENT}, {f"{HOST}/a": ["cut"] * 9}) as server:
        [failure] = download_files([published("a", checked=False)], tmp_path, server.url)
        assert server.ranges(f"{HOST}/a") == [""] * 5
    assert "the connection ended after 256,000 of 512,000 bytes, 5 times" in str(failure.error)


def test_a_server_that_cannot_be_reached_is_not_asked_for_every_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as closed:  # bound, so that nobody else listens there
        closed.bind(("127.0.0.1", 0))
        mirror = f"http://127.0.0.1:{closed.getsockname()[1]}"
        failures = download_files([published(f"{i}") for i in range(20)], tmp_path, mirror, 1)
    assert len(failures) == 20
    assert all("cannot be downloaded" in str(failure.error) for failure in failures)
    assert len(caplog.records) == remote_files.TRIES - 1
    assert leftovers(tmp_path) == []
