"""EmbeddingCache: where encoded images and texts are stored, so that further runs read them."""

import os
from dataclasses import dataclass
from pathlib import Path

from zoo.embeddings.store import GIB, EmbeddingStore
from zoo.support.caches import cache_folder
from zoo.support.ranges import PositiveNumber, RangedType

PLACE = "ZOO_EMBEDDINGS"  # the environment variable with the folder
OFF = "off"


@dataclass(frozen=True)
class EmbeddingCache(metaclass=RangedType):
    """A cache of pooled vectors on disk, so that later runs need not encode the same items again.

    Args:
        folder: Folder of the vectors. None uses the folder in the environment variable
            ZOO_EMBEDDINGS, or else `zoo/embeddings` in the user's cache folder. `off` turns the
            cache off.
        limit_gib: Maximum size in GiB. The least recently used entries are deleted first.
        tokens: Whether the token vectors that a head reads are stored as well. They need about
            fifty times the space of the pooled vectors.
    """

    folder: str | None = None
    limit_gib: PositiveNumber = 4.0
    tokens: bool = False

    @property
    def resolved_folder(self) -> Path | None:
        """The folder of the vectors; None if the cache is off."""
        folder = self.folder or os.environ.get(PLACE)
        if folder == OFF:
            return None
        return Path(folder).expanduser() if folder else cache_folder("embeddings")

    @property
    def store(self) -> EmbeddingStore | None:
        """The stored embeddings of all models; None if the cache is off."""
        folder = self.resolved_folder
        return None if folder is None else EmbeddingStore(folder, int(self.limit_gib * GIB))
