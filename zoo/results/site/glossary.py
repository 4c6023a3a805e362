"""Meanings of the short names of metrics and splits on a page."""

import re
from collections.abc import Iterable

from zoo.benchmarks.half_truth.rules import CONDITION_ERRORS

MEANINGS = (
    ("i2t", r"i2t(_r@\d+)?", "an image chooses among texts"),
    ("t2i", r"t2i(_r@\d+)?", "a text chooses among images"),
    ("group", r"group", "every image and every text of a case makes the right choice"),
    ("r@k", r".*_r@\d+", "share of queries with a right answer among the first k of the gallery"),
    ("macro", r"macro", "mean over classes, each of equal weight"),
    (
        "half_truth",
        r"half_truth",
        "a true description scores above the same with a wrong detail added",
    ),
    (
        "completion",
        r"completion",
        "a true completion of a description scores above the same with a wrong detail added",
    ),
    *(
        (name, re.escape(name), f"kind of half-truth; {description}")
        for name, description in CONDITION_ERRORS.items()
    ),
    ("test", r"test", "scenes that are not in the training set, with objects that are"),
    ("held_out", r"held_out", "scenes with pairs of words that are in no training caption"),
)


def word_meanings(names: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Returns the meanings of the words that occur in the names of rows.

    Args:
        names: Names of the rows: benchmark, subset, metric.
    """
    used = {part for row_names in names for part in row_names}
    return {
        word: meaning
        for word, pattern, meaning in MEANINGS
        if any(re.fullmatch(pattern, part) for part in used)
    }
