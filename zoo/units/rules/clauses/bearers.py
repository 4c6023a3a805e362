"""Bearers: whose a noun phrase is that a predicate leads to, where its kind tells."""

from collections.abc import Sequence
from dataclasses import replace

from zoo.units.rules.clauses.reading import Reading
from zoo.units.rules.kinds import ANIMALS, BEINGS, BODY_PARTS, CLOTHES, MOUNTS, PLACES, is_a
from zoo.units.rules.lexicon import word_set
from zoo.units.rules.phrases.phrase import Phrase

# Where a being is in relation to its own body, and on which parts of it.
_ABOUT_PARTS = {"in", "on", "around", "over", "under", "between", "above", "at", "across", "behind"}
_BOARDS = MOUNTS - ANIMALS
_BACKDROPS = word_set("background foreground distance backdrop left right side")
_BESIDE = frozenset(
    {"behind", "in front of", "next to", "near", "beside", "around", "above", "below"}
)
_STOOD_ON = word_set(
    "back belly stomach side knee knees feet foot leg legs hand hands lap shoulders head heels"
)


def place_part(now: Reading, part: Phrase, before: Phrase | None) -> None:
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


def is_elsewhere(found: Sequence[Phrase], i: int) -> bool:
    """Whether what is named before i is "in the background" or "behind them": nobody is with it."""
    after = i
    while after < len(found) and found[after].kind in ("verb", "preposition"):
        after += 1
    if after < len(found) and found[after].kind == "noun":
        return after > i and found[after].head_text in _BACKDROPS
    return i < len(found) and found[i].kind == "preposition" and found[i].text in _BESIDE


def does_something(found: Sequence[Phrase], i: int) -> bool:
    """Whether a being before i acts: who is near "with a man lying on a bench" need not be his."""
    acts = i < len(found) and found[i].kind == "verb" and not found[i].finite
    return acts and found[i - 1].head_text in BEINGS


def place_on_board(now: Reading, mount: Phrase) -> None:
    """Puts who does something "on a skateboard" there, and not what it is done to."""
    done_to = now.object is not None and now.bearers == [now.object]
    if done_to and now.predicate == ("on",) and is_a(mount.head_text, _BOARDS):
        now.bearers = [] if is_a(now.bearers[0].head_text, BEINGS) else now.actors


def print_on_clothes(now: Reading, shown: Phrase) -> None:
    """Gives "with a skull" to the shirt before it, but "with blond hair" to who wears it."""
    worn = now.last
    if now.predicate != ("with",) or now.direct or worn is None or worn in now.actors:
        return
    own = is_a(shown.head_text, BODY_PARTS, CLOTHES, BEINGS)
    if is_a(worn.head_text, CLOTHES) and not own:
        now.bearers = [worn]


def see_picture(now: Reading, shown: Phrase) -> None:
    """Who takes a picture of a girl takes no girl, and who looks at one need not look at her."""
    if not shown.pictured or not now.predicate:
        return
    if now.predicate == ("taking",):
        now.predicate = ("photographing",)
        now.verb = replace(now.verb, words=now.predicate) if now.verb else None
    else:
        now.bearers = []
