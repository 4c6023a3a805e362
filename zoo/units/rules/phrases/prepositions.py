"""Prepositions of one or more words."""

from collections.abc import Sequence

from zoo.units.rules.lexicon import PREPOSITION_PHRASES, PREPOSITIONS
from zoo.units.rules.phrases.tags import ADJECTIVES, DETERMINERS, NOUNS, starts

_PREPOSITIONS_BY_FIRST = {
    word: tuple(several for several in PREPOSITION_PHRASES if several[0] == word)
    for word in {several[0] for several in PREPOSITION_PHRASES}
}


def preposition_phrase(words: Sequence[str], i: int) -> tuple[str, ...]:
    """Returns the preposition of several words that begins at i, or an empty tuple."""
    for preposition in _PREPOSITIONS_BY_FIRST.get(words[i], ()):
        if tuple(words[i : i + len(preposition)]) == preposition:
            return preposition
    return ()


def governs(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a word tagged as an adverb is a preposition ("skating down a rail")."""
    follows = DETERMINERS if words[i] == "nearby" else DETERMINERS | NOUNS | ADJECTIVES
    return words[i] in PREPOSITIONS and tags[i] in ("RB", "JJ") and starts(tags, i + 1, follows)
