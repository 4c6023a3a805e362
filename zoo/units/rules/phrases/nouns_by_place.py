"""Nouns by their place: what is tagged a verb or adjective and is a noun."""

from zoo.units.rules.kinds import BEINGS, CLOTHES, MOVERS
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    BASES,
    NOUN_FOILS,
    PLACEHOLDERS,
    PREPOSITIONS,
    word_set,
)
from zoo.units.rules.phrases.function_words import SUBJECT_PRONOUNS
from zoo.units.rules.phrases.tags import ADJECTIVES, FINITE, NOUNS, VERBS, starts

_GOVERNING = word_set("in at of with into from near under behind between against beside")


def is_noun(words: list[str], tags: list[str], i: int, before: str, after: str) -> bool:
    """Whether what is tagged a verb or adjective is a noun by its place."""
    word, tag = words[i], tags[i]
    if tag == "JJ":
        if word in ATTRIBUTE_FOILS and (word not in BEINGS or after == "CC"):
            return False
        listed = word in NOUN_FOILS or word in BEINGS or _ends_phrase(words, tags, i)
        return word in CLOTHES or (listed and after not in NOUNS | ADJECTIVES)
    if tag not in VERBS or tag == "VBG":
        return False
    return (
        (before == "DT" and word in NOUN_FOILS and after not in NOUNS)
        or (word in NOUN_FOILS and word not in BASES and _is_thing(words, tags, i))
        or (word in ("top", "set", "match") and before == "NN" and after not in NOUNS)
        or (tag == "VB" and before == "NN" and after == "." and _is_ride(words, i))
        or (tag in ("VB", "VBP", "VBD") and _is_named(words, tags, i, before, after))
        or (tag in FINITE and _is_governed(words, tags, i))
        or (
            (tag in FINITE or word in NOUN_FOILS)
            and after not in NOUNS
            and _ends_phrase(words, tags, i)
        )
    )


def _is_thing(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a noun of the lists stands where a noun may: "railroad tracks", not "kids sled"."""
    previous = words[i - 1] if i else ""
    if tags[i] in ("VBZ", "MD"):
        return previous in NOUN_FOILS and previous not in MOVERS | CLOTHES
    return previous not in BEINGS | SUBJECT_PRONOUNS and tags[i - 1 : i] != ["TO"]


def _is_governed(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a finite verb follows what a noun phrase alone follows.

    It does in "looks at leaves", "in karate form" and "an elaborate costume".
    """
    before = words[i - 1] if i else ""
    if tags[i] == "VBZ":
        return before in _GOVERNING | {"a", "an", "the"}
    if tags[i] == "VBD" and words[i].endswith("ed"):
        return False
    return before in _GOVERNING | {"a", "an"} or (i > 0 and tags[i - 1] == "PRP$")


def _ends_phrase(words: list[str], tags: list[str], i: int) -> bool:
    """Whether "a" and its adjectives have no noun but this word: "a red sled", "a black top and".

    A participle or another adjective may still follow ("a black and white dog").
    """
    after = tags[i + 1] if i + 1 < len(tags) else "."
    joined = after == "CC" and not starts(tags, i + 2, ADJECTIVES | {"VBN", "VBG"})
    placed = after == "RB" and (words[i + 1] in PREPOSITIONS)
    if not (joined or placed or after in ("IN", "TO", ".", "VBZ") or words[i + 1] == "being"):
        return False
    if words[i - 1] in BEINGS:
        return False
    first = i - 1
    while first > 0 and tags[first] == "JJ":
        first -= 1
    return first >= 0 and first < i - (tags[i] == "JJ") and words[first] in ("a", "an")


def _is_ride(words: list[str], i: int) -> bool:
    """Whether a verb at the end names what is done there ("on a playground ride").

    Nobody stands before it who does it.
    """
    return words[i] in PLACEHOLDERS and words[i - 1] not in BEINGS


def _is_named(words: list[str], tags: list[str], i: int, before: str, after: str) -> bool:
    """Whether a verb is a noun by its place.

    Such are "pulls a sled in the snow", "has a confused look on" and "hangs from outdoor play
    equipment".
    """
    if tags[i] != "VBD" and after in NOUNS and before == "JJ":
        return True
    if BASES.get(words[i]) != words[i]:
        return False
    if before == "VBG" and words[i] in NOUN_FOILS:
        return True
    if after in NOUNS and before == "NN" and words[i - 1] not in MOVERS:
        # "blue plastic play equipment": none does it but several
        return "NNS" not in tags[:i] or "IN" in tags[i - 3 : i]
    first = i - 1
    while first >= 0 and tags[first] in ("JJ", "VBN", "CD", "NN") and words[first] not in MOVERS:
        first -= 1
    if words[i - 1] in NOUN_FOILS and not {"CC", "NNS"}.isdisjoint(tags[: first + 1]):
        # "a girl and a boy in a hat stand"
        return False
    return first >= 0 and tags[first] == "DT" and words[first] in ("a", "an") and after != "NNS"
