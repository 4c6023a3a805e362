"""A verb in a clause: who acts."""

from zoo.units.rules.clauses.reading import Reading
from zoo.units.rules.kinds import BEINGS, MOVERS, is_a
from zoo.units.rules.lexicon import BASES, LOOKING_ON, word_set
from zoo.units.rules.phrases.phrase import Phrase

# "a ledge surrounding a tree": what things do, and nobody who stands on them
_OF_THINGS = word_set(
    "surrounding saying reading containing featuring depicting advertising reflecting"
)


def start_verb(now: Reading, verb: Phrase, before: Phrase | None) -> None:
    """Takes up a verb, and settles who acts: the subject, the nearest noun phrase or nobody named.

    Args:
        now: Where the reader stands, which changes.
        verb: The verb group.
        before: The phrase before it.
    """
    watches = now.verb is not None and BASES.get(" ".join(now.verb.words[-1:])) in LOOKING_ON
    seen = now.object if watches and now.object and now.object.head_text in MOVERS else None
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
        and ((qualifies and (now.looks_on or of_being)) or (watches and seen is None))
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
