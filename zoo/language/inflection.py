"""Inflects base forms with lemminflect, to match the word that they replace."""

from functools import cache
from importlib.metadata import version

_COMPARISON_WORDS = {"JJR": "more", "JJS": "most"}
_MAX_LETTERS_WITH_ENDING = (
    5  # letters of adjectives that take an ending: "taller", but "more wooden"
)


def describe_inflection_library() -> dict[str, str]:
    """Returns the library and its version, for results."""
    return {"inflection": f"lemminflect {version('lemminflect')}"}


@cache
def inflect(base: str, tag: str) -> str:
    """Returns the form of a word for a tag.

    If it has several words, a verb's first word is inflected ("lying down"), or a noun's last word
    or the word before a preposition ("works of art").

    Args:
        base: The base form, of one word or several.
        tag: The Penn Treebank tag of the form. The base form is returned unchanged if the tag needs
            no inflection.
    """
    import lemminflect  # slow to load, and rarely needed

    if tag in _COMPARISON_WORDS:
        known_forms = lemminflect.getInflection(base, tag=tag, inflect_oov=False)
        if known_forms or len(base) > _MAX_LETTERS_WITH_ENDING:
            return str(known_forms[0]) if known_forms else f"{_COMPARISON_WORDS[tag]} {base}"
    if tag not in ("NNS", "NNPS", "VBD", "VBG", "VBN", "VBZ", *_COMPARISON_WORDS):
        return base
    words = base.split(" ")
    at = 0 if tag.startswith("VB") else _head_index(words)
    forms = lemminflect.getInflection(words[at], tag="NNS" if tag == "NNPS" else tag)
    return " ".join([*words[:at], forms[0] if forms else words[at], *words[at + 1 :]])


def _head_index(words: list[str]) -> int:
    for i, word in enumerate(words[1:], start=1):
        if word in ("of", "in", "on", "at", "to", "for", "with"):
            return i - 1
    return len(words) - 1
