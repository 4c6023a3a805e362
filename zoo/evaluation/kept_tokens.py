"""Kept tokens: what a head reads beside pooled vectors, kept in the store of the vectors."""

import hashlib
import logging
from collections.abc import Iterable, Sequence, Set

from safetensors.torch import load, save

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded, TokenKey
from zoo.evaluation.kept import KeptVectors, Side, own_share, rows_of
from zoo.evaluation.scoring import held_bytes
from zoo.evaluation.store import GIB
from zoo.evaluation.vectors import Known
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.results.plan import Plan, ScorableCase
from zoo.support.distributed import gather_objects, rank

POOLED = "pooled"

log = logging.getLogger(__name__)


class KeptTokens:
    """The tokens of one model that a head reads, each in the precision in which it came.

    An item is known as its vector is, and by which tokens these are.

    Args:
        vectors: Knows the items of the plan, and has the store.
        needs: What the head reads.
    """

    def __init__(self, vectors: KeptVectors, needs: Needs) -> None:
        self.vectors = vectors
        self._tokens: dict[Side, list[TokenKey]] = {
            "image": sorted(needs.image_keys),
            "text": sorted(needs.text_keys),
        }

    def look_up(self, questions: Iterable[ScorableCase]) -> Known:
        """Looks up which items of some questions are kept, and reads none; every rank calls this.

        Args:
            questions: Questions of the plan.
        """
        asked = rows_of(questions)
        ranks = gather_objects(
            [self._stored_rows("image", asked[0]), self._stored_rows("text", asked[1])]
        )
        images, texts = (frozenset(row for some in ranks for row in some[i]) for i in (0, 1))
        self.vectors.say("tokens", (images, texts), asked)
        return Known(images, texts)

    def get(self, side: Side, rows: Sequence[int]) -> dict[int, Encoded]:
        """Returns what is kept of some rows, an item each, on the CPU.

        Args:
            side: Whether the rows are the plan's images or its texts.
            rows: The rows.
        """
        by_key = self._by_key(side, rows)
        found = self.vectors.get(by_key)
        return {by_key[key]: self._item(side, content) for key, content in found.items()}

    def put(
        self,
        side: Side,
        rows: Sequence[int],
        items: Encoded,
        lengths: Sequence[int] | None,
        but: Set[int],
    ) -> None:
        """Keeps items that were just encoded.

        Args:
            side: Whether the rows are the plan's images or its texts.
            rows: Their rows.
            items: The items, one for each row.
            lengths: How many tokens of each item the tower gave, before padding; None where it gave
                all.
            but: Rows that are kept already.
        """
        items, contents = items.to("cpu"), dict[bytes, bytes]()
        for i, row in enumerate(rows):
            key = None if row in but else self.vectors.new_key(side, row)
            if key is not None:
                length = None if lengths is None else lengths[i]
                contents[self._key(side, key)] = self._content(side, items, i, length)
        self.vectors.put(contents)

    def _stored_rows(self, side: Side, rows: Sequence[int]) -> list[int]:
        by_key = self._by_key(side, own_share(rows))
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
        every = list(enumerate(self._tokens[side]))
        return Encoded(
            tensors[POOLED],
            {key: tensors[f"tokens {k}"] for k, key in every},
            {key: tensors[f"mask {k}"] for k, key in every},
        )


def find_known(
    kept: KeptVectors, backbone: Backbone, head: Head, plan: Plan
) -> tuple[Known, Known]:
    """Returns what need not be encoded: pooled vectors, and tokens; every rank calls this.

    How much room tokens take is said beforehand.

    Args:
        kept: Has what other runs encoded.
        backbone: Encodes the rest.
        head: Scores the pairs.
        plan: What is asked.
    """
    if not head.needs.tokens:
        return kept.look_up(plan.questions), Known()
    tokens = KeptTokens(kept, head.needs).look_up(plan.questions)
    if rank() == 0:
        (images, texts), (image, text) = rows_of(plan.questions), held_bytes(backbone, head)
        new = (len(images) - len(tokens.images)) * image + (len(texts) - len(tokens.texts)) * text
        limit = kept.store.limit
        log.log(
            logging.WARNING if new > limit else logging.INFO,
            "tokens of this run take up to %.1f GiB, and %.1f GiB may be kept%s",
            new / GIB,
            limit / GIB,
            ": raise --data.cache.limit_gib, or what was not used for longest is dropped"
            if new > limit
            else "",
        )
    return kept.look_up(q for q in plan.questions if q.case.gallery), tokens
