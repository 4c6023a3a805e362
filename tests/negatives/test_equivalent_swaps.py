"""Swaps that say the same as their caption."""

import pytest

from zoo.language.textblob_tagger import TextBlobTagger
from zoo.negatives.equivalent_swaps import is_equivalent_swap


@pytest.mark.parametrize(
    ("caption", "swap"),
    [
        ("A black and white dog", "A white and black dog"),
        ("A cat and a dog on a bed", "A dog and a cat on a bed"),
        ("A big white dog runs.", "A white big dog runs."),
        ("A man next to a woman", "A woman next to a man"),
        ("a big dog near a small cat .", "a small cat near a big dog ."),
        ("A man is standing next to a woman.", "A woman is standing next to a man."),
        ("A man is dancing with a woman", "A woman is dancing with a man"),
        ("Dogs quickly run together", "Dogs together run quickly"),
    ],
)
def test_lists_adjectives_adverbs_and_symmetric_relations_are_equivalent(
    caption: str, swap: str
) -> None:
    assert is_equivalent_swap(caption, swap, TextBlobTagger())


@pytest.mark.parametrize(
    ("caption", "swap"),
    [
        ("A man behind a woman", "A woman behind a man"),
        ("A man with a hat", "A hat with a man"),
        ("A red cat next to a black dog", "A red dog next to a black cat"),
        ("A red cat next to a black dog", "A black cat next to a red dog"),
        ("A man next to a woman in a hat", "A woman next to a man in a hat"),
        ("A dog near a man chases a cat", "A man near a dog chases a cat"),
        ("A man chases a woman", "A woman chases a man"),
        ("A small boy and a tall girl", "A tall boy and a small girl"),
        ("Two men next to a woman", "Two woman next to a men"),
        ("A man sitting by a tree", "A tree sitting by a man"),
        ("A man in red near a band next to a boy", "A boy in red near a band next to a man"),
        ("A dog", "A dog"),
        ("A dog runs", "A cat runs"),
    ],
)
def test_other_swaps_are_not(caption: str, swap: str) -> None:
    assert not is_equivalent_swap(caption, swap, TextBlobTagger())
