"""Triples: finds (subject, predicate, object) in the phrases of a caption."""

from collections.abc import Iterator, Sequence

from zoo.units.rules.clauses.bearers import (
    add_bearers_in_place,
    gives_object,
    handle_picture_content,
    is_acting_being,
    is_in_background,
    set_bearer_at_time,
    set_bearer_in_place,
    set_bearer_near_thing,
    set_bearer_of_agent,
    set_bearer_of_body_part,
    set_bearer_of_content,
    set_bearer_of_its_part,
    set_bearer_of_print,
    set_bearer_of_receiver,
    set_bearer_on_mount,
)
from zoo.units.rules.clauses.further_triples import (
    POSITIONS,
    Triple,
    backdrops,
    in_background_of_first,
    joined_actions,
    parts_of_place,
    places_by_pronoun,
    relations_to_pronoun,
    set_bearer_at_pronoun,
)
from zoo.units.rules.clauses.prepositions import start_preposition
from zoo.units.rules.clauses.reading import ClauseState
from zoo.units.rules.clauses.triple_checks import is_valid_triple
from zoo.units.rules.clauses.verbs import start_verb
from zoo.units.rules.kinds import BEINGS, BODY_PARTS, CLOTHES, MOVERS, is_kind
from zoo.units.rules.lexicon import word_set
from zoo.units.rules.phrases.phrase import Phrase

_PRONOUNS = (("him",), ("her",), ("it",), ("them",))
_WEARING = (("in",), ("wearing",))
_TEACHING = word_set("teach help train let ask")
# these do not give a place
_WITHOUT_PLACE = ("with", "of", "for", "as", "to", "from")


def triples(phrase_list: Sequence[Phrase]) -> Iterator[Triple]:
    """Yields (subject, predicate, object) of the patterns NP VP NP, NP VP PP NP and NP PP NP.

    A prepositional phrase belongs to the subject of its clause, with two exceptions. After a noun
    phrase that can move by itself, it belongs to that one ("behind a man in a yellow shirt").
    After an object it belongs to the object, unless it begins with "with" ("hits a ball with a
    bat") or the object is worn. A participle belongs to the nearest being.

    Args:
        phrase_list: The phrases of a caption, in order.
    """
    state = ClauseState()
    i = 0
    while i < len(phrase_list):
        phrase = phrase_list[i]
        if phrase.kind == "noun":
            start = i
            run, i = _joined_phrases(phrase_list, i, state)
            state.is_held = _is_held(phrase_list[i : i + 2])
            before = phrase_list[start - 2] if start > 1 else None
            set_bearer_of_body_part(state, run[0], before)
            set_bearer_on_mount(state, run[0])
            set_bearer_of_print(state, run[0])
            set_bearer_of_content(state, run[0])
            set_bearer_of_its_part(state, run[0])
            set_bearer_at_time(state, run[0])
            set_bearer_of_agent(state, run[0])
            set_bearer_of_receiver(state, run[0])
            set_bearer_near_thing(state, run[0])
            if state.predicate[-1:] == ("between",) and len(run) > 1:
                # between buses and cars is not between buses
                state.bearers = []
            handle_picture_content(state, run[0])
            in_background = (
                state.predicate[-1:] == ("with",)
                and not (state.verb is not None and state.verb.passive and len(state.predicate) > 1)
                and is_in_background(phrase_list, i)
            )
            if state.predicate[-1:] == ("with",) and (
                in_background
                or (
                    state.verb is not None
                    and state.verb.words != ("with",)
                    and is_acting_being(phrase_list, i)
                )
            ):
                state.bearers = []
            if gives_object(state, phrase_list[start - 1] if start else None):
                state.predicate, state.bearers = state.verb_words, state.actors
            pronoun_triples = places_by_pronoun(state, run, phrase_list[i : i + 2])
            if pronoun_triples and pronoun_triples[0][2] not in state.bearers:
                # "birds on a tower with clocks on it"
                state.bearers = []
            set_bearer_in_place(state, run[0])
            add_bearers_in_place(state, run[0])
            next_kind = phrase_list[i].kind if i < len(phrase_list) else None
            if state.expects_direct_object and state.gives and next_kind == "noun":
                state.bearers = []
            new_triples = [
                (bearer, " ".join(state.predicate), noun)
                for bearer in state.bearers
                for noun in _valid_nouns(bearer, state, run)
            ]
            yield from new_triples
            yield from joined_actions(state, new_triples)
            yield from pronoun_triples
            if in_background:
                yield from backdrops(state, run, phrase_list[i : i + 2])
            if state.predicate == ("in",) and start > 1:
                yield from in_background_of_first(state, run[0])
            next_kinds = [p.kind for p in phrase_list[i : i + 3]]
            # "with a sign on a wall", "with a sign attached to it"
            is_placed = next_kinds[:1] == ["preposition"] or (
                next_kinds == ["verb", "preposition", "break"] and bool(phrase_list[i + 2].words)
            )
            if not (new_triples or pronoun_triples or in_background or is_placed):
                yield from parts_of_place(state, run, before)
            if state.predicate == ("with",) and not new_triples:
                # the subject is not there either ("with flowers on the railings")
                state.actors = []
            _update_state(state, run, follows=start > 0 and phrase_list[start - 1].kind == "noun")
            continue
        if phrase.kind == "reciprocal":
            if len(state.bearers) == 2:
                # "a man and a woman hugging each other"
                yield state.bearers[0], " ".join(state.predicate), state.bearers[1]
            next_phrase = phrase_list[i + 1] if i + 1 < len(phrase_list) else None
            if (
                len(state.bearers) == 1
                and state.verb is not None
                and state.object is None
                and next_phrase is not None
                and next_phrase.kind == "preposition"
                and next_phrase.text not in _WITHOUT_PLACE
            ):
                # "dogs chasing each other on a beach", but "sitting in front of a TV" where they
                # sit next to each other
                acts = state.predicate == state.verb_words
                state.predicate = (*state.verb_words, *(phrase.words if acts else ()))
            else:
                state.end_clause_keep_subject()
        elif phrase.kind == "verb":
            start_verb(state, phrase, phrase_list[i - 1] if i else None)
        elif phrase.kind == "preposition":
            start_preposition(state, phrase, phrase_list[i - 1] if i else None)
        elif phrase.kind == "stop":
            state = ClauseState()
        elif phrase.kind == "joiner":
            state.join_clause()
        elif phrase.kind != "relative":
            kinds = [p.kind for p in phrase_list[max(i - 2, 0) : i]]
            named = state.governor == "with" and kinds == ["noun", "preposition"]
            if kinds == ["noun", "preposition"] and phrase.words == ("it",):
                set_bearer_at_pronoun(state, *phrase_list[i - 2 : i])
            yield from () if named else relations_to_pronoun(state, phrase)
            if (
                phrase.words == ("to",)
                and state.governor == "for"
                and phrase_list[i - 1] is state.last_noun
            ):
                # "waits for a man to throw"
                state.subject = [state.last_noun]
            leaves_actor_open = (
                phrase.words == ("to",)
                and state.object is not None
                and phrase_list[i - 1] is state.object
                and is_kind(state.object.head_text, MOVERS)
            )
            teaches = leaves_actor_open and state.verb_base in _TEACHING
            if teaches and state.object is not None:
                # "teaches a child to swing a bat"
                state.subject, leaves_actor_open = [state.object], False
            state.end_clause_keep_subject()
            if phrase.words in _PRONOUNS:
                # "a man on a bench with a bag next to him on a train"
                state.actors = state.subject
            state.leaves_actor_open = leaves_actor_open
        i += 1


def _valid_nouns(bearer: Phrase, state: ClauseState, run: list[Phrase]) -> list[Phrase]:
    """Returns the nouns that the predicate relates to the bearer.

    A person "with a pen and notes" has both.
    """
    nouns = [noun for noun in run if is_valid_triple(bearer, state, noun)]
    return run if nouns and state.predicate == ("with",) else nouns


def _is_held(following: Sequence[Phrase]) -> bool:
    """Returns whether "in its mouth" or "in his hand" follows."""
    return (
        [p.kind for p in following] == ["preposition", "noun"]
        and following[1].owned
        and is_kind(following[1].head_text, BODY_PARTS)
    )


def _joined_phrases(
    phrase_list: Sequence[Phrase], i: int, state: ClauseState
) -> tuple[list[Phrase], int]:
    """Returns the noun phrases joined at i ("a hat, a shirt and jeans") and their end.

    If a verb or preposition governs them, a last one that acts begins a new clause ("and a dog
    running"; not "and a tie holds"), and so does one after a comma (", his arms covering").
    """
    bound, lists = bool(state.predicate), state.predicate[-1:] == ("with",)
    has = lists and not any(is_kind(phrase.head_text, MOVERS) for phrase in state.subject)
    run = [phrase_list[i]]
    i += 1
    if (lists or i == 1) and [p.kind for p in phrase_list[i : i + 2]] == ["noun", "joiner"]:
        # "with a sink a stove and cupboards", "two laptops a lamp and a phone"
        run.append(phrase_list[i])
        i += 1
    while i < len(phrase_list) and phrase_list[i].kind == "joiner":
        next_index = i + 1
        while next_index < len(phrase_list) and phrase_list[next_index].kind == "joiner":
            next_index += 1
        if next_index == len(phrase_list) or phrase_list[next_index].kind != "noun":
            break
        follows = phrase_list[next_index + 1].kind if next_index + 1 < len(phrase_list) else None
        moves, set_off = (
            phrase_list[next_index].head_text in MOVERS,
            follows == "verb" and phrase_list[next_index - 1].text == ",",
        )
        starts = (
            phrase_list[next_index].owned
            and follows == "verb"
            and phrase_list[next_index + 1].finite
        )
        # "on her back and bags in her hand"
        on_body = is_kind(run[-1].head_text, BODY_PARTS) and not lists
        leaves_body = on_body and not is_kind(phrase_list[next_index].head_text, BODY_PARTS)
        # ", a house in the background"
        is_apposed = follows == "preposition" and phrase_list[next_index - 1].text == ","
        # "holding a ball and two kids", but "a street with trees and cars"
        mixed = moves and not has and phrase_list[i - 1].head_text not in MOVERS
        placed = follows == "preposition" and phrase_list[next_index].head_text in BEINGS
        described = (
            lists
            and follows == "verb"
            and (
                phrase_list[next_index + 1].passive
                or (has and not phrase_list[next_index + 1].finite)
            )
        )
        acts = moves and (placed or (follows == "verb" and not described))
        in_view = run[-1].text in POSITIONS
        if bound and (set_off or mixed or starts or acts or leaves_body or is_apposed or in_view):
            break
        run.append(phrase_list[next_index])
        i = next_index + 1
    return run, i


def _update_state(state: ClauseState, run: list[Phrase], follows: bool) -> None:
    """Makes a noun phrase the new subject, or the object if a verb governs it.

    A thing right after another noun phrase ("gives the dog a bone") is not a subject.
    """
    if not state.predicate and follows and state.subject and run[0].head_text not in MOVERS:
        state.object = None
    elif not state.predicate:
        state.subject, state.actors, state.object, state.verb = run, run, None, None
    elif state.expects_direct_object:
        state.object = run[-1]
    at = 0 if state.expects_direct_object else -1
    state.governor = state.predicate[at] if state.predicate else ""
    state.last_predicate = state.predicate
    wears = state.predicate in _WEARING and is_kind(run[-1].head_text, CLOTHES)
    wearers = [b for b in state.bearers if wears and is_kind(b.head_text, BEINGS)]
    state.wearer = wearers[0] if len(wearers) == 1 and wearers[0] not in state.subject else None
    state.last_noun = run[-1]
    state.mentioned = [*state.mentioned, *run]
    state.predicate, state.bearers = (), []
