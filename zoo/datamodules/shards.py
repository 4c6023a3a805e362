"""Encoded items in atomically written files, looked up by name.

Files are memory-mapped for random access. A file holds n items: their names, `pooled` [n, D],
`hashes` [n], and for every token key `tokens` [sum of lengths, W] and `lengths` [n]. Padding is not
stored.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from zoo.batch import Encoded, TokenKey
from zoo.errors import ZooError
from zoo.support.files import write_bytes

Precision = Literal["fp32", "fp16"]
DTYPES = {"fp32": torch.float32, "fp16": torch.float16}


@dataclass(frozen=True)
class _Shard:
    """One memory-mapped file.

    Attributes:
        pooled: Pooled vectors, `[n, D]`.
        hashes: Hashes, `[n]`.
        tokens: Tokens of all items, one array per key.
        ends: Ends of the items' tokens, one array per key. Item r has
            tokens[ends[r] : ends[r + 1]].
    """

    pooled: NDArray[Any]
    hashes: NDArray[np.int64]
    tokens: list[NDArray[Any]]
    ends: list[NDArray[np.int64]]


class Shards:
    """Encoded items of a folder, by name.

    Args:
        folder: The folder.
        keys: The tokens of every item.
        precision: Precision of written items; they are read as fp32.

    Raises:
        ZooError: A file is damaged.
    """

    def __init__(
        self, folder: Path, keys: frozenset[TokenKey], precision: Precision = "fp32"
    ) -> None:
        self.folder, self.keys, self.precision = folder, sorted(keys), precision
        self.open()

    def open(self) -> None:
        """Reads the list of existing items.

        Raises:
            ZooError: A file is damaged.
        """
        self._shards: list[_Shard] = []
        self._names: dict[str, int] = {}
        starts = [0]
        for file in sorted(self.folder.glob("*.safetensors")):
            names, shard = self._map_file(file)
            self._shards.append(shard)
            self._names.update(zip(names, range(starts[-1], starts[-1] + len(names)), strict=True))
            starts.append(starts[-1] + len(names))
        self._starts = np.array(starts)

    def __reduce__(self) -> tuple[Any, ...]:
        # a worker maps the files again instead of receiving a copy
        return Shards, (self.folder, frozenset(self.keys), self.precision)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def row(self, name: str) -> int:
        """Returns the row of an item, for `rows`.

        Raises:
            KeyError: There is no item with that name.
        """
        return self._names[name]

    @property
    def bytes(self) -> int:
        """The size of the folder's files."""
        return sum(file.stat().st_size for file in self.folder.glob("*.safetensors"))

    def write(self, names: Sequence[str], items: Encoded, hashes: Tensor) -> None:
        """Adds a file of items, which the next `open` reads.

        Args:
            names: Names of the items.
            items: The items.
            hashes: Their hashes, `[n]`.

        Raises:
            ZooError: The file cannot be written, or values are out of the range of the precision.
        """
        dtype = DTYPES[self.precision]
        tensors = {"pooled": items.pooled.to(dtype), "hashes": hashes}
        for number, key in enumerate(self.keys):
            mask = items.masks[key]
            tensors[f"tokens{number}"] = items.tokens[key][mask].to(dtype)
            tensors[f"lengths{number}"] = mask.sum(1)
        if not all(t.isfinite().all() for t in tensors.values()):
            raise ZooError(
                f"features for {self.folder} are out of the range of {self.precision}: set "
                "data.features.precision to fp32"
            )
        names_json = json.dumps(list(names))
        content = save(
            {name: t.cpu().contiguous() for name, t in tensors.items()}, {"names": names_json}
        )
        write_bytes(
            self.folder / f"{blake2b(names_json.encode(), digest_size=16).hexdigest()}.safetensors",
            content,
            clean_up=False,
        )

    def rows(self, rows: Sequence[int]) -> tuple[Encoded, Tensor]:
        """Returns the items at those rows in fp32, and their hashes `[m]`.

        Token sets are padded to the longest.
        """
        index = np.asarray(rows, dtype=np.int64)
        shards = np.searchsorted(self._starts, index, side="right") - 1
        places = [
            (self._shards[s], r)
            for s, r in zip(shards.tolist(), (index - self._starts[shards]).tolist(), strict=True)
        ]
        pooled = np.empty((len(places), self._shards[0].pooled.shape[1]), np.float32)
        hashes = np.empty(len(places), np.int64)
        for i, (shard, r) in enumerate(places):
            pooled[i], hashes[i] = shard.pooled[r], shard.hashes[r]
        items = Encoded(torch.from_numpy(pooled))
        for number, key in enumerate(self.keys):
            items.tokens[key], items.masks[key] = self._tokens(places, number)
        return items, torch.from_numpy(hashes)

    def _tokens(self, places: list[tuple[_Shard, int]], key: int) -> tuple[Tensor, Tensor]:
        bounds = [(shard.ends[key][r], shard.ends[key][r + 1]) for shard, r in places]
        longest = max((stop - start for start, stop in bounds), default=1)
        tokens = np.zeros((len(places), longest, self._shards[0].tokens[key].shape[1]), np.float32)
        mask = np.zeros((len(places), longest), bool)
        for i, ((shard, _), (start, stop)) in enumerate(zip(places, bounds, strict=True)):
            tokens[i, : stop - start], mask[i, : stop - start] = shard.tokens[key][start:stop], True
        return torch.from_numpy(tokens), torch.from_numpy(mask)

    def _map_file(self, file: Path) -> tuple[list[str], _Shard]:
        try:
            with safe_open(file, framework="pt") as content:
                names: list[str] = json.loads(content.metadata()["names"])
                arrays = {name: content.get_tensor(name).numpy() for name in content.keys()}  # noqa: SIM118  not a mapping
                numbers = range(len(self.keys))
                ends = [np.concatenate([[0], arrays[f"lengths{n}"].cumsum()]) for n in numbers]
                shard = _Shard(
                    arrays["pooled"],
                    arrays["hashes"],
                    [arrays[f"tokens{n}"] for n in numbers],
                    ends,
                )
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ZooError(
                f"{file} is not a complete file of features ({error}): delete it, and its items "
                "will be encoded again"
            ) from error
        return names, shard
