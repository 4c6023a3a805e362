"""Stored embeddings of a model: reads those of earlier runs and adds new ones.

An image is identified by the content of its file, a text by its token ids, a model by all that its
embeddings depend on. So changed images and changed weights are encoded again. Pooled vectors are
stored in fp32, and the tokens that a head reads, if asked for, in the precision of the tower.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence, Set, Sized
from dataclasses import replace
from typing import Any, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import Digest, computation_dependencies, weights_digest
from zoo.backbones.preparation import Decoder
from zoo.backbones.tokenizer import Tokenize
from zoo.batch import Encoded, TokenKey
from zoo.embeddings.shards import CachedShards
from zoo.embeddings.store import GIB, EmbeddingStore
from zoo.errors import ZooError
from zoo.evaluation.batches import FILLING, EvaluationBatch
from zoo.evaluation.embedding_cache import EmbeddingCache
from zoo.evaluation.model_adapters import TwoTowers
from zoo.evaluation.scoring import bytes_per_image_and_text
from zoo.evaluation.vectors import Encodings, RankVectors, StoredItems
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.results.plan import Plan, ScorableCase
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.distributed import gather_objects, rank, world_size

log = logging.getLogger(__name__)

TEXTS_AT_ONCE = 1024
VECTORS_PER_FILE = 2048

Side = Literal["image", "text"]

T = TypeVar("T")


def open_stored_vectors(
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
    computation = computation_dependencies(backbone, precision, decoder, weights)
    if computation is None:
        log.warning(
            "vectors are not cached: %s is not defined in a file, so that changes of its code "
            "cannot be detected",
            type(backbone).__name__,
        )
        return None
    return StoredVectors(store, computation, weights)


def open_tower_vectors(cache: EmbeddingCache, model: TwoTowers) -> "StoredVectors | None":
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
    computation = model.describe_computation()
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
        self, store: EmbeddingStore, computation: dict[str, Any], weights: "Digest | None" = None
    ) -> None:
        self.store, self.weights = store, weights
        description = json.dumps(computation, sort_keys=True, default=str)
        self._model: str = gather_objects(hashlib.sha256(description.encode()).hexdigest())[0]
        self._store_works = True
        self._keys: dict[Side, list[str | None]] = {}
        self._shards: dict[tuple[Side, tuple[TokenKey, ...]], CachedShards] = {}
        self._pending_vectors: dict[Side, list[tuple[list[str], Tensor]]] = {
            "image": [],
            "text": [],
        }
        self._finder, self._refs = ImageFinder([]), list[ImageRef]()

    def assign_keys(self, plan: Plan, finder: ImageFinder, tokenizer: Tokenize) -> Plan:
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

    def read_vectors(self, questions: Iterable[ScorableCase]) -> StoredItems:
        """Reads the vectors that some questions of the plan need; every rank calls this."""
        images, texts = _rows_of(questions)
        vectors = RankVectors()
        self._read_rank_share("image", images, vectors.images)
        self._read_rank_share("text", texts, vectors.texts)
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
                self.store.folder,
            )

    def add(self, batch: EvaluationBatch, images: Encoded | None, texts: Encoded | None) -> None:
        """Stores the pooled vectors of a batch, at the latest when `flush` is called.

        Args:
            batch: The batch that was encoded.
            images: Its images, None if it has none.
            texts: Its texts, None if it has none.
        """
        if images is not None:
            self._queue_vectors("image", batch.image_rows, images.pooled)
        if texts is not None:
            self._queue_vectors("text", batch.text_rows, texts.pooled)

    def flush(self) -> None:
        """Writes the vectors that wait for others to fill a file."""
        for side, waiting in self._pending_vectors.items():
            if waiting:
                names = [name for part_names, _ in waiting for name in part_names]
                self.put(side, (), names, Encoded(torch.cat([vectors for _, vectors in waiting])))
                waiting.clear()

    def key(self, side: Side, row: int) -> str | None:
        """Returns the key of a row of the plan, None if its image cannot be read."""
        return self._keys[side][row]

    def unchanged_key(self, side: Side, row: int) -> str | None:
        """Returns the key of a row that was just encoded.

        Returns:
            The key. None if the file of an image has changed since its key was computed.
        """
        key = self._image_key(row) if side == "image" else self.key(side, row)
        return key if key == self.key(side, row) else None

    def find_stored_keys(
        self, side: Side, token_keys: Sequence[TokenKey], keys: Iterable[str]
    ) -> set[str]:
        """Returns which keys are stored.

        Args:
            side: Whether they are keys of images or of texts.
            token_keys: The tokens that are stored with them.
            keys: The keys.
        """

        def stored_keys() -> set[str]:
            shards = self._open(side, token_keys)
            return {key for key in keys if key in shards}

        return self._use_store(stored_keys) or set()

    def get(
        self, side: Side, token_keys: Sequence[TokenKey], keys: Iterable[str]
    ) -> tuple[list[str], Encoded | None]:
        """Returns those keys that are stored, and their items; None if there are none."""
        items = self._use_store(lambda: self._open(side, token_keys).read_found_items(keys))
        return items or ([], None)

    def put(
        self,
        side: Side,
        token_keys: Sequence[TokenKey],
        keys: Sequence[str],
        items: Encoded,
        lengths: Sequence[int] | None = None,
    ) -> None:
        """Stores items by key, with the first tokens of each; None for all."""
        if keys:
            self._use_store(lambda: self._open(side, token_keys).write(keys, items, lengths))

    def _open(self, side: Side, token_keys: Sequence[TokenKey]) -> CachedShards:
        """Returns the items of this model with some tokens, opened on first use."""
        kind = side, tuple(token_keys)
        if kind not in self._shards:
            group = hashlib.sha256(f"{self._model} {side} {list(token_keys)}".encode()).hexdigest()[
                :32
            ]
            self._shards[kind] = CachedShards(self.store, group, token_keys)
        return self._shards[kind]

    def _queue_vectors(self, side: Side, rows: Tensor, pooled: Tensor) -> None:
        keys = [None if row == FILLING else self.unchanged_key(side, row) for row in rows.tolist()]
        keyed_rows = [i for i, key in enumerate(keys) if key is not None]
        waiting = self._pending_vectors[side]
        waiting.append(([key for key in keys if key is not None], pooled.float().cpu()[keyed_rows]))
        if sum(len(part_keys) for part_keys, _ in waiting) >= VECTORS_PER_FILE:
            self.flush()

    def _image_key(self, row: int) -> str | None:
        ref = self._refs[row]
        try:
            content = hashlib.sha256(self._finder.read_stored_bytes(ref)).hexdigest()
        except (OSError, ZooError):
            return None  # the loader reports the error
        return self._key("image", content, ref.crop, ref.size, str(self._finder.decoding_of(ref)))

    def _text_keys(self, texts: Sequence[str], tokenizer: Tokenize) -> list[str | None]:
        keys: list[str | None] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            ids, _, _ = tokenizer(texts[start : start + TEXTS_AT_ONCE])
            keys += [self._key("text", row.tobytes().hex()) for row in ids.numpy()]
        return keys

    def _key(self, *parts: Any) -> str:
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _read_rank_share(self, side: Side, rows: Sequence[int], into: Encodings) -> None:
        """Reads this rank's share of the vectors of some rows."""
        row_of_key = {key: row for row in _rank_share(rows) if (key := self.key(side, row))}
        keys, items = self.get(side, (), row_of_key)
        if items is not None:
            into.rows.append(np.array([row_of_key[key] for key in keys]))
            into.vectors.append(items.pooled.numpy())

    def _use_store(self, use: Callable[[], T]) -> T | None:
        """Runs an operation on the store; after an error the store is not used again."""
        try:
            return use() if self._store_works else None
        except ZooError as error:
            log.warning("vectors are not cached: %s", error)
            self._store_works = False
        return None


class StoredTokens:
    """The stored tokens of one model that a head reads, with the items' pooled vectors.

    Args:
        vectors: The stored vectors, with the keys of the plan's items and the store.
        needs: What the head reads.
    """

    def __init__(self, vectors: StoredVectors, needs: Needs) -> None:
        self.vectors = vectors
        self._tokens: dict[Side, list[TokenKey]] = {
            "image": sorted(needs.image_keys),
            "text": sorted(needs.text_keys),
        }

    def find_stored_items(self, questions: Iterable[ScorableCase]) -> StoredItems:
        """Looks up which items of some questions are stored; every rank calls this.

        Args:
            questions: Questions of the plan.
        """
        images, texts = _rows_of(questions)
        ranks = gather_objects(
            [self._stored_rows("image", images), self._stored_rows("text", texts)]
        )
        stored = [frozenset(row for rank_rows in ranks for row in rank_rows[i]) for i in (0, 1)]
        self.vectors.log_stored("tokens", stored, (images, texts))
        return StoredItems(stored[0], stored[1])

    def get(self, side: Side, rows: Sequence[int]) -> tuple[list[int], Encoded | None]:
        """Returns which of some rows are stored, and their items on the CPU; None if none are.

        Args:
            side: Whether the rows are the plan's images or its texts.
            rows: The rows.
        """
        row_of_key = self._row_of_key(side, rows)
        keys, items = self.vectors.get(side, self._tokens[side], row_of_key)
        return [row_of_key[key] for key in keys], items

    def put(
        self,
        side: Side,
        rows: Sequence[int],
        items: Encoded,
        lengths: Sequence[int] | None,
        stored_rows: Set[int],
    ) -> None:
        """Stores items that were just encoded.

        Args:
            side: Whether the rows are the plan's images or its texts.
            rows: Their rows.
            items: The items, one per row.
            lengths: How many tokens of each item the tower returned, before padding; None for all.
            stored_rows: Rows that are already stored.
        """
        keys = [
            None if row in stored_rows else self.vectors.unchanged_key(side, row) for row in rows
        ]
        new = [i for i, key in enumerate(keys) if key is not None]
        self.vectors.put(
            side,
            self._tokens[side],
            [key for key in keys if key is not None],
            items.to("cpu").map(lambda t: t[new]),
            None if lengths is None else [lengths[i] for i in new],
        )

    def _stored_rows(self, side: Side, rows: Sequence[int]) -> list[int]:
        row_of_key = self._row_of_key(side, _rank_share(rows))
        return [
            row_of_key[key]
            for key in self.vectors.find_stored_keys(side, self._tokens[side], row_of_key)
        ]

    def _row_of_key(self, side: Side, rows: Sequence[int]) -> dict[str, int]:
        return {key: row for row in rows if (key := self.vectors.key(side, row)) is not None}


def look_up_stored_items(
    stored: StoredVectors, backbone: Backbone, head: Head, plan: Plan
) -> tuple[StoredItems, StoredItems]:
    """Returns the stored pooled vectors and the stored tokens of a plan; every rank calls this.

    The size of the tokens to store is logged.

    Args:
        stored: The stored vectors.
        backbone: Encodes the rest.
        head: Scores the pairs.
        plan: The plan.
    """
    if not head.needs.tokens:
        return stored.read_vectors(plan.cases), StoredItems()
    tokens = StoredTokens(stored, head.needs).find_stored_items(plan.cases)
    if rank() == 0:
        (images, texts), (image, text) = (
            _rows_of(plan.cases),
            bytes_per_image_and_text(backbone, head),
        )
        new = (len(images) - len(tokens.images)) * image + (len(texts) - len(tokens.texts)) * text
        limit = stored.store.limit
        log.log(
            logging.WARNING if new > limit else logging.INFO,
            "the tokens of this run need up to %.1f GiB, and the cache may hold %.1f GiB%s",
            new / GIB,
            limit / GIB,
            ": increase --data.cache.limit_gib, or the least recently used entries are deleted"
            if new > limit
            else "",
        )
    return stored.read_vectors(q for q in plan.cases if q.case.is_gallery), tokens


def _rows_of(questions: Iterable[ScorableCase]) -> tuple[list[int], list[int]]:
    """Returns the rows of the images and of the texts of some questions, each once, ascending."""
    all_questions = list(questions)
    images = sorted({row for q in all_questions for row in q.images.tolist()})
    return images, sorted({row for q in all_questions for row in q.all_texts.tolist()})


def _rank_share(rows: Sequence[int]) -> Sequence[int]:
    """Returns the rows that this rank looks up."""
    return rows[rank() :: world_size()]


def _rows(encodings: Encodings) -> list[int]:
    return [row for rows in encodings.rows for row in rows.tolist()]


def _map_over_ranks(n: int, make: Callable[[range], list[T]]) -> list[T]:
    """Splits n rows over ranks and returns the results of all ranks in the order of the rows."""
    world = world_size()
    ranks: list[list[T]] = gather_objects(make(range(rank(), n, world)))
    return [ranks[row % world][row // world] for row in range(n)]


def _first_rows_of_keys(keys: Sequence[str | None]) -> list[int]:
    """Returns for each row the first row with the same key, or itself if it has no key."""
    first_rows: dict[str, int] = {}
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
