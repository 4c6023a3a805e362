"""Encoded items in files, looked up by name.

A file holds n items of one kind in the format of safetensors: their names in its metadata, `pooled`
[n, D], `hashes` [n], `checksums` [n], and for every token key `tokens` [sum of lengths, W], `mask`
[sum of lengths] and `lengths` [n]. Padding is not stored, and every number is stored in the
precision that it was given in.
"""

import json
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from zoo.batch import Encoded, TokenKey
from zoo.embeddings.store import (
    DAMAGE,
    SHARE,
    SUFFIX,
    EmbeddingStore,
    discard_damaged,
    log,
    record_use,
)
from zoo.errors import ZooError
from zoo.support.files import remove_leftovers, write_bytes

BYTES_PER_NAME = 128  # of a name, its hash and its checksum


@dataclass(frozen=True)
class Shard:
    """One memory-mapped file; bf16 is held as int16, since NumPy has none.

    Attributes:
        names: Names of the items.
        pooled: Pooled vectors, `[n, D]`.
        hashes: Hashes, `[n]`.
        checksums: Checksums of the items, `[n]`.
        tokens: Tokens of all items, by key.
        masks: Which of them are real, by key.
        ends: Ends of the items' tokens, by key. Item r has tokens[ends[r] : ends[r + 1]].
        dtypes: Precision of the tokens by key, and that of pooled vectors as None.
    """

    names: list[str]
    pooled: NDArray[Any]
    hashes: NDArray[np.int64]
    checksums: NDArray[np.int64]
    tokens: dict[TokenKey, NDArray[Any]]
    masks: dict[TokenKey, NDArray[np.bool_]]
    ends: dict[TokenKey, NDArray[np.int64]]
    dtypes: dict[TokenKey | None, torch.dtype]

    @classmethod
    def map_file(cls, file: Path, keys: Sequence[TokenKey]) -> "Shard":
        """Maps a file into memory.

        Args:
            file: The file.
            keys: The tokens of every item, sorted.

        Raises:
            OSError: The file cannot be read.
            SafetensorError: The file is damaged. So are KeyError, TypeError and ValueError.
        """
        with safe_open(file, framework="pt") as content:
            names: list[str] = json.loads(content.metadata()["names"])
            tensors = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118  not a mapping
        return cls.from_file_tensors(names, tensors, keys)

    @classmethod
    def from_file_tensors(
        cls, names: list[str], tensors: Mapping[str, Tensor], keys: Sequence[TokenKey]
    ) -> "Shard":
        """Returns a shard of the tensors of a file, by their names in the file."""
        tokens = {key: tensors[f"tokens{k}"] for k, key in enumerate(keys)}
        lengths = {key: tensors[f"lengths{k}"].numpy() for k, key in enumerate(keys)}
        return cls(
            names,
            _to_numpy(tensors["pooled"]),
            tensors["hashes"].numpy(),
            tensors["checksums"].numpy(),
            {key: _to_numpy(t) for key, t in tokens.items()},
            {key: tensors[f"mask{k}"].numpy() for k, key in enumerate(keys)},
            {key: np.concatenate([[0], counts.cumsum()]) for key, counts in lengths.items()},
            {None: tensors["pooled"].dtype} | {key: t.dtype for key, t in tokens.items()},
        )

    def compute_checksum(self, row: int) -> int:
        """Returns the checksum of an item, computed from its name and numbers."""
        checksum = zlib.crc32(self.pooled[row].data, zlib.crc32(self.names[row].encode()))
        for key, ends in self.ends.items():
            for array in (self.tokens[key], self.masks[key]):
                checksum = zlib.crc32(array[ends[row] : ends[row + 1]].data, checksum)
        return checksum


class MappedShards:
    """The items of a folder, all memory-mapped, for random access by row.

    Args:
        folder: The folder.
        keys: The tokens of every item.
        files: Names of the files to map; None maps all.

    Raises:
        ZooError: A file is damaged.
    """

    def __init__(
        self, folder: Path, keys: frozenset[TokenKey], files: Sequence[str] | None = None
    ) -> None:
        self.folder, self.keys = folder, sorted(keys)
        self._map_files(files)

    def remap(self) -> None:
        """Maps the files that exist now.

        Raises:
            ZooError: A file is damaged.
        """
        self._map_files(None)

    def _map_files(self, files: Sequence[str] | None) -> None:
        existing = sorted(file.name for file in self.folder.glob(f"*{SUFFIX}"))
        self._files = existing if files is None else list(files)
        self._shards = [self._map_file(self.folder / name) for name in self._files]
        names = (name for shard in self._shards for name in shard.names)
        self._rows = {name: row for row, name in enumerate(names)}
        self._starts = np.cumsum([0, *(len(shard.names) for shard in self._shards)])

    def _map_file(self, file: Path) -> Shard:
        try:
            return Shard.map_file(file, self.keys)
        except (OSError, *DAMAGE) as error:
            raise ZooError(
                f"{file} is not a complete file of features ({error}): delete it, and its items "
                "will be encoded again"
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        # a worker maps the same files in the same order instead of receiving a copy
        return MappedShards, (self.folder, frozenset(self.keys), self._files)

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def row(self, name: str) -> int:
        """Returns the row of an item, for `rows`.

        Raises:
            KeyError: No item has that name.
        """
        return self._rows[name]

    def write_file(
        self,
        names: Sequence[str],
        items: Encoded,
        hashes: Tensor,
        stored_masks: Mapping[TokenKey, Tensor],
    ) -> None:
        """Writes a file of items, which the next `remap` maps.

        Args:
            names: Names of the items.
            items: The items.
            hashes: Their hashes, `[n]`.
            stored_masks: Which tokens are stored by key, `[n, L]`.

        Raises:
            ZooError: The file cannot be written.
        """
        name = blake2b(json.dumps(list(names)).encode(), digest_size=16).hexdigest()
        content = _serialize_items(names, items, stored_masks, hashes)
        write_bytes(self.folder / f"{name}{SUFFIX}", content, clean_up=False)

    def read_rows(self, rows: Sequence[int]) -> tuple[Encoded, Tensor]:
        """Returns the items at those rows in fp32, and their hashes `[m]`.

        Token sets are padded to the longest.
        """
        index = np.asarray(rows, dtype=np.int64)
        shards = np.searchsorted(self._starts, index, side="right") - 1
        places = list(zip(shards.tolist(), (index - self._starts[shards]).tolist(), strict=True))
        hashes = torch.tensor([self._shards[s].hashes[row] for s, row in places], dtype=torch.long)
        return _gather_items(self._shards, places, as_fp32=True), hashes


class CachedShards:
    """The items of one kind in a store, from which other processes may delete files.

    A damaged item counts as missing, with a warning.

    Args:
        store: The store.
        group: Name of their subfolder of the store.
        keys: The tokens of every item.

    Raises:
        ZooError: The folder cannot be used.
    """

    def __init__(self, store: EmbeddingStore, group: str, keys: Iterable[TokenKey] = ()) -> None:
        self.store, self.folder, self.keys = store, store.folder / group, sorted(keys)
        self._locations: dict[str, tuple[Path, int]] = {}
        remove_leftovers(self.folder)
        for file in sorted(self.folder.glob(f"*{SUFFIX}")):  # later ones replace earlier ones
            shard = self._map_or_delete_damaged(file)
            if shard is not None:
                self._locations |= {name: (file, row) for row, name in enumerate(shard.names)}

    def __contains__(self, name: str) -> bool:
        return name in self._locations

    def read_found_items(self, names: Iterable[str]) -> tuple[list[str], Encoded | None]:
        """Returns those of some items that exist and are undamaged, in their stored precision.

        Token sets are padded to the longest.

        Returns:
            The names of the items, and the items; None if there are none.

        Raises:
            ZooError: The folder cannot be used.
        """
        rows_by_file: dict[Path, list[int]] = defaultdict(list)
        for name in names:
            if name in self._locations:
                file, row = self._locations[name]
                rows_by_file[file].append(row)
        shards, places, found = list[Shard](), list[tuple[int, int]](), list[str]()
        for file, rows in rows_by_file.items():
            shard = self._map_or_delete_damaged(file)
            if shard is None:
                self._locations = {n: p for n, p in self._locations.items() if p[0] != file}
                continue
            record_use(file)
            damaged = {
                row for row in rows if shard.compute_checksum(row) != int(shard.checksums[row])
            }
            if damaged:
                log.warning(
                    "%s holds %d damaged items, which will be encoded again", file, len(damaged)
                )
            for row in rows:
                if row in damaged:
                    del self._locations[shard.names[row]]
                else:
                    places.append((len(shards), row))
                    found.append(shard.names[row])
            shards.append(shard)
        if not found:
            return [], None
        return found, _gather_items(shards, places)

    def write(
        self, names: Sequence[str], items: Encoded, stored_lengths: Sequence[int] | None = None
    ) -> None:
        """Adds items, which replace those with the same names.

        Items that are larger than a share of the store's limit are left out.

        Args:
            names: Names of the items.
            items: The items, on the CPU.
            stored_lengths: How many tokens of each item are stored; None for all.

        Raises:
            ZooError: The folder cannot be used.
        """
        stored_masks = {}
        for key, mask in items.masks.items():
            longest = torch.arange(mask.shape[1])
            stored_masks[key] = (
                torch.ones_like(mask)
                if stored_lengths is None
                else longest < torch.tensor(stored_lengths)[:, None]
            )
        for rows in _group_fitting_items(
            _estimate_item_sizes(items, stored_masks), self.store.limit // SHARE
        ):
            at = torch.tensor(rows)
            group_names = [names[row] for row in rows]
            content = _serialize_items(
                group_names, items.rows(at), {k: m[at] for k, m in stored_masks.items()}
            )
            file = self.folder / f"{time.time_ns():020}-{zlib.crc32(content):08x}{SUFFIX}"
            self.store.add(file, content)
            self._locations |= {name: (file, row) for row, name in enumerate(group_names)}

    def _map_or_delete_damaged(self, file: Path) -> Shard | None:
        """Maps a file, None if it has been deleted or is damaged."""
        try:
            return Shard.map_file(file, self.keys)
        except FileNotFoundError:
            return None
        except DAMAGE as error:
            discard_damaged(file, error)
            return None
        except OSError as error:
            raise ZooError(
                f"{file} cannot be read ({error.strerror or error}): change its permissions, or "
                f"set {self.store.setting} to another folder"
            ) from error


def _serialize_items(
    names: Sequence[str],
    items: Encoded,
    stored_masks: Mapping[TokenKey, Tensor],
    hashes: Tensor | None = None,
) -> bytes:
    """Returns the content of a file.

    Args:
        names: Names of the items.
        items: The items.
        stored_masks: Which tokens are stored by key, `[n, L]`.
        hashes: Hashes of the items; None for zeros.
    """
    zeros = torch.zeros(len(names), dtype=torch.long)
    tensors = {
        "pooled": items.pooled,
        "hashes": zeros if hashes is None else hashes,
        "checksums": zeros,
    }
    for k, key in enumerate(sorted(stored_masks)):
        mask = stored_masks[key]
        tensors[f"tokens{k}"], tensors[f"mask{k}"] = items.tokens[key][mask], items.masks[key][mask]
        tensors[f"lengths{k}"] = mask.sum(1)
    tensors = {name: t.cpu().contiguous() for name, t in tensors.items()}
    shard = Shard.from_file_tensors(list(names), tensors, sorted(stored_masks))
    tensors["checksums"] = torch.tensor([shard.compute_checksum(row) for row in range(len(names))])
    return save(tensors, {"names": json.dumps(list(names))})


def _gather_items(
    shards: Sequence[Shard], locations: Sequence[tuple[int, int]], as_fp32: bool = False
) -> Encoded:
    """Returns items of several files.

    Args:
        shards: The files, at least one.
        locations: The file of each item and its row in the file.
        as_fp32: Whether numbers are converted to fp32.
    """
    example, n = shards[0], len(locations)

    def array(source: NDArray[Any], *shape: int) -> NDArray[Any]:
        return np.zeros((n, *shape, source.shape[1]), np.float32 if as_fp32 else source.dtype)

    def tensor(key: TokenKey | None, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(values).view(torch.float32 if as_fp32 else example.dtypes[key])

    pooled = array(example.pooled)
    for i, (s, row) in enumerate(locations):
        pooled[i] = shards[s].pooled[row]
    items = Encoded(tensor(None, pooled))
    for key in example.tokens:
        spans = [(shards[s], *shards[s].ends[key][row : row + 2].tolist()) for s, row in locations]
        longest = max((stop - start for _, start, stop in spans), default=1)
        tokens, mask = array(example.tokens[key], longest), np.zeros((n, longest), bool)
        for i, (shard, start, stop) in enumerate(spans):
            tokens[i, : stop - start] = shard.tokens[key][start:stop]
            mask[i, : stop - start] = shard.masks[key][start:stop]
        items.tokens[key], items.masks[key] = tensor(key, tokens), torch.from_numpy(mask)
    return items


def _to_numpy(tensor: Tensor) -> NDArray[Any]:
    """Returns an array of the same memory."""
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _estimate_item_sizes(items: Encoded, stored_masks: Mapping[TokenKey, Tensor]) -> list[int]:
    """Returns about how many bytes each item has in a file."""
    sizes = torch.full((len(items),), BYTES_PER_NAME + items.pooled[0].nbytes)
    for key, mask in stored_masks.items():
        sizes += mask.sum(1) * (items.tokens[key].shape[2] * items.tokens[key].element_size() + 1)
    return [int(size) for size in sizes]


def _group_fitting_items(sizes: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Yields the positions of items in groups of limited size, without items that are too large."""
    group, group_size = list[int](), 0
    for i, size in enumerate(sizes):
        if size > limit:
            continue
        if group_size + size > limit:
            yield group
            group, group_size = [], 0
        group.append(i)
        group_size += size
    if group:
        yield group
