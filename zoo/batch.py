"""`Batch`: the images and texts of a training step.

Shapes: a rank has B rows (including companions), each with K negatives, P positives and N units.
Its text bank has T distinct texts of L tokens. D is the width of pooled vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from zoo.errors import ZooError
from zoo.support.distributed import rank

MISSING = -1


@dataclass(frozen=True, order=True)
class TokenKey:
    """Selects the token vectors that a tower returns.

    Args:
        layer: Index of the block whose output is used: -1 is the last, -2 the one before it.
        norm: Whether the tower's final norm is applied.
        project: Whether the tower's output projection is applied. This requires `norm`.
        prefix: Whether the prefix tokens of an image, such as CLS, are kept. Texts have none.
    """

    layer: int = -1
    norm: bool = True
    project: bool = True
    prefix: bool = False


@dataclass(frozen=True, order=True)
class PiecesKey(TokenKey):
    """Selects the pooled vectors of an image's views, or of a text's segments.

    `Encoded.tokens` holds these vectors under this key, like the token vectors of an item.
    """


PIECES = PiecesKey()


@dataclass(frozen=True)
class Encoded:
    """Encoded images or texts.

    Args:
        pooled: Pooled vectors of the tower, not normalised, `[n, D]`.
        tokens: Token vectors by key, `[n, L, width]`.
        masks: Masks of the tokens by key, `[n, L]`; false for padding.
    """

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
        """Selects items by index.

        Args:
            index: Indices of items, `[m]`; -1 is missing.

        Returns:
            The items, in the order of the indices. A missing item is replaced by the first item, or
            by zeros if there are no items; the caller must mask it.
        """
        # a sum over no rows gives zeros with a graph
        items = self if len(self) else self.map(lambda t: t.sum(0, keepdim=True).to(t.dtype))
        return items.map(lambda t: t[index.clamp(min=0)])

    def to(self, device: torch.device | str) -> "Encoded":
        """Returns the items on a device."""
        return self.map(lambda t: t.to(device))


def concatenate(parts: list[Encoded]) -> Encoded:
    """Concatenates the items of all parts; shorter token sequences are padded and masked."""
    if len(parts) == 1:
        return parts[0]
    tokens, masks = {}, {}
    for key in parts[0].tokens:
        longest = max(p.tokens[key].shape[1] for p in parts)
        tokens[key] = torch.cat([pad_to(p.tokens[key], longest) for p in parts])
        masks[key] = torch.cat([pad_to(p.masks[key], longest) for p in parts])
    return Encoded(torch.cat([p.pooled for p in parts]), tokens, masks)


def pad_to(tokens: Tensor, length: int) -> Tensor:
    """Pads tokens or masks, `[n, L, ...]`, at the end with zeros (false) to `[n, length, ...]`."""
    missing = length - tokens.shape[1]
    if missing <= 0:
        return tokens
    return torch.cat([tokens, tokens.new_zeros(len(tokens), missing, *tokens.shape[2:])], dim=1)


@dataclass(frozen=True)
class TextBank:
    """The distinct texts of a batch.

    Args:
        ids: Token ids, padded to the context length L, `[T, L]`.
        lengths: Number of tokens of each text, up to and including the end token, `[T]`.
        hashes: Hashes of the ids, `[T]`. Equal texts have equal hashes on all ranks.
        text_count: How many texts the batch had before duplicates were removed.
        host_lengths: A copy of `lengths` on the CPU, `[T]`; None if `lengths` is on the CPU. The
            text tower needs the lengths on the CPU, and copying them from a GPU would wait for all
            queued work.
    """

    ids: Tensor
    lengths: Tensor
    hashes: Tensor
    text_count: int = 0
    host_lengths: Tensor | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def lengths_on_host(self) -> Tensor:
        """Returns the lengths on the CPU, `[T]`."""
        return self.lengths.cpu() if self.host_lengths is None else self.host_lengths

    def map(self, f: Callable[[Tensor], Tensor]) -> "TextBank":
        """Returns the bank with `f` applied to every tensor."""
        lengths = f(self.lengths)
        moved = self.lengths.device.type == "cpu" != lengths.device.type
        host_lengths = self.lengths if moved and len(lengths) == len(self) else None
        return TextBank(f(self.ids), lengths, f(self.hashes), self.text_count, host_lengths)


@dataclass(frozen=True)
class Batch:
    """The rows of one training step on this rank.

    Captions, negatives, positives, units and foils are given as indices into the text bank, where
    -1 means missing. A row without a caption is a *filling row*, which only completes the batch: it
    has no loss, and its image and texts are not candidates.

    Args:
        images: Pixels, `[I, 3, H, W]`, or Encoded after the towers have encoded them. The first B
            images belong to the rows; negative images follow.
        texts: The text bank, or Encoded after the text tower has encoded it.
        captions: The caption of each row, `[B]`.
        negatives: The negatives (wrong captions) of each row, `[B, K]`.
        positives: Further true texts about each row's image, `[B, P]`.
        negative_images: The index in `images` of each row's negative image, `[B]`; -1 is missing.
        units: The units of each row, `[B, N]`.
        foils: The foil of each unit, `[B, N]`.
        image_ids: A hash of each row's image, equal for rows with the same image, `[B]`.
        hashes: The hashes of the text bank, `[T]`.
        samples: The index of each row's sample in the data set, `[B]`.
        primary: How many rows count towards the batch size. These rows come first, and companions
            follow.
        bank: The text bank from which `texts` was encoded, for objectives that read token ids.
            None if stored vectors of texts were loaded.
        teacher_images: The images encoded by the teacher, if there is one.
        teacher_texts: The texts of the bank encoded by the teacher, if there is one.
        broken: References of images that could not be decoded; their rows are filling rows.
        raw_texts: The texts of the bank as strings, for objectives with a different tokenizer; ()
            if they are not available.
        single: Whether each row of this batch has a single image, in data in which joined images
            alternate with single images (`data.joined: alternate`).

    Examples:
        A red cup and a blue car, as vectors of (red, blue, cup, car). The negatives are a blue cup
        and a red car, which also have images. The units are the colours:

        >>> import torch
        >>> from zoo.batch import Batch, Encoded
        >>> things = [[1.0, 0, 1, 0], [0, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1]]
        >>> colors = [[1, 0, 0, 0], [0, 1, 0, 0]]
        >>> batch = Batch(
        ...     images=Encoded(torch.tensor(things)), texts=Encoded(torch.tensor(things + colors)),
        ...     captions=torch.tensor([0, 1]), negatives=torch.tensor([[2], [3]]),
        ...     positives=torch.tensor([[4], [5]]), negative_images=torch.tensor([2, 3]),
        ...     units=torch.tensor([[4], [5]]), foils=torch.tensor([[5], [4]]),
        ...     image_ids=torch.tensor([0, 1]), hashes=torch.arange(6),
        ...     samples=torch.tensor([0, 1]), primary=2,
        ... )
        >>> len(batch), len(batch.texts)
        (2, 6)
    """

    images: Tensor | Encoded
    texts: TextBank | Encoded
    captions: Tensor
    negatives: Tensor
    positives: Tensor
    negative_images: Tensor
    units: Tensor
    foils: Tensor
    image_ids: Tensor
    hashes: Tensor
    samples: Tensor
    primary: int
    bank: TextBank | None = None
    teacher_images: Encoded | None = None
    teacher_texts: Encoded | None = None
    broken: tuple[str, ...] = ()
    raw_texts: tuple[str, ...] = ()
    single: bool = False

    def __len__(self) -> int:
        return len(self.captions)

    def count_captioned_rows(self) -> Tensor:
        """Returns how many of the first `primary` rows have a caption."""
        return (self.captions[: self.primary] >= 0).sum()

    def with_encoded(self, images: Encoded, texts: Encoded) -> "Batch":
        """Returns the batch with encoded images and texts. The text bank is kept as `bank`."""
        bank = self.texts if isinstance(self.texts, TextBank) else self.bank
        return replace(self, images=images, texts=texts, bank=bank)

    def with_teacher(self, images: Encoded, texts: Encoded) -> "Batch":
        """Returns the batch with its images and texts encoded by a teacher."""
        return replace(self, teacher_images=images, teacher_texts=texts)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Batch":
        """Returns the batch on a device."""
        return self._map(lambda t: t.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Batch":
        """Returns the batch in page-locked memory."""
        return self._map(lambda t: t.pin_memory())

    def _map(self, f: Callable[[Tensor], Tensor]) -> "Batch":
        def map_value(value: Any) -> Any:
            if isinstance(value, Encoded | TextBank):
                return value.map(f)
            return f(value) if isinstance(value, Tensor) else value

        return Batch(**{name: map_value(value) for name, value in vars(self).items()})


def batch_of_vectors(
    images: Tensor,
    captions: Tensor,
    negatives: Tensor | None = None,
    positives: Tensor | None = None,
    negative_images: Tensor | None = None,
    units: Tensor | None = None,
    foils: Tensor | None = None,
    has_negative: Tensor | None = None,
    has_unit: Tensor | None = None,
    has_foil: Tensor | None = None,
    image_ids: Tensor | None = None,
) -> Batch:
    """Makes a batch from the vectors of any two towers, to use objectives without a `ZooModule`.

    Vectors need not have unit length. All texts count as different. With several processes, all
    must have the same numbers of rows, negatives, positives and units. Vectors are not enough for
    objectives that read tokens, token ids or a teacher: these need a `ZooModule`.

    Args:
        images: The image of each row, `[B, D]`.
        captions: The caption of each row, `[B, D]`.
        negatives: The negatives of each row, `[B, K, D]`.
        positives: Further true texts about each row's image, `[B, P, D]`.
        negative_images: The negative image of each row, `[B, D]`.
        units: The units of each row, `[B, N, D]`.
        foils: The foil of each unit, `[B, N, D]`.
        has_negative: Which negatives exist, `[B, K]`; by default all do.
        has_unit: Which units exist, `[B, N]`; by default all do.
        has_foil: Which foils exist, `[B, N]`; by default those of the units that exist.
        image_ids: An integer per row, `[B]`, equal for rows with the same image, for
            `Scores(mask_same_image=True)`. By default, all rows have different images.

    Raises:
        ZooError: A tensor has the wrong shape, or a mask is not Boolean.

    Examples:
        CS-CLIP's loss, with a learnable temperature that starts at 1 / 14:

        >>> import torch
        >>> from zoo.batch import batch_of_vectors
        >>> from zoo.heads import Cosine
        >>> from zoo.objectives import CSCLIP
        >>> from zoo.scores import Scores
        >>> head = Cosine(scale=14.0)
        >>> vectors = torch.eye(8).view(4, 2, 8)  # of images, captions, negatives and units
        >>> batch = batch_of_vectors(
        ...     vectors[0], vectors[0], negatives=vectors[1][:, None],
        ...     units=vectors[0][:, None], foils=vectors[2][:, None],
        ... )
        >>> loss = CSCLIP()(batch, Scores(head, batch))
        >>> loss.total.item() < 1e-4
        True
    """
    rows, device, texts = len(captions), captions.device, [captions]
    width = captions.shape[-1]
    _check_shape("captions", captions, rows, width)
    _check_shape("images", images, rows, width)
    _check_shape("negative_images", negative_images, rows, width)
    _check_shape("negatives", negatives, rows, None, width)
    _check_shape("positives", positives, rows, None, width)
    _check_shape("units", units, rows, None, width)
    _check_shape("foils", foils, *(() if units is None else units.shape))
    _check_shape("has_negative", has_negative, *(() if negatives is None else negatives.shape[:2]))
    for name, exists in (("has_unit", has_unit), ("has_foil", has_foil)):
        _check_shape(name, exists, *(() if units is None else units.shape[:2]))
    _check_shape("image_ids", image_ids, rows)
    for name, mask in {
        "has_negative": has_negative,
        "has_unit": has_unit,
        "has_foil": has_foil,
    }.items():
        if mask is not None and mask.dtype != torch.bool:
            raise ZooError(f"{name} has the type {mask.dtype}: give a mask of torch.bool")

    def add_texts(vectors: Tensor | None, exists: Tensor | None = None) -> Tensor:
        """Adds `[B, K, D]` texts to the others, and returns their rows, `[B, K]`."""
        if vectors is None:
            return torch.full((rows, 0), MISSING, device=device)
        numbers = sum(map(len, texts)) + torch.arange(vectors.shape[:2].numel(), device=device)
        texts.append(vectors.flatten(0, 1))
        text_rows = numbers.view(vectors.shape[:2])
        return text_rows if exists is None else text_rows.where(exists, MISSING)

    negative_rows, positive_rows = add_texts(negatives, has_negative), add_texts(positives)
    unit_rows = add_texts(units, has_unit)
    foil_rows = torch.full_like(unit_rows, MISSING)
    if foils is not None:
        foil_rows = add_texts(foils, has_unit if has_foil is None else has_foil)
    numbers = torch.arange(rows, device=device)
    negative_image_rows = torch.full_like(numbers, MISSING)
    if negative_images is not None:
        images, negative_image_rows = torch.cat([images, negative_images]), rows + numbers
    hashes = torch.arange(sum(map(len, texts)), device=device)
    return Batch(
        images=Encoded(images, _NoTokens()),
        texts=Encoded(torch.cat(texts), _NoTokens()),
        captions=numbers,
        negatives=negative_rows,
        positives=positive_rows,
        negative_images=negative_image_rows,
        units=unit_rows,
        foils=foil_rows,
        image_ids=rank() * rows + numbers if image_ids is None else image_ids,
        hashes=rank() * len(hashes) + hashes,
        samples=numbers,
        primary=rows,
    )


class _NoTokens(dict[TokenKey, Tensor]):
    """The tokens of vectors: none."""

    def __missing__(self, key: TokenKey) -> Tensor:
        raise ZooError(
            "the objective or the head reads tokens, which vectors do not have: train a ZooModule "
            "(or set lambda_l=0 if the objective is FSCCLIP)"
        )


def _check_shape(name: str, tensor: Tensor | None, *sizes: int | None) -> None:
    """Raises ZooError if a tensor has another shape; None accepts any size."""
    if tensor is None or (
        tensor.ndim == len(sizes)
        and all(size in (None, length) for size, length in zip(sizes, tensor.shape, strict=True))
    ):
        return
    expected = ", ".join("any" if size is None else str(size) for size in sizes)
    raise ZooError(
        f"{name} has the shape {list(tensor.shape)}: give [{expected}]"
        if sizes
        else f"{name} is given without {'negatives' if name == 'has_negative' else 'units'}"
    )


def build_text_bank(ids: Tensor, lengths: Tensor, hashes: Tensor) -> tuple[TextBank, Tensor]:
    """Builds a text bank from n texts, without duplicates.

    Texts are equal if their token ids are equal. The bank keeps the order of their first
    appearance, which does not depend on hashes.

    Args:
        ids: Token ids, padded to the context length L, `[n, L]`.
        lengths: Number of tokens of each text, up to and including the end token, `[n]`.
        hashes: Hashes of the ids, `[n]`.

    Returns:
        The bank of distinct texts, and the index of each text in it, `[n]`.
    """
    positions: dict[bytes, int] = {}
    rows: list[int] = []
    first_rows: list[int] = []
    for i, row in enumerate(ids.numpy()):
        key = row.tobytes()
        if key not in positions:
            positions[key] = len(first_rows)
            first_rows.append(i)
        rows.append(positions[key])
    keep = torch.tensor(first_rows, dtype=torch.long)
    return TextBank(ids[keep], lengths[keep], hashes[keep], text_count=len(ids)), torch.tensor(
        rows, dtype=torch.long
    )


@dataclass(frozen=True)
class TowerShapes:
    """The shapes of a backbone, from which a head is built.

    Args:
        width: Width of the pooled vectors, D.
        image_width: Width of image tokens before the output projection.
        text_width: Width of text tokens before the output projection.
        patches: Number of image tokens without prefix tokens; None if the tower returns no tokens.
        prefix: Number of prefix tokens of an image, such as CLS.
        context: Maximum number of tokens of a text.
        scale: The backbone's own scale (not its logarithm).
        bias: The backbone's own bias, None if it has none.
        cuts: Whether the padding of texts is trimmed, so that texts may have fewer tokens than
            `context`.
        vocabulary: The number of token ids of the text tower.
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
    vocabulary: int = 0
