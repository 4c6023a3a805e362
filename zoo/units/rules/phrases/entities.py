"""Entities: the noun phrases of a caption that name something."""

from collections.abc import Collection, Iterable, Sequence

from zoo.units.rules.kinds import BODY_PARTS, CLOTHES, COMPETITIONS
from zoo.units.rules.lexicon import (
    BASES,
    COLOURS,
    NOUN_FOILS,
    NOUNS_IN_ING,
    PLACEHOLDERS,
    word_set,
)
from zoo.units.rules.phrases.phrase import Phrase

_NOUNS_IN_ING = NOUN_FOILS.keys() | NOUNS_IN_ING
# "in silver" names nothing, but "a blonde" is a person
_COLOURS_AS_NOUNS = COLOURS - {"blond", "blonde", "brunette"}
# "a video game", "a seating area"
_NAMED_BY_MODIFIER = word_set("scene scenes case cases set spot spots display displays line lines")

# "forms a line"
_SHAPES = word_set("jump line pose")
# "hair care items"
_NAMED_BY_NOUN = word_set("item items object objects lot lots")
# "a blue thing", "a large space", "an outdoor event"
_NAMED_BY_ANY = word_set("thing things space spaces setting settings event events")
# "a racket under three pictures": pictures after these words are things
_PICTURES = word_set("picture pictures photo photos photograph photographs")
_BEFORE_PICTURES = word_set(
    "on under above below near beside behind with over against around next_to"
)
# what somebody does or takes part in
_EVENTS = COMPETITIONS | word_set("trick tricks stunt stunts")
_AREAS = frozenset({"area", "areas"})
# "a large area" is no particular one, "a wooded area" is
_UNNAMING = word_set(
    "small large big other same different certain little huge wide whole open entire"
)


def _is_placeholder(phrase: Phrase) -> bool:
    if phrase.head_text in CLOTHES and any(w in COLOURS or w.endswith("ed") for w in phrase.words):
        # "a pink top", "a hooded top"
        return False
    if phrase.head_text in _NAMED_BY_MODIFIER:
        return _UNNAMING.issuperset(phrase.words[: phrase.head[0]])
    if phrase.head_text in _NAMED_BY_ANY and phrase.head[0] > 0:
        return False
    if phrase.head_text in _NAMED_BY_NOUN and phrase.compound_text != phrase.head_text:
        return False
    if phrase.head_text in _EVENTS or (phrase.indefinite and phrase.head_text in _SHAPES):
        return False
    if phrase.owned and phrase.head_text in BODY_PARTS:
        # "on her back"
        return False
    if phrase.head_text in _AREAS:
        return _UNNAMING.issuperset(phrase.words[: phrase.head[0]])
    return phrase.head_text in PLACEHOLDERS


def _is_thing_in_place(phrase: Phrase, previous: Phrase | None) -> bool:
    """Returns whether a picture, a lot or a group is a thing: "under three pictures", "in a lot".

    "A picture of a dog" and "a lot of dogs" name the dog alone.
    """
    if phrase.head_text in _PICTURES:
        return previous is not None and (
            (previous.kind == "preposition" and previous.text in _BEFORE_PICTURES)
            or (previous.kind == "verb" and previous.words[:1] in (("holding",), ("hanging",)))
        )
    if phrase.head_text == "lot":
        return previous is not None and previous.kind == "preposition" and previous.words != ("of",)
    return phrase.words == ("group",) and previous is None


def entity_phrases(phrase_list: Iterable[Phrase]) -> dict[str, Phrase]:
    """Returns the noun phrases that name something, by text.

    Of "horse" and "brown horse", only the second is returned.
    """
    phrase_list = list(phrase_list)
    nouns = {
        p.text: p
        for previous, p in zip([None, *phrase_list], phrase_list, strict=False)
        if p.kind == "noun"
        and not (_is_placeholder(p) and not _is_thing_in_place(p, previous))
        and p.head_text not in _COLOURS_AS_NOUNS
        and not (
            p.head_text.endswith("ing")
            and p.head_text in BASES.keys() - _NOUNS_IN_ING
            and COLOURS.isdisjoint(p.words)
            and "of" not in p.words
        )
        and len(p.head_text) > 1
        and p.head_text[0].isalpha()
    }
    return {
        text: phrase
        for text, phrase in nouns.items()
        if not any(_repeats(phrase, other) for other in nouns.values())
    }


def full_name(phrase: Phrase, phrase_list: Sequence[Phrase], entities: Collection[str]) -> str:
    """Returns the text of the entity that a phrase repeats: "the deck" of "a ship deck"."""
    before = phrase_list[: phrase_list.index(phrase)]
    names = {p.text for p in before if p.text in entities and _repeats(phrase, p)}
    return names.pop() if phrase.text not in entities and len(names) == 1 else phrase.text


def _repeats(phrase: Phrase, other: Phrase) -> bool:
    """Returns whether another noun phrase has the same head and words, and more modifiers.

    "A player" and "a soccer player" are two.
    """
    if (phrase.indefinite and other.indefinite) or "other" in other.words[: other.head[0]]:
        return False
    return " ".join(other.words[: other.head[1]]).endswith(f" {phrase.text}")
