"""Finds verbs that are tagged as nouns or adjectives, by their context."""

from zoo.units.rules.kinds import BEINGS, BODY_PARTS, CLOTHES, MOVERS, PLACES, SUPPORTS, TRAITS
from zoo.units.rules.lexicon import (
    BASES,
    COLOURS,
    LOOKING_ON,
    NOUN_FOILS,
    PLACEHOLDERS,
    QUANTITIES,
    THIRD_PERSONS,
    UNCOUNTED,
    word_set,
)
from zoo.units.rules.phrases.word_classes import (
    ADJECTIVES,
    AFTER_VERB,
    DETERMINERS,
    NOUNS,
    RELATIVES,
    SUBJECT_PRONOUNS,
    SUBORDINATORS,
    VERBS,
)

_NAMING = PLACEHOLDERS | MOVERS | BODY_PARTS | CLOTHES | SUPPORTS
# "rock climbing", "snow boarding": the second word names the activity
_ACTIVITIES = word_set("climbing boarding parking fishing racing swimming wrestling boxing skiing")
_NO_SUBJECTS = word_set("sports clothes lots dozens hundreds pieces hands thumbs mid")
# tags that may follow a verb with a plural subject
_AFTER_PLURAL_SUBJECT = (AFTER_VERB | {"VBG"}) - {"CC", ",", "."}
_SINGULAR_SUBJECTS = word_set("everyone everybody another one each who background foreground")
# prepositions of direction
_DIRECTIONS = word_set("down up into onto through across along off towards toward past over")
_DONE_TO_THINGS = word_set(
    "eat drink cook fry read hold carry prepare feed catch hit throw wear cut"
)
_WORN_AFTER = word_set("in wearing")
# more often verbs than nouns
_MOSTLY_VERBS = word_set("smile smiles watch watches jump jumps point points talk talks")


def is_mistagged_verb(
    words: list[str], tags: list[str], i: int, previous_tag: str, next_tag: str
) -> bool:
    """Returns whether a word tagged as a noun or adjective is a verb in its context."""
    word = words[i]
    if (word in CLOTHES and word not in _MOSTLY_VERBS) or not i:
        return False
    if word.endswith("ing"):
        return _is_participle(words, tags, i, previous_tag, next_tag)
    if words[i - 1] in SUBJECT_PRONOUNS | RELATIVES and tags[i] != "JJ":
        return next_tag not in NOUNS or word.endswith("s")
    if BASES.get(word) == word and previous_tag == "NN" and words[i - 1] in BEINGS:
        # "watches a boy drink from a bottle"
        watched = any(BASES.get(w) in LOOKING_ON for w in words[:i])
        if watched and next_tag in AFTER_VERB:
            return True
    is_actor = words[i - 1] in BEINGS or (tags[i] == "NNS" and not _names_thing(word))
    if (
        previous_tag == "NN"
        and is_actor
        and word not in NOUN_FOILS
        and _is_followed_by_direction(words, i)
    ):
        # "a dog hike up", "water flows over"
        return True
    if previous_tag == "RB" and word in THIRD_PERSONS and words[i - 2] in BEINGS:
        return True
    if (
        tags[i] != "JJ"
        and word in BASES
        and next_tag in AFTER_VERB
        and _follows_clothing(words, tags, i)
    ):
        return True
    follows = next_tag in AFTER_VERB - {"CC", ",", "."}
    if tags[i] == "NNS" and follows and _contradicts_article(words, tags, i):
        return True
    if tags[i] == "NNS" and previous_tag == "CC" and next_tag == "DT" and "VBZ" in tags[:i]:
        # "wears a suit and strikes a pose"
        return not _names_thing(word)
    if word in THIRD_PERSONS:
        return _is_third_person(words, tags, i, previous_tag, next_tag)
    if tags[i] == "NNS" and previous_tag == "NN" and words[i - 1] in BEINGS:
        return next_tag in AFTER_VERB - {","} and not _names_thing(word)
    if previous_tag == "NNS" and tags[i] == "NN" and _can_be_plural_subject(words[i - 1]):
        # "four boys mug for": a plural is not part of a compound
        ends = next_tag == "." and (word in BASES or word not in NOUN_FOILS)
        parts = word in BODY_PARTS - _MOSTLY_VERBS and not _is_followed_by_direction(words, i)
        if not parts and (ends or next_tag in _AFTER_PLURAL_SUBJECT):
            return True
    if tags[i] == "NNS" and previous_tag == "CC" and next_tag in NOUNS and "VBZ" in tags[:i]:
        return not _names_thing(word) and word not in _NO_SUBJECTS
    if BASES.get(word) != word:
        return False
    joined = previous_tag == "CC" and i > 1 and tags[i - 2] in ("VB", "VBP")
    if joined and tags[i] == "NN" and next_tag in ("IN", "TO"):
        # "sit and rest against a wall"
        return True
    if previous_tag == "CC" and next_tag in AFTER_VERB and not {"VB", "VBP"}.isdisjoint(tags[:i]):
        return word in _MOSTLY_VERBS or not _names_thing(word)
    of_several = i > 2 and words[i - 2] == "of" and tags[i - 3] == "NNS"
    subject = of_several or (previous_tag == "NNS" and words[i - 1] not in _NO_SUBJECTS)
    return (subject or _follows_joined_being(words, tags, i)) and (
        next_tag in AFTER_VERB - {",", "."}
        or (next_tag == "." and words[i - 1] in BEINGS and word not in BODY_PARTS - _MOSTLY_VERBS)
        or (next_tag in ADJECTIVES | NOUNS and word not in NOUN_FOILS)
        # "teenagers drink sodas"
        or (
            next_tag in ("NNS", "NNP", "NNPS")
            and words[i - 1] in BEINGS
            and words[i + 1] not in MOVERS
        )
    )


def _contradicts_article(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a plural ends a phrase that begins with "a": "a lifeboat speeds away"."""
    start = i - 1
    while start > 0 and (tags[start] == "JJ" or tags[start] == "NN"):
        start -= 1
    singular = start < i - 1 and tags[i - 1] == "NN" and words[i - 1] not in QUANTITIES
    return singular and words[start] in ("a", "an") and not _names_thing(words[i])


def _can_be_plural_subject(word: str) -> bool:
    return word in BEINGS or (word in CLOTHES and word not in _NO_SUBJECTS)


def _is_followed_by_direction(words: list[str], i: int) -> bool:
    return "".join(words[i + 1 : i + 2]) in _DIRECTIONS


def _is_participle(
    words: list[str], tags: list[str], i: int, previous_tag: str, next_tag: str
) -> bool:
    word = words[i]
    after_noun = previous_tag in NOUNS and (
        next_tag in ("DT", "PRP$")
        or (word in BASES and next_tag in AFTER_VERB)
        or (words[i - 1] in PLACES and word in BASES and next_tag in ADJECTIVES | {"NNS"})
        or (next_tag in ADJECTIVES | NOUNS and _acts_after_place(words, tags, i))
    )
    return (
        after_noun
        or (previous_tag in (",", "CC") and word in BASES and next_tag not in NOUNS)
        # "an elephant , drinking water"
        or (
            previous_tag == "," and word in BASES and not UNCOUNTED.isdisjoint(words[i + 1 : i + 2])
        )
        or next_tag in ("DT", "PRP$")
        or (i > 0 and words[i - 1] in SUBORDINATORS | BEINGS and previous_tag in NOUNS | {"IN"})
        or (previous_tag in ("NN", "NNS") and next_tag == "IN" and word not in _ACTIVITIES)
        or (next_tag not in NOUNS and _follows_clothing(words, tags, i))
    )


def _acts_after_place(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether somebody does something after a place: "is at the stove cooking eggs"."""
    if BASES.get(words[i]) not in _DONE_TO_THINGS or words[i - 1] in MOVERS | CLOTHES:
        return False
    start = i - 1
    while start > 0 and tags[start] in NOUNS | ADJECTIVES | DETERMINERS:
        start -= 1
    return tags[start] == "IN" and not BEINGS.isdisjoint(words[:start])


def _is_third_person(
    words: list[str], tags: list[str], i: int, previous_tag: str, next_tag: str
) -> bool:
    word, previous = words[i], words[i - 1] if i else ""
    if previous in _SINGULAR_SUBJECTS or (previous in BEINGS and previous_tag in ("NN", "JJ")):
        return True
    if previous == "her" and i > 1 and tags[i - 2] == "IN":
        # "the crowd behind her watches"
        return word in _MOSTLY_VERBS
    goes = _is_followed_by_direction(words, i)
    if previous_tag in ("CC", ","):
        after_verb = previous_tag == "CC" and i > 1 and tags[i - 2] == "VBZ"
        has_object = next_tag in ("DT", "PRP$") or goes or words[i + 1 : i + 2] in (["at"], ["for"])
        return (
            after_verb
            or has_object
            or (previous_tag == "CC" and next_tag in AFTER_VERB and not _names_thing(word))
            or (word in _MOSTLY_VERBS and next_tag in AFTER_VERB | NOUNS)
        )
    if goes and previous_tag in NOUNS:
        return True
    if previous_tag == "NN" and _ends_compound(words, tags, i):
        return False
    return previous_tag in ("NN", "NNP", "PRP") or (
        previous_tag == "NNS" and next_tag in ("IN", "TO", "RP", "DT", "PRP$")
    )


def _follows_clothing(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether clothes or a colour that somebody wears end before i: "in blue"."""
    if not i:
        return False
    if words[i - 1] in CLOTHES:
        return tags[i - 1] in NOUNS
    start = i - 1
    while start > 0 and (words[start] in COLOURS or tags[start] == "CC"):
        start -= 1
    return 0 <= start < i - 1 and words[start] in _WORN_AFTER


def _ends_compound(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a plural ends a compound noun and is not a verb: "wearing dress pants".

    It is a verb in "in a coat skis", since "a" precedes no plural, but not in "sits on the cement
    steps".
    """
    start = i - 1
    while start >= 0 and tags[start] in NOUNS | ADJECTIVES:
        start -= 1
    if words[i - 1] in MOVERS or words[i] in TRAITS:
        return False
    if start >= 0 and tags[start] in DETERMINERS:
        placed = start > 0 and tags[start - 1] == "IN" and not VERBS.isdisjoint(tags[: start - 1])
        listed = words[i] in NOUN_FOILS and words[i] not in _MOSTLY_VERBS
        return placed and words[start] not in ("a", "an") and listed
    return words[i] in NOUN_FOILS or (start == i - 2 and tags[start] in ("VBG", "VBN"))


def _names_thing(word: str) -> bool:
    return word in NOUN_FOILS or word in _NAMING


def _follows_joined_being(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a being joined to others by "and" precedes i: "a man and a woman"."""
    if tags[i - 1] != "NN" or words[i - 1] not in BEINGS:
        return False
    start = i - 2
    while start >= 0 and tags[start] in ADJECTIVES | DETERMINERS | {"NN"}:
        start -= 1
    return start > 0 and words[start] in ("and", "&") and tags[start - 1] in NOUNS
