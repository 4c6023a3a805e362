"""Phrases: groups the tagged words of a caption into noun phrases, verb groups and prepositions. Free of torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from zoo.language.tagger import Token
from zoo.units.lexicon import (
    ATTRIBUTE_FOILS,
    BASES,
    NOUN_FOILS,
    PICTURES,
    PLACEHOLDERS,
    PREPOSITION_PHRASES,
    PREPOSITIONS,
    QUANTITIES,
    THIRD_PERSONS,
    participle,
    word_set,
)

Kind = Literal["noun", "verb", "preposition", "joiner", "relative", "negation", "break"]

_DETERMINERS = {"DT", "PRP$", "PDT", "WP$"}
_NOUNS = {"NN", "NNS", "NNP", "NNPS"}
_ADJECTIVES = {"JJ", "JJR", "JJS", "CD"}
_VERBS = {"VB", "VBZ", "VBP", "VBD", "VBG", "VBN", "MD"}
_AFTER_VERB = _DETERMINERS | {"IN", "TO", "RP", "RB", ".", ",", "CC", "PRP"}
_AUXILIARIES = word_set(
    "is are was were be been being am 's has have had having do does did can will would could may might"
)
_HAVING = word_set("has have had having")
_SUBORDINATORS = word_set(
    "as while whilst because if than like unlike during after before until since though although when where how"
)
_ADVERBIAL = word_set("outside inside")
_RELATIVES = word_set("that who which")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A group of words, lower-cased, determiners and auxiliaries left out.

    head: where a noun phrase's head begins and ends in `words`. finite: of a verb group, whether it needs a subject before it ("runs", "is
    running") or may qualify the noun before it ("running", "covered"). passive: of a verb group, a past participle.
    """

    kind: Kind
    words: tuple[str, ...] = ()
    head: tuple[int, int] = (0, 0)
    finite: bool = False
    passive: bool = False

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def head_text(self) -> str:
        return " ".join(self.words[slice(*self.head)])


def phrases(tokens: Sequence[Token]) -> list[Phrase]:
    """Returns the phrases in order; adverbs are left out."""
    words = [token.text.lower() for token in tokens]
    tags = _mend(words, [token.tag for token in tokens])
    found: list[Phrase] = []
    i = 0
    while i < len(words):
        phrase, i = _next(words, tags, i)
        if phrase:
            found.append(phrase)
    return found


def _next(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    word, tag = words[i], tags[i]
    for several in PREPOSITION_PHRASES:
        if word == several[0] and tuple(words[i : i + len(several)]) == several:
            return Phrase("preposition", several), i + len(several)
    if word in _SUBORDINATORS:
        return Phrase("break"), i + 1
    if _negates(word):
        return Phrase("negation"), i + 1
    if word == "no":
        return Phrase("break"), max(_noun_phrase(words, tags, i)[1], i + 1)
    if word in _RELATIVES and i and tags[i - 1] in _NOUNS:
        return Phrase("relative"), i + 1
    if word in _ADVERBIAL and not _starts(tags, i + 1, _DETERMINERS | _NOUNS | _ADJECTIVES):
        return None, i + 1
    if (
        tag in ("IN", "RP")
        or _governs(words, tags, i)
        or (tag == "TO" and not _starts(tags, i + 1, {"VB"}))
    ):
        return Phrase("preposition", (word,)), i + 1
    if tag in _VERBS and not _qualifies_noun(words, tags, i):
        return _verb_group(words, tags, i)
    noun, after = _noun_phrase(words, tags, i)
    if noun:
        return noun, after
    if word in ("and", "&", ","):
        return Phrase("joiner", (word,)), i + 1
    return (None if tag in ("RB", "RBR") or tag in _ADJECTIVES else Phrase("break")), i + 1


def _negates(word: str) -> bool:
    return word in ("not", "never") or word.endswith(("n't", "n’t"))


def _mend(words: list[str], tags: list[str]) -> list[str]:
    """Turns nouns into the verbs that their place says they are ("a girl in a dress jumps over"), and adjectives into nouns."""
    tags = list(tags)
    for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
        before, after = (tags[i - 1] if i else ""), (tags[i + 1] if i + 1 < len(tags) else ".")
        if word in _SUBORDINATORS:
            tags[i] = "IN"
        elif tag in ("NN", "NNS", "JJ") and _acts(words, tags, i, before, after):
            tags[i] = "VBG" if word.endswith("ing") else "VBP" if BASES.get(word) == word else "VBZ"
        elif tag == "NN" and before == "TO" and BASES.get(word) == word and after in _AFTER_VERB:
            tags[i] = "VB"
        elif (
            tag == "JJ"
            and word in NOUN_FOILS
            and word not in ATTRIBUTE_FOILS
            and after not in _NOUNS | _ADJECTIVES
        ):
            tags[i] = "NN"
    return tags


def _acts(words: list[str], tags: list[str], i: int, before: str, after: str) -> bool:
    word = words[i]
    if word.endswith("ing"):
        after_noun = before in _NOUNS and (
            after in ("DT", "PRP$") or (word in BASES and after in _AFTER_VERB)
        )
        return after_noun or (i > 0 and words[i - 1] in _SUBORDINATORS)
    if word in THIRD_PERSONS:
        after_colour = before == "JJ" and (
            after in ("DT", "PRP$") or (tags[i - 2 : i - 1] == ["IN"] and after in _AFTER_VERB)
        )
        return (
            before in ("NN", "NNP", "PRP")
            or (before == "NNS" and after in ("IN", "TO", "RP"))
            or after_colour
        )
    return (
        BASES.get(word) == word
        and word not in NOUN_FOILS
        and before == "NNS"
        and after not in (".", ",")
    )


def _governs(words: list[str], tags: list[str], i: int) -> bool:
    """Whether what is tagged an adverb is a preposition ("skating down a rail")."""
    return (
        words[i] in PREPOSITIONS
        and tags[i] in ("RB", "JJ")
        and _starts(tags, i + 1, _DETERMINERS | _NOUNS | _ADJECTIVES)
    )


def _starts(tags: list[str], i: int, wanted: set[str]) -> bool:
    return i < len(tags) and tags[i] in wanted


def _qualifies_noun(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a participle stands before its noun: "a running dog", "brightly lit room", "snow covered hill"; not "a man wearing socks"."""
    if tags[i] == "VBN" and i and tags[i - 1] == "NN":
        return _starts(tags, i + 1, _NOUNS)
    before = i - 1
    while before >= 0 and tags[before] == "RB":
        before -= 1
    if (
        tags[i] not in ("VBG", "VBN")
        or before < 0
        or tags[before] not in _DETERMINERS | _ADJECTIVES | {"IN", "TO"}
    ):
        return False
    if tags[before] in ("IN", "TO") and words[before] != "of" and words[i] in BASES:
        return False
    return _starts(tags, i + 1, _NOUNS | {"JJ"})


def _noun_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    """Returns the noun phrase at i, its "of" phrases included, and where it ends."""
    noun, end = _simple_noun_phrase(words, tags, i)
    while noun and end + 1 < len(words) and words[end] == "of":
        other, after = _simple_noun_phrase(words, tags, end + 1)
        if other is None:
            break
        if noun.head_text in QUANTITIES:
            start = len(noun.words) + 1
            noun = Phrase(
                "noun",
                (*noun.words, "of", *other.words),
                (start + other.head[0], start + other.head[1]),
            )
        elif noun.head_text in PICTURES | PLACEHOLDERS:
            noun = other
        else:
            noun = Phrase("noun", (*noun.words, "of", *other.words), noun.head)
        end = after
    return noun, end


def _simple_noun_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    kept: list[tuple[str, str]] = []
    end, after_noun = i, 0
    j = i
    while j < len(words):
        tag = tags[j]
        if tag in _NOUNS:
            kept.append((words[j], tag))
            end, after_noun = j + 1, len(kept)
        elif tag in _ADJECTIVES or _qualifies_noun(words, tags, j):
            kept.append((words[j], tag))
        elif tag == "POS" or (words[j] in ("'s", "’s") and after_noun):
            kept, after_noun = [], 0
        elif not kept and (
            tag in _DETERMINERS
            or (tag == "RB" and not _negates(words[j]) and not _governs(words, tags, j))
        ):
            pass
        elif (
            words[j] in ("and", ",")
            and not after_noun
            and kept
            and _starts(tags, j + 1, _ADJECTIVES)
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
    compound = len(own) > 1 and " ".join(own[-2:]) in NOUN_FOILS
    return Phrase("noun", own, (len(own) - (2 if compound else 1), len(own))), end


def _verb_group(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    """Auxiliaries go, finite verbs take their -ing form: "is running", "runs" and "running" are one predicate."""
    j = i
    group: list[tuple[str, str]] = []
    while j < len(words):
        if tags[j] in _VERBS and not (group and _qualifies_noun(words, tags, j)):
            group.append((words[j], tags[j]))
        elif tags[j] == "TO" and _starts(tags, j + 1, {"VB"}) and group:
            group.append(("to", "TO"))
        elif tags[j] != "RB" or _negates(words[j]) or _governs(words, tags, j):
            break
        j += 1
    if j < len(words) and _negates(words[j]):
        return Phrase("negation"), j + 1
    finite = group[0][1] in ("VBZ", "VBP", "VBD", "MD", "VB")
    main = [(word, tag) for word, tag in group if word not in _AUXILIARIES]
    if not main:
        return Phrase("verb", ("with",) if group[-1][0] in _HAVING else (), finite=finite), j
    (verb, tag), *rest = main
    first = verb if _stays(verb, tag) else participle(verb)
    return Phrase(
        "verb", (first, *(word for word, _ in rest)), finite=finite, passive=tag == "VBN"
    ), j


def _stays(verb: str, tag: str) -> bool:
    return (
        tag in ("VBG", "VBN")
        or verb.endswith("ing")
        or (tag == "VBD" and (verb.endswith("ed") or verb not in BASES))
    )
