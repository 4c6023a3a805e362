"""Finds nouns that are tagged as verbs or adjectives, by their context."""

from zoo.units.rules.kinds import BEINGS, CLOTHES, MOVERS
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    BASES,
    COLOURS,
    NOUN_FOILS,
    PICTURES,
    PLACEHOLDERS,
    PREPOSITIONS,
    QUANTITIES,
    word_set,
)
from zoo.units.rules.phrases.word_classes import (
    ADJECTIVES,
    AUXILIARIES,
    DETERMINERS,
    FINITE,
    NOUNS,
    SUBJECT_PRONOUNS,
    VERBS,
    has_tag,
)

# "down tracks": a third person does not follow these
_GOING_ALONG = (["down"], ["along"], ["across"], ["through"], ["over"])
_COUNTING = word_set("various several many different some other")
_GOVERNING = word_set("in at of with into from near under behind between against beside")


def is_mistagged_noun(
    words: list[str], tags: list[str], i: int, previous_tag: str, next_tag: str
) -> bool:
    """Returns whether a word tagged as a verb or adjective is a noun in its context."""
    word, tag = words[i], tags[i]
    if words[i + 1 : i + 2] == ["of"] and _is_quantity_or_part(word, tag, previous_tag):
        return True
    if tag == "JJ" and previous_tag == "DT" and next_tag in ("VBZ", "VBP"):
        # "the idiot crosses"
        return word not in ATTRIBUTE_FOILS and words[i + 1] not in NOUN_FOILS
    if tag == "JJ" and word.endswith("-top"):
        # "a table-top with books"
        return next_tag in ("IN", "CC", ".")
    if tag == "JJ":
        if word in ATTRIBUTE_FOILS and (word not in BEINGS or next_tag == "CC"):
            return False
        ends = next_tag == "." and previous_tag == "JJ" and tags[max(i - 2, 0)] in ("IN", "DT")
        listed = (
            word in NOUN_FOILS
            or word in BEINGS
            or _ends_phrase(words, tags, i)
            # "by red siren"
            or (ends and not word.endswith(("ed", "-")))
            # "around a dummy on a board"
            or (
                words[i - 1 : i] in (["a"], ["an"], ["the"])
                and next_tag == "IN"
                and has_tag(tags, i + 2, DETERMINERS)
                and not word.endswith("ed")
            )
        )
        return word in CLOTHES or (listed and next_tag not in NOUNS | ADJECTIVES)
    if tag == "VBG" and next_tag in (".", ",", "CC", "IN"):
        # "a sign with black and red writing"
        start = i - 1
        while start > 0 and tags[start] in ADJECTIVES | {"CC"}:
            start -= 1
        return start < i - 1 and words[start] == "with"
    if tag not in VERBS or tag == "VBG":
        return False
    if tag == "VBZ" and _is_listed_plural(words, tags, i, previous_tag, next_tag):
        return True
    if tag == "VB" and word not in BASES and previous_tag == "VBZ" and next_tag in (".", "IN"):
        # "examines produce"
        return words[i - 1] not in AUXILIARIES
    if tag == "VB" and words[i - 1 : i] == ["some"] and i > 1 and tags[i - 2] in VERBS:
        # "gets some help"
        return True
    return (
        (previous_tag == "DT" and word in NOUN_FOILS and next_tag not in NOUNS)
        or (word in NOUN_FOILS and word not in BASES and _has_noun_position(words, tags, i))
        or (tag == "VBZ" and word in NOUN_FOILS and words[i - 1 : i] in _GOING_ALONG)
        or (word in ("top", "set", "match") and previous_tag == "NN" and next_tag not in NOUNS)
        or (tag == "VB" and previous_tag == "NN" and next_tag == "." and _is_final_noun(words, i))
        or (
            tag in ("VB", "VBP", "VBD")
            and _is_noun_by_context(words, tags, i, previous_tag, next_tag)
        )
        or (tag in FINITE and _is_governed(words, tags, i))
        or (
            (tag in FINITE or word in NOUN_FOILS)
            and next_tag not in NOUNS
            and _ends_phrase(words, tags, i)
        )
    )


def _is_listed_plural(
    words: list[str], tags: list[str], i: int, previous_tag: str, next_tag: str
) -> bool:
    """Returns whether a third person is a plural: "two different tracks", "a tub, sinks, and"."""
    number = i - 1 if previous_tag == "CD" else i - 2
    is_number = previous_tag in ("CD", "JJ") and tags[max(number, 0)] == "CD"
    counted = is_number and words[number] != "one" and words[number - 1] != "number"
    # "on separate tracks", not "in red stands"
    governed = tags[max(i - 2, 0)] == "IN" and words[i - 1] not in COLOURS
    qualified = previous_tag == "JJ" and (words[i - 1] in _COUNTING or governed)
    listed = previous_tag == "," and next_tag in (",", "CC") and words[i] in NOUN_FOILS
    return words[i] not in AUXILIARIES and (counted or qualified or listed)


def _is_quantity_or_part(word: str, tag: str, previous_tag: str) -> bool:
    """Returns whether a word before "of" is a noun: "set of vases", "the interior of a room"."""
    if tag in ("JJ", "RB"):
        return previous_tag == "DT" and word not in ATTRIBUTE_FOILS
    return tag in VERBS and word in QUANTITIES | PICTURES and previous_tag in ("", "DT", "JJ")


def _has_noun_position(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a listed noun is where a noun can be: "railroad tracks", not "kids sled"."""
    previous = words[i - 1] if i else ""
    if tags[i] in ("VBZ", "MD"):
        return previous in NOUN_FOILS and previous not in MOVERS | CLOTHES
    return previous not in BEINGS | SUBJECT_PRONOUNS and tags[i - 1 : i] != ["TO"]


def _is_governed(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a finite verb follows a word that only a noun phrase can follow.

    It does in "looks at leaves", "in karate form" and "an elaborate costume".
    """
    previous = words[i - 1] if i else ""
    if tags[i] == "VBZ":
        return previous in _GOVERNING | {"a", "an", "the"}
    if tags[i] == "VBD" and words[i].endswith("ed"):
        return False
    return previous in _GOVERNING | {"a", "an"} or (i > 0 and tags[i - 1] == "PRP$")


def _ends_phrase(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether this word is the only noun after "a" and adjectives: "a red sled".

    A participle or another adjective may still follow ("a black and white dog").
    """
    next_tag = tags[i + 1] if i + 1 < len(tags) else "."
    joined = next_tag == "CC" and not has_tag(tags, i + 2, ADJECTIVES | {"VBN", "VBG"})
    placed = next_tag == "RB" and (words[i + 1] in PREPOSITIONS)
    set_off = next_tag == "," and tags[i] != "JJ"
    follows = joined or placed or set_off or next_tag in ("IN", "TO", ".", "VBZ")
    if not (follows or words[i + 1] == "being"):
        return False
    if words[i - 1] in BEINGS:
        return False
    start = i - 1
    while start > 0 and tags[start] == "JJ":
        start -= 1
    return start >= 0 and start < i - (tags[i] == "JJ") and words[start] in ("a", "an")


def _is_final_noun(words: list[str], i: int) -> bool:
    """Returns whether a verb at the end of a caption is a noun ("on a playground ride").

    That requires that no being precedes it.
    """
    return words[i] in PLACEHOLDERS and words[i - 1] not in BEINGS


def _is_noun_by_context(
    words: list[str], tags: list[str], i: int, previous_tag: str, next_tag: str
) -> bool:
    """Returns whether a verb is a noun in its context.

    Examples are "pulls a sled in the snow", "has a confused look on" and "hangs from outdoor play
    equipment".
    """
    if tags[i] != "VBD" and next_tag in NOUNS and previous_tag == "JJ":
        return True
    if tags[i] == "VB" and next_tag in NOUNS and previous_tag == "NN" and "NNS" not in tags[:i]:
        # "a city break dancer": a singular subject takes no "break"
        return words[i - 1] not in MOVERS
    if BASES.get(words[i]) != words[i]:
        return False
    if previous_tag == "VBG" and words[i] in NOUN_FOILS:
        return True
    if next_tag in NOUNS and previous_tag == "NN" and words[i - 1] not in MOVERS:
        # "blue plastic play equipment": only a plural subject takes "play"
        return "NNS" not in tags[:i] or "IN" in tags[i - 3 : i]
    start = i - 1
    while start >= 0 and tags[start] in ("JJ", "VBN", "CD", "NN") and words[start] not in MOVERS:
        start -= 1
    if words[i - 1] in NOUN_FOILS and not {"CC", "NNS"}.isdisjoint(tags[: start + 1]):
        # "a girl and a boy in a hat stand"
        return False
    return start >= 0 and tags[start] == "DT" and words[start] in ("a", "an") and next_tag != "NNS"
