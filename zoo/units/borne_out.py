"""Whether the words of other captions bear out a foil, which may then be true of the image."""

import re
from collections.abc import Set

from zoo.language.lemmas import lemmas
from zoo.units.rules.lexicon import word_set

# words that say nothing about what an image shows, so that two phrases may share them
FUNCTION_WORDS = word_set("a an the of and or in on at to by with from for is are")


def content_words(text: str) -> set[str]:
    """Returns the words of a text in lower case, function words left out."""
    return set(re.findall(r"\w+", text.lower())) - FUNCTION_WORDS


def base_forms(text: str) -> set[str]:
    """Returns what the content words of a text may be forms of."""
    return set[str]().union(*map(lemmas, content_words(text)))


def is_borne_out(foil: str, own: Set[str], elsewhere: Set[str]) -> bool:
    """Whether a foil brings a word that stands in another caption of the same image.

    Args:
        foil: The foil's text.
        own: The base forms of the unit and its own caption. "A blue cube" is wrong where that
            caption has a red cube and a blue ball.
        elsewhere: The base forms of the other captions.
    """
    words = map(lemmas, content_words(foil))
    return any(forms & elsewhere and not forms & own for forms in words)
