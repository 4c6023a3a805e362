"""Clauses: finds who does what to whom in the phrases of a caption."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from zoo.units.rules import words as lists
from zoo.units.rules.kinds import (
    ANIMALS,
    BEINGS,
    BODY_PARTS,
    CLOTHES,
    GROUNDS,
    HELD,
    LIMBS,
    MOUNTS,
    MOVERS,
    PLACES,
    VEHICLES,
    WATERS,
    is_a,
)
from zoo.units.rules.lexicon import (
    BASES,
    NOUN_FOILS,
    PLACEHOLDERS,
    PREPOSITION_PHRASES,
    both_numbers,
    word_set,
)
from zoo.units.rules.phrases import Phrase

_DIRECTIONS = word_set("to into from onto toward towards out_of off off_of away_from")
_LONGEST_PREDICATE = 5
# a preposition that stands behind one of these has lost its noun
_COMPLETE = (("on",), ("with",), ("of",), ("at",), ("around",))
# What comes behind these is no place and no thing done.
_UNSEEN = {"of", "for", "about", "except", "including"}


@dataclass
class _Reading:
    """Where a reader of the caption stands.

    `subject` has the noun phrases of the clause's subject, `actors` and `object` those of the
    running verb's subject and object, and `last` is the last noun phrase.
    """

    subject: list[Phrase] = field(default_factory=list)
    actors: list[Phrase] = field(default_factory=list)
    object: Phrase | None = None
    last: Phrase | None = None
    verb: Phrase | None = None
    bearers: list[Phrase] = field(default_factory=list)
    predicate: tuple[str, ...] = ()
    # what the last noun phrase's predicate ended with
    governor: str = ""
    # whether "to" follows an object ("helps a girl to"): who acts next is left open
    asked: bool = False

    @property
    def looks_on(self) -> bool:
        """Whether what comes last is looked at, so that what follows tells where that is."""
        return self.verb is not None and not _PERCEIVING.isdisjoint(self.verb.words[:1])

    def pause(self) -> None:
        self.verb, self.object, self.bearers, self.predicate = None, None, [], ()


def triples(found: Sequence[Phrase]) -> Iterator[tuple[Phrase, str, Phrase]]:
    """Yields (subject, predicate, object) of the patterns NP VP NP, NP VP PP NP and NP PP NP.

    A prepositional phrase belongs to the subject of its clause, with two exceptions. Behind a noun
    phrase that can move by itself, it belongs to that one ("behind a man in a yellow shirt").
    Behind an object it belongs to the object, unless it says "with" ("hits a ball with a bat") or
    the object is worn. A participle belongs to the nearest being.

    Args:
        found: The phrases of a caption, in order.
    """
    now = _Reading()
    i = 0
    while i < len(found):
        phrase = found[i]
        if phrase.kind == "noun":
            start = i
            run, i = _joined(found, i, bound=bool(now.predicate))
            _place_part(now, run[0], found[start - 2] if start > 1 else None)
            _place_on_board(now, run[0])
            _print_on_clothes(now, run[0])
            _see_picture(now, run[0])
            if now.predicate[-1:] == ("with",) and (
                _is_elsewhere(found, i) or _does_something(found, i)
            ):
                now.bearers = []
            told = [
                (bearer, " ".join(now.predicate), noun)
                for bearer in now.bearers
                for noun in run
                if _apt(bearer, now, noun)
            ]
            yield from told
            if now.predicate == ("with",) and not told:
                # nor is the subject where that is ("with flowers on the railings")
                now.actors = []
            _take(now, run, follows=start > 0 and found[start - 1].kind == "noun")
            continue
        if phrase.kind == "verb":
            _start_verb(now, phrase, found[i - 1] if i else None)
        elif phrase.kind == "preposition":
            _start_preposition(now, phrase, found[i - 1] if i else None)
        elif phrase.kind == "stop":
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
_LOOKS_ON = word_set("watch see help let make")
_PERCEIVING = word_set("looking staring gazing peering glancing pointing watching smiling")
_WHERE = word_set(
    "in on at near by behind beside along across through down up over under to around"
)
# with these a thing may follow that the object has
_HANDLING = word_set("hold carry bring push pull ride eat present serve show help feed watch use")
_GOING = word_set(lists.MOTIONS) | {"cross"}
_BOARDS = MOUNTS - ANIMALS
_POSTURES = word_set("sit stand lie kneel crouch squat sleep lean")
# what things do not do
_DEEDS = word_set(lists.OF_BEINGS_ALONE)
_THINGS = (CLOTHES | BODY_PARTS | frozenset(NOUN_FOILS)) - MOVERS
# "with the city behind them": nobody has these
_SETTINGS = (
    GROUNDS
    | WATERS
    | both_numbers(word_set("city town building house mountain forest sky sunset scenery tree sun"))
) - {"ice"}
_BACKDROPS = word_set("background foreground distance backdrop left right side")
_BESIDE = frozenset(
    {"behind", "in front of", "next to", "near", "beside", "around", "above", "below"}
)
# "a ledge surrounding a tree": what things do, and nobody who stands on them
_OF_THINGS = word_set(
    "surrounding saying reading containing featuring depicting advertising reflecting"
)
_TOUCHING = frozenset({"on", "on top of", "onto", "against", "around", "over", "under"})
_STOOD_ON = word_set(
    "back belly stomach side knee knees feet foot leg legs hand hands lap shoulders head heels"
)


def _place_part(now: _Reading, part: Phrase, before: Phrase | None) -> None:
    """Gives "in its mouth" to what is there ("with a ball in its mouth"), not to whose mouth it is.

    `before` stands before the preposition. A verb there, as in "is on his knees", says that the
    subject is there.
    """
    if not now.predicate or now.predicate[-1] not in _ABOUT_PARTS:
        return
    if "of" in part.words or not is_a(part.head_text, BODY_PARTS):
        return
    stays = before is not None and before.kind == "verb"
    held = now.last if not stays and now.last not in now.actors else None
    if held is not None and now.predicate == now.predicate[-1:]:
        now.bearers = [] if is_a(held.head_text, PLACES) else [held]
    elif not (now.predicate[-1] == "on" and part.head_text in _STOOD_ON):
        now.bearers = []


def _is_elsewhere(found: Sequence[Phrase], i: int) -> bool:
    """Whether what is named before i is "in the background" or "behind them": nobody is with it."""
    after = i
    while after < len(found) and found[after].kind in ("verb", "preposition"):
        after += 1
    if after < len(found) and found[after].kind == "noun":
        return after > i and found[after].head_text in _BACKDROPS
    return i < len(found) and found[i].kind == "preposition" and found[i].text in _BESIDE


def _does_something(found: Sequence[Phrase], i: int) -> bool:
    """Whether a being before i acts: who is near "with a man lying on a bench" need not be his."""
    acts = i < len(found) and found[i].kind == "verb" and not found[i].finite
    return acts and found[i - 1].head_text in BEINGS


def _place_on_board(now: _Reading, mount: Phrase) -> None:
    """Puts who does something "on a skateboard" there, and not what it is done to."""
    done_to = now.object is not None and now.bearers == [now.object]
    if done_to and now.predicate == ("on",) and is_a(mount.head_text, _BOARDS):
        now.bearers = [] if is_a(now.bearers[0].head_text, BEINGS) else now.actors


def _print_on_clothes(now: _Reading, shown: Phrase) -> None:
    """Gives "with a skull" to the shirt before it, but "with blond hair" to who wears it."""
    worn = now.last
    has = now.verb is not None and now.verb.words == now.predicate
    if now.predicate != ("with",) or has or worn is None or worn in now.actors:
        return
    own = is_a(shown.head_text, BODY_PARTS, CLOTHES, BEINGS)
    if is_a(worn.head_text, CLOTHES) and not own:
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


def _is_place(noun: Phrase) -> bool:
    return is_a(noun.head_text, PLACES) and not is_a(noun.head_text, CLOTHES)


def _apt(bearer: Phrase, now: _Reading, noun: Phrase) -> bool:
    """Whether a noun phrase is really what the predicate relates the bearer to."""
    first, last = (BASES.get(" ".join(words)) for words in (now.predicate[:1], now.predicate[-1:]))
    direct = now.verb is not None and now.predicate == now.verb.words
    if now.verb and direct and (now.verb.passive or last in _POSTURES):
        return False
    if first in _DEEDS and is_a(bearer.head_text, _THINGS):
        return False
    if now.predicate in (("with",), ("without",)) and not _has(bearer, now, noun):
        return False
    if now.predicate == ("in",) and _is_others(bearer, now) and not _is_place(noun):
        return False
    if now.predicate == ("at",) and bearer is now.object and is_a(noun.head_text, BEINGS, HELD):
        # "swings a racket at a ball"
        return False
    seen = 0 < len(now.predicate) <= _LONGEST_PREDICATE and not _ends_unseen(now.predicate)
    return seen and bearer.text != noun.text


def _has(bearer: Phrase, now: _Reading, noun: Phrase) -> bool:
    """Whether what follows "with" is the bearer's, and not another's or somewhere about."""
    if now.predicate == ("with",) and (is_a(noun.head_text, _SETTINGS) or _is_others(bearer, now)):
        return False
    place = now.last
    if place is None or place in (bearer, *now.subject) or is_a(place.head_text, CLOTHES, MOVERS):
        return True
    # "on a beach with waves": the dog there has none
    own = noun.owned or is_a(noun.head_text, BEINGS, CLOTHES, BODY_PARTS, HELD)
    return own or (now.verb is not None and now.governor not in _WHERE)


def _is_others(bearer: Phrase, now: _Reading) -> bool:
    """Whether another subject stands nearer: "a man and a girl in a dress"."""
    joined = len(now.subject) > 1 and now.last is now.subject[-1]
    return joined and bearer is not now.last


def _ends_unseen(predicate: tuple[str, ...]) -> bool:
    """Whether "of" and the like is the preposition, not a part of one ("in front of")."""
    return predicate[-1] in _UNSEEN and not any(
        predicate[-len(several) :] == several for several in PREPOSITION_PHRASES
    )


def _joined(found: Sequence[Phrase], i: int, bound: bool) -> tuple[list[Phrase], int]:
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


def _take(now: _Reading, run: list[Phrase], follows: bool) -> None:
    """A noun phrase that nothing governs is a new subject; one that a verb governs is its object.

    A thing that follows another noun phrase at once ("gives the dog a bone") is no subject.
    """
    if not now.predicate and follows and now.subject and run[0].head_text not in MOVERS:
        now.object = None
    elif not now.predicate:
        now.subject, now.actors, now.object, now.verb = run, run, None, None
    elif now.verb and now.predicate == now.verb.words:
        now.object = run[-1]
    now.governor = now.predicate[-1] if now.predicate else ""
    now.last = run[-1]
    now.predicate, now.bearers = (), []


def _start_verb(now: _Reading, verb: Phrase, before: Phrase | None) -> None:
    looks_on = now.verb is not None and BASES.get(" ".join(now.verb.words[-1:])) in _LOOKS_ON
    seen = now.object if looks_on and now.object and now.object.head_text in MOVERS else None
    after_relative = before is not None and before.kind == "relative"
    qualifies = not verb.finite and before is not None and before.kind in ("noun", "joiner")
    of_thing = not _OF_THINGS.isdisjoint(verb.words[:1])
    nearest = now.last is not None and (
        after_relative or (qualifies and (verb.passive or of_thing or now.last.head_text in BEINGS))
    )
    of_being = now.last is not None and any(
        is_a(word, BEINGS) for word in now.last.words[now.last.head[1] :]
    )
    open_ = (
        now.last is not None
        and now.last is before
        and ((qualifies and (now.looks_on or of_being)) or (looks_on and seen is None))
    )
    # "a man and a dog running": the participle belongs to both
    if nearest and now.last is not None and now.last not in now.subject:
        someone = before is not None and before.words == ("who",)
        now.actors = [] if someone and not is_a(now.last.head_text, MOVERS) else [now.last]
    elif seen is not None and seen is before:
        now.actors = [seen]
    elif open_ and now.last not in now.subject:
        # "looks at leaves blowing", "holds the arm of a man wearing a hat"
        now.actors = []
    else:
        now.actors = now.subject
    if now.asked:
        now.actors, now.asked = [], False
    now.verb, now.object = verb, None
    now.predicate, now.bearers = verb.words, now.actors


def _whose(now: _Reading, preposition: Phrase, before: Phrase | None) -> list[Phrase]:
    """Returns what a preposition behind a noun phrase tells the place of.

    A part of the body is somewhere of its own ("with one hand on a bull"). Where "in" follows, its
    owner may be meant ("with its mouth open in the grass"), so that nothing is told.
    """
    passive = now.verb is not None and now.verb.passive
    if preposition.text == "by" and passive:
        # "is bitten on the nose by a kitten": nobody is beside it
        return []
    if preposition.text in _DIRECTIONS and before not in now.subject:
        # "throwing a ball, towards a dog": who or what goes there is left open
        return []
    if before is None or before is not now.last or before in now.subject:
        return now.actors
    if now.governor == "with" and is_a(before.head_text, LIMBS):
        return [before] if preposition.text in _TOUCHING else []
    if _moves(now, before):
        return [before]
    return [] if now.looks_on else now.actors


def _moves(now: _Reading, noun: Phrase) -> bool:
    """Whether a noun phrase can be where it is by itself ("behind a man in a yellow shirt").

    It is the last noun phrase and no subject.
    """
    subject = any(noun is other for other in now.subject)
    return noun is now.last and not subject and noun.head_text in MOVERS


def _crosses(place: Phrase, now: _Reading) -> bool:
    """Whether the object is where the subject goes: "crosses a river on a bridge"."""
    goes = now.verb is not None and BASES.get(" ".join(now.verb.words[:1])) in _GOING
    return goes and is_a(place.head_text, PLACES) and not is_a(place.head_text, VEHICLES)


def _handles(now: _Reading) -> bool:
    """Whether "with" may say more of the object: "holds a cake with candles"."""
    return now.verb is not None and BASES.get(" ".join(now.verb.words[:1])) in _HANDLING


def _start_preposition(now: _Reading, preposition: Phrase, before: Phrase | None) -> None:
    of_being = (
        before is not None
        and before is not now.object
        and _moves(now, before)
        and before.head_text in BEINGS
    )
    if now.object is not None and not of_being:
        # "does a trick on a ramp": where the deed is, the doer is
        of_actor = (
            (preposition.text == "with" and not _handles(now))
            or now.object.head_text in PLACEHOLDERS
            or _crosses(now.object, now)
            or (now.verb is not None and now.verb.words == ("wearing",))
        )
        now.bearers = (
            [now.object]
            if now.object.pictured
            else now.actors
            if of_actor
            else []
            if preposition.text in _DIRECTIONS or preposition.text == "with"
            else [now.object]
        )
        now.predicate = preposition.words
    elif now.predicate == ("in",):
        # "in red on a bike": a colour is no place
        now.predicate = preposition.words
    elif now.predicate:
        if now.predicate in _COMPLETE or now.predicate[-1] in ("to", "with", "at"):
            now.bearers = []
        now.predicate = (*now.predicate, *preposition.words)
    else:
        now.bearers = _whose(now, preposition, before)
        now.predicate = preposition.words
