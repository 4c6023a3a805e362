"""Groups of Penn Treebank tags."""

DETERMINERS = {"DT", "PRP$", "PDT", "WP$"}
NOUNS = {"NN", "NNS", "NNP", "NNPS"}
ADJECTIVES = {"JJ", "JJR", "JJS", "CD"}
VERBS = {"VB", "VBZ", "VBP", "VBD", "VBG", "VBN", "MD"}
FINITE = {"VB", "VBZ", "VBP", "VBD"}
AFTER_VERB = DETERMINERS | {"IN", "TO", "RP", "RB", ".", ",", "CC", "PRP"}


def starts(tags: list[str], i: int, allowed: set[str]) -> bool:
    """Returns whether there is a word at i whose tag is allowed."""
    return i < len(tags) and tags[i] in allowed
