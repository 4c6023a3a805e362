"""Tags of words, as the Penn Treebank names them, by what they have in common."""

DETERMINERS = {"DT", "PRP$", "PDT", "WP$"}
NOUNS = {"NN", "NNS", "NNP", "NNPS"}
ADJECTIVES = {"JJ", "JJR", "JJS", "CD"}
VERBS = {"VB", "VBZ", "VBP", "VBD", "VBG", "VBN", "MD"}
FINITE = {"VB", "VBZ", "VBP", "VBD"}
AFTER_VERB = DETERMINERS | {"IN", "TO", "RP", "RB", ".", ",", "CC", "PRP"}


def starts(tags: list[str], i: int, wanted: set[str]) -> bool:
    """Whether there is a word at i, and its tag is one of those wanted."""
    return i < len(tags) and tags[i] in wanted
