"""Stored vectors of a model: reads those of earlier runs and adds new ones.

An image is identified by the content of its file, a text by its token ids, a model by all that its
vectors depend on. So changed images and changed weights are encoded again.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import Digest, computation_of, weights_digest
from zoo.backbones.preparation import Decoder
from zoo.backbones.tokenizer import Tokenize
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.evaluation.batches import FILLING, EvaluationBatch
from zoo.evaluation.model_adapters import TwoTowers
from zoo.evaluation.vector_store import DamagedStoreError, EmbeddingCache, VectorStore
from zoo.evaluation.vectors import Encodings, RankVectors, StoredItems
from zoo.heads.base import Head
from zoo.results.plan import Plan, ScorableCase
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.distributed import gather_objects, rank, world_size

log = logging.getLogger(__name__)

TEXTS_AT_ONCE = 1024

Side = Literal["image", "text"]

T = TypeVar("T")


def stored_vectors(
    cache: EmbeddingCache,
    backbone: Backbone,
    head: Head,
    precision: str,
    decoder: Decoder = "pil",
) -> "StoredVectors | None":
    """Returns the vectors of a model; every rank must call this.

    Args:
        cache: The cache.
        backbone: Encodes what is not stored.
        head: Scores the pairs.
        precision: The trainer's name of the precision in which the backbone runs.
        decoder: The decoder of images.

    Returns:
        The vectors. None if the head reads pieces, or tokens and the cache stores none, the
        environment turns the cache off, or changes of the backbone's code cannot be detected.
    """
    store, needs = cache.store, head.needs
    if store is None or needs.pieces or (needs.tokens and not cache.tokens):
        return None
    weights = weights_digest(backbone)
    computation = computation_of(backbone, precision, decoder, weights)
    if computation is None:
        log.warning(
            "vectors are not cached: %s is not defined in a file, so that changes of its code "
            "cannot be detected",
            type(backbone).__name__,
        )
        return None
    return StoredVectors(store, computation, weights)


def stored_vectors_of_towers(cache: EmbeddingCache, model: TwoTowers) -> "StoredVectors | None":
    """Returns the vectors of a model of another library.

    Args:
        cache: The cache.
        model: Encodes what is not stored.

    Returns:
        The vectors. None if the environment turns the cache off, or changes of the model or of its
        preprocessing cannot be detected, which is logged as a warning.
    """
    if cache.store is None:
        return None
    computation = model.computation()
    if computation is None:
        log.warning(
            "vectors are not cached: changes of the code or the preprocessing of this %s cannot be "
            "detected",
            type(model.model).__name__,
        )
        return None
    return StoredVectors(cache.store, computation)


class StoredVectors:
    """The vectors of one model in a store.

    If the store cannot be read or written, a warning is logged and items are encoded.

    Args:
        store: The store of the vectors of all models.
        computation: All that a vector depends on besides its input.
        weights: The digest of the backbone's weights, None if it is unknown.
    """

    def __init__(
        self, store: VectorStore, computation: dict[str, Any], weights: "Digest | None" = None
    ) -> None:
        self.store, self.weights = store, weights
        description = json.dumps(computation, sort_keys=True, default=str)
        self._model: str = gather_objects(hashlib.sha256(description.encode()).hexdigest())[0]
        self._store_works = True
        self._keys: dict[Side, list[bytes | None]] = {}
        self._finder, self._refs = ImageFinder([]), list[ImageRef]()

    def with_keys(self, plan: Plan, finder: ImageFinder, tokenizer: Tokenize) -> Plan:
        """Computes the keys of a plan's images and texts; every rank calls this.

        Args:
            plan: The plan.
            finder: Finds the images.
            tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.

        Returns:
            The plan, in which images with the same content, and texts with the same token ids,
            share a row.
        """
        self._finder, self._refs = finder, plan.images
        images = _map_over_ranks(len(plan.images), lambda rows: [self._image_key(r) for r in rows])
        texts = _map_over_ranks(
            len(plan.texts), lambda rows: self._text_keys([plan.texts[r] for r in rows], tokenizer)
        )
        self._keys = {"image": images, "text": texts}
        return _remap_rows(plan, _first_rows_of_keys(images), _first_rows_of_keys(texts))

    def look_up(self, questions: Iterable[ScorableCase]) -> StoredItems:
        """Reads the vectors that some questions of the plan need; every rank calls this."""
        images, texts = rows_of(questions)
        vectors = RankVectors()
        self._read("image", images, vectors.images)
        self._read("text", texts, vectors.texts)
        ranks = gather_objects([_rows(vectors.images), _rows(vectors.texts)])
        stored_rows = [
            frozenset(row for rank_rows in ranks for row in rank_rows[side]) for side in (0, 1)
        ]
        self.log_stored("vectors", stored_rows, (images, texts))
        return StoredItems(stored_rows[0], stored_rows[1], vectors)

    def log_stored(self, kind: str, stored: Sequence[Sized], requested: Sequence[Sized]) -> None:
        """Logs how many of the requested images and texts are stored."""
        if rank() == 0 and any(stored):
            log.info(
                "%s of %s images and %s of %s texts were encoded before: reading their %s from %s",
                *(f"{len(rows):,}" for rows in (stored[0], requested[0], stored[1], requested[1])),
                kind,
                self.store.file,
            )

    def add(self, batch: EvaluationBatch, images: Encoded | None, texts: Encoded | None) -> None:
        """Stores the pooled vectors of a batch.

        Args:
            batch: The batch that was encoded.
            images: Its images, None if it has none.
            texts: Its texts, None if it has none.
        """
        contents: dict[bytes, bytes] = {}
        if images is not None:
            contents |= self._bytes_by_key("image", batch.image_rows, images.pooled)
        if texts is not None:
            contents |= self._bytes_by_key("text", batch.text_rows, texts.pooled)
        self.put(contents)

    def key(self, side: Side, row: int) -> bytes | None:
        """Returns the key of a row of the plan, None if its image cannot be read."""
        return self._keys[side][row]

    def new_key(self, side: Side, row: int) -> bytes | None:
        """Returns the key of a row that was just encoded.

        Returns:
            The key. None if the file of an image has changed since its key was computed.
        """
        return self._same_image(row) if side == "image" else self.key(side, row)

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Returns the stored contents of some keys."""
        return self._use_store(lambda: self.store.get(keys)) or {}

    def has(self, keys: Iterable[bytes]) -> set[bytes]:
        """Returns the keys that are stored."""
        return self._use_store(lambda: self.store.has(keys)) or set()

    def put(self, contents: Mapping[bytes, bytes]) -> None:
        """Stores contents by key."""
        if contents:
            self._use_store(lambda: self.store.put(contents))

    def _bytes_by_key(self, side: Side, rows: Tensor, pooled: Tensor) -> dict[bytes, bytes]:
        vectors = pooled.float().cpu().numpy()
        keys = [None if row == FILLING else self.new_key(side, row) for row in rows.tolist()]
        return {k: v.tobytes() for k, v in zip(keys, vectors, strict=True) if k is not None}

    def _same_image(self, row: int) -> bytes | None:
        """Returns the key of an image, None if its file has changed since it was computed."""
        key = self._image_key(row)
        return key if key == self.key("image", row) else None

    def _image_key(self, row: int) -> bytes | None:
        ref = self._refs[row]
        try:
            content = hashlib.sha256(self._finder.content(ref)).hexdigest()
        except (OSError, ZooError):
            return None  # the loader reports the error
        return self._key("image", content, ref.crop, ref.size, str(self._finder.decoding_of(ref)))

    def _text_keys(self, texts: Sequence[str], tokenizer: Tokenize) -> list[bytes | None]:
        keys: list[bytes | None] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            ids, _, _ = tokenizer(texts[start : start + TEXTS_AT_ONCE])
            keys += [self._key("text", row.tobytes().hex()) for row in ids.numpy()]
        return keys

    def _key(self, *parts: Any) -> bytes:
        return hashlib.sha256(json.dumps([self._model, *parts]).encode()).digest()

    def _read(self, side: Side, rows: Sequence[int], into: Encodings) -> None:
        """Reads this rank's share of the vectors of some rows."""
        by_key = {key: row for row in rank_share(rows) if (key := self.key(side, row))}
        contents = self.get(by_key)
        if contents:
            into.rows.append(np.array([by_key[key] for key in contents]))
            into.vectors.append(np.stack([np.frombuffer(v, np.float32) for v in contents.values()]))

    def _use_store(self, use: Callable[[], T]) -> T | None:
        """Runs an operation on the store; after an error the store is not used again."""
        try:
            return use() if self._store_works else None
        except DamagedStoreError as error:
            log.warning("%s", error)
        except ZooError as error:
            log.warning("vectors are not cached: %s", error)
            self._store_works = False
        return None


def rows_of(questions: Iterable[ScorableCase]) -> tuple[list[int], list[int]]:
    """Returns the rows of the images and of the texts of some questions, each once, ascending."""
    all_questions = list(questions)
    images = sorted({row for q in all_questions for row in q.images.tolist()})
    return images, sorted({row for q in all_questions for row in q.all_texts.tolist()})


def rank_share(rows: Sequence[int]) -> Sequence[int]:
    """Returns the rows that this rank looks up."""
    return rows[rank() :: world_size()]


def _rows(encodings: Encodings) -> list[int]:
    return [row for rows in encodings.rows for row in rows.tolist()]


def _map_over_ranks(n: int, make: Callable[[range], list[T]]) -> list[T]:
    """Splits n rows over ranks and returns the results of all ranks in the order of the rows."""
    world = world_size()
    ranks: list[list[T]] = gather_objects(make(range(rank(), n, world)))
    return [ranks[row % world][row // world] for row in range(n)]


def _first_rows_of_keys(keys: Sequence[bytes | None]) -> list[int]:
    """Returns for each row the first row with the same key, or itself if it has no key."""
    first_rows: dict[bytes, int] = {}
    return [row if key is None else first_rows.setdefault(key, row) for row, key in enumerate(keys)]


def _remap_rows(plan: Plan, images: Sequence[int], texts: Sequence[int]) -> Plan:
    """Returns a plan whose questions point to other rows.

    Args:
        plan: The plan.
        images: The new row of each image.
        texts: The new row of each text.
    """
    image_rows, text_rows = np.array(images, np.int64), np.array(texts, np.int64)
    questions = [
        replace(
            q,
            images=image_rows[q.images],
            texts=text_rows[q.texts],
            query_texts=text_rows[q.query_texts],
        )
        for q in plan.cases
    ]
    return replace(plan, cases=questions)
