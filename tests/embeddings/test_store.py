"""The embedding store: what comes back, what is deleted, damage, two writers, a kill."""

import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from zoo.batch import Encoded, TokenKey
from zoo.embeddings import store
from zoo.embeddings.shards import CachedShards
from zoo.embeddings.store import EmbeddingStore
from zoo.errors import ZooError
from zoo.evaluation import EmbeddingCache

KEY = TokenKey()


def vectors(n: int, start: int = 0, width: int = 512) -> dict[str, torch.Tensor]:
    numbers = torch.randn(n, width, generator=torch.Generator().manual_seed(start))
    return {f"{start + i:032}": vector for i, vector in enumerate(numbers)}


def open_shards(folder: Path, limit: int = 1 << 30) -> CachedShards:
    return CachedShards(EmbeddingStore(folder / "stored", limit), "model")


def put(cached: CachedShards, items: dict[str, torch.Tensor]) -> None:
    cached.write(list(items), Encoded(torch.stack(list(items.values()))))


def get(cached: CachedShards, names: object) -> dict[str, torch.Tensor]:
    found, items = cached.read_found_items(names)  # type: ignore[arg-type]
    return {} if items is None else dict(zip(found, items.pooled, strict=True))


def assert_same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "stored" / "model").glob("*.safetensors"))


def test_vectors_come_back_bit_by_bit_and_unknown_names_do_not(tmp_path: Path) -> None:
    cached, items = open_shards(tmp_path), vectors(1200)
    assert get(cached, items) == {}
    assert not list(tmp_path.iterdir()), "reading creates nothing"
    put(cached, items)
    for reader in (cached, open_shards(tmp_path)):
        assert_same(get(reader, [*items, "another"]), items)
        assert "another" not in reader
        assert all(name in reader for name in items)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_tokens_come_back_in_their_precision_without_padding(
    tmp_path: Path, dtype: torch.dtype
) -> None:
    tokens, mask = torch.randn(3, 5, 4).to(dtype), torch.rand(3, 5) < 0.5
    items = Encoded(torch.randn(3, 2).to(dtype), {KEY: tokens}, {KEY: mask})
    cached = CachedShards(EmbeddingStore(tmp_path, 1 << 20), "model", [KEY])
    cached.write(["a", "b", "c"], items, [2, 4, 1])
    for reader in (cached, CachedShards(cached.store, "model", [KEY])):
        names, found = reader.read_found_items(["b", "a"])
        assert found is not None
        assert names == ["b", "a"]
        assert torch.equal(found.pooled, items.pooled[[1, 0]])
        assert found.tokens[KEY].dtype is dtype
        assert torch.equal(found.tokens[KEY][0], tokens[1, :4])
        assert torch.equal(found.masks[KEY][0], mask[1, :4])
        assert torch.equal(found.tokens[KEY][1, :2], tokens[0, :2])
        assert not found.tokens[KEY][1, 2:].any()
        assert not found.masks[KEY][1, 2:].any()


def test_a_vector_that_is_put_again_replaces_the_first(tmp_path: Path) -> None:
    cached, first, second = open_shards(tmp_path), vectors(1), vectors(1, 7)
    put(cached, {"a": first[f"{0:032}"]})
    put(cached, {"a": second[f"{7:032}"]})
    for reader in (cached, open_shards(tmp_path)):
        assert_same(get(reader, ["a"]), {"a": second[f"{7:032}"]})


def test_the_least_recently_used_files_are_deleted_first_and_the_size_stays_bounded(
    tmp_path: Path,
) -> None:
    limit = 2 << 20
    cached, first, second = open_shards(tmp_path, limit), vectors(300), vectors(300, 1000)
    put(cached, first)
    put(cached, second)

    def grow_older() -> None:
        for file in files(tmp_path):
            stat = file.stat()
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns - 3601 * 10**9))

    grow_older()
    assert_same(get(cached, first), first)  # there is space for both, and this is a use
    for start in range(2000, 7000, 100):
        new = vectors(100, start)
        put(cached, new)
        grow_older()
        get(cached, first)
        assert_same(get(cached, new), new)
        assert cached.store.size <= limit
    assert_same(get(open_shards(tmp_path), first), first)
    assert get(cached, second) == {}


@pytest.mark.parametrize("size", [5000, 20_000, 33_000, 100_000])
def test_the_size_stays_bounded_if_items_are_large_and_many_come_at_once(
    tmp_path: Path, size: int
) -> None:
    limit = 1 << 20
    cached = open_shards(tmp_path, limit)
    for start in range(0, 100, 20):
        items = vectors(20, start, size // 4)
        put(cached, {"too large for this store": torch.zeros(limit // 8)})
        put(cached, items)
        assert cached.store.size <= limit
        found = get(cached, [*items, "too large for this store"])
        assert 0 < len(found) <= 20
        assert_same(found, {name: items[name] for name in found})
    assert "too large for this store" not in cached


def test_a_limit_that_was_lowered_shrinks_the_store(tmp_path: Path) -> None:
    for start in range(0, 2000, 200):
        put(open_shards(tmp_path), vectors(200, start))
    smaller = open_shards(tmp_path, 1 << 20)
    put(smaller, vectors(10, 5000))
    assert smaller.store.size <= 1 << 20
    assert_same(get(smaller, vectors(10, 5000)), vectors(10, 5000))


@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.7, 0.98])
def test_a_truncated_file_is_reported_and_deleted_and_others_are_read(
    tmp_path: Path, share: float, caplog: pytest.LogCaptureFixture
) -> None:
    cached, first, second = open_shards(tmp_path), vectors(500), vectors(500, 1000)
    put(cached, first)
    put(cached, second)
    file = files(tmp_path)[0]
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * share)])
    for reader in (cached, open_shards(tmp_path)):
        assert_same(get(reader, [*first, *second]), second)
    assert caplog.text.count(f"{file} was damaged") == 1
    assert "has been deleted" in caplog.text
    put(cached, first)
    assert_same(get(open_shards(tmp_path), [*first, *second]), first | second)


@pytest.mark.parametrize("lost", [1, 3000, 30_000])
def test_of_files_that_lost_their_end_nothing_wrong_comes_back_and_it_is_reported(
    tmp_path: Path, lost: int, caplog: pytest.LogCaptureFixture
) -> None:
    cached, items = open_shards(tmp_path), vectors(1000)
    names = list(items)
    for start in range(0, 1000, 100):
        put(cached, {name: items[name] for name in names[start : start + 100]})
    file = files(tmp_path)[4]
    file.write_bytes(file.read_bytes()[:-lost])
    found = get(open_shards(tmp_path), items)
    assert_same(found, {name: items[name] for name in [*names[:400], *names[500:]]})
    assert "was damaged" in caplog.text
    put(cached, {name: items[name] for name in names[400:500]})
    assert_same(get(cached, items), items)


def test_a_file_of_something_else_is_reported_and_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "stored" / "model" / "other.safetensors"
    file.parent.mkdir(parents=True)
    file.write_text("not embeddings, and longer than a header of one hundred bytes" * 9)
    store = EmbeddingStore(tmp_path / "stored", 1 << 20)
    with pytest.raises(ZooError, match=r"other.safetensors was damaged .*--empty_cache"):
        store.summarize()
    put(open_shards(tmp_path), vectors(1))
    assert "other.safetensors was damaged" in caplog.text
    assert store.summarize().entries == 1


def test_a_damaged_vector_is_missing_and_is_put_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cached, items = open_shards(tmp_path), vectors(100)
    put(cached, items)
    name, vector = next(iter(items.items()))
    (file,) = files(tmp_path)
    content = file.read_bytes()
    at = content.index(vector.numpy().tobytes()) + 7
    file.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
    with caplog.at_level(logging.WARNING):
        assert items.keys() - get(open_shards(tmp_path), items).keys() == {name}
    assert "1 damaged items" in caplog.text
    put(cached, {name: vector})
    assert_same(get(open_shards(tmp_path), items), items)


def test_concurrent_writers_store_what_all_of_them_put(tmp_path: Path) -> None:
    parts = [vectors(20, 100 * n) for n in range(24)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda part: put(open_shards(tmp_path), part), parts))
    cached = open_shards(tmp_path)
    assert cached.store.summarize().entries == 480
    for part in parts:
        assert_same(get(cached, part), part)


def test_a_writer_that_is_killed_leaves_nothing_half_written(tmp_path: Path) -> None:
    cached, before, half = open_shards(tmp_path), vectors(50), vectors(500, 100)
    put(cached, before)
    put(open_shards(tmp_path / "elsewhere"), half)
    (elsewhere,) = files(tmp_path / "elsewhere")
    child = os.fork()
    if child == 0:

        def write_half(file: Path, content: bytes, clean_up: bool) -> None:
            part = file.with_name(f".{file.name}.{os.getpid()}.part")
            part.write_bytes(content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

        store.write_bytes = write_half
        try:
            cached.store.add(cached.folder / elsewhere.name, elsewhere.read_bytes())
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert len(list((tmp_path / "stored" / "model").iterdir())) == 2
    cached = open_shards(tmp_path)
    assert_same(get(cached, [*before, *half]), before)
    assert len(list((tmp_path / "stored" / "model").iterdir())) == 1, "what it left is removed"
    put(cached, half)
    assert cached.store.summarize().entries == 550


def test_a_folder_that_is_only_read_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = vectors(10)
    put(open_shards(tmp_path), items)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "utime", refuse)
    monkeypatch.setattr(store, "FRESH", -1)
    assert_same(get(open_shards(tmp_path), items), items)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(ZooError, match=r"stored could not be written .*change its permissions"):
        open_shards(tmp_path).store.delete_all_files()


def test_items_that_another_process_deleted_are_missing(tmp_path: Path) -> None:
    cached, items = open_shards(tmp_path), vectors(10)
    put(cached, items)
    EmbeddingStore(tmp_path / "stored", 1).delete_all_files()
    assert get(cached, items) == {}
    assert not any(name in cached for name in items)


def test_a_folder_that_cannot_be_used_is_named_with_advice(tmp_path: Path) -> None:
    (tmp_path / "stored").mkdir()
    (tmp_path / "stored" / "model").write_text("a file")
    with pytest.raises(ZooError, match=r"stored/model.* could not be written .*another path"):
        put(open_shards(tmp_path), vectors(1))
    (tmp_path / "file").write_text("a file")
    cached = CachedShards(EmbeddingStore(tmp_path / "file" / "stored", 1 << 20), "model")
    with pytest.raises(ZooError, match=r"stored.lock could not be written .*--cache"):
        put(cached, vectors(1))


def test_it_can_be_emptied_and_other_files_stay(tmp_path: Path) -> None:
    cached = open_shards(tmp_path)
    cached.store.delete_all_files()
    put(cached, vectors(1000))
    other = tmp_path / "stored" / "notes.txt"
    other.write_text("mine")
    assert cached.store.summarize().entries == 1000
    cached.store.delete_all_files()
    assert (cached.store.summarize().entries, cached.store.size) == (0, 0)
    assert [path.name for path in (tmp_path / "stored").iterdir()] == ["notes.txt"]


def test_the_folder_is_named_by_argument_then_environment_then_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("ZOO_EMBEDDINGS")
    assert EmbeddingCache().resolved_folder == tmp_path / "zoo" / "embeddings"
    monkeypatch.setenv("ZOO_EMBEDDINGS", str(tmp_path / "mine"))
    assert EmbeddingCache().resolved_folder == tmp_path / "mine"
    monkeypatch.setenv("ZOO_EMBEDDINGS", "off")
    assert EmbeddingCache().store is None
    assert EmbeddingCache(str(tmp_path)).resolved_folder == tmp_path
    with pytest.raises(ZooError, match="limit_gib"):
        EmbeddingCache(limit_gib=0)
