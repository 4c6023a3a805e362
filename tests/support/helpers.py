"""Encoded batches of random vectors, in fp64, for tests of what works on scores."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from zoo.batch import MISSING, Batch, Encoded, TextBank, TokenKey, TowerShapes
from zoo.heads.base import Head

WIDTH, PATCHES, PREFIX, CONTEXT, VOCABULARY = 6, 4, 1, 7, 9
SHAPES = TowerShapes(
    WIDTH,
    image_width=5,
    text_width=3,
    patches=PATCHES,
    prefix=PREFIX,
    context=CONTEXT,
    scale=7.0,
    vocabulary=VOCABULARY,
)


def attached(head: Head, seed: int = 0) -> Head:
    """Returns the head built for `SHAPES`, in fp64."""
    torch.manual_seed(seed)
    head.double().attach(SHAPES)
    return head.double()


@dataclass
class Case:
    """A random batch: which text of the bank has which role for which image.

    All [B] or [B, K]; -1 missing.
    """

    captions: Tensor
    negatives: Tensor
    units: Tensor
    foils: Tensor
    image_ids: Tensor
    n_texts: int
    bank: TextBank | None = None
    positives: Tensor | None = None
    negative_images: Tensor | None = None

    def batch(self, images: Encoded, texts: Encoded, hashes: Tensor | None = None) -> Batch:
        rows = len(self.captions)
        none = self.captions.new_empty(rows, 0)
        return Batch(
            images=images,
            texts=texts,
            captions=self.captions,
            negatives=self.negatives,
            positives=none if self.positives is None else self.positives,
            negative_images=torch.full((rows,), MISSING)
            if self.negative_images is None
            else self.negative_images,
            units=self.units,
            foils=self.foils,
            image_ids=self.image_ids,
            hashes=torch.arange(self.n_texts) if hashes is None else hashes,
            samples=torch.arange(rows),
            primary=rows,
            bank=self.bank,
        )


def random_case(
    seed: int,
    rows: int = 6,
    negatives: int = 2,
    units: int = 2,
    missing: float = 0.3,
    filling: int = 1,
) -> Case:
    """Returns a case with shared captions, units and foils.

    Some rows are of one image, some texts are missing, and filling rows stand at the end. Negative
    images stand behind the images of the rows, as many again.
    """
    g = torch.Generator().manual_seed(seed)

    def draw(*shape: int, absent: float = missing) -> Tensor:
        texts = torch.randint(n_texts, shape, generator=g)
        return texts.masked_fill(torch.rand(shape, generator=g) < absent, MISSING)

    n_texts = 3 * rows
    case = Case(
        captions=draw(rows, absent=0.0),
        negatives=draw(rows, negatives),
        units=draw(rows, units),
        foils=draw(rows, units),
        image_ids=torch.randint(rows, (rows,), generator=g),
        n_texts=n_texts,
        bank=TextBank(
            torch.randint(VOCABULARY, (n_texts, CONTEXT), generator=g),
            torch.randint(2, CONTEXT + 1, (n_texts,), generator=g),
            torch.arange(n_texts),
        ),
    )
    case.foils[case.units < 0] = MISSING
    case.positives = draw(rows, 2, absent=missing * 1.5)
    case.negative_images = (rows + torch.arange(rows)).masked_fill(
        torch.rand(rows, generator=g) < missing, MISSING
    )
    for some in (
        case.captions,
        case.negatives,
        case.positives,
        case.negative_images,
        case.units,
        case.foils,
    ):
        some[rows - filling :] = MISSING
    return case


def random_pooled(seed: int, n: int) -> Tensor:
    """Returns a leaf [n, WIDTH] with gradient."""
    return torch.randn(
        n, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    ).requires_grad_()


def random_tokens(seed: int, n: int, key: TokenKey, image: bool) -> tuple[Tensor, Tensor]:
    """Returns a leaf [n, L, W] with gradient of the key's shape, and its mask [n, L].

    Texts have 1 to L tokens.
    """
    g = torch.Generator().manual_seed(seed)
    raw_width = SHAPES.image_width if image else SHAPES.text_width
    length = PATCHES + PREFIX * key.prefix if image else CONTEXT
    tokens = torch.randn(
        n, length, WIDTH if key.project else raw_width, dtype=torch.float64, generator=g
    ).requires_grad_()
    lengths = torch.full((n,), length) if image else torch.randint(2, length + 1, (n,), generator=g)
    return tokens, torch.arange(length) < lengths[:, None]


def kept(score: Callable[[], Tensor]) -> int:
    """Returns how many numbers a forward pass keeps for its backward pass."""
    total = 0

    def pack(x: Tensor) -> Tensor:
        nonlocal total
        total += x.numel()
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        score()
    return total
