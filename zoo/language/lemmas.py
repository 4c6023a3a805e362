"""Base forms of words, so that "dogs" and "dog", or "riding" and "rides", count as one word."""

from functools import lru_cache

_VERB_ENDINGS = ("ing", "ed")
_MIN_STEM_LENGTH = 3  # minimum number of letters of a stem


@lru_cache(1 << 16)
def lemmas(word: str) -> frozenset[str]:
    """Returns the possible base forms of a word, regardless of its context.

    Args:
        word: One word, in lower case.

    Returns:
        The word itself, its singular, and the verbs of which it may be a regular form. Some
        of these do not exist. Two forms of one word share a base form; words that share none are
        different.
    """
    from textblob.en.inflect import singularize  # takes seconds to import

    forms = {word, singularize(word)}
    for ending in _VERB_ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _MIN_STEM_LENGTH:
            forms |= {stem, f"{stem}e"}
            if stem[-1] == stem[-2]:
                forms.add(stem[:-1])
    return frozenset(forms)
