"""Builds a batch from rows, with one bank of distinct texts that the rows index."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from zoo.backbones.tokenizer import Tokenize
from zoo.batch import MISSING, Batch, Encoded, TextBank, build_text_bank
from zoo.datamodules.dataset import BatchRow
from zoo.embeddings.shards import MappedShards
from zoo.sources.seeds import stable_hash


class Collate:
    """Builds a Batch from the rows of the data set, primary rows first, then their companions.

    Args:
        tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.
    """

    def __init__(self, tokenizer: Tokenize) -> None:
        self.tokenizer = tokenizer

    def collate_images(self, images: list[Tensor]) -> Tensor | Encoded:
        """Returns the images of the batch, from those of its rows."""
        return torch.stack(images)

    def collate_texts(
        self, distinct: list[str], text_count: int
    ) -> tuple[TextBank | Encoded, Tensor, Tensor]:
        """Puts texts into a bank.

        Args:
            distinct: Distinct texts of the batch.
            text_count: Number of texts in the batch before duplicates were removed.

        Returns:
            The bank, its hashes, and the row in it of each distinct text.
        """
        # a rank with only filling rows still encodes one text, since every rank must
        bank, rows = build_text_bank(*self.tokenizer(distinct or [""]))
        return replace(bank, text_count=text_count), bank.hashes, rows[: len(distinct)]

    def __call__(self, rows_by_place: list[list[BatchRow]]) -> Batch:
        """Builds the batch from the rows of each place."""
        rows = [row for nth in zip(*rows_by_place, strict=True) for row in nth]
        captions = [row.caption for row in rows]
        negatives = [list(row.negatives) for row in rows]
        units = [[None if pair is None else pair[0] for pair in row.pairs] for row in rows]
        foils = [[None if pair is None else pair[1] for pair in row.pairs] for row in rows]
        positives = [list(row.positives) for row in rows]
        roles = [captions, *negatives, *positives, *units, *foils]
        all_texts = [text for role in roles for text in role if text is not None]
        distinct = list(dict.fromkeys(all_texts))
        texts, hashes, in_bank = self.collate_texts(distinct, len(all_texts))
        row_of_text: dict[str | None, int] = dict(zip(distinct, in_bank.tolist(), strict=True))
        # texts with equal token ids share a row, which has the first of them
        text_of_row = {row_of_text[text]: text for text in reversed(distinct)}

        def pointers(texts: Sequence[Sequence[str | None]]) -> Tensor:
            return torch.tensor(
                [[MISSING if text is None else row_of_text[text] for text in row] for row in texts],
                dtype=torch.long,
            )

        more_images = [row.negative_image for row in rows if row.negative_image is not None]
        negative_rows = iter(range(len(rows), len(rows) + len(more_images)))
        return Batch(
            images=self.collate_images([*(row.image for row in rows), *more_images]),
            texts=texts,
            captions=pointers([[text] for text in captions])[:, 0],
            negatives=pointers(negatives),
            positives=pointers(positives),
            negative_images=torch.tensor(
                [MISSING if row.negative_image is None else next(negative_rows) for row in rows]
            ),
            units=pointers(units),
            foils=pointers(foils),
            image_ids=torch.tensor([stable_hash(row.image_id) for row in rows]),
            hashes=hashes,
            samples=torch.tensor([row.sample for row in rows]),
            primary=len(rows_by_place),
            single=any(row.single for row in rows),
            broken=tuple(str(row.broken) for row in rows if row.broken is not None),
            raw_texts=tuple(text_of_row.get(row, "") for row in range(len(texts))),
        )


class StoredCollate(Collate):
    """Builds a batch of stored encodings; the image of a row is its row in the store.

    Args:
        stored_images: Encoded images.
        stored_texts: Encoded texts.
    """

    def __init__(self, stored_images: MappedShards, stored_texts: MappedShards) -> None:
        self.stored_images, self.stored_texts = stored_images, stored_texts

    def collate_images(self, images: list[Tensor]) -> Encoded:
        """Returns the encoded images of the batch."""
        return self.stored_images.read_rows([int(row) for row in images])[0]

    def collate_texts(self, distinct: list[str], asked: int) -> tuple[Encoded, Tensor, Tensor]:
        """Returns the encoded texts, their hashes, and the row of each distinct text."""
        items, hashes = self.stored_texts.read_rows(
            [self.stored_texts.row(text) for text in distinct]
        )
        return items, hashes, torch.arange(len(distinct))
