"""Clauses: finds who does what to whom in the phrases of a caption. Free of torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from zoo.units.lexicon import BEINGS, MOVERS, PREPOSITION_PHRASES
from zoo.units.phrases import Phrase

_DIRECTIONS = {"to", "into", "from", "onto", "toward", "towards", "out of", "off", "off of"}
_LONGEST_PREDICATE = 5
# What comes behind these is no place and no thing done.
_UNSEEN = {"of", "for", "about", "except", "including"}


@dataclass
class _Reading:
    """Where a reader of the caption stands: noun phrases of the subject, of the running verb's subject and object, and the last one."""

    subject: list[Phrase] = field(default_factory=list)
    actors: list[Phrase] = field(default_factory=list)
    object: Phrase | None = None
    last: Phrase | None = None
    verb: Phrase | None = None
    bearers: list[Phrase] = field(default_factory=list)
    predicate: tuple[str, ...] = ()

    def pause(self) -> None:
        self.verb, self.object, self.bearers, self.predicate = None, None, [], ()


def triples(found: Sequence[Phrase]) -> Iterator[tuple[Phrase, str, Phrase]]:
    """Yields (subject, predicate, object) of the patterns NP VP NP, NP VP PP NP and NP PP NP.

    A prepositional phrase belongs to the subject of its clause, except behind a noun phrase that can move by itself ("behind a man in a
    yellow shirt"), and behind an object, to which it belongs unless it says "with" ("hits a ball with a bat") or the object is worn. A
    participle belongs to the nearest being.
    """
    now = _Reading()
    i = 0
    while i < len(found):
        phrase = found[i]
        if phrase.kind == "noun":
            run, i = _joined(found, i, bound=bool(now.predicate))
            yield from (
                (bearer, " ".join(now.predicate), noun)
                for bearer in now.bearers
                for noun in run
                if _apt(bearer, now, noun)
            )
            _take(now, run)
            continue
        if phrase.kind == "verb":
            _start_verb(now, phrase, found[i - 1] if i else None)
        elif phrase.kind == "preposition":
            _start_preposition(now, phrase, found[i - 1] if i else None)
        elif phrase.kind == "negation":
            now = _Reading()
        elif phrase.kind != "relative":
            now.pause()
        i += 1


def _apt(bearer: Phrase, now: _Reading, noun: Phrase) -> bool:
    if now.verb and now.verb.passive and now.predicate == now.verb.words:
        return False
    seen = 0 < len(now.predicate) <= _LONGEST_PREDICATE and not _ends_unseen(now.predicate)
    return seen and bearer.text != noun.text


def _ends_unseen(predicate: tuple[str, ...]) -> bool:
    """Whether "of" and the like is the preposition, not a part of one ("in front of")."""
    return predicate[-1] in _UNSEEN and not any(
        predicate[-len(several) :] == several for several in PREPOSITION_PHRASES
    )


def _joined(found: Sequence[Phrase], i: int, bound: bool) -> tuple[list[Phrase], int]:
    """Returns the noun phrases joined at i ("a hat, a shirt and jeans") and where they end.

    bound: they are governed by a verb or preposition; then a last one that acts begins a clause of its own ("and a dog running"; not "and
    a tie holds"), and so does one that a comma sets off (", his arms covering").
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
        if bound and (set_off or (moves and follows in ("verb", "preposition"))):
            break
        run.append(found[after])
        i = after + 1
    return run, i


def _take(now: _Reading, run: list[Phrase]) -> None:
    """A noun phrase that nothing governs is a new subject; one that a verb governs is its object."""
    if not now.predicate:
        now.subject, now.actors, now.object, now.verb = run, run, None, None
    elif now.verb and now.predicate == now.verb.words:
        now.object = run[-1]
    now.last = run[-1]
    now.predicate, now.bearers = (), []


def _start_verb(now: _Reading, verb: Phrase, before: Phrase | None) -> None:
    after_relative = before is not None and before.kind == "relative"
    qualifies = not verb.finite and before is not None and before.kind in ("noun", "joiner")
    nearest = now.last is not None and (
        after_relative or (qualifies and (verb.passive or now.last.head_text in BEINGS))
    )
    # "a man and a dog running": the participle belongs to both
    if nearest and now.last is not None and now.last not in now.subject:
        now.actors = [now.last]
    else:
        now.actors = now.subject
    now.verb, now.object = verb, None
    now.predicate, now.bearers = verb.words, now.actors


def _start_preposition(now: _Reading, preposition: Phrase, before: Phrase | None) -> None:
    if now.object is not None:
        of_actor = preposition.text == "with" or (
            now.verb is not None and now.verb.words == ("wearing",)
        )
        now.bearers = (
            now.actors if of_actor else [] if preposition.text in _DIRECTIONS else [now.object]
        )
        now.predicate = preposition.words
    elif now.predicate:
        now.predicate = (*now.predicate, *preposition.words)
    else:
        of_its_own = (
            before is not None
            and before is now.last
            and before not in now.subject
            and before.head_text in MOVERS
        )
        now.bearers = [before] if of_its_own and before else now.actors
        now.predicate = preposition.words
