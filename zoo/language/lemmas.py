"""Base forms of words, so that "dogs" and "dog", "riding" and "rides" count as one word."""

from functools import lru_cache

_VERB_ENDINGS = ("ing", "ed")
_SHORTEST = 3  # letters of a stem


@lru_cache(1 << 16)
def lemmas(word: str) -> frozenset[str]:
    """Lists the base forms that a word may have, whatever its sentence.

    Args:
        word: One word, in lower case.

    Returns:
        The word itself, its singular, and the verbs that it may be a regular form of. Some of these
        are not words. Two forms of one word share a base, and words that share none are different.
    """
    from textblob.en.inflect import singularize  # takes seconds

    found = {word, singularize(word)}
    for ending in _VERB_ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST:
            found |= {stem, f"{stem}e"}
            if stem[-1] == stem[-2]:
                found.add(stem[:-1])
    return frozenset(found)
