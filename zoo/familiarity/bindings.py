"""Bindings: which attribute a text gives to which object (BindSplit, appendices B.3 to B.5)."""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from zoo.language.plurals import singular
from zoo.units.record import UnitRecord

_ATTRIBUTION = re.compile(r"the (\S+) (\S+) and the (\S+) (\S+)")
_OF = re.compile(r"\s+of\s+")


class Binding(NamedTuple):
    """An attribute and the object that has it.

    Attributes:
        attribute: The attribute in lower case, otherwise as it was written.
        object: The singular of the object.
    """

    attribute: str
    object: str


def binding(attribute: str, noun: str) -> Binding:
    """Returns a binding in the form in which bindings are compared.

    The attribute keeps its form: "smiling" is not "smile".
    """
    return Binding(_to_ascii(attribute), singular(_to_ascii(noun)))


def of_attribution(caption: str) -> tuple[Binding, ...]:
    """Returns both bindings of a caption of VG-Attribution.

    Args:
        caption: The caption, such as "the blue sky and the white wall".

    Returns:
        The bindings; none where an attribute or object has several words.
    """
    found = _ATTRIBUTION.fullmatch(caption.lower())
    if found is None:
        return ()
    return binding(found[1], found[2]), binding(found[3], found[4])


def of_units(record: UnitRecord) -> Iterator[tuple[Binding, ...]]:
    """Yields the bindings of each component of a caption, none for a bare noun.

    Components are the caption's entities. One that says "of" is two ("glass", "white wine"). The
    last word of a component is the object, and each word before it an attribute.
    """
    for entity in record.entities:
        for component in _OF.split(entity.text):
            *attributes, noun = component.split()
            yield tuple(binding(attribute, noun) for attribute in attributes)


def _to_ascii(word: str) -> str:
    """Returns a word in lower case and ASCII."""
    ascii_alone = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    return ascii_alone.strip().lower()
