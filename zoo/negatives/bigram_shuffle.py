"""Bigram shuffle: pairs of words in another order (Oh et al., FSC-CLIP, EMNLP 2024)."""

import re
from random import Random

from zoo.language.text import equal_when_normalized
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import UnitRecord

DRAWS = 10

_MARKS = re.compile(r"[\W_]+")
_FINAL_MARKS = re.compile(r"\s*[^\w\s]*\s*$")


class BigramShuffle(NegativeGenerator):
    """The caption cut into pairs of consecutive words, with the pairs shuffled.

    If the number of words is odd, the last word forms no pair. Punctuation moves with the word
    before it, except at the end of the caption. The public code separates all tokens by spaces ("do
    n't") and moves full stops, which makes the negative recognisable. If the new order leaves
    the caption unchanged, another order is drawn, up to ten times, as published. A caption of fewer
    than three words has no negative.
    """

    name = "bigram_shuffle"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the caption with its pairs of words shuffled, or None if nothing changes."""
        end = _FINAL_MARKS.search(caption)
        assert end is not None
        words = _words_with_punctuation(caption[: end.start()])
        pairs = [" ".join(words[i : i + 2]) for i in range(0, len(words), 2)]
        if len(set(pairs)) < 2:
            return None
        for _ in range(DRAWS):
            rng.shuffle(pairs)
            negative = " ".join(pairs).rstrip(" ,;:&-–—") + end.group().rstrip()
            if not equal_when_normalized(negative, caption):
                return negative
        return None


def _words_with_punctuation(text: str) -> list[str]:
    """Splits at whitespace; separate punctuation marks are joined to the word before."""
    words: list[str] = []
    for part in text.split():
        if words and _MARKS.fullmatch(part):
            words[-1] += f" {part}"
        else:
            words.append(part)
    return words
