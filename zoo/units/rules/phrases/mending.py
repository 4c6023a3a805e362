"""Mends tags: a tagger takes some verbs for nouns and some nouns for verbs."""

from zoo.units.rules.kinds import BEINGS, CLOTHES, MOVERS
from zoo.units.rules.lexicon import BASES, NOUNS_IN_ING, NUMBERS, word_set
from zoo.units.rules.phrases.function_words import AUXILIARIES, SUBORDINATORS
from zoo.units.rules.phrases.nouns_by_place import is_noun
from zoo.units.rules.phrases.tags import ADJECTIVES, AFTER_VERB, DETERMINERS, NOUNS, VERBS
from zoo.units.rules.phrases.verbs_by_place import acts

# "matching hats": participles that compare one thing with another
_COMPARING = word_set("matching coordinating contrasting")
_SPORTS = word_set("climb fish race swim wrestle box ski skate dance surf dive jump")


def correct_tags(words: list[str], tags: list[str]) -> list[str]:
    """Turns nouns into verbs, verbs into nouns and so on, where their place says so.

    A verb is so in "a girl in a dress jumps over", and a noun in "looks at leaves".
    """
    tags = list(tags)
    for i, (word, tag) in enumerate(zip(words, tags, strict=True)):
        before, after = (tags[i - 1] if i else ""), (tags[i + 1] if i + 1 < len(tags) else ".")
        if word in NUMBERS:
            tags[i] = "CD"
        elif (word == "like" and before in ("NN", "NNP") and after in NOUNS) or (
            word in _COMPARING and after in NOUNS | ADJECTIVES
        ):
            tags[i] = "JJ"
        elif word in SUBORDINATORS:
            tags[i] = "IN"
        elif word in NOUNS_IN_ING and tag in ("VBG", "NN", "JJ"):
            builds = before in VERBS | {"NNS", "NN"} and after in DETERMINERS | {"NNS"}
            tags[i] = "VBG" if builds else "NN"
        elif (tag == "NN" or word == "cross-country") and _says_how(words, tags, i):
            tags[i] = "RB"
        elif is_noun(words, tags, i, before, after):
            tags[i] = "NNS" if tag == "VBZ" else "NN"
        elif tag in ("NN", "NNS", "NNP", "JJ") and acts(words, tags, i, before, after):
            tags[i] = "VBG" if word.endswith("ing") else "VBP" if BASES.get(word) == word else "VBZ"
        elif (
            tag == "NN"
            and before == "TO"
            and (after in ("DT", "PRP$") or (BASES.get(word) == word and after in AFTER_VERB))
        ):
            tags[i] = "VB"
        elif tag == "JJ" and "-" in word and word.endswith("s") and after not in NOUNS:
            tags[i] = "NNS"
    return tags


def _says_how(words: list[str], tags: list[str], i: int) -> bool:
    """Whether a noun belongs to the participle behind it: "two men rock climbing"."""
    if i == 0 or words[i] in CLOTHES | MOVERS:
        return False
    sport = BASES.get("".join(words[i + 1 : i + 2])) in _SPORTS
    after_verb = tags[i - 1] == "VBG" and tags[i + 1 : i + 2] == ["VBG"]
    return sport and (words[i - 1] in BEINGS | AUXILIARIES or after_verb)
