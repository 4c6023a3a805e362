"""The words and marks of a text, with their places."""

import re

# A possessive 's is a token of its own, so that "man" in "a man's hat" can change places with
# "dog". Other contractions and words with hyphens stay whole, since "do n't" or "t - shirt" would
# give a negative away.
_TOKEN = re.compile(
    r"\d+(?:[.,:/]\d+)+"
    r"|(?:[^\W\d_]\.){2,}"
    r"|\w+(?:-\w+|['’](?![sS]\b)\w+)*"
    r"|['’][sS]\b"
    r"|\.{2,}|-{2,}"
    r"|[^\w\s]"
)


def spans(text: str) -> list[tuple[int, int]]:
    """Returns start and end of every word and mark of the text."""
    return [match.span() for match in _TOKEN.finditer(text)]


def words(text: str) -> list[str]:
    """Returns the words and marks of the text."""
    return _TOKEN.findall(text)
