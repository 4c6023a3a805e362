"""Inflection through lemminflect: base forms put into the form of the word they replace."""

from functools import cache
from importlib.metadata import version

_COMPARED = {"JJR": "more", "JJS": "most"}
_SHORT = 5  # letters of adjectives that take an ending: "taller", but "more wooden"


def inflection() -> dict[str, str]:
    """Returns the library and its version, as results name them."""
    return {"inflection": f"lemminflect {version('lemminflect')}"}


@cache
def inflect(base: str, tag: str) -> str:
    """Returns a base form in the form of a tag.

    Of several words, a verb's first word is inflected ("lying down"), and a noun's last word or the
    one before a preposition ("works of art").

    Args:
        base: The base form, of one word or several.
        tag: The Penn Treebank tag of the form. The base form stays as it is where the tag needs no
            inflection.
    """
    import lemminflect  # which loads its tables, and most commands need none

    if tag in _COMPARED:
        known = lemminflect.getInflection(base, tag=tag, inflect_oov=False)
        if known or len(base) > _SHORT:
            return str(known[0]) if known else f"{_COMPARED[tag]} {base}"
    if tag not in ("NNS", "NNPS", "VBD", "VBG", "VBN", "VBZ", *_COMPARED):
        return base
    words = base.split(" ")
    at = 0 if tag.startswith("VB") else _head(words)
    forms = lemminflect.getInflection(words[at], tag="NNS" if tag == "NNPS" else tag)
    return " ".join([*words[:at], forms[0] if forms else words[at], *words[at + 1 :]])


def _head(words: list[str]) -> int:
    for i, word in enumerate(words[1:], start=1):
        if word in ("of", "in", "on", "at", "to", "for", "with"):
            return i - 1
    return len(words) - 1
