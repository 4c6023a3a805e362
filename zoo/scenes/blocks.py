"""Blocks of attribute-object bindings that are held out of training (BindSplit, section 4).

A caption names two objects with one attribute each, and its swap exchanges the attributes. A block
is the product of some attributes and some objects. The split of a caption is the number of its two
bindings in the block. It is used for evaluation only if its swap has the same number, so that
neither of them is more familiar to the model:

    0 `seen`, 1 `partial`, 2 `unseen`

A caption without bindings of the block whose swap has one is in no split: training on it with its
swap as a negative would show held-out bindings to the model.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

Binding = tuple[str, str]  # attribute, object
Caption = tuple[Binding, Binding]
SPLITS = ("seen", "partial", "unseen")
BLOCK_SIDE = 3


def draw_block(
    attributes: Sequence[str], objects: Sequence[str], seed: int, side: int = BLOCK_SIDE
) -> frozenset[Binding]:
    """Returns the bindings of a random block.

    Args:
        attributes: All attributes.
        objects: All objects.
        seed: The random seed.
        side: Number of attributes and objects in the block.
    """
    rng = Random(f"block {seed}")
    return frozenset(product(rng.sample(attributes, side), rng.sample(objects, side)))


def captions(attributes: Sequence[str], objects: Sequence[str]) -> Iterator[Caption]:
    """Yields all captions with two different attributes and two different objects, in any order."""
    bindings = list(product(attributes, objects))
    for first, second in product(bindings, bindings):
        if first[0] != second[0] and first[1] != second[1]:
            yield first, second


def swap_attributes(caption: Caption) -> Caption:
    """Returns the caption with the attributes exchanged."""
    (a, first), (b, second) = caption
    return (b, first), (a, second)


def split_of_caption(caption: Caption, held_out: frozenset[Binding]) -> str | None:
    """Returns the split of a caption, or None if its swap has another number of held-out bindings.

    Args:
        caption: The caption.
        held_out: The bindings that are held out of training.
    """
    n, of_swap = (sum(b in held_out for b in c) for c in (caption, swap_attributes(caption)))
    return SPLITS[n] if n == of_swap else None


def swap_group_key(caption: Caption) -> tuple[Binding, ...]:
    """Returns a key shared by a caption, its reversed order and the swaps of both."""
    return min(tuple(sorted(caption)), tuple(sorted(swap_attributes(caption))))


def draw_evaluation_groups(
    attributes: Sequence[str],
    objects: Sequence[str],
    held_out: frozenset[Binding],
    seed: int,
    share: float = 0.1,
) -> frozenset[tuple[Binding, ...]]:
    """Samples captions of seen bindings for evaluation, which are then excluded from training.

    Args:
        attributes: All attributes.
        objects: All objects.
        held_out: The bindings that are held out of training.
        seed: The random seed.
        share: Share of these captions to sample, from 0 to 1.

    Returns:
        The keys of the captions from `swap_group`, so that reversed captions and swaps are
        included.
    """
    seen_captions = (
        c for c in captions(attributes, objects) if split_of_caption(c, held_out) == "seen"
    )
    groups = sorted(dict.fromkeys(map(swap_group_key, seen_captions)))
    return frozenset(Random(f"set aside {seed}").sample(groups, round(share * len(groups))))
