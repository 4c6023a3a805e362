"""Classes of tags and of function words, and prepositions of one or more words."""

from collections.abc import Sequence

from zoo.units.rules.lexicon import PREPOSITION_PHRASES, PREPOSITIONS, word_set

# Penn Treebank tags
DETERMINERS = {"DT", "PRP$", "PDT", "WP$"}
NOUNS = {"NN", "NNS", "NNP", "NNPS"}
ADJECTIVES = {"JJ", "JJR", "JJS", "CD"}
VERBS = {"VB", "VBZ", "VBP", "VBD", "VBG", "VBN", "MD"}
FINITE = {"VB", "VBZ", "VBP", "VBD"}
AFTER_VERB = DETERMINERS | {"IN", "TO", "RP", "RB", ".", ",", "CC", "PRP"}

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

_PREPOSITIONS_BY_FIRST = {
    word: tuple(several for several in PREPOSITION_PHRASES if several[0] == word)
    for word in {several[0] for several in PREPOSITION_PHRASES}
}


def has_tag(tags: list[str], i: int, allowed: set[str]) -> bool:
    """Returns whether there is a word at i whose tag is allowed."""
    return i < len(tags) and tags[i] in allowed


def is_negation(word: str) -> bool:
    """Returns whether a word is a negation."""
    return word in ("not", "never") or word.endswith(("n't", "n’t"))


def multiword_preposition(words: Sequence[str], i: int) -> tuple[str, ...]:
    """Returns the preposition of several words that begins at i, or an empty tuple."""
    for preposition in _PREPOSITIONS_BY_FIRST.get(words[i], ()):
        if tuple(words[i : i + len(preposition)]) == preposition:
            return preposition
    return ()


def is_adverb_preposition(words: list[str], tags: list[str], i: int) -> bool:
    """Returns whether a word tagged as an adverb is a preposition ("skating down a rail")."""
    follows = DETERMINERS if words[i] == "nearby" else DETERMINERS | NOUNS | ADJECTIVES
    return words[i] in PREPOSITIONS and tags[i] in ("RB", "JJ") and has_tag(tags, i + 1, follows)
