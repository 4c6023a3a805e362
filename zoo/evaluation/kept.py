"""Kept vectors: what other runs encoded by the same model is read, and what is new is kept.

An image is known by the content of its file, a text by its token ids, a model by all that its
vectors depend on. So an image that changed under its path, or weights that did, are encoded.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import computation_of
from zoo.backbones.preparation import Decoder
from zoo.backbones.tokenizer import Tokenize
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.evaluation.portions import FILLING, Portion
from zoo.evaluation.store import Damaged, EmbeddingCache, VectorStore
from zoo.evaluation.vectors import Encodings, Known, RankVectors
from zoo.heads.base import Head
from zoo.results.plan import Plan
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.distributed import gather_objects, rank, world_size

log = logging.getLogger(__name__)

TEXTS_AT_ONCE = 1024

T = TypeVar("T")


def kept_vectors(
    cache: EmbeddingCache,
    backbone: Backbone,
    head: Head,
    precision: str,
    decoder: Decoder = "pil",
) -> "KeptVectors | None":
    """Returns the vectors of a model; every rank must call this.

    Args:
        cache: Where they are kept.
        backbone: Encodes what is not kept.
        head: Scores the pairs.
        precision: The trainer's name of the precision in which the backbone runs.
        decoder: What decodes images.

    Returns:
        The vectors. None where the head reads more than pooled vectors, the environment turns the
        cache off, or nothing tells when the backbone's code changes.
    """
    store = cache.store
    if store is None or head.needs.tokens or head.needs.pieces:
        return None
    computation = computation_of(backbone, precision, decoder)
    if computation is None:
        log.warning(
            "vectors are not kept: %s is defined in no file that could tell when it changes",
            type(backbone).__name__,
        )
        return None
    return KeptVectors(store, computation)


class KeptVectors:
    """The vectors of one model in a store.

    What cannot be read or written is said in a warning, and encoded.

    Args:
        store: Has the vectors of all models.
        computation: All that a vector depends on beside its input.
    """

    def __init__(self, store: VectorStore, computation: dict[str, Any]) -> None:
        self.store = store
        described = json.dumps(computation, sort_keys=True, default=str)
        self._model: str = gather_objects(hashlib.sha256(described.encode()).hexdigest())[0]
        self._usable = True
        self._images: list[bytes | None] = []
        self._texts: list[bytes | None] = []
        self._finder, self._refs = ImageFinder([]), list[ImageRef]()

    def known(self, plan: Plan, finder: ImageFinder, tokenizer: Tokenize) -> tuple[Plan, Known]:
        """Looks up what a plan asks; every rank calls this.

        Args:
            plan: What is asked.
            finder: Finds the images.
            tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.

        Returns:
            The plan, in which images of one content, and texts of one sequence of ids, have one
            row. And what of it is known.
        """
        self._finder, self._refs = finder, plan.images
        self._images = _shared_out(
            len(plan.images), lambda rows: [self._image_key(r) for r in rows]
        )
        self._texts = _shared_out(
            len(plan.texts), lambda rows: self._text_keys([plan.texts[r] for r in rows], tokenizer)
        )
        plan = _merged(plan, _firsts(self._images), _firsts(self._texts))
        asked = plan.questions
        images = sorted({row for q in asked for row in q.images.tolist()})
        texts = sorted({row for q in asked for row in q.all_texts.tolist()})
        own = RankVectors()
        self._read(images, self._images, own.images)
        self._read(texts, self._texts, own.texts)
        ranks = gather_objects([_rows(own.images), _rows(own.texts)])
        found = [frozenset(row for some in ranks for row in some[side]) for side in (0, 1)]
        if rank() == 0 and any(found):
            log.info(
                "%s of %s images and %s of %s texts were encoded before: their vectors come from "
                "%s",
                *(f"{n:,}" for n in (len(found[0]), len(images), len(found[1]), len(texts))),
                self.store.file,
            )
        return plan, Known(found[0], found[1], own)

    def add(self, portion: Portion, images: Encoded | None, texts: Encoded | None) -> None:
        """Keeps the pooled vectors of a portion.

        Args:
            portion: What was encoded.
            images: Its images, None where it has none.
            texts: Its texts, None where it has none.
        """
        new: dict[bytes, Any] = {}
        if images is not None:
            new |= self._named(portion.image_rows, images.pooled, self._same_image)
        if texts is not None:
            new |= self._named(portion.text_rows, texts.pooled, lambda row: self._texts[row])
        if new and self._usable:
            self._try(lambda: self.store.put(new))

    def _named(
        self, rows: Tensor, pooled: Tensor, key_of: Callable[[int], bytes | None]
    ) -> dict[bytes, Any]:
        vectors = pooled.float().cpu().numpy()
        keys = [None if row == FILLING else key_of(row) for row in rows.tolist()]
        return {key: v for key, v in zip(keys, vectors, strict=True) if key is not None}

    def _same_image(self, row: int) -> bytes | None:
        """Returns the key of an image, None where its file changed since that was made."""
        key = self._image_key(row)
        return key if key == self._images[row] else None

    def _image_key(self, row: int) -> bytes | None:
        ref = self._refs[row]
        try:
            content = hashlib.sha256(self._finder.content(ref)).hexdigest()
        except (OSError, ZooError):
            return None  # whoever loads it says what is wrong
        return self._key("image", content, ref.crop, ref.size, str(self._finder.decoding_of(ref)))

    def _text_keys(self, texts: Sequence[str], tokenizer: Tokenize) -> list[bytes | None]:
        keys: list[bytes | None] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            ids, _, _ = tokenizer(texts[start : start + TEXTS_AT_ONCE])
            keys += [self._key("text", row.tobytes().hex()) for row in ids.numpy()]
        return keys

    def _key(self, *what: Any) -> bytes:
        return hashlib.sha256(json.dumps([self._model, *what]).encode()).digest()

    def _read(self, rows: Sequence[int], keys: Sequence[bytes | None], into: Encodings) -> None:
        """Reads this rank's share of the vectors of some rows."""
        by_key = {key: row for row in rows[rank() :: world_size()] if (key := keys[row])}
        found = self._try(lambda: self.store.get(by_key)) if self._usable else None
        if found:
            into.rows.append(np.array([by_key[key] for key in found]))
            into.vectors.append(np.stack(list(found.values())))

    def _try(self, use: Callable[[], T]) -> T | None:
        """Uses the store; what it cannot do is said, and it is not used again."""
        try:
            return use()
        except Damaged as error:
            log.warning("%s", error)
        except ZooError as error:
            log.warning("vectors are not kept: %s", error)
            self._usable = False
        return None


def _rows(encodings: Encodings) -> list[int]:
    return [row for rows in encodings.rows for row in rows.tolist()]


def _shared_out(n: int, make: Callable[[range], list[T]]) -> list[T]:
    """Returns what ranks make of n rows, dealt by turns, in the rows' order."""
    world = world_size()
    ranks: list[list[T]] = gather_objects(make(range(rank(), n, world)))
    return [ranks[row % world][row // world] for row in range(n)]


def _firsts(keys: Sequence[bytes | None]) -> list[int]:
    """Returns for each row the first row of the same key, itself where it has none."""
    first: dict[bytes, int] = {}
    return [row if key is None else first.setdefault(key, row) for row, key in enumerate(keys)]


def _merged(plan: Plan, images: Sequence[int], texts: Sequence[int]) -> Plan:
    """Returns a plan whose questions point to other rows.

    Args:
        plan: The plan.
        images: The row that takes the place of each image's.
        texts: The row that takes the place of each text's.
    """
    of_images, of_texts = np.array(images, np.int64), np.array(texts, np.int64)
    questions = [
        replace(
            q,
            images=of_images[q.images],
            texts=of_texts[q.texts],
            asking=of_texts[q.asking],
        )
        for q in plan.questions
    ]
    return replace(plan, questions=questions)
