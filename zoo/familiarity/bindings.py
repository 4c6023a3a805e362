"""Bindings: pairs of an attribute and an object in a text (BindSplit, appendices B.3 to B.5)."""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from zoo.language.plurals import singular
from zoo.units.record import UnitRecord

_ATTRIBUTION = re.compile(r"the (\S+) (\S+) and the (\S+) (\S+)")
_OF_WORD = re.compile(r"\s+of\s+")


class Binding(NamedTuple):
    """An attribute and the object that has it.

    Attributes:
        attribute: The attribute in lower case, otherwise unchanged.
        object: The singular of the object.
    """

    attribute: str
    object: str


def normalize_binding(attribute: str, noun: str) -> Binding:
    """Returns a binding in its normal form for comparison.

    The attribute is not lemmatised: "smiling" is not "smile".
    """
    return Binding(_normalize_word(attribute), singular(_normalize_word(noun)))


def attribution_bindings(caption: str) -> tuple[Binding, ...]:
    """Returns both bindings of a caption of VG-Attribution.

    Args:
        caption: The caption, such as "the blue sky and the white wall".

    Returns:
        The bindings; empty if an attribute or object has several words.
    """
    match = _ATTRIBUTION.fullmatch(caption.lower())
    if match is None:
        return ()
    return normalize_binding(match[1], match[2]), normalize_binding(match[3], match[4])


def unit_bindings(record: UnitRecord) -> Iterator[tuple[Binding, ...]]:
    """Yields the bindings of each component of a caption, an empty tuple for a bare noun.

    Components are the caption's entities. An entity with "of" counts as two ("glass", "white
    wine"). The last word of a component is the object, and each word before it is an attribute.
    """
    for entity in record.entities:
        for component in _OF_WORD.split(entity.text):
            *attributes, noun = component.split()
            yield tuple(normalize_binding(attribute, noun) for attribute in attributes)


def _normalize_word(word: str) -> str:
    """Returns a word in lower case and ASCII."""
    ascii_word = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    return ascii_word.strip().lower()
