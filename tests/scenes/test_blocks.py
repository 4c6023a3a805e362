"""Blocks of bindings, on PUG:SPARE's numbers of colours and animals."""

from collections import Counter

import pytest

from zoo.scenes import blocks
from zoo.scenes.graph import ALL_SHAPES, COLORS

ANIMALS = [f"animal {k}" for k in range(12)]


def test_captions_of_pug_spare_split_as_published():
    held_out = blocks.draw_block(COLORS, ANIMALS, seed=0)
    captions = list(blocks.captions(COLORS, ANIMALS))
    assert len(held_out) == 9
    assert len(captions) == len(set(captions)) == 7_392
    literal = Counter(sum(b in held_out for b in caption) for caption in captions)
    assert literal == {0: 6_042, 1: 1_314, 2: 36}
    counts = Counter(blocks.split_of_caption(caption, held_out) for caption in captions)
    assert counts == {"seen": 6_042 - 810, "partial": 504, "unseen": 36, None: 810 + 810}


def test_a_caption_is_asked_about_where_its_swap_is_as_familiar():
    held_out = frozenset({("red", "cube"), ("red", "cone"), ("blue", "cube"), ("blue", "cone")})
    split_of = {
        (("red", "cube"), ("blue", "cone")): "unseen",
        (("red", "cube"), ("gray", "cone")): "partial",  # the swap has the red cone
        (("red", "cube"), ("gray", "star")): None,  # the swap has nothing held out
        (("red", "star"), ("gray", "cube")): None,  # the swap has the red cube
        (("red", "star"), ("blue", "torus")): "seen",
        (("gray", "cone"), ("cyan", "cube")): "seen",
    }
    for caption, split in split_of.items():
        assert blocks.split_of_caption(caption, held_out) == split, caption
        assert blocks.split_of_caption((caption[1], caption[0]), held_out) == split
        assert blocks.split_of_caption(blocks.swap_attributes(caption), held_out) in (split, None)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_set_aside_has_all_orders_and_swaps_and_leaves_every_binding_to_training(seed):
    held_out = blocks.draw_block(COLORS, ALL_SHAPES, seed)
    aside = blocks.draw_evaluation_groups(COLORS, ALL_SHAPES, held_out, seed)
    seen = [
        c
        for c in blocks.captions(COLORS, ALL_SHAPES)
        if blocks.split_of_caption(c, held_out) == "seen"
    ]
    asked = {c for c in seen if blocks.swap_group_key(c) in aside}
    assert len(asked) == 4 * len(aside) == 184
    assert all({(b, a), blocks.swap_attributes((a, b))} <= asked for a, b in asked)
    trained = {binding for c in seen if c not in asked for binding in c}
    assert len(trained) == 64 - 9
