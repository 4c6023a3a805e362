"""Words: what the short names of metrics and splits on a page mean."""

import re
from collections.abc import Iterable

from zoo.benchmarks.half_truth.rules import WRONG

MEANINGS = (
    ("i2t", r"i2t(_r@\d+)?", "an image chooses among texts"),
    ("t2i", r"t2i(_r@\d+)?", "a text chooses among images"),
    ("group", r"group", "every image and every text of a case chooses right"),
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
    *((name, re.escape(name), f"kind of half-truth; {what}") for name, what in WRONG.items()),
    ("test", r"test", "scenes that training had not, of things that it had"),
    ("held_out", r"held_out", "scenes of pairs of words that no caption of training had"),
)


def words(names: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Returns what words mean of which names of rows are made.

    Args:
        names: Names of the rows: benchmark, subset, metric.
    """
    used = {part for of in names for part in of}
    return {
        word: meaning
        for word, pattern, meaning in MEANINGS
        if any(re.fullmatch(pattern, part) for part in used)
    }
