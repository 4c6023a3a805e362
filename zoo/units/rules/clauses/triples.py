"""Triples: who does what to whom in the phrases of a caption."""

from collections.abc import Iterator, Sequence

from zoo.units.rules.clauses.aptness import apt
from zoo.units.rules.clauses.bearers import (
    does_something,
    is_elsewhere,
    place_on_board,
    place_part,
    print_on_clothes,
    see_picture,
)
from zoo.units.rules.clauses.prepositions import start_preposition
from zoo.units.rules.clauses.reading import Reading
from zoo.units.rules.clauses.verbs import start_verb
from zoo.units.rules.kinds import MOVERS
from zoo.units.rules.phrases.phrase import Phrase


def triples(found: Sequence[Phrase]) -> Iterator[tuple[Phrase, str, Phrase]]:
    """Yields (subject, predicate, object) of the patterns NP VP NP, NP VP PP NP and NP PP NP.

    A prepositional phrase belongs to the subject of its clause, with two exceptions. Behind a noun
    phrase that can move by itself, it belongs to that one ("behind a man in a yellow shirt").
    Behind an object it belongs to the object, unless it says "with" ("hits a ball with a bat") or
    the object is worn. A participle belongs to the nearest being.

    Args:
        found: The phrases of a caption, in order.
    """
    now = Reading()
    i = 0
    while i < len(found):
        phrase = found[i]
        if phrase.kind == "noun":
            start = i
            run, i = _joined_phrases(found, i, bound=bool(now.predicate))
            place_part(now, run[0], found[start - 2] if start > 1 else None)
            place_on_board(now, run[0])
            print_on_clothes(now, run[0])
            see_picture(now, run[0])
            if now.predicate[-1:] == ("with",) and (
                is_elsewhere(found, i) or does_something(found, i)
            ):
                now.bearers = []
            told = [
                (bearer, " ".join(now.predicate), noun)
                for bearer in now.bearers
                for noun in run
                if apt(bearer, now, noun)
            ]
            yield from told
            if now.predicate == ("with",) and not told:
                # nor is the subject where that is ("with flowers on the railings")
                now.actors = []
            _take(now, run, follows=start > 0 and found[start - 1].kind == "noun")
            continue
        if phrase.kind == "verb":
            start_verb(now, phrase, found[i - 1] if i else None)
        elif phrase.kind == "preposition":
            start_preposition(now, phrase, found[i - 1] if i else None)
        elif phrase.kind == "stop":
            now = Reading()
        elif phrase.kind != "relative":
            asked = (
                phrase.words == ("to",) and now.object is not None and found[i - 1] is now.object
            )
            now.pause()
            now.asked = asked
        i += 1


def _joined_phrases(found: Sequence[Phrase], i: int, bound: bool) -> tuple[list[Phrase], int]:
    """Returns the noun phrases joined at i ("a hat, a shirt and jeans") and where they end.

    They are `bound` where a verb or preposition governs them. Then a last one that acts begins a
    clause of its own ("and a dog running"; not "and a tie holds"), and so does one that a comma
    sets off (", his arms covering").
    """
    run = [found[i]]
    i += 1
    while i < len(found) and found[i].kind == "joiner":
        after = i + 1
        while after < len(found) and found[after].kind == "joiner":
            after += 1
        if after == len(found) or found[after].kind != "noun":
            break
        follows = found[after + 1].kind if after + 1 < len(found) else None
        moves, set_off = (
            found[after].head_text in MOVERS,
            follows == "verb" and found[after - 1].text == ",",
        )
        starts = found[after].owned and follows == "verb" and found[after + 1].finite
        mixed = moves and found[i - 1].head_text not in MOVERS
        if bound and (set_off or mixed or starts or (moves and follows in ("verb", "preposition"))):
            break
        run.append(found[after])
        i = after + 1
    return run, i


def _take(now: Reading, run: list[Phrase], follows: bool) -> None:
    """A noun phrase that nothing governs is a new subject; one that a verb governs is its object.

    A thing that follows another noun phrase at once ("gives the dog a bone") is no subject.
    """
    if not now.predicate and follows and now.subject and run[0].head_text not in MOVERS:
        now.object = None
    elif not now.predicate:
        now.subject, now.actors, now.object, now.verb = run, run, None, None
    elif now.direct:
        now.object = run[-1]
    now.governor = now.predicate[-1] if now.predicate else ""
    now.last = run[-1]
    now.predicate, now.bearers = (), []
