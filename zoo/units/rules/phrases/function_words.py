"""Function words."""

from zoo.units.rules.lexicon import word_set

AUXILIARIES = word_set(
    "is are was were be been being am 's has have had having do does did can will would could may "
    "might"
)
SUBORDINATORS = word_set(
    "as while whilst because if than like unlike during after before until since though although "
    "when where how"
)
RELATIVES = word_set("that who which")
SUBJECT_PRONOUNS = word_set("he she it they we")
SEEMING = word_set("appear appears appeared appearing seem seems seemed seeming")


def negates(word: str) -> bool:
    """Returns whether a word is a negation."""
    return word in ("not", "never") or word.endswith(("n't", "n’t"))
