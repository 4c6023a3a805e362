"""Corrects tags: taggers confuse some verbs and nouns."""

from zoo.units.rules import words as lists
from zoo.units.rules.kinds import BEINGS, CLOTHES, MOVERS
from zoo.units.rules.lexicon import BASES, NOUNS_IN_ING, NUMBERS, word_set
from zoo.units.rules.phrases.nouns_by_context import is_mistagged_noun
from zoo.units.rules.phrases.verbs_by_context import is_mistagged_verb
from zoo.units.rules.phrases.word_classes import (
    ADJECTIVES,
    AFTER_VERB,
    AUXILIARIES,
    DETERMINERS,
    NOUNS,
    RELATIVES,
    SUBORDINATORS,
    VERBS,
    has_tag,
)

# "matching hats": participles that compare one thing with another
_COMPARING = word_set("matching coordinating contrasting")
_MATERIALS = word_set(lists.MATERIALS)
_STATES = word_set(
    "filled covered decorated topped loaded stacked crowded lined piled packed dressed"
)
# adverbs that taggers take for nouns: "the board midair"
_ADVERBS = word_set("midair mid-air airborne overhead outdoors indoors downhill uphill upstairs")
_HAVING_SETTINGS = word_set("table place room city park kitchen dinner")
_PLACING = word_set("on in at next near by beside under behind atop inside")
_BE = word_set("is are was were be been being")
# verbs whose participle is the base
_UNCHANGED = word_set("cut put shut split spread")
_SPORTS = word_set("climb fish race swim wrestle box ski skate dance surf dive jump")


def correct_tags(words: list[str], tags: list[str]) -> list[str]:
    """Returns the tags with confused verbs, nouns and other words corrected by their context.

    "jumps" is a verb in "a girl in a dress jumps over", "leaves" a noun in "looks at leaves".
    """
    tags = list(tags)
    for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
        previous_tag, next_tag = (
            (tags[i - 1] if i else ""),
            (tags[i + 1] if i + 1 < len(tags) else "."),
        )
        if word in NUMBERS:
            tags[i] = "CD"
        elif (word == "like" and previous_tag in ("NN", "NNP") and next_tag in NOUNS) or (
            word in _COMPARING and next_tag in NOUNS | ADJECTIVES
        ):
            tags[i] = "JJ"
        elif tag == "IN" and words[i - 1] in ("a", "an") and i:
            # "an above ground pool"
            tags[i] = "JJ"
        elif "-" in word and word.endswith("ed") and next_tag in NOUNS | ADJECTIVES | {"VBN"}:
            # "a large , tree-covered mountain"
            tags[i] = "JJ"
        elif tag == "VB" and words[i - 1 : i] == ["very"] and next_tag in NOUNS:
            # "a very close banana"
            tags[i] = "JJ"
        elif word in _MATERIALS and words[i + 1 : i + 2] == ["and"] and tag == "NN":
            # "a wood and stone vanity"
            joined = has_tag(tags, i + 2, NOUNS) and has_tag(tags, i + 3, NOUNS)
            tags[i] = "JJ" if joined and words[i + 2] in _MATERIALS else tag
        elif word in SUBORDINATORS:
            tags[i] = "IN"
        elif (
            word in _UNCHANGED
            and tag in ("NN", "VB", "VBP", "VBD")
            and previous_tag == "NN"
            and words[i - 1] not in BEINGS
            and next_tag in ("IN", "RB", "JJ")
        ):
            # "a sandwich cut in half"
            tags[i] = "VBN"
        elif i == 0 and word in _UNCHANGED and next_tag in NOUNS:
            # "cut vegetables"
            tags[i] = "VBN"
        elif word == "setting" and _means_sitting(words, tags, i):
            tags[i] = "VBG"
        elif word in _ADVERBS and previous_tag in NOUNS:
            tags[i] = "RB"
        elif (
            tag == "VBD"
            and previous_tag in NOUNS
            and (
                _is_passive(words, i)
                or _follows_finite_verb(words, tags, i)
                # "with its neck stretched over rocks"
                or (tags[max(i - 2, 0)] == "PRP$" and words[max(i - 3, 0)] == "with")
            )
        ) or (
            i and words[i - 1] in _BE and (tag == "VBD" or (word in _UNCHANGED and tag in VERBS))
        ):
            # "is met by", "is put on"
            tags[i] = "VBN"
        elif previous_tag == "TO" and BASES.get(word) == word and next_tag in AFTER_VERB:
            tags[i] = "VB"
        elif word in NOUNS_IN_ING and tag in ("VBG", "NN", "JJ"):
            builds = previous_tag in VERBS | {"NNS", "NN"} and next_tag in DETERMINERS | {"NNS"}
            tags[i] = "VBG" if builds else "NN"
        elif (tag == "NN" or word == "cross-country") and _qualifies_participle(words, tags, i):
            tags[i] = "RB"
        elif word == "leaves" and previous_tag in ("JJ", "IN", "DT", "PRP$"):
            tags[i] = "NNS"
        elif is_mistagged_noun(words, tags, i, previous_tag, next_tag):
            tags[i] = "NNS" if tag == "VBZ" else "NN"
        elif tag in ("NN", "NNS", "NNP", "JJ") and is_mistagged_verb(
            words, tags, i, previous_tag, next_tag
        ):
            tags[i] = "VBG" if word.endswith("ing") else "VBP" if BASES.get(word) == word else "VBZ"
        elif tag == "NN" and previous_tag == "TO" and next_tag in ("DT", "PRP$"):
            tags[i] = "VB"
        elif tag == "JJ" and "-" in word and word.endswith("s") and next_tag not in NOUNS:
            tags[i] = "NNS"
    return tags


def _means_sitting(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether "setting" is misspelled: "a vase setting on a shelf"."""
    return (
        has_tag(tags, i - 1, NOUNS)
        and words[i - 1] not in _HAVING_SETTINGS
        and words[i + 1 : i + 2] != []
        and words[i + 1] in _PLACING
        and (i < 2 or not _names_setting(words, tags, i))
    )


def _names_setting(words: list[str], tags: list[str], i: int) -> bool:
    start = i - 1
    while start > 0 and tags[start] in NOUNS | ADJECTIVES | DETERMINERS:
        start -= 1
    return words[start] == "in"


def _is_passive(words: list[str], i: int) -> bool:
    """Returns whether a past form is a participle: "pulled by", "filled with"."""
    following = words[i + 1 : i + 2]
    return following == ["by"] or (words[i] in _STATES and following in (["with"], ["in"]))


def _follows_finite_verb(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a finite verb precedes: "people walk around a van stopped there"."""
    for k in range(i - 1, -1, -1):
        if tags[k] in ("CC", ",") or words[k] in SUBORDINATORS | RELATIVES:
            return False
        if tags[k] in ("VBZ", "VBP") or (tags[k] == "VB" and k and tags[k - 1] in NOUNS):
            return True
    return False


def _qualifies_participle(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a noun belongs to the participle after it: "two men rock climbing"."""
    if i == 0 or words[i] in CLOTHES | MOVERS:
        return False
    sport = BASES.get("".join(words[i + 1 : i + 2])) in _SPORTS
    after_verb = tags[i - 1] == "VBG" and tags[i + 1 : i + 2] == ["VBG"]
    return sport and (words[i - 1] in BEINGS | AUXILIARIES | CLOTHES or after_verb)
