"""Groups the tagged words of a caption into noun phrases, verb groups and prepositions."""

from collections.abc import Sequence
from dataclasses import replace

from zoo.language.tagger import Token
from zoo.units.rules.kinds import COMPETITIONS, is_kind
from zoo.units.rules.lexicon import NUMBERS, word_set
from zoo.units.rules.phrases.noun_phrase import noun_phrase, qualifies_noun
from zoo.units.rules.phrases.phrase import Phrase
from zoo.units.rules.phrases.tag_correction import correct_tags
from zoo.units.rules.phrases.verb_group import verb_group
from zoo.units.rules.phrases.word_classes import (
    ADJECTIVES,
    AUXILIARIES,
    DETERMINERS,
    NOUNS,
    RELATIVES,
    SEEMING,
    SUBORDINATORS,
    VERBS,
    has_tag,
    is_adverb_preposition,
    is_negation,
    multiword_preposition,
)
from zoo.units.rules.phrases.word_joining import join_words

_ADVERBIAL = word_set("outside inside")
_ADVERBS_OF_DIRECTION = word_set("up down in out over off")
# the actor is one of those mentioned before, or somebody else
_INDEFINITE_ACTORS = word_set("one another others some")
# "two girls, both wearing hats": the subject itself
_SUBJECT_ITSELF = ("both", "each")
# a place may be named by these: "a table with a lamp on it"
_PRONOUNS_OF_PLACES = word_set("it them him her")
# "bowls with spoons in them sitting on a table"
_PREPOSITIONS_OF_CONTENT = ("in", "on")
# "a cake shaped like a truck"
_LIKENED = word_set("shaped decorated designed painted made dressed")
_EVENTS = COMPETITIONS | word_set("practice parade event tournament performance show")
_OBJECT_PRONOUNS = word_set("them him her it us me")


def phrases(tokens: Sequence[Token]) -> list[Phrase]:
    """Returns the phrases of a tagged caption in order; adverbs are left out."""
    words, tags = join_words(tokens)
    tags = correct_tags(words, tags)
    phrase_list: list[Phrase] = []
    i = 0
    while i < len(words):
        phrase, i = _next_phrase(words, tags, i)
        if phrase:
            phrase_list.append(phrase)
    return phrase_list


def _next_phrase(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    word, tag = words[i], tags[i]
    if multiword := multiword_preposition(words, i):
        return Phrase("preposition", multiword), i + len(multiword)
    if word == "after" and i and tags[i - 1] in VERBS and has_tag(tags, i + 1, DETERMINERS | NOUNS):
        return Phrase("preposition", (word,)), i + 1
    if word == "what" and (n_seeming := _n_seeming_words(words, i + 1)):
        return None, i + 1 + n_seeming
    if (word == "as" and "dressed" in words[max(i - 2, 0) : i]) or (
        word == "like" and not _LIKENED.isdisjoint(words[max(i - 2, 0) : i])
    ):
        return Phrase("preposition", (word,)), i + 1
    if word == "during" and _names_event(words, tags, i + 1):
        return Phrase("preposition", (word,)), i + 1
    if words[i : i + 2] == ["on", "top"] and words[i + 2 : i + 3] in (["and"], [","]):
        # "with cheese on top and a mug beside it"
        return Phrase("break"), i + 2
    if word in _ADVERBS_OF_DIRECTION and words[i + 1 : i + 3] == ["in", "the"]:
        # "mountains off in the distance"
        return None, i + 1
    if words[i : i + 2] == ["one", "of"] and i and tags[i - 1] in VERBS | {"IN", "TO"}:
        # "sits on one of the couches"
        return None, i + 2
    if word == "including" and words[i - 1] != ",":
        return Phrase("preposition", (word,)), i + 1
    if word in SUBORDINATORS:
        return Phrase("break"), i + 1
    if is_negation(word):
        return Phrase("stop"), i + 1
    if words[i : i + 2] in (["each", "other"], ["one", "another"]):
        return Phrase("reciprocal", ("each", "other")), i + 2
    if word in _SUBJECT_ITSELF and has_tag(tags, i + 1, VERBS):
        return None, i + 1
    qualified = word == "some" and has_tag(tags, i + 1, {"VBN"}) and has_tag(tags, i + 2, NOUNS)
    if word in _INDEFINITE_ACTORS and (
        (has_tag(tags, i + 1, VERBS) and not qualified)
        or (words[i + 1 : i + 2] == ["of"] and has_tag(tags, i + 2, {"PRP", "WDT", "WP"}))
    ):
        return Phrase("stop"), i + 1
    if word in NUMBERS and words[i + 1 : i + 3] == ["of", "the"]:
        return Phrase("stop"), max(noun_phrase(words, tags, i + 2)[1], i + 1)
    acts = word in _OBJECT_PRONOUNS and tags[i + 1 : i + 2] == ["VBG"]
    if acts and words[i - 1] not in _PREPOSITIONS_OF_CONTENT:
        return Phrase("stop"), i + 1
    if word == "about" and tags[i + 1 : i + 2] == ["TO"]:
        return _coming_action(words, tags, i)
    if _is_joined_particle(words, tags, i):
        # "pulled up and out of a pool"
        return None, i + 2
    if word == "no":
        return Phrase("break"), max(noun_phrase(words, tags, i)[1], i + 1)
    noun_index = i - 1 if words[i - 1] != "," else i - 2
    if word in RELATIVES and noun_index >= 0 and tags[noun_index] in NOUNS:
        return Phrase("relative", (word,)), i + 1
    if word in _ADVERBIAL and not has_tag(tags, i + 1, DETERMINERS | NOUNS | ADJECTIVES | {"PRP"}):
        return None, i + 1
    if (
        tag in ("IN", "RP")
        or is_adverb_preposition(words, tags, i)
        or (tag == "TO" and not has_tag(tags, i + 1, {"VB"}))
    ):
        return Phrase("preposition", (word,)), i + 1
    if tag in VERBS and not qualifies_noun(words, tags, i):
        return verb_group(words, tags, i)
    noun, end = noun_phrase(words, tags, i)
    if noun:
        return noun, end
    if tag == "TO":
        return Phrase("break", ("to",)), i + 1
    if word in ("and", "&", ","):
        return Phrase("joiner", (word,)), i + 1
    if tag in ("RB", "RBR") or tag in ADJECTIVES:
        return None, i + 1
    # not "to her left"
    names = word in _PRONOUNS_OF_PLACES and not has_tag(tags, i + 1, {"RB", "JJ", "VBD", "VBN"})
    return Phrase("break", (word,) if names else ()), i + 1


def _names_event(words: list[str], tags: list[str], i: int) -> bool:
    noun, _ = noun_phrase(words, tags, i) if i < len(words) else (None, i)
    return noun is not None and is_kind(noun.words[-1], _EVENTS)


def _coming_action(words: list[str], tags: list[str], i: int) -> tuple[Phrase | None, int]:
    """Returns the verb group of "about to throw"."""
    acts = has_tag(tags, i + 2, {"VB"}) and words[i + 2] not in AUXILIARIES
    verb, end = verb_group(words, tags, i + 2) if acts else (None, i + 1)
    if verb is None or verb.kind != "verb":
        return Phrase("stop"), i + 1
    return replace(verb, words=("about", "to", words[i + 2], *verb.words[1:]), finite=False), end


def _is_joined_particle(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether an adverb of direction and "and" precede a preposition."""
    return (
        words[i] in _ADVERBS_OF_DIRECTION
        and words[i + 1 : i + 2] == ["and"]
        and (
            has_tag(tags, i + 2, {"IN", "TO"})
            or bool(multiword_preposition(words, min(i + 2, len(words) - 1)))
        )
    )


def _n_seeming_words(words: Sequence[str], i: int) -> int:
    """Returns the number of words at i that mark an appearance ("appears to be", "looks like")."""
    if words[i : i + 1] and words[i] in SEEMING and words[i + 1 : i + 2] == ["to"]:
        return 3 if words[i + 2 : i + 3] == ["be"] else 2
    return 2 if words[i : i + 2] in (["looks", "like"], ["look", "like"]) else 0
