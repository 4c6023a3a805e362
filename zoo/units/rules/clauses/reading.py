"""ClauseState: the state of reading a clause (subject, verb, object)."""

from dataclasses import dataclass, field

from zoo.units.rules.lexicon import BASES, word_set
from zoo.units.rules.phrases.phrase import Phrase

_GIVING = word_set("give hand show serve feed throw pass offer bring")
_PERCEIVING = word_set("looking staring gazing peering glancing pointing watching smiling")


@dataclass
class ClauseState:
    """The state of reading a clause of a caption.

    `subject` has the noun phrases of the clause's subject. `actors` and `object` are the subject
    and object of the current verb. `bearers` are the noun phrases that `predicate` describes.
    `last` is the last noun phrase.
    """

    subject: list[Phrase] = field(default_factory=list)
    actors: list[Phrase] = field(default_factory=list)
    object: Phrase | None = None
    last_noun: Phrase | None = None
    verb: Phrase | None = None
    bearers: list[Phrase] = field(default_factory=list)
    predicate: tuple[str, ...] = ()
    # the last word of the last noun phrase's predicate
    governor: str = ""
    # all of the last noun phrase's predicate
    last_predicate: tuple[str, ...] = ()
    # the being other than the subject that wears the last noun phrase
    wearer: Phrase | None = None
    # whether "to" follows an object ("helps a girl to"), so that the next actor is unknown
    leaves_actor_open: bool = False
    # the last verb with its actors, if only "and" or a comma follows its clause
    previous_verb: Phrase | None = None
    previous_actors: list[Phrase] = field(default_factory=list)
    # a verb that shares the place of the current one ("running and playing in a field")
    joined_verb: Phrase | None = None
    # whether the current noun phrase is in the mouth or hand of a being
    is_held: bool = False
    # all noun phrases up to here, for pronouns
    mentioned: list[Phrase] = field(default_factory=list)

    @property
    def has_perception_verb(self) -> bool:
        """Whether the verb is one of perception, so that what follows may describe its object."""
        return self.verb is not None and not _PERCEIVING.isdisjoint(self.verb.words[:1])

    @property
    def verb_base(self) -> str | None:
        """The base of the current verb ("hold" of "holding"), or None if it is in no list."""
        return None if self.verb is None else BASES.get(" ".join(self.verb.words[:1]))

    @property
    def gives(self) -> bool:
        """Whether the verb has a receiver and a thing: "handing a woman a cake"."""
        return self.verb_base in _GIVING

    @property
    def verb_words(self) -> tuple[str, ...]:
        """The words of the current verb."""
        return () if self.verb is None else self.verb.words

    @property
    def expects_direct_object(self) -> bool:
        """Whether the predicate is just the current verb, so that its object comes next."""
        return self.verb is not None and self.predicate == self.verb.words

    def end_clause_keep_subject(self) -> None:
        """Ends the clause but keeps its subject for the next one."""
        self.verb, self.object, self.bearers, self.predicate = None, None, [], ()
        self.previous_verb, self.joined_verb = None, None

    def join_clause(self) -> None:
        """Ends the clause at "and" or a comma, and keeps its verb with the actors."""
        verb, waits = self.verb or self.previous_verb, self.expects_direct_object
        self.end_clause_keep_subject()
        self.previous_verb = verb
        if verb is not None:
            self.previous_actors = self.actors
            self.joined_verb = verb if waits and not verb.passive else None
