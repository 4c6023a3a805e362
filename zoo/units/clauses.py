"""Clauses: finds who does what to whom in the phrases of a caption. Free of torch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from zoo.units.kinds import (
    BEINGS,
    BODY_PARTS,
    CLOTHES,
    GROUNDS,
    MOVERS,
    PLACES,
    WATERS,
    is_a,
)
from zoo.units.lexicon import PLACEHOLDERS, PREPOSITION_PHRASES, both_numbers, word_set
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
    # whether "to" follows an object ("helps a girl to"): who acts next is left open
    asked: bool = False

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
            _place_part(now, run[0])
            _print_on_clothes(now, run[0])
            _see_picture(now, run[0])
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
            asked = (
                phrase.words == ("to",) and now.object is not None and found[i - 1] is now.object
            )
            now.pause()
            now.asked = asked
        i += 1


# Where a being is in relation to its own body, and on which parts of it.
_ABOUT_PARTS = {"in", "on", "around", "over", "under", "between", "above", "at", "across", "behind"}
# "watches a dog climb": what follows is what is seen
_LOOKS_ON = {("watching",), ("seeing",), ("helping",), ("letting",), ("making",)}
# "with the city behind them": nobody has these
_SETTINGS = (
    GROUNDS
    | WATERS
    | both_numbers(word_set("city town building house mountain forest sky sunset scenery tree sun"))
) - {"ice"}
_STOOD_ON = word_set(
    "back belly stomach side knee knees feet foot leg legs hand hands lap shoulders head heels"
)


def _place_part(now: _Reading, part: Phrase) -> None:
    """Gives "in its mouth" to what is there ("with a ball in its mouth"), not to whose mouth it is."""
    if not now.predicate or now.predicate[-1] not in _ABOUT_PARTS:
        return
    if "of" in part.words or not is_a(part.head_text, BODY_PARTS):
        return
    held = now.last if now.last is not None and now.last not in now.actors else None
    if held is not None and now.predicate == now.predicate[-1:]:
        now.bearers = [] if is_a(held.head_text, PLACES) else [held]
    elif not (now.predicate[-1] == "on" and part.head_text in _STOOD_ON):
        now.bearers = []


def _print_on_clothes(now: _Reading, shown: Phrase) -> None:
    """Gives "with a skull" to the shirt before it, but "with blond hair" to who wears it."""
    worn = now.last
    if now.predicate != ("with",) or worn is None or worn in now.actors:
        return
    own = BODY_PARTS | CLOTHES | BEINGS
    if is_a(worn.head_text, CLOTHES) and not is_a(shown.head_text, own):
        now.bearers = [worn]


def _see_picture(now: _Reading, shown: Phrase) -> None:
    """Who takes a picture of a girl takes no girl, and who looks at one need not look at her."""
    if not shown.pictured or not now.predicate:
        return
    if now.predicate == ("taking",):
        now.predicate = ("photographing",)
        now.verb = replace(now.verb, words=now.predicate) if now.verb else None
    else:
        now.bearers = []


def _apt(bearer: Phrase, now: _Reading, noun: Phrase) -> bool:
    if now.verb and now.verb.passive and now.predicate == now.verb.words:
        return False
    if now.predicate == ("with",) and is_a(noun.head_text, _SETTINGS):
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
    seen = now.object if now.verb is not None and now.verb.words in _LOOKS_ON else None
    after_relative = before is not None and before.kind == "relative"
    qualifies = not verb.finite and before is not None and before.kind in ("noun", "joiner")
    nearest = now.last is not None and (
        after_relative or (qualifies and (verb.passive or now.last.head_text in BEINGS))
    )
    # "a man and a dog running": the participle belongs to both
    if nearest and now.last is not None and now.last not in now.subject:
        now.actors = [now.last]
    elif seen is not None and seen is before:
        now.actors = [seen]
    else:
        now.actors = now.subject
    if now.asked:
        now.actors, now.asked = [], False
    now.verb, now.object = verb, None
    now.predicate, now.bearers = verb.words, now.actors


def _start_preposition(now: _Reading, preposition: Phrase, before: Phrase | None) -> None:
    if now.object is not None:
        # "does a trick on a ramp": where the deed is, the doer is
        of_actor = (
            preposition.text == "with"
            or now.object.head_text in PLACEHOLDERS
            or (now.verb is not None and now.verb.words == ("wearing",))
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
