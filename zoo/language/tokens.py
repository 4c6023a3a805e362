"""Splits a text into words and punctuation marks."""

import re

# A possessive 's is a separate token, so that "man" in "a man's hat" can be swapped with "dog".
# Other contractions and hyphenated words are not split, since "do n't" or "t - shirt" would make a
# negative recognisable.
_TOKEN = re.compile(
    r"\d+(?:[.,:/]\d+)+"
    r"|(?:[^\W\d_]\.){2,}"
    r"|\w+(?:-\w+|['’](?![sS]\b)\w+)*"
    r"|['’][sS]\b"
    r"|\.{2,}|-{2,}"
    r"|[^\w\s]"
)


def token_spans(text: str) -> list[tuple[int, int]]:
    """Returns the start and end of every word and punctuation mark."""
    return [match.span() for match in _TOKEN.finditer(text)]


def split_tokens(text: str) -> list[str]:
    """Returns the words and punctuation marks of a text."""
    return _TOKEN.findall(text)
