"""The store of vectors: what comes back, what is dropped, damage, two writers, a kill."""

import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from zoo.errors import ZooError
from zoo.evaluation import vector_store as stores
from zoo.evaluation.vector_store import DamagedStoreError, EmbeddingCache, VectorStore

Vectors = dict[bytes, bytes]


def vectors(n: int, start: int = 0, width: int = 512) -> Vectors:
    generator = np.random.default_rng(start)
    drawn = generator.normal(size=(n, width)).astype(np.float32)
    return {f"{start + i:032}".encode(): vector.tobytes() for i, vector in enumerate(drawn)}


def store(folder: Path, limit: int = 1 << 30) -> VectorStore:
    return VectorStore(folder / "kept", limit)


def test_vectors_come_back_bit_by_bit_and_unknown_keys_do_not(tmp_path: Path) -> None:
    kept, put = store(tmp_path), vectors(1200)
    assert kept.get(put) == {}
    assert not kept.file.exists(), "nothing is made where nothing is kept"
    kept.put(put)
    assert kept.get([*put, b"another"]) == put
    assert kept.has([*put, b"another"]) == put.keys()


def test_a_vector_that_is_put_again_takes_the_place_of_the_first(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.put({b"a": b"first"})
    kept.put({b"a": b"second"})
    assert kept.get([b"a"]) == {b"a": b"second"}
    assert kept.summarize().entries == 1


def test_what_was_not_used_for_longest_goes_first_and_the_file_stays_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours = iter(range(10_000))
    monkeypatch.setattr(stores.time, "time", lambda: 3601.0 * next(hours))
    kept, limit = store(tmp_path, 2 << 20), 2 << 20
    first, second = vectors(300), vectors(300, 1000)
    kept.put(first)
    kept.put(second)
    assert kept.get(first).keys() == first.keys(), "there is room for both, and this is a use"
    for start in range(2000, 7000, 100):
        new = vectors(100, start)
        kept.put(new)
        kept.get(first)
        assert kept.get(new).keys() == new.keys()
        assert kept.file.stat().st_size <= limit + (1 << 18)
    assert kept.get(first).keys() == first.keys()
    assert kept.get(second) == {}


@pytest.mark.parametrize("size", [5000, 20_000, 33_000, 100_000])
def test_the_file_stays_bounded_where_entries_are_large_and_many_come_at_once(
    tmp_path: Path, size: int
) -> None:
    limit = 1 << 20
    kept = store(tmp_path, limit)
    for start in range(0, 100, 20):
        put = {bytes([i]): bytes([i]) * size for i in range(start, start + 20)}
        kept.put({**put, b"too large for this store": bytes(limit // 2)})
        assert kept.file.stat().st_size <= limit
        found = kept.get([*put, b"too large for this store"])
        assert 0 < len(found) <= 20
        assert found.items() <= put.items()


def test_a_limit_that_was_lowered_shrinks_the_file(tmp_path: Path) -> None:
    store(tmp_path).put(vectors(2000))
    less = store(tmp_path, 1 << 20)
    less.put(vectors(10, 5000))
    assert less.file.stat().st_size <= 1 << 20
    assert less.get(vectors(10, 5000)).keys() == vectors(10, 5000).keys()


@pytest.mark.parametrize("share", [0.001, 0.3, 0.7, 0.98])
def test_a_truncated_file_is_named_and_begun_anew(tmp_path: Path, share: float) -> None:
    kept, put = store(tmp_path), vectors(1000)
    kept.put(put)
    content = kept.file.read_bytes()
    kept.file.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(
        DamagedStoreError, match=r"embeddings.sqlite was damaged .* has been deleted"
    ):
        kept.get(put)
    kept.put(put)
    assert kept.get(put).keys() == put.keys()


@pytest.mark.parametrize("lost", [1, 3000, 30_000])
def test_of_a_file_that_lost_its_end_nothing_wrong_comes_back_and_it_is_said(
    tmp_path: Path, lost: int, caplog: pytest.LogCaptureFixture
) -> None:
    kept, put = store(tmp_path), vectors(1000)
    kept.put(put)
    kept.file.write_bytes(kept.file.read_bytes()[:-lost])
    found = kept.get(put)
    assert 0 < len(found) < 1000
    assert all(vector == put[key] for key, vector in found.items())
    assert f"{1000 - len(found)} damaged vectors" in caplog.text
    kept.put(put)
    assert kept.get(put).keys() == put.keys()


def test_a_file_of_something_else_is_named_and_begun_anew(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.file.parent.mkdir()
    kept.file.write_text("not a database, and longer than a header of one hundred bytes" * 9)
    with pytest.raises(DamagedStoreError, match="not a database"):
        kept.put(vectors(1))
    kept.put(vectors(1))
    assert kept.summarize().entries == 1


def test_a_damaged_vector_is_none_and_is_put_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept, put = store(tmp_path), vectors(100)
    kept.put(put)
    key, hit = next(iter(put.items()))
    content = kept.file.read_bytes()
    at = content.index(hit) + 7
    kept.file.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
    with caplog.at_level(logging.WARNING):
        assert put.keys() - kept.get(put).keys() == {key}
    assert "1 damaged vectors" in caplog.text
    kept.put({key: hit})
    assert kept.get([key]) == {key: hit}


def test_writers_at_once_keep_what_all_of_them_put(tmp_path: Path) -> None:
    parts = [vectors(20, 100 * n) for n in range(24)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda part: store(tmp_path).put(part), parts))
    kept = store(tmp_path)
    assert kept.summarize().entries == 480
    assert all(kept.get(part).keys() == part.keys() for part in parts)


def test_a_writer_that_is_killed_leaves_nothing_half_written(tmp_path: Path) -> None:
    kept, before, half = store(tmp_path), vectors(50), vectors(5000, 100)
    kept.put(before)
    child = os.fork()
    if child == 0:
        real, left = stores._checksum, iter(range(4000))

        def dying(key: bytes, content: bytes) -> int:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(key, content)

        stores._checksum = dying
        kept.put(half)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert kept.get([*before, *half]).keys() == before.keys()
    kept.put(half)
    assert kept.summarize().entries == 5050


def test_a_folder_that_cannot_be_used_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(ZooError, match=r"kept/embeddings.sqlite cannot be used .*--cache"):
        store(tmp_path).put(vectors(1))


def test_it_can_be_emptied(tmp_path: Path) -> None:
    kept = store(tmp_path)
    kept.empty()
    kept.put(vectors(1000))
    full = kept.summarize()
    kept.empty()
    assert (full.entries, kept.summarize().entries) == (1000, 0)
    assert kept.summarize().bytes < full.bytes / 4


def test_the_folder_is_named_by_argument_then_environment_then_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ZOO_EMBEDDINGS")
    assert EmbeddingCache().place == tmp_path / "zoo" / "embeddings"
    monkeypatch.setenv("ZOO_EMBEDDINGS", str(tmp_path / "mine"))
    assert EmbeddingCache().place == tmp_path / "mine"
    monkeypatch.setenv("ZOO_EMBEDDINGS", "off")
    assert EmbeddingCache().store is None
    assert EmbeddingCache(str(tmp_path)).place == tmp_path
    with pytest.raises(ZooError, match="limit_gib"):
        EmbeddingCache(limit_gib=0)
