"""Encoder: the images and texts of a portion, encoded or from what is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded, concatenate
from zoo.evaluation.kept import Side
from zoo.evaluation.kept_tokens import KeptTokens
from zoo.evaluation.portions import EvaluationBatch, LoaderFactory, encode
from zoo.needs import Needs


@dataclass(frozen=True)
class Made:
    """Items that were just encoded.

    Attributes:
        rows: Their rows of the plan's images or texts.
        items: The items, one for each row.
        lengths: How many tokens of each the tower gave, before padding; None where it gave all.
    """

    rows: Sequence[int]
    items: Encoded
    lengths: Sequence[int] | None = None


@dataclass(frozen=True)
class Encoder:
    """Encodes portions; where tokens are kept, it reads what portions come without.

    Attributes:
        loading: Makes the portions.
        kept: Has tokens that were encoded before, and gets new ones; None where none are kept.
    """

    loading: LoaderFactory
    kept: KeptTokens | None = None

    def __call__(
        self, backbone: Backbone, portion: EvaluationBatch, needs: Needs
    ) -> tuple[Encoded | None, Encoded | None]:
        """Returns all images and texts of a portion, None for what it lacks.

        An item whose tokens are kept is what was kept, to the last bit, also where the portion has
        it encoded again.

        Args:
            backbone: Encodes what is not kept.
            portion: Images and texts.
            needs: Which tokens are wanted beside pooled vectors, or which views in their place.

        Raises:
            ZooError: An image is broken.
        """
        if self.kept is None or not needs.tokens:
            return encode(
                backbone, portion, needs, self.loading.image_batch, self.loading.text_batch
            )
        maker = self.loading.maker
        images, texts = portion.image_rows.tolist(), portion.text_rows.tolist()
        made = self._encode(backbone, portion, needs, maker.unknown(images, texts))
        kept_images, kept_texts = self.kept.get("image", images), self.kept.get("text", texts)
        # what was there at the start, and made room for others since
        lost = (
            [row for row in images if row in maker.known_images and row not in kept_images],
            [row for row in texts if row in maker.known_texts and row not in kept_texts],
        )
        if any(lost):
            whole = replace(maker, known_images=frozenset(), known_texts=frozenset())
            again = whole.of_rows(*lost).check_decoded().to(next(backbone.parameters()).device)
            more = self._encode(backbone, again, needs, lost)
            made = made[0] + more[0], made[1] + more[1]
        return (
            self._join_and_store("image", images, made[0], kept_images),
            self._join_and_store("text", texts, made[1], kept_texts),
        )

    def _encode(
        self,
        backbone: Backbone,
        portion: EvaluationBatch,
        needs: Needs,
        rows: tuple[Sequence[int], Sequence[int]],
    ) -> tuple[list[Made], list[Made]]:
        """Encodes the images and texts that a portion brings.

        Args:
            backbone: Encodes them.
            portion: The portion.
            needs: Which tokens are wanted.
            rows: Rows of the images and of the texts that it brings.
        """
        images, texts = encode(
            backbone, portion, needs, self.loading.image_batch, self.loading.text_batch
        )
        made_texts = []
        if texts is not None:
            assert portion.texts is not None
            lengths = backbone.cut_lengths(portion.texts.lengths)[portion.bank_rows]
            made_texts = [Made(rows[1], texts, lengths.tolist())]
        return [] if images is None else [Made(rows[0], images)], made_texts

    def _join_and_store(
        self, side: Side, rows: Sequence[int], made: Sequence[Made], kept: Mapping[int, Encoded]
    ) -> Encoded | None:
        """Returns the items of some rows, and keeps those that were not kept before."""
        assert self.kept is not None
        for new in made:
            self.kept.put(side, new.rows, new.items, new.lengths, kept.keys())
        if not kept and len(made) == 1:
            return made[0].items
        if not rows:
            return None
        parts, order = [new.items for new in made], [row for new in made for row in new.rows]
        if kept:
            held = concatenate(list(kept.values()))
            parts.append(held.to(parts[0].pooled.device) if parts else held)
            order += kept
        place = {row: i for i, row in enumerate(order)}  # the last one, which is kept
        whole = concatenate(parts)
        return whole.rows(torch.tensor([place[row] for row in rows], device=whole.pooled.device))
