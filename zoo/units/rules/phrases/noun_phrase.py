"""Noun phrases: which words belong to one, and which of them are its head and its compound."""

from dataclasses import replace

from zoo.units.rules.kinds import BEINGS
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    BASES,
    BOUND_PARTICIPLES,
    NOUN_FOILS,
    PICTURES,
    PLACEHOLDERS,
    QUANTITIES,
    word_set,
)
from zoo.units.rules.phrases.function_words import negates
from zoo.units.rules.phrases.phrase import Phrase
from zoo.units.rules.phrases.prepositions import governs
from zoo.units.rules.phrases.tags import ADJECTIVES, DETERMINERS, NOUNS, starts
from zoo.units.rules.words import BINDING

_PICTURES = word_set(
    "picture pictures photo photos photograph photographs image images shot closeup close-up "
    "painting drawing"
)
_APART = word_set("each both all")
_BINDING = word_set(BINDING)


def noun_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    """Returns the noun phrase at i, its "of" phrases included, and where it ends."""
    noun, end = _simple_noun_phrase(words, tags, i)
    while noun and end + 1 < len(words) and words[end] == "of":
        other, after = _simple_noun_phrase(words, tags, end + 1)
        if other is None:
            break
        if noun.head_text in QUANTITIES:
            start = len(noun.words) + 1
            noun = replace(
                other,
                words=(*noun.words, "of", *other.words),
                head=(start + other.head[0], start + other.head[1]),
                compound=start + other.compound,
            )
        elif noun.head_text in PICTURES | PLACEHOLDERS:
            noun = replace(other, pictured=noun.head_text in _PICTURES)
        else:
            noun = replace(noun, words=(*noun.words, "of", *other.words))
        end = after
    return noun, end


def _simple_noun_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    kept: list[tuple[str, str]] = []
    end, after_noun, owned = i, 0, False
    j = i
    while j < len(words):
        tag = tags[j]
        if tag in NOUNS:
            kept.append((words[j], tag))
            end, after_noun = j + 1, len(kept)
        elif tag in ADJECTIVES or qualifies_noun(words, tags, j):
            kept.append((words[j], tag))
        elif tag == "POS" or (words[j] in ("'s", "’s") and after_noun):
            kept, after_noun, owned = [], 0, True
        elif not kept and (
            tag in DETERMINERS
            or (tag == "RB" and not negates(words[j]) and not governs(words, tags, j))
        ):
            owned = owned or tag == "PRP$"
        elif (
            words[j] in ("and", ",") and not after_noun and kept and starts(tags, j + 1, ADJECTIVES)
        ):
            if words[j] == "and":
                kept.append(("and", "CC"))
        else:
            break
        j += 1
    kept = kept[:after_noun]
    while kept and kept[0][1] == "CC":
        kept = kept[1:]
    if not kept:
        return None, i
    own = tuple(word for word, _ in kept)
    known = len(own) > 1 and " ".join(own[-2:]) in NOUN_FOILS
    head = (len(own) - (2 if known else 1), len(own))
    return Phrase("noun", own, head, _compound(kept, head[0]), owned=owned), end


def _compound(kept: list[tuple[str, str]], head: int) -> int:
    """Returns where the compound begins that the head ends.

    It has nouns, and participles that say what a thing is for ("diving board").
    """
    start = head
    while start > 0:
        word, tag = kept[start - 1]
        for_use = tag == "VBG" or word.endswith("ing")
        if word in _BINDING or (
            word not in ATTRIBUTE_FOILS
            and (tag in NOUNS or (for_use and kept[head][0] not in BEINGS))
        ):
            start -= 1
        else:
            break
    return start


def qualifies_noun(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a participle stands before its noun.

    It does in "a running dog", "brightly lit room" and "snow covered hill", and not in "a man
    wearing socks".
    """
    if tags[i] in ("VBN", "VBD") and i and tags[i - 1] == "NN":
        return words[i] in BOUND_PARTICIPLES and starts(tags, i + 1, NOUNS | {"JJ"})
    before = i - 1
    while before >= 0 and tags[before] == "RB":
        before -= 1
    if (
        tags[i] not in ("VBG", "VBN", "VBD")
        or before < 0
        or tags[before] not in DETERMINERS | ADJECTIVES | {"IN", "TO"}
        or words[before] in _APART
    ):
        return False
    if tags[before] in ("IN", "TO") and words[before] != "of" and words[i] in BASES:
        return False
    return starts(tags, i + 1, NOUNS | {"JJ"})
