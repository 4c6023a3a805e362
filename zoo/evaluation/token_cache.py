"""Stored tokens, which a head reads in addition to pooled vectors, in the store of the vectors."""

import hashlib
import logging
from collections.abc import Iterable, Sequence, Set

from safetensors.torch import load, save

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded, TokenKey
from zoo.evaluation.embedding_cache import Side, StoredVectors, rank_share, rows_of
from zoo.evaluation.scoring import held_bytes
from zoo.evaluation.vector_store import GIB
from zoo.evaluation.vectors import StoredItems
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.results.plan import Plan, ScorableCase
from zoo.support.distributed import gather_objects, rank

POOLED = "pooled"

log = logging.getLogger(__name__)


class StoredTokens:
    """The stored tokens of one model that a head reads, each in its original precision.

    The key of an item is that of its vector and the selection of tokens.

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

    def look_up(self, questions: Iterable[ScorableCase]) -> StoredItems:
        """Looks up which items of some questions are stored; every rank calls this.

        Args:
            questions: Questions of the plan.
        """
        requested = rows_of(questions)
        ranks = gather_objects(
            [self._stored_rows("image", requested[0]), self._stored_rows("text", requested[1])]
        )
        images, texts = (
            frozenset(row for rank_rows in ranks for row in rank_rows[i]) for i in (0, 1)
        )
        self.vectors.log_stored("tokens", (images, texts), requested)
        return StoredItems(images, texts)

    def get(self, side: Side, rows: Sequence[int]) -> dict[int, Encoded]:
        """Returns the stored items of some rows, on the CPU.

        Args:
            side: Whether the rows are the plan's images or its texts.
            rows: The rows.
        """
        by_key = self._by_key(side, rows)
        contents = self.vectors.get(by_key)
        return {by_key[key]: self._item(side, content) for key, content in contents.items()}

    def put(
        self,
        side: Side,
        rows: Sequence[int],
        items: Encoded,
        lengths: Sequence[int] | None,
        but: Set[int],
    ) -> None:
        """Stores items that were just encoded.

        Args:
            side: Whether the rows are the plan's images or its texts.
            rows: Their rows.
            items: The items, one per row.
            lengths: How many tokens of each item the tower returned, before padding; None for all.
            but: Rows that are already stored.
        """
        items, contents = items.to("cpu"), dict[bytes, bytes]()
        for i, row in enumerate(rows):
            key = None if row in but else self.vectors.new_key(side, row)
            if key is not None:
                length = None if lengths is None else lengths[i]
                contents[self._key(side, key)] = self._content(side, items, i, length)
        self.vectors.put(contents)

    def _stored_rows(self, side: Side, rows: Sequence[int]) -> list[int]:
        by_key = self._by_key(side, rank_share(rows))
        return [by_key[key] for key in self.vectors.has(by_key)]

    def _by_key(self, side: Side, rows: Sequence[int]) -> dict[bytes, int]:
        keys = ((row, self.vectors.key(side, row)) for row in rows)
        return {self._key(side, key): row for row, key in keys if key is not None}

    def _key(self, side: Side, key: bytes) -> bytes:
        return hashlib.sha256(key + f"tokens {self._tokens[side]}".encode()).digest()

    def _content(self, side: Side, items: Encoded, i: int, length: int | None) -> bytes:
        tensors = {POOLED: items.pooled[i]}
        for k, key in enumerate(self._tokens[side]):
            tensors[f"tokens {k}"] = items.tokens[key][i, :length]
            tensors[f"mask {k}"] = items.masks[key][i, :length]
        return save({name: t.clone() for name, t in tensors.items()})

    def _item(self, side: Side, content: bytes) -> Encoded:
        tensors = {name: t[None] for name, t in load(content).items()}
        numbered_keys = list(enumerate(self._tokens[side]))
        return Encoded(
            tensors[POOLED],
            {key: tensors[f"tokens {k}"] for k, key in numbered_keys},
            {key: tensors[f"mask {k}"] for k, key in numbered_keys},
        )


def find_stored(
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
        return stored.look_up(plan.cases), StoredItems()
    tokens = StoredTokens(stored, head.needs).look_up(plan.cases)
    if rank() == 0:
        (images, texts), (image, text) = rows_of(plan.cases), held_bytes(backbone, head)
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
    return stored.look_up(q for q in plan.cases if q.case.is_gallery), tokens
