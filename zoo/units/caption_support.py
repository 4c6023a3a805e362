"""Checks whether other captions support a foil, which may then be true of the image."""

import re
from collections.abc import Set

from zoo.language.lemmas import lemmas
from zoo.units.rules.lexicon import word_set

# words without content, which two different phrases may share
FUNCTION_WORDS = word_set("a an the of and or in on at to by with from for is are")


def content_words(text: str) -> set[str]:
    """Returns the lower-case words of a text without function words."""
    return set(re.findall(r"\w+", text.lower())) - FUNCTION_WORDS


def base_forms(text: str) -> set[str]:
    """Returns the possible base forms of a text's content words."""
    return set[str]().union(*map(lemmas, content_words(text)))


def is_supported_elsewhere(foil: str, own_forms: Set[str], other_forms: Set[str]) -> bool:
    """Returns whether a foil adds a word that appears in another caption of the same image.

    Args:
        foil: The foil's text.
        own_forms: The base forms of the unit and its caption. "A blue cube" is a valid foil if
            the caption has a red cube and a blue ball.
        other_forms: The base forms of the other captions of the image.
    """
    words = map(lemmas, content_words(foil))
    return any(forms & other_forms and not forms & own_forms for forms in words)
