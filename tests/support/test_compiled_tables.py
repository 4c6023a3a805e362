"""Compiled tables: made once, whole or absent, mapped by all, and bounded."""

import errno
import fcntl
import importlib
import json
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

import pyarrow as pa
import pytest

from zoo.errors import ZooError
from zoo.support import compiled_tables as module
from zoo.support.caches import exclusive_lock
from zoo.support.compiled_tables import (
    FOLDER_VARIABLE,
    LIMIT_VARIABLE,
    MANIFEST,
    CompiledTables,
    Notes,
    Writer,
    build_in_memory,
    delete_tables_not_in_use,
    hash_modules_around,
    load_or_build_tables,
    measure_cache,
)

SCHEMA = pa.schema([("n", pa.int64())])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of tables of a test."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "tables"))
    return tmp_path / "tables"


def numbers(n: int = 3) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"n": list(range(n))}, SCHEMA)


def make(writer: Writer) -> Notes:
    writer.write("numbers", SCHEMA, numbers())
    return {"of": "three"}


def never(writer: Writer) -> Notes:
    raise AssertionError("made again")


def of(tables: CompiledTables) -> list[int]:
    found: list[int] = tables["numbers"].column("n").to_pylist()
    return found


def test_what_was_made_is_found_by_what_it_was_made_of(folder: Path) -> None:
    made = load_or_build_tables("some", {"file": "a"}, make)
    again = load_or_build_tables("some", {"file": "a"}, never)
    assert of(made) == of(again) == [0, 1, 2]
    assert again.notes == {"of": "three"}
    with pytest.raises(AssertionError, match="made again"):
        load_or_build_tables("some", {"file": "b"}, never)
    assert measure_cache().sets == 1


def test_tables_in_memory_and_in_a_folder_are_the_same_and_travel() -> None:
    for tables in (build_in_memory(make), load_or_build_tables("some", {}, make)):
        sent = pickle.loads(pickle.dumps(tables))
        assert (of(sent), sent.notes, list(sent)) == ([0, 1, 2], {"of": "three"}, ["numbers"])


def test_tables_of_another_version_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    load_or_build_tables("some", {}, make)
    monkeypatch.setattr(module, "VERSION", module.VERSION + 1)
    with pytest.raises(AssertionError, match="made again"):
        load_or_build_tables("some", {}, never)


def test_tables_that_no_longer_hold_are_made_again() -> None:
    load_or_build_tables("some", {}, make)
    load_or_build_tables("some", {}, never, is_valid=lambda notes: notes["of"] == "three")
    with pytest.raises(AssertionError, match="made again"):
        load_or_build_tables("some", {}, never, is_valid=lambda notes: False)


def test_tables_that_no_longer_hold_stay_for_those_who_use_them(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_use = load_or_build_tables("some", {}, make)

    def other(writer: Writer) -> Notes:
        writer.write("numbers", SCHEMA, numbers(5))
        return {}

    found = load_or_build_tables("some", {}, other, is_valid=lambda notes: False)
    assert (of(found), found.folder) == ([0, 1, 2, 3, 4], None)
    assert "is outdated, but in use by another process" in caplog.text
    assert of(pickle.loads(pickle.dumps(in_use))) == [0, 1, 2]
    del in_use
    found = load_or_build_tables("some", {}, other, is_valid=lambda notes: False)
    assert of(found) == [0, 1, 2, 3, 4]
    assert found.folder is not None


@pytest.mark.parametrize("damage", ["cut", "gone", "manifest"])
def test_damaged_tables_are_made_again(
    folder: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    there = load_or_build_tables("some", {}, make).folder
    assert there is not None
    if damage == "manifest":
        (there / MANIFEST).write_text("{")
    elif damage == "gone":
        (there / "numbers.arrow").unlink()
    else:
        content = (there / "numbers.arrow").read_bytes()
        (there / "numbers.arrow").write_bytes(content[:-20])
    with caplog.at_level(logging.WARNING):
        assert of(load_or_build_tables("some", {}, make)) == [0, 1, 2]
    assert ("is damaged" in caplog.text) == (damage != "gone")


def test_a_full_disk_is_one_sentence_and_leaves_nothing(folder: Path) -> None:
    def full(writer: Writer) -> Notes:
        def batches() -> Iterator[pa.RecordBatch]:
            yield from numbers()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        writer.write("numbers", SCHEMA, batches())
        return {}

    with pytest.raises(
        ZooError, match=r"No space left on device\): free disk space .*\$ZOO_TABLES"
    ):
        load_or_build_tables("some", {}, full)
    assert [path.suffix for path in folder.iterdir()] == [".lock"]
    assert of(load_or_build_tables("some", {}, make)) == [0, 1, 2]


def test_a_file_system_without_locks_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(handle: object, how: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr("fcntl.flock", flock)
    with pytest.raises(ZooError, match=r"lock cannot be locked .*\$ZOO_TABLES"):
        load_or_build_tables("some", {}, make)


def test_a_folder_that_cannot_be_made_is_one_sentence_that_names_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "file" / "tables"))
    with pytest.raises(
        ZooError, match=r"could not be written .*set \$ZOO_TABLES to another folder$"
    ):
        load_or_build_tables("some", {}, make)


def test_tables_are_dropped_where_a_lock_wants_a_file_that_may_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load_or_build_tables("some", {}, make)
    plain = fcntl.flock

    def as_over_a_network(handle: BufferedReader, how: int) -> None:
        if how & fcntl.LOCK_EX and not handle.writable():
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        plain(handle, how)

    monkeypatch.setattr("fcntl.flock", as_over_a_network)
    delete_tables_not_in_use()
    assert measure_cache().sets == 0


def test_tables_of_other_code_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "maker.py").write_text("def make(writer): raise AssertionError('made')\n")
    (tmp_path / "helper.py").write_text("LIMIT = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("maker")
    before = hash_modules_around(own.make)
    assert hash_modules_around(own.make) == before
    (tmp_path / "helper.py").write_text("LIMIT = 2\n")
    assert hash_modules_around(own.make) != before
    load_or_build_tables("some", {}, make)
    with pytest.raises(AssertionError, match="made"):
        load_or_build_tables("some", {}, own.make)


def _dies(place: str) -> None:
    os.environ[FOLDER_VARIABLE] = place

    def make(writer: Writer) -> Notes:
        def batches() -> Iterator[pa.RecordBatch]:
            yield from numbers()
            os.kill(os.getpid(), signal.SIGKILL)

        writer.write("numbers", SCHEMA, batches())
        return {}

    load_or_build_tables("some", {}, make)


def test_what_a_killed_process_left_is_neither_read_nor_kept(folder: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_dies, args=(str(folder),))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert any(path.suffix == ".part" for path in folder.iterdir())
    assert of(load_or_build_tables("some", {}, make)) == [0, 1, 2]
    assert not any(path.suffix == ".part" for path in folder.iterdir())


def _counts(place: str, barrier: object, made: str) -> None:
    os.environ[FOLDER_VARIABLE] = place
    barrier.wait()  # type: ignore[attr-defined]

    def make(writer: Writer) -> Notes:
        Path(made, str(os.getpid())).touch()
        writer.write("numbers", SCHEMA, numbers(100_000))
        return {}

    assert len(load_or_build_tables("some", {}, make)["numbers"]) == 100_000


def test_of_two_processes_at_once_one_makes_and_the_other_waits(
    folder: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    made.mkdir()
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    both = [
        context.Process(target=_counts, args=(str(folder), barrier, str(made))) for _ in range(2)
    ]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert len(list(made.iterdir())) == 1


def test_a_process_that_waits_for_long_says_what_it_waits_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "zoo")
    monkeypatch.setattr("zoo.support.caches.NOTICE_DELAY", 0.05)
    context = multiprocessing.get_context("fork")
    held, release = context.Event(), context.Event()

    def holds() -> None:
        with exclusive_lock(folder / "some", "$PLACE"):
            held.set()
            release.wait(60)

    other = context.Process(target=holds)
    other.start()
    assert held.wait(60)
    waiting = threading.Timer(1.0, release.set)
    waiting.start()
    with exclusive_lock(folder / "some", "$PLACE"):
        assert release.is_set()
    other.join()
    said = f"process {os.getpid()} is waiting for another process that fills {folder / 'some'}"
    assert caplog.messages == [said]


def test_a_process_that_does_not_wait_says_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "zoo")
    monkeypatch.setattr("zoo.support.caches.NOTICE_DELAY", 0.05)
    with exclusive_lock(folder / "some", "$PLACE"):
        time.sleep(0.2)
    assert caplog.messages == []


def test_tables_not_used_for_longest_go_first_and_those_in_use_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_use = load_or_build_tables("some", {"n": 0}, make)
    for n in (1, 2):
        tables = load_or_build_tables("some", {"n": n}, make)
        assert tables.folder is not None
        os.utime(tables.folder / MANIFEST, (n, n))
        del tables
    size = measure_cache().bytes / 3
    monkeypatch.setenv(LIMIT_VARIABLE, str(2.5 * size / module.GIB))
    load_or_build_tables("some", {"n": 3}, make)
    kept = {
        json.loads(p.read_text())["of"]["n"] for p in module.tables_folder().glob(f"*/{MANIFEST}")
    }
    assert kept == {0, 3}
    delete_tables_not_in_use()
    assert measure_cache().sets == 1  # the one in use
    assert of(in_use) == [0, 1, 2]


@pytest.mark.parametrize("size", ["none", "0", "-3", "nan"])
def test_a_limit_that_is_no_size_is_named(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, size)
    with pytest.raises(ZooError, match=rf"ZOO_TABLES_GIB is '{size}': set it to a number of GiB"):
        module.size_limit_gib()
