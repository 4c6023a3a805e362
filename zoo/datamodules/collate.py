"""Makes a batch of rows: one bank of distinct texts, and rows that point into it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from zoo.batch import MISSING, Batch, text_bank
from zoo.datamodules.dataset import Row
from zoo.datamodules.randomness import stable_hash

Tokenizer = Callable[[list[str]], tuple[Tensor, Tensor, Tensor]]


class Collate:
    """Turns what the data set yields into a Batch, primary rows first, then their companions.

    tokenizer: texts to (ids [n, L], lengths [n], hashes [n]).
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __call__(self, places: list[list[Row]]) -> Batch:
        rows = [row for nth in zip(*places, strict=True) for row in nth]
        captions = [row.caption for row in rows]
        negatives = [list(row.negatives) for row in rows]
        units = [[None if pair is None else pair[0] for pair in row.pairs] for row in rows]
        foils = [[None if pair is None else pair[1] for pair in row.pairs] for row in rows]
        roles = [captions, *negatives, *units, *foils]
        asked = [text for role in roles for text in role if text is not None]
        # a rank whose rows are all filling still encodes one text, as every rank has to
        distinct = list(dict.fromkeys(asked)) or [""]
        bank, places_in_bank = text_bank(*self.tokenizer(distinct))
        where: dict[str | None, int] = dict(zip(distinct, places_in_bank.tolist(), strict=True))

        def pointers(texts: Sequence[Sequence[str | None]]) -> Tensor:
            return torch.tensor([[MISSING if text is None else where[text] for text in row] for row in texts], dtype=torch.long)

        return Batch(
            images=torch.stack([row.image for row in rows]),
            texts=replace(bank, asked=len(asked)),
            captions=pointers([[text] for text in captions])[:, 0],
            negatives=pointers(negatives),
            units=pointers(units),
            foils=pointers(foils),
            image_ids=torch.tensor([stable_hash(row.image_id) for row in rows]),
            hashes=bank.hashes,
            samples=torch.tensor([row.sample for row in rows]),
            primary=len(places),
        )
