"""Kept vectors: what other runs encoded by the same model is read, and what is new is kept.

An image is known by the content of its file, a text by its token ids, a model by all that its
vectors depend on. So an image that changed under its path, or weights that did, are encoded.
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
from zoo.evaluation.foreign import TwoTowers
from zoo.evaluation.portions import FILLING, EvaluationBatch
from zoo.evaluation.store import Damaged, EmbeddingCache, VectorStore
from zoo.evaluation.vectors import Encodings, Known, RankVectors
from zoo.heads.base import Head
from zoo.results.plan import Plan, ScorableCase
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.distributed import gather_objects, rank, world_size

log = logging.getLogger(__name__)

TEXTS_AT_ONCE = 1024

Side = Literal["image", "text"]

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
        The vectors. None where the head reads pieces, or tokens that are not to be kept, the
        environment turns the cache off, or nothing tells when the backbone's code changes.
    """
    store, needs = cache.store, head.needs
    if store is None or needs.pieces or (needs.tokens and not cache.tokens):
        return None
    weights = weights_digest(backbone)
    computation = computation_of(backbone, precision, decoder, weights)
    if computation is None:
        log.warning(
            "vectors are not kept: %s is defined in no file that could tell when it changes",
            type(backbone).__name__,
        )
        return None
    return KeptVectors(store, computation, weights)


def kept_vectors_of_towers(cache: EmbeddingCache, model: TwoTowers) -> "KeptVectors | None":
    """Returns the vectors of a model of another library.

    Args:
        cache: Where they are kept.
        model: Encodes what is not kept.

    Returns:
        The vectors. None where the environment turns the cache off, or a change of the model or of
        its preprocessing could not be seen, which a warning says.
    """
    if cache.store is None:
        return None
    computation = model.computation()
    if computation is None:
        log.warning(
            "vectors are not kept: a change in the code or the preprocessing of this %s could not "
            "be seen",
            type(model.model).__name__,
        )
        return None
    return KeptVectors(cache.store, computation)


class KeptVectors:
    """The vectors of one model in a store.

    What cannot be read or written is said in a warning, and encoded.

    Args:
        store: Has the vectors of all models.
        computation: All that a vector depends on beside its input.
        weights: The digest of the backbone's weights, None where that is not at hand.
    """

    def __init__(
        self, store: VectorStore, computation: dict[str, Any], weights: "Digest | None" = None
    ) -> None:
        self.store, self.weights = store, weights
        described = json.dumps(computation, sort_keys=True, default=str)
        self._model: str = gather_objects(hashlib.sha256(described.encode()).hexdigest())[0]
        self._usable = True
        self._keys: dict[Side, list[bytes | None]] = {}
        self._finder, self._refs = ImageFinder([]), list[ImageRef]()

    def with_keys(self, plan: Plan, finder: ImageFinder, tokenizer: Tokenize) -> Plan:
        """Finds the keys of all that a plan asks; every rank calls this.

        Args:
            plan: What is asked.
            finder: Finds the images.
            tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.

        Returns:
            The plan, in which images of one content, and texts of one sequence of ids, have one
            row.
        """
        self._finder, self._refs = finder, plan.images
        images = _shared_out(len(plan.images), lambda rows: [self._image_key(r) for r in rows])
        texts = _shared_out(
            len(plan.texts), lambda rows: self._text_keys([plan.texts[r] for r in rows], tokenizer)
        )
        self._keys = {"image": images, "text": texts}
        return _remap_rows(plan, _firsts(images), _firsts(texts))

    def look_up(self, questions: Iterable[ScorableCase]) -> Known:
        """Reads the vectors that some questions of the plan want; every rank calls this."""
        images, texts = rows_of(questions)
        own = RankVectors()
        self._read("image", images, own.images)
        self._read("text", texts, own.texts)
        ranks = gather_objects([_rows(own.images), _rows(own.texts)])
        found = [frozenset(row for some in ranks for row in some[side]) for side in (0, 1)]
        self.say("vectors", found, (images, texts))
        return Known(found[0], found[1], own)

    def say(self, what: str, found: Sequence[Sized], asked: Sequence[Sized]) -> None:
        """Says how many of the images and of the texts that are asked were found."""
        if rank() == 0 and any(found):
            log.info(
                "%s of %s images and %s of %s texts were encoded before: their %s come from %s",
                *(f"{len(some):,}" for some in (found[0], asked[0], found[1], asked[1])),
                what,
                self.store.file,
            )

    def add(self, portion: EvaluationBatch, images: Encoded | None, texts: Encoded | None) -> None:
        """Keeps the pooled vectors of a portion.

        Args:
            portion: What was encoded.
            images: Its images, None where it has none.
            texts: Its texts, None where it has none.
        """
        new: dict[bytes, bytes] = {}
        if images is not None:
            new |= self._bytes_by_key("image", portion.image_rows, images.pooled)
        if texts is not None:
            new |= self._bytes_by_key("text", portion.text_rows, texts.pooled)
        self.put(new)

    def key(self, side: Side, row: int) -> bytes | None:
        """Returns the key of a row of the plan, None where nothing can be known of it."""
        return self._keys[side][row]

    def new_key(self, side: Side, row: int) -> bytes | None:
        """Returns the key of a row that was just encoded.

        Returns:
            The key. None where the file of an image changed since it was looked up.
        """
        return self._same_image(row) if side == "image" else self.key(side, row)

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Returns what the store holds of some keys."""
        return self._try(lambda: self.store.get(keys)) or {}

    def has(self, keys: Iterable[bytes]) -> set[bytes]:
        """Returns which of some keys the store holds."""
        return self._try(lambda: self.store.has(keys)) or set()

    def put(self, contents: Mapping[bytes, bytes]) -> None:
        """Has the store keep some contents."""
        if contents:
            self._try(lambda: self.store.put(contents))

    def _bytes_by_key(self, side: Side, rows: Tensor, pooled: Tensor) -> dict[bytes, bytes]:
        vectors = pooled.float().cpu().numpy()
        keys = [None if row == FILLING else self.new_key(side, row) for row in rows.tolist()]
        return {k: v.tobytes() for k, v in zip(keys, vectors, strict=True) if k is not None}

    def _same_image(self, row: int) -> bytes | None:
        """Returns the key of an image, None where its file changed since that was made."""
        key = self._image_key(row)
        return key if key == self.key("image", row) else None

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

    def _read(self, side: Side, rows: Sequence[int], into: Encodings) -> None:
        """Reads this rank's share of the vectors of some rows."""
        by_key = {key: row for row in own_share(rows) if (key := self.key(side, row))}
        found = self.get(by_key)
        if found:
            into.rows.append(np.array([by_key[key] for key in found]))
            into.vectors.append(np.stack([np.frombuffer(v, np.float32) for v in found.values()]))

    def _try(self, use: Callable[[], T]) -> T | None:
        """Uses the store; what it cannot do is said, and it is not used again."""
        try:
            return use() if self._usable else None
        except Damaged as error:
            log.warning("%s", error)
        except ZooError as error:
            log.warning("vectors are not kept: %s", error)
            self._usable = False
        return None


def rows_of(questions: Iterable[ScorableCase]) -> tuple[list[int], list[int]]:
    """Returns the rows of the images and of the texts of some questions, each once, ascending."""
    asked = list(questions)
    images = sorted({row for q in asked for row in q.images.tolist()})
    return images, sorted({row for q in asked for row in q.all_texts.tolist()})


def own_share(rows: Sequence[int]) -> Sequence[int]:
    """Returns the rows that this rank looks up."""
    return rows[rank() :: world_size()]


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


def _remap_rows(plan: Plan, images: Sequence[int], texts: Sequence[int]) -> Plan:
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
