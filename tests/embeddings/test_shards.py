"""Memory-mapped embeddings: what comes back, in any order, and what is not read."""

import builtins
import errno
import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.batch import Encoded, TokenKey
from zoo.datamodules.features import convert_precision
from zoo.embeddings.shards import MappedShards
from zoo.errors import ZooError
from zoo.support import files

KEY = TokenKey(layer=-2, norm=False, project=False)


def items(n: int, seed: int = 0, longest: int = 5) -> tuple[list[str], Encoded, torch.Tensor]:
    """n items of which item i has 1 + i % longest tokens, the rest padding."""
    made = torch.Generator().manual_seed(seed)
    mask = torch.arange(longest) < 1 + torch.arange(n)[:, None] % longest
    tokens = torch.randn(n, longest, 3, generator=made)
    names = [f"item {seed} {i}" for i in range(n)]
    return (
        names,
        Encoded(torch.randn(n, 4, generator=made), {KEY: tokens}, {KEY: mask}),
        torch.arange(n) + 100 * seed,
    )


def write_items(
    folder: Path, *parts: tuple[list[str], Encoded, torch.Tensor], precision: Any = "fp32"
) -> MappedShards:
    shards = MappedShards(folder, frozenset({KEY}))
    for names, encoded, hashes in parts:
        shards.write_file(names, convert_precision(encoded, precision), hashes, encoded.masks)
    shards.remap()
    return shards


def folder_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def test_rows_of_several_files_come_back_as_they_were_in_any_order(tmp_path: Path) -> None:
    parts = [items(7, seed) for seed in range(3)]
    shards = write_items(tmp_path, *parts)
    asked = [(2, 4), (0, 0), (1, 6), (2, 4), (0, 2)]
    found, hashes = shards.read_rows([shards.row(f"item {seed} {i}") for seed, i in asked])
    longest = max(1 + i % 5 for _, i in asked)
    assert found.tokens[KEY].shape == (5, longest, 3)
    for row, (seed, i) in enumerate(asked):
        _, expected, numbers = parts[seed]
        length = 1 + i % 5
        assert torch.equal(found.pooled[row], expected.pooled[i])
        assert torch.equal(found.tokens[KEY][row, :length], expected.tokens[KEY][i, :length])
        assert not found.tokens[KEY][row, length:].any()
        assert found.masks[KEY][row].tolist() == [n < length for n in range(longest)]
        assert hashes[row] == numbers[i]


def test_no_rows_have_a_place_for_a_token(tmp_path: Path) -> None:
    found, hashes = write_items(tmp_path, items(2)).read_rows([])
    assert found.pooled.shape == (0, 4)
    assert found.tokens[KEY].shape == (0, 1, 3)
    assert hashes.shape == (0,)


def test_fp16_halves_the_file_and_is_read_as_fp32(tmp_path: Path) -> None:
    whole, half = (
        write_items(tmp_path / p, items(500, longest=40), precision=p) for p in ("fp32", "fp16")
    )
    assert 0.5 <= folder_bytes(half.folder) / folder_bytes(whole.folder) < 0.6
    found, expected = (s.read_rows(range(500))[0] for s in (half, whole))
    assert found.pooled.dtype is torch.float32
    torch.testing.assert_close(found.pooled, expected.pooled, rtol=1e-3, atol=1e-6)


def test_numbers_over_the_range_of_fp16_are_refused(tmp_path: Path) -> None:
    names, encoded, hashes = items(2)
    with pytest.raises(ZooError, match="out of the range of fp16"):
        write_items(
            tmp_path,
            (names, encoded.map(lambda t: t * 1e6 if t.is_floating_point() else t), hashes),
            precision="fp16",
        )
    assert not list(tmp_path.iterdir())


def test_a_worker_is_sent_no_features(tmp_path: Path) -> None:
    shards = write_items(tmp_path, items(2000))
    sent = pickle.dumps(shards)
    assert len(sent) < 1000
    assert torch.equal(
        pickle.loads(sent).read_rows([1500])[0].pooled, shards.read_rows([1500])[0].pooled
    )


def test_files_are_mapped_and_not_read(tmp_path: Path) -> None:
    def own_memory() -> int:
        fields = Path("/proc/self/smaps_rollup").read_text().split()
        return int(fields[fields.index("Anonymous:") + 1])

    MappedShards(tmp_path, frozenset()).write_file(
        ["wide"], Encoded(torch.zeros(1, 1 << 24)), torch.zeros(1, dtype=torch.long), {}
    )
    before = own_memory()
    shards = MappedShards(tmp_path, frozenset())
    assert own_memory() - before < 1 << 14
    assert "wide" in shards
    assert folder_bytes(tmp_path) > 1 << 26


class Full:
    """A file on a disk with room for so many bytes."""

    def __init__(self, file: Any, room: int) -> None:
        self.file, self.room = file, room

    def __enter__(self) -> "Full":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> None:
        self.file.write(data[: self.room])
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def open_full(room: int, path: Path, mode: str) -> Full:
    return Full(builtins.open(path, mode), room)


@pytest.mark.parametrize("room", [0, 1, 100, 1000])
def test_a_write_that_fails_at_any_byte_leaves_nothing_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    shards = write_items(tmp_path, items(20, 0))
    monkeypatch.setattr(files, "open", partial(open_full, room), raising=False)
    with pytest.raises(
        ZooError,
        match=(
            r"could not be written \(No space left on device\): "
            r"free disk space and run the same command again"
        ),
    ):
        write_items(tmp_path, items(20, 1))
    assert len(list(tmp_path.iterdir())) == 1
    shards.remap()
    assert "item 0 3" in shards
    assert "item 1 3" not in shards


def test_a_file_that_a_kill_left_beside_is_not_read(tmp_path: Path) -> None:
    shards = write_items(tmp_path, items(3))
    (whole,) = tmp_path.iterdir()
    (tmp_path / f".{whole.name}.123.part").write_bytes(whole.read_bytes()[:50])
    shards.remap()
    assert len(shards.read_rows([0, 1, 2])[0]) == 3


@pytest.mark.parametrize("size", [0, 4, 60, -1])
def test_a_damaged_file_is_named(tmp_path: Path, size: int) -> None:
    write_items(tmp_path, items(3))
    (whole,) = tmp_path.iterdir()
    whole.write_bytes(whole.read_bytes()[:size])
    with pytest.raises(
        ZooError, match=rf"{whole.name} is not a complete file of features .*: delete it"
    ):
        MappedShards(tmp_path, frozenset({KEY}))


def test_a_file_without_the_tokens_asked_for_is_named(tmp_path: Path) -> None:
    write_items(tmp_path, items(3))
    with pytest.raises(ZooError, match="is not a complete file of features"):
        MappedShards(tmp_path, frozenset({KEY, TokenKey()}))
