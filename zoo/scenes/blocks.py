"""Blocks of bindings that training never has, and what is asked about them (BindSplit, section 4).

A caption names two objects with an attribute each, and its swap exchanges the attributes. Some
attributes by some objects make a block. What counts is how many of a caption's two bindings are in
the block, and it is asked about where its swap has as many, so that neither is the more familiar:

    0 `seen`, 1 `partial`, 2 `unseen`

A caption without any, whose swap has one, is in no split. Trained on with its swap as a negative,
it would show the model what is held out.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

Binding = tuple[str, str]  # attribute, object
Caption = tuple[Binding, Binding]
SPLITS = ("seen", "partial", "unseen")
SIDE = 3


def block(
    attributes: Sequence[str], objects: Sequence[str], seed: int, side: int = SIDE
) -> frozenset[Binding]:
    """Returns the bindings of a drawn block.

    Args:
        attributes: All attributes.
        objects: All objects.
        seed: The seed of the draw.
        side: How many attributes and objects are drawn.
    """
    rng = Random(f"block {seed}")
    return frozenset(product(rng.sample(attributes, side), rng.sample(objects, side)))


def captions(attributes: Sequence[str], objects: Sequence[str]) -> Iterator[Caption]:
    """Yields every caption about two objects that differ in both, in both orders."""
    bindings = list(product(attributes, objects))
    for first, second in product(bindings, bindings):
        if first[0] != second[0] and first[1] != second[1]:
            yield first, second


def swap_attributes(caption: Caption) -> Caption:
    """Returns the caption with its attributes exchanged."""
    (a, first), (b, second) = caption
    return (b, first), (a, second)


def split_of(caption: Caption, held_out: frozenset[Binding]) -> str | None:
    """Returns the split of a caption, None where its swap is more or less familiar.

    Args:
        caption: The caption.
        held_out: The bindings that training never has.
    """
    n, of_swap = (sum(b in held_out for b in c) for c in (caption, swap_attributes(caption)))
    return SPLITS[n] if n == of_swap else None


def kin(caption: Caption) -> tuple[Binding, ...]:
    """Returns what a caption, its other order and the swaps of both have in common."""
    return min(tuple(sorted(caption)), tuple(sorted(swap_attributes(caption))))


def set_aside(
    attributes: Sequence[str],
    objects: Sequence[str],
    held_out: frozenset[Binding],
    seed: int,
    share: float = 0.1,
) -> frozenset[tuple[Binding, ...]]:
    """Draws captions of seen bindings that are asked about, and that training never has either.

    Args:
        attributes: All attributes.
        objects: All objects.
        held_out: The bindings that training never has.
        seed: The seed of the draw.
        share: How many of these captions are drawn, from 0 to 1.

    Returns:
        What `kin` returns of each, so that a caption is drawn with its other order and its swap.
    """
    seen = (c for c in captions(attributes, objects) if split_of(c, held_out) == "seen")
    groups = sorted(dict.fromkeys(map(kin, seen)))
    return frozenset(Random(f"set aside {seed}").sample(groups, round(share * len(groups))))
