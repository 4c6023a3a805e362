"""What a training step works on: texts, encoded items and the batch whose rows point into them.

B rows of this rank (companions included), K negatives and N units a row, T distinct texts, L tokens, D the shared width.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

MISSING = -1


@dataclass(frozen=True, order=True)
class TokenKey:
    """Which tokens of a tower are wanted.

    layer: index of the block whose output is taken, -1 the last, -2 the penultimate.
    norm: whether the tower's final norm is applied. project: whether the tower's output projection is (needs norm).
    prefix: whether prefix tokens are kept (the image's CLS patch; text has none).
    """

    layer: int = -1
    norm: bool = True
    project: bool = True
    prefix: bool = False


@dataclass(frozen=True)
class Encoded:
    """Encoded items. pooled: [n, D], as the tower gives them, not normalised. tokens: [n, L, W] and masks: [n, L] (true = a
    real token) by key."""

    pooled: Tensor
    tokens: dict[TokenKey, Tensor] = field(default_factory=dict)
    masks: dict[TokenKey, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pooled)

    def map(self, f: Callable[[Tensor], Tensor]) -> "Encoded":
        """Returns the same items with `f` applied to every tensor."""
        return Encoded(
            f(self.pooled),
            {k: f(t) for k, t in self.tokens.items()},
            {k: f(m) for k, m in self.masks.items()},
        )

    def rows(self, index: Tensor) -> "Encoded":
        """index: [m]. Returns the items at those rows; a missing row (-1) gives row 0, or zeros where there is none, for the caller to
        mask."""
        items = (
            self if len(self) else self.map(lambda t: t.sum(0, keepdim=True).to(t.dtype))
        )  # zeros with a graph
        return items.map(lambda t: t[index.clamp(min=0)])

    def to(self, device: torch.device | str) -> "Encoded":
        return self.map(lambda t: t.to(device))


def concatenate(parts: list[Encoded]) -> Encoded:
    """Returns the items of all parts in order; token lengths are padded to the longest, padding masked."""
    if len(parts) == 1:
        return parts[0]
    tokens, masks = {}, {}
    for key in parts[0].tokens:
        longest = max(p.tokens[key].shape[1] for p in parts)
        tokens[key] = torch.cat([pad_to(p.tokens[key], longest) for p in parts])
        masks[key] = torch.cat([pad_to(p.masks[key], longest) for p in parts])
    return Encoded(torch.cat([p.pooled for p in parts]), tokens, masks)


def pad_to(tokens: Tensor, length: int) -> Tensor:
    """tokens: [n, L, ...]. Returns [n, length, ...] with zeros (false) behind."""
    missing = length - tokens.shape[1]
    if missing <= 0:
        return tokens
    return torch.cat([tokens, tokens.new_zeros(len(tokens), missing, *tokens.shape[2:])], dim=1)


@dataclass(frozen=True)
class TextBank:
    """The distinct texts of a batch. ids: [T, L] token ids at full context, lengths: [T] tokens up to and including EOT, hashes: [T]
    of the ids, equal for equal texts on any rank. asked: how many texts the batch named before duplicates were dropped."""

    ids: Tensor
    lengths: Tensor
    hashes: Tensor
    asked: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def map(self, f: Callable[[Tensor], Tensor]) -> "TextBank":
        """Returns the same bank with `f` applied to every tensor."""
        return TextBank(f(self.ids), f(self.lengths), f(self.hashes), self.asked)


@dataclass(frozen=True)
class Batch:
    """One step's rows on this rank.

    images: [B, 3, H, W], or Encoded once a store or the module has encoded them; texts: the bank, or Encoded.
    captions: [B], negatives: [B, K], units and foils: [B, N]: rows of the bank, -1 missing. A row without a caption is filling:
    neither row nor column. image_ids: [B], a hash equal for the rows of one image. hashes: [T], those of the bank.
    samples: [B] indices into the data set. primary: how many of the rows count towards the batch size.
    """

    images: Tensor | Encoded
    texts: TextBank | Encoded
    captions: Tensor
    negatives: Tensor
    units: Tensor
    foils: Tensor
    image_ids: Tensor
    hashes: Tensor
    samples: Tensor
    primary: int

    def __len__(self) -> int:
        return len(self.captions)

    def with_encoded(self, images: Encoded, texts: Encoded) -> "Batch":
        """Returns the batch with both sides encoded."""
        return replace(self, images=images, texts=texts)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        return self._map(lambda t: t.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Batch":
        return self._map(lambda t: t.pin_memory())

    def _map(self, f: Callable[[Tensor], Tensor]) -> "Batch":
        def moved(value: Any) -> Any:
            if isinstance(value, Encoded | TextBank):
                return value.map(f)
            return f(value) if isinstance(value, Tensor) else value

        return Batch(**{name: moved(value) for name, value in vars(self).items()})


def text_bank(ids: Tensor, lengths: Tensor, hashes: Tensor) -> tuple[TextBank, Tensor]:
    """ids: [n, L], lengths: [n], hashes: [n] of n texts in any roles. Returns the bank of distinct ones and rows [n] into it.

    Texts count as equal when their token ids are equal; the order is that of first appearance, so that it does not depend on hashes.
    """
    seen: dict[bytes, int] = {}
    rows: list[int] = []
    first: list[int] = []
    for i, row in enumerate(ids.numpy()):
        key = row.tobytes()
        if key not in seen:
            seen[key] = len(first)
            first.append(i)
        rows.append(seen[key])
    keep = torch.tensor(first, dtype=torch.long)
    return TextBank(ids[keep], lengths[keep], hashes[keep], asked=len(ids)), torch.tensor(
        rows, dtype=torch.long
    )


@dataclass(frozen=True)
class TowerShapes:
    """What a head must know of a backbone before it can be built. Widths and lengths are of tokens before projection.

    width: of the pooled vectors. patches counts image tokens without prefix tokens, prefix those; None where a tower has no tokens to give.
    scale and bias: the backbone's own, as factors (not logarithms). cuts: whether texts come shorter than the context.
    """

    width: int
    image_width: int
    text_width: int
    patches: int | None
    prefix: int
    context: int
    scale: float
    bias: float | None = None
    cuts: bool = False
