"""Further triples of a noun phrase: of a joined verb, of a place, and by a pronoun."""

from collections.abc import Iterator, Sequence

from zoo.units.rules.clauses.reading import ClauseState
from zoo.units.rules.kinds import (
    BEINGS,
    BODY_PARTS,
    CLOTHES,
    GROUNDS,
    MOVERS,
    PLACES,
    SUPPORTS,
    WATERS,
    is_kind,
)
from zoo.units.rules.lexicon import word_set
from zoo.units.rules.phrases.phrase import Phrase

Triple = tuple[Phrase, str, Phrase]
_SKY = word_set("sky skies sun sunset sunrise moon horizon")
_PLACING = word_set("in on at inside")
_PREPOSITIONS_OF_PLACE = frozenset(
    {"in", "on", "by", "near", "next to", "at", "against", "by the side of", "in the middle of"}
)


def joined_actions(state: ClauseState, new_triples: Sequence[Triple]) -> Iterator[Triple]:
    """Yields the place of an earlier verb: "running" of "running and playing in a field"."""
    n_words = len(state.verb_words)
    if state.joined_verb is not None and state.predicate[:n_words] == state.verb_words:
        preposition = " ".join(state.predicate[n_words:])
        for bearer, _, noun in new_triples:
            if preposition in _PREPOSITIONS_OF_PLACE and is_kind(noun.head_text, PLACES, SUPPORTS):
                yield bearer, f"{state.joined_verb.text} {preposition}", noun


def parts_of_place(state: ClauseState, run: list[Phrase], place: Phrase | None) -> Iterator[Triple]:
    """Yields what a place has, if the subject has not: "a dog on a beach with waves"."""
    if (
        place is not None
        and place is state.last_noun
        and state.predicate == ("with",)
        and state.bearers
        and place not in (*state.subject, *state.actors, state.object)
        and state.governor in _PLACING
        and not is_kind(place.head_text, CLOTHES, MOVERS, BODY_PARTS, WATERS)
        and (
            not is_kind(place.head_text, GROUNDS)
            or any(is_kind(phrase.head_text, MOVERS) for phrase in state.subject)
        )
    ):
        yield from (
            (place, "with", noun)
            for noun in run
            if not noun.owned and not is_kind(noun.head_text, BEINGS, _SKY)
        )


def places_by_pronoun(
    state: ClauseState,
    run: list[Phrase],
    following: Sequence[Phrase],
    new_triples: Sequence[Triple],
) -> Iterator[Triple]:
    """Yields where the nouns after "with" are, by a pronoun: "a table with a lamp on it".

    The pronoun may be left out after "behind" ("with trees behind").
    """
    if state.predicate != ("with",):
        return
    kinds = [p.kind for p in following]
    ends = kinds == ["preposition"] or (
        kinds == ["preposition", "break"] and not following[1].words
    )
    if ends and following[0].words == ("behind",):
        preposition, pronoun = following[0], Phrase("break", ("them",))
    elif kinds == ["preposition", "break"]:
        preposition, pronoun = following
    else:
        return
    if pronoun.words in (("them",), ("him",), ("her",)):
        places = [phrase for phrase in state.subject if is_kind(phrase.head_text, BEINGS)]
    elif (
        pronoun.words == ("it",)
        and state.last_noun is not None
        and not is_kind(state.last_noun.head_text, BEINGS)
        and (state.last_noun in state.subject or preposition.text in ("on", "in", "on top of"))
    ):
        places = [state.last_noun]
    else:
        return
    owners = [bearer for bearer, _, _ in new_triples]
    for place in places:
        if place not in owners:
            yield from ((noun, preposition.text, place) for noun in run)
