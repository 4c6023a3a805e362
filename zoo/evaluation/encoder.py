"""Encodes the images and texts of a batch, or reads stored encodings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded, concatenate
from zoo.evaluation.batches import EvaluationBatch, LoaderFactory, encode_batch
from zoo.evaluation.stored_embeddings import Side, StoredTokens
from zoo.needs import Needs


@dataclass(frozen=True)
class EncodedItems:
    """Items that were just encoded.

    Attributes:
        rows: Their rows of the plan's images or texts.
        items: The items, one per row.
        lengths: How many tokens of each the tower returned, before padding; None for all.
    """

    rows: Sequence[int]
    items: Encoded
    lengths: Sequence[int] | None = None


@dataclass(frozen=True)
class Encoder:
    """Encodes batches; stored tokens are read instead.

    Attributes:
        loader_factory: Creates the batches.
        stored_tokens: The stored tokens, to which new ones are added; None if none are stored.
    """

    loader_factory: LoaderFactory
    stored_tokens: StoredTokens | None = None

    def __call__(
        self, backbone: Backbone, batch: EvaluationBatch, needs: Needs
    ) -> tuple[Encoded | None, Encoded | None]:
        """Returns all images and texts of a batch, None if it has none.

        Stored tokens take precedence, bit for bit, even if the batch encodes the item again.

        Args:
            backbone: Encodes what is not stored.
            batch: Images and texts.
            needs: Which tokens are needed in addition to pooled vectors, or which views instead.

        Raises:
            ZooError: An image cannot be decoded.
        """
        if self.stored_tokens is None or not needs.tokens:
            return encode_batch(
                backbone,
                batch,
                needs,
                self.loader_factory.image_batch,
                self.loader_factory.text_batch,
            )
        builder = self.loader_factory.builder
        images, texts = batch.image_rows.tolist(), batch.text_rows.tolist()
        encoded = self._encode(backbone, batch, needs, builder.rows_to_load(images, texts))
        stored_images, stored_texts = (
            self.stored_tokens.get("image", images),
            self.stored_tokens.get("text", texts),
        )
        # items that were stored at the start and have been deleted to free space since
        deleted = (
            [row for row in images if row in builder.known_images and row not in stored_images[0]],
            [row for row in texts if row in builder.known_texts and row not in stored_texts[0]],
        )
        if any(deleted):
            full_builder = replace(builder, known_images=frozenset(), known_texts=frozenset())
            deleted_batch = (
                full_builder._build_window_or_tile_batch(*deleted)
                .check_decoded()
                .to(next(backbone.parameters()).device)
            )
            reencoded = self._encode(backbone, deleted_batch, needs, deleted)
            encoded = encoded[0] + reencoded[0], encoded[1] + reencoded[1]
        return (
            self._join_and_store("image", images, encoded[0], stored_images),
            self._join_and_store("text", texts, encoded[1], stored_texts),
        )

    def _encode(
        self,
        backbone: Backbone,
        batch: EvaluationBatch,
        needs: Needs,
        rows: tuple[Sequence[int], Sequence[int]],
    ) -> tuple[list[EncodedItems], list[EncodedItems]]:
        """Encodes the images and texts that a batch has loaded.

        Args:
            backbone: Encodes them.
            batch: The batch.
            needs: Which tokens are needed.
            rows: Rows of the images and of the texts that it has loaded.
        """
        images, texts = encode_batch(
            backbone, batch, needs, self.loader_factory.image_batch, self.loader_factory.text_batch
        )
        encoded_texts = []
        if texts is not None:
            assert batch.texts is not None
            lengths = backbone.trimmed_lengths(batch.texts.lengths)[batch.bank_rows]
            encoded_texts = [EncodedItems(rows[1], texts, lengths.tolist())]
        return [] if images is None else [EncodedItems(rows[0], images)], encoded_texts

    def _join_and_store(
        self,
        side: Side,
        rows: Sequence[int],
        encoded: Sequence[EncodedItems],
        stored: tuple[Sequence[int], Encoded | None],
    ) -> Encoded | None:
        """Returns the items of some rows, and stores those that were not stored before."""
        assert self.stored_tokens is not None
        stored_rows, stored_items = stored
        for new in encoded:
            self.stored_tokens.put(side, new.rows, new.items, new.lengths, set(stored_rows))
        if stored_items is None and len(encoded) == 1:
            return encoded[0].items
        if not rows:
            return None
        parts, order = [new.items for new in encoded], [row for new in encoded for row in new.rows]
        if stored_items is not None:
            parts.append(stored_items.to(parts[0].pooled.device) if parts else stored_items)
            order += stored_rows
        positions = {row: i for i, row in enumerate(order)}  # the last one, which is the stored one
        all_items = concatenate(parts)
        return all_items.rows(
            torch.tensor([positions[row] for row in rows], device=all_items.pooled.device)
        )
