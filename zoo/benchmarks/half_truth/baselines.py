"""Baselines: how far half-truths can be told without their images.

Two guesses are made of each comparison: by the length of the texts, and by how often what is added
stands in a caption corpus. A guess between equals is right half of the time.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from zoo.benchmarks.base import Baselines, Case
from zoo.benchmarks.half_truth.rules import CONDITIONS

LONGER, CORPUS = "longer text", "corpus"
ARTICLES = ("a", "an", "the")


def baselines(cases: Sequence[Case], captions: Iterable[str] | None = None) -> Baselines:
    """Returns what each guess gets, in per cent.

    By length, the text of more letters wins; the shorter one would get what is left to 100. By the
    corpus, the completion wins whose added unit is the more frequent. An anchor is never rarer
    than the same with something added, so that the corpus has nothing to say of anchors.

    Args:
        cases: The cases, of anchor, half-truth and true completion.
        captions: The caption corpus, None where there is none.
    """
    guesses = {LONGER: {"half_truth": _longer(cases, 0), "completion": _longer(cases, 2)}}
    if captions is not None:
        guesses[CORPUS] = {"completion": _more_frequent(cases, captions)}
    return {name: _by_condition(cases, shares) for name, shares in guesses.items()}


class Corpus:
    """How often units stand in captions.

    Args:
        captions: The captions.
        units: The units that will be asked about.
    """

    def __init__(self, captions: Iterable[str], units: Iterable[str]) -> None:
        wanted = set(map(_words, units))
        lengths = sorted({len(unit) for unit in wanted})
        self._phrases, self._words = Counter[tuple[str, ...]](), Counter[str]()
        for caption in captions:
            words = _words(caption)
            phrases = {words[i : i + n] for n in lengths for i in range(len(words) - n + 1)}
            self._phrases.update(phrases & wanted)
            self._words.update(set(words))

    def frequency(self, unit: str) -> tuple[int, float]:
        """Returns how frequent a unit is, to be compared with that of another.

        It is the number of captions that have the unit's words in a row. Where two units have as
        many, the mean logarithm of the number of captions that have each word decides.
        """
        words = _words(unit)
        logs = math.fsum(math.log1p(self._words[word]) for word in words)
        return self._phrases[words], logs / max(len(words), 1)


def _words(text: str) -> tuple[str, ...]:
    """Returns the words of a text in lower case, articles left out."""
    return tuple(word for word in re.findall(r"\w+", text.lower()) if word not in ARTICLES)


def _longer(cases: Sequence[Case], true: int) -> list[float]:
    return [_guess(len(case.texts[true]), len(case.texts[1])) for case in cases]


def _more_frequent(cases: Sequence[Case], captions: Iterable[str]) -> list[float]:
    added = [(_added_text(case, 2), _added_text(case, 1)) for case in cases]
    corpus = Corpus(captions, (unit for pair in added for unit in pair))
    return [_guess(corpus.frequency(true), corpus.frequency(foil)) for true, foil in added]


def _added_text(case: Case, text: int) -> str:
    """Returns what a text adds to the anchor: all of it where a relation stands alone."""
    return case.texts[text].removeprefix(f"{case.texts[0]} and ")


def _guess(true: float | tuple[int, float], false: float | tuple[int, float]) -> float:
    """Returns 1 where the true text has more, 0 where it has less."""
    return 0.5 if true == false else float(true > false)  # type: ignore[operator]


def _by_condition(
    cases: Sequence[Case], shares: dict[str, list[float]]
) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for condition in CONDITIONS:
        for metric, guessed in shares.items():
            own = [g for g, case in zip(guessed, cases, strict=True) if case.subset == condition]
            if own:
                found.setdefault(condition, {})[metric] = 100 * sum(own) / len(own)
    return found
