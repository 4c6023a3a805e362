"""Inflection through lemminflect: a base form as the word inflects whose place it takes. Free of torch."""

from functools import cache
from importlib.metadata import version
from typing import Any

from zoo.errors import need

_COMPARED = {"JJR": "more", "JJS": "most"}
_SHORT = 5  # letters: "taller", but "more wooden"


def inflection() -> dict[str, str]:
    """Returns what a result says of the library."""
    need("lemminflect", "wordnet")
    return {"inflection": f"lemminflect {version('lemminflect')}"}


@cache
def inflected(base: str, tag: str) -> str:
    """tag: Penn Treebank's, of the form that is wanted. Returns the base form so inflected, as it is where the tag asks for nothing.

    Of several words a verb's first is inflected ("lying down"), a noun's last, or the one before a preposition ("works of art").
    Raises ZooError where lemminflect is not installed.
    """
    lemminflect: Any = need("lemminflect", "wordnet")
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
