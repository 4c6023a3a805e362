"""Prepositions of captions with their frequencies, grouped by similar meaning.

The list was made for this project.
"""

from collections.abc import Sequence

# Frequency per 10,000 prepositions in 51,010 captions of COCO and Flickr8k, at least 1. "_" is a
# space. Prepositions on one line may have the same meaning, so that they do not replace each other.
_FREQUENCIES = """
in 2129 inside 26 inside_of 18 within 2 into 107 in_the_middle_of 25
on 1744 on_top_of 90 on_the_top_of 3 atop 7 onto 24 upon 2 over 155 above 35
with 1354 along_with 4
of 1106
at 424 near 172 by 176 next_to 243 beside 36 \
alongside 4 close_to 5 on_the_side_of 27 on_the_edge_of 8 at_the_edge_of 4
through 195 via 1
in_front_of 176 before 4 ahead_of 1
to 167 toward 14 towards 27 up_to 16
for 123
from 107 off 71 out_of 37 away_from 8
as 103
like 17
around 91 about 22
outside 86 outside_of 15
behind 83 after 19 on_the_back_of 7 in_back_of 1
along 55 down 10
under 52 underneath 9 beneath 3 below 9
across 50 across_from 2 opposite 1
during 30
against 29
between 17 in_between 3 among 7 amongst 2 amid 1 amidst 1
without 4 except 1
besides 1
beyond 1 past 1
aboard 1
far_from 1
"""


def _parse_frequencies() -> dict[str, tuple[int, int]]:
    entries = {}
    for line_number, line in enumerate(_FREQUENCIES.strip().splitlines()):
        fields = line.split()
        for name, frequency in zip(fields[::2], fields[1::2], strict=True):
            entries[name.replace("_", " ")] = (line_number, int(frequency))
    return entries


_PREPOSITIONS = _parse_frequencies()
_MULTIWORD_PREPOSITIONS = sorted(
    (p.split(" ") for p in _PREPOSITIONS if " " in p), key=len, reverse=True
)
_FIRST_WORDS = frozenset(words[0] for words in _MULTIWORD_PREPOSITIONS)
_WEIGHTS = {
    line: {p: float(f) for p, (other, f) in _PREPOSITIONS.items() if other != line}
    for line, _ in _PREPOSITIONS.values()
}


def preposition_length(words: Sequence[str], at: int) -> int:
    """Returns the number of words of the longest preposition that begins at a position.

    Args:
        words: The words of a text, in lower case.
        at: The position.

    Returns:
        The number of words; 0 if no preposition begins there.
    """
    if words[at] in _FIRST_WORDS:
        for preposition in _MULTIWORD_PREPOSITIONS:
            if words[at : at + len(preposition)] == preposition:
                return len(preposition)
    return int(words[at] in _PREPOSITIONS)


def other_prepositions(preposition: str) -> dict[str, float]:
    """Returns the prepositions with another meaning, with their frequencies as weights.

    Args:
        preposition: A preposition of the list, in lower case.
    """
    return _WEIGHTS[_PREPOSITIONS[preposition][0]]
