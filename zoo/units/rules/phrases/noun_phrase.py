"""Noun phrases: finds their words, head and compound."""

from dataclasses import replace

from zoo.units.rules.kinds import BEINGS, CLOTHES, MOVERS, is_kind
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
from zoo.units.rules.phrases.phrase import Phrase
from zoo.units.rules.phrases.word_classes import (
    ADJECTIVES,
    AUXILIARIES,
    DETERMINERS,
    NOUNS,
    VERBS,
    has_tag,
    is_adverb_preposition,
    is_negation,
    multiword_preposition,
)
from zoo.units.rules.words import BINDING, OF_BEINGS_ALONE

_PICTURES = word_set(
    "picture pictures photo photos photograph photographs image images shot closeup close-up "
    "profile silhouette outline painting drawing"
)
_INDEFINITE = word_set("a an another one")
# "under running water", but "from eating apples" and "outside wearing hats"
_BEFORE_NOUN = word_set("of with under near against through beside behind")
_QUANTIFIERS = word_set("each both all")
_BINDING = word_set(BINDING)
_OF_BEINGS_ALONE = word_set(OF_BEINGS_ALONE)


def noun_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    """Returns the noun phrase at i, including its "of" phrases, and its end."""
    noun, end = _simple_noun_phrase(words, tags, i)
    while noun and end + 1 < len(words) and words[end] == "of":
        next_noun, next_end = _simple_noun_phrase(words, tags, end + 1)
        if next_noun is None:
            break
        if noun.head_text in QUANTITIES:
            start = len(noun.words) + 1
            noun = replace(
                next_noun,
                words=(*noun.words, "of", *next_noun.words),
                head=(start + next_noun.head[0], start + next_noun.head[1]),
                compound=start + next_noun.compound,
                indefinite=noun.indefinite,
            )
        elif noun.head_text in PICTURES | PLACEHOLDERS | {"corner"}:
            noun = replace(next_noun, pictured=noun.head_text in _PICTURES)
        else:
            noun = replace(noun, words=(*noun.words, "of", *next_noun.words))
        end = next_end
    return noun, end


def _simple_noun_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    tagged_words: list[tuple[str, str]] = []
    indefinite = words[i] in _INDEFINITE
    end, after_noun, owned, owner = i, 0, False, ""
    j = i
    while j < len(words):
        tag = tags[j]
        if words[j] == "half" and words[j + 1 : j + 2] in (["a"], ["an"]):
            j += 1
            continue
        if tag == "CD" and after_noun and tags[j - 1] == "NNS":
            # "as the sun sets 3 people"
            break
        if tag in NOUNS:
            tagged_words.append((words[j], tag))
            end, after_noun = j + 1, len(tagged_words)
        elif (tag in ADJECTIVES and words[j] != "more") or qualifies_noun(words, tags, j):
            tagged_words.append((words[j], tag))
        elif tag == "POS" or (words[j] in ("'s", "’s") and after_noun):
            tagged_words, after_noun, owned = [], 0, True
        elif not tagged_words and (
            tag in DETERMINERS
            or words[j] == "more"
            or (
                tag == "RB"
                and not is_negation(words[j])
                and not is_adverb_preposition(words, tags, j)
            )
        ):
            owned = owned or tag == "PRP$"
            owner = words[j] if tag == "PRP$" else owner
        elif (
            words[j] in ("and", ",")
            and not after_noun
            and tagged_words
            and (
                has_tag(tags, j + 1, ADJECTIVES | (NOUNS if tags[i] == "DT" else set()))
                or _is_modified(tags, j + 1)
            )
        ):
            if words[j] == "and":
                tagged_words.append(("and", "CC"))
        elif tagged_words and not after_noun and _is_modified(tags, j):
            # "a large, well used pasture"
            pass
        else:
            break
        j += 1
    tagged_words = tagged_words[:after_noun]
    while tagged_words and tagged_words[0][1] == "CC":
        tagged_words = tagged_words[1:]
    if not tagged_words:
        return None, i
    phrase_words = tuple(word for word, _ in tagged_words)
    is_listed_compound = len(phrase_words) > 1 and " ".join(phrase_words[-2:]) in NOUN_FOILS
    head = (len(phrase_words) - (2 if is_listed_compound else 1), len(phrase_words))
    return Phrase(
        "noun",
        phrase_words,
        head,
        _compound_start(tagged_words, head[0]),
        owned=owned,
        owner=owner,
        indefinite=indefinite,
    ), end


def _compound_start(tagged_words: list[tuple[str, str]], head: int) -> int:
    """Returns the start of the compound that ends with the head.

    It consists of nouns, and of participles that name a purpose ("diving board").
    """
    start = head
    while start > 0:
        word, tag = tagged_words[start - 1]
        for_use = tag == "VBG" or word.endswith("ing")
        if word in _BINDING or (
            word not in ATTRIBUTE_FOILS
            and (tag in NOUNS or (for_use and tagged_words[head][0] not in BEINGS))
        ):
            start -= 1
        else:
            break
    return start


def qualifies_noun(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a participle qualifies the noun after it.

    It does in "a running dog", "brightly lit room" and "snow covered hill", but not in "a man
    wearing socks".
    """
    if words[max(i - 2, 0) : i] == ["each", "other"]:
        # "next to each other holding umbrellas"
        return False
    if tags[i] in ("VBN", "VBD") and i and tags[i - 1] == "NN":
        bound = words[i] in BOUND_PARTICIPLES or _is_bound(words, tags, i)
        return bound and has_tag(tags, i + 1, NOUNS | {"JJ"})
    previous = i - 1
    named = has_tag(tags, i + 1, NOUNS | {"JJ"}) or (
        tags[i] == "VBN" and has_tag(tags, i + 1, {"VBG"}) and has_tag(tags, i + 2, NOUNS)
    )
    while previous >= 0 and tags[previous] == "RB":
        previous -= 1
    if previous < 0:
        # "cooked broccoli"
        return tags[i] in ("VBN", "VBD") and named
    if (
        tags[i] not in ("VBG", "VBN", "VBD")
        or (
            tags[previous] not in DETERMINERS | ADJECTIVES | {"IN", "TO"}
            and not (
                (
                    tags[previous] == "CC"
                    or (tags[previous] in VERBS and words[previous] not in AUXILIARIES)
                )
                and tags[i] == "VBN"
                and has_tag(tags, i + 1, NOUNS)
            )
        )
        or words[previous] in _QUANTIFIERS
    ):
        return False
    after_preposition = tags[previous] in ("IN", "TO") and words[previous] not in _BEFORE_NOUN
    worn = words[previous] == "in" and words[i + 1 : i + 2] and words[i + 1] in CLOTHES
    if after_preposition and tags[i] == "VBG" and words[i] in BASES and not worn:
        # "from eating apples", not "in swimming trunks"
        return False
    listed = tags[previous] in DETERMINERS and has_tag(tags, i + 1, {",", "CC"})
    return named or (listed and has_tag(tags, i + 2, NOUNS | {"JJ"}))


def _is_modified(tags: list[str], i: int) -> bool:
    """Returns whether an adverb and an adjective or participle begin at i: "well used"."""
    return tags[i : i + 1] == ["RB"] and has_tag(tags, i + 1, ADJECTIVES | {"VBN"})


def _is_bound(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a past participle and the noun before it qualify: "a wall mounted toilet"."""
    noun, base = words[i - 1], BASES.get(words[i], "")
    acts = is_kind(noun, MOVERS, CLOTHES) or base in _OF_BEINGS_ALONE or base in ("hold", "carry")
    followed = i + 1 < len(words) and not multiword_preposition(words, i + 1)
    named = has_tag(tags, i + 1, NOUNS) or has_tag(tags, i + 2, NOUNS)
    return words[i].endswith("ed") and followed and named and not acts
