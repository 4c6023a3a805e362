"""Reading: where a reader of a caption stands among subject, verb and object."""

from dataclasses import dataclass, field

from zoo.units.rules.lexicon import BASES, word_set
from zoo.units.rules.phrases.phrase import Phrase

_PERCEIVING = word_set("looking staring gazing peering glancing pointing watching smiling")


@dataclass
class Reading:
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

    @property
    def verb_base(self) -> str | None:
        """The base of the running verb ("hold" of "holding"), None where no list has it."""
        return None if self.verb is None else BASES.get(" ".join(self.verb.words[:1]))

    @property
    def direct(self) -> bool:
        """Whether the predicate is the running verb alone, so that its object comes next."""
        return self.verb is not None and self.predicate == self.verb.words

    def pause(self) -> None:
        """Ends the clause. Its subject may still be that of the next."""
        self.verb, self.object, self.bearers, self.predicate = None, None, [], ()
