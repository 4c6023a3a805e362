"""Further triples of a noun phrase: of a joined verb, of a place, by a pronoun, and behind."""

from collections.abc import Iterator, Sequence

from zoo.units.rules.clauses.reading import ClauseState
from zoo.units.rules.clauses.triple_checks import is_valid_triple
from zoo.units.rules.kinds import (
    BEINGS,
    BODY_PARTS,
    CLOTHES,
    GROUNDS,
    MOVERS,
    PEOPLE,
    PLACES,
    SUPPORTS,
    WATERS,
    is_kind,
    sort_of,
)
from zoo.units.rules.lexicon import NOUN_FOILS, singulars_and_plurals, word_set
from zoo.units.rules.phrases.phrase import Phrase

Triple = tuple[Phrase, str, Phrase]
# what is near a thing on a place is near the place too
_NEARBY = frozenset({"near", "next to", "beside", "by"})
_STATIC = _NEARBY | {"above", "below", "behind", "in front of", "on", "on top of", "in", "under"}
_SKY = word_set("sky skies sun sunset sunrise moon horizon")
# what a noun "in the background" is to the subject
POSITIONS = {
    "background": "behind",
    "distance": "behind",
    "backdrop": "behind",
    "foreground": "in front of",
    "front": "in front of",
}
_WOMEN = singulars_and_plurals(
    word_set("woman girl lady female mother mom bride daughter wife sister grandmother waitress")
)
_MEN = singulars_and_plurals(
    word_set("man boy guy male father dad groom son husband brother grandfather waiter gentleman")
)
_PLACING = word_set(
    "in on at inside over along across near by down up through around behind beside to against of "
    "outside under above below past into"
)
_PREPOSITIONS_OF_PLACE = frozenset(
    {"in", "on", "by", "near", "next to", "at", "against", "by the side of", "in the middle of"}
)


def joined_actions(state: ClauseState, new_triples: Sequence[Triple]) -> Iterator[Triple]:
    """Yields the place of an earlier verb: "running" of "running and playing in a field"."""
    n_words = len(state.verb_words)
    if (
        state.joined_verb is not None
        and state.joined_verb.words
        and state.predicate[:n_words] == state.verb_words
    ):
        preposition = " ".join(state.predicate[n_words:])
        for bearer, _, noun in new_triples:
            if preposition in _PREPOSITIONS_OF_PLACE and is_kind(noun.head_text, PLACES, SUPPORTS):
                yield bearer, f"{state.joined_verb.text} {preposition}", noun


def parts_of_place(state: ClauseState, run: list[Phrase], place: Phrase | None) -> Iterator[Triple]:
    """Yields what a place has, if the subject has not: "a dog on a beach with waves"."""
    moves = any(is_kind(phrase.head_text, MOVERS) for phrase in state.subject)
    if (
        place is not None
        and place is state.last_noun
        and state.predicate == ("with",)
        and state.bearers
        and place not in (*state.subject, *state.actors, state.object)
        and state.governor in _PLACING
        and not is_kind(place.head_text, CLOTHES, MOVERS, BODY_PARTS, WATERS)
        and (
            moves
            or not is_kind(place.head_text, GROUNDS)
            or all(is_kind(noun.head_text, MOVERS) or noun.text == "traffic" for noun in run)
        )
    ):
        yield from (
            (place, "with", noun)
            for noun in run
            if not noun.owned
            and not is_kind(noun.head_text, _SKY)
            and not (moves and is_kind(noun.head_text, BEINGS))
        )


def places_by_pronoun(
    state: ClauseState, run: list[Phrase], following: Sequence[Phrase]
) -> list[Triple]:
    """Returns where the nouns after "with" are, by a pronoun: "a table with a lamp on it".

    The pronoun may be left out after "behind" ("with trees behind").
    """
    if state.predicate[-1:] != ("with",):
        return []
    kinds = [p.kind for p in following]
    ends = kinds == ["preposition"] or (kinds[:1] == ["preposition"] and kinds[1:] == ["joiner"])
    if (ends or (kinds == ["preposition", "break"] and not following[1].words)) and following[
        0
    ].words == ("behind",):
        places = [phrase for phrase in state.subject if not is_kind(phrase.head_text, PLACES)]
    elif kinds == ["preposition", "break"]:
        places = _referents(state, following[1], run[0], following[0].text)
    else:
        return []
    return [(noun, following[0].text, place) for place in places for noun in run]


def relations_to_pronoun(state: ClauseState, pronoun: Phrase) -> Iterator[Triple]:
    """Yields the relations to what a pronoun names: "a car behind him", "toys held inside it"."""
    if state.predicate == ("behind",) and not pronoun.words:
        # "with water in front and trees behind"
        places = [phrase for phrase in state.mentioned[:1] if phrase not in state.bearers]
    elif pronoun.words and state.predicate and state.bearers:
        places = _referents(state, pronoun, state.bearers[0], " ".join(state.predicate))
    else:
        return
    for place in places:
        yield from (
            (bearer, " ".join(state.predicate), place)
            for bearer in state.bearers
            if is_valid_triple(bearer, state, place)
        )


def set_bearer_at_pronoun(state: ClauseState, noun: Phrase, preposition: Phrase) -> None:
    """Assigns "above it" to the noun before it: "a train attached to wires above it"."""
    if (
        noun is state.last_noun
        and noun not in (*state.subject, *state.actors)
        and preposition.text in _STATIC
        and not is_kind(noun.head_text, PLACES, CLOTHES, BODY_PARTS)
    ):
        state.bearers, state.predicate = [noun], preposition.words


def _referents(
    state: ClauseState, pronoun: Phrase, bearer: Phrase, preposition: str
) -> list[Phrase]:
    """Returns what a pronoun names, or nothing if that is unclear.

    "Them" are the beings of the subject or the only plural before. "Him" is the only being before,
    and "it" the only thing; on or in "it" is on or in the last thing.
    """
    before = [phrase for phrase in state.mentioned if phrase is not bearer]
    beings = [phrase for phrase in before if is_kind(phrase.head_text, BEINGS)]
    if pronoun.words == ("them",):
        subject = [phrase for phrase in state.subject if phrase in beings]
        plurals = [phrase for phrase in before if sort_of(phrase.head_text)[1]]
        return subject or (plurals if len(plurals) == 1 else [])
    if pronoun.words in (("him",), ("her",)):
        people = [phrase for phrase in beings if is_kind(phrase.head_text, PEOPLE)] or beings
        own, other = (_WOMEN, _MEN) if pronoun.words == ("her",) else (_MEN, _WOMEN)
        people = [p for p in people if is_kind(p.head_text, own)] or [
            p for p in people if not is_kind(p.head_text, other)
        ]
        # "a gamer": in no list
        people = people or [p for p in before[:1] if p.head_text not in NOUN_FOILS]
        return people if len(people) == 1 else []
    if pronoun.words != ("it",):
        return []
    things = [
        phrase
        for phrase in before
        if not is_kind(phrase.head_text, PEOPLE, CLOTHES) and not sort_of(phrase.head_text)[1]
    ]
    if preposition in _NEARBY:
        return things[-1:]
    if preposition.endswith(("on", "in", "on top of")):
        return [phrase for phrase in things if phrase not in beings][-1:]
    if preposition.endswith(" to"):
        # "a pole in a street with a sign attached to it"
        things = [phrase for phrase in things if phrase in state.subject] or things
    return things if len(things) == 1 else []


def in_background_of_first(state: ClauseState, place: Phrase) -> Iterator[Triple]:
    """Yields what is behind the first noun phrase: "a dog on a bed, a lamp in the background"."""
    position, first = POSITIONS.get(place.text), next(iter(state.mentioned), None)
    bearers = state.actors if state.bearers == [state.object] else state.bearers
    if position and bearers and first is not None and first not in bearers:
        if is_kind(first.head_text, PLACES) and not is_kind(first.head_text, MOVERS):
            yield from ((first, "with", noun) for noun in bearers)
        else:
            yield from ((noun, position, first) for noun in bearers)


def backdrops(
    state: ClauseState, run: list[Phrase], following: Sequence[Phrase]
) -> Iterator[Triple]:
    """Yields what is behind or in front: "a dog with a lake in the background".

    A place has it: "a beach with a hotel in the background".
    """
    if [p.kind for p in following] != ["preposition", "noun"]:
        return
    position = POSITIONS.get(following[1].text) if following[0].words == ("in",) else None
    if following[0].text in ("at", "by") and following[1].owned and following[1].text == "side":
        position = "next to"
    for subject in state.subject:
        if is_kind(subject.head_text, PLACES) and not is_kind(subject.head_text, MOVERS):
            yield from ((subject, "with", noun) for noun in run)
        elif position:
            yield from ((noun, position, subject) for noun in run)
