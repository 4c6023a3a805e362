"""Text-only baselines: how well half-truths can be detected without their images.

There are two guesses for each comparison: by the length of the texts, and by the frequency of the
added unit in a caption corpus. A guess between equals is right half of the time.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from zoo.benchmarks.base import Baselines, Case
from zoo.benchmarks.half_truth.rules import CONDITIONS

LONGER, CORPUS = "longer text", "corpus"
ARTICLES = ("a", "an", "the")


def text_only_baselines(cases: Sequence[Case], captions: Iterable[str] | None = None) -> Baselines:
    """Returns the accuracy of each guess, in per cent.

    By length, the longer text wins; the accuracy of the shorter one is 100 minus that. By the
    corpus, the completion with the more frequent added unit wins. The corpus gives no guess about
    anchors, since an anchor is never rarer than the anchor with an addition.

    Args:
        cases: The cases, of anchor, half-truth and true completion.
        captions: The caption corpus, or None.
    """
    guesses = {
        LONGER: {
            "half_truth": _length_guess_accuracy(cases, 0),
            "completion": _length_guess_accuracy(cases, 2),
        }
    }
    if captions is not None:
        guesses[CORPUS] = {"completion": _corpus_guess_accuracy(cases, captions)}
    return {name: _mean_by_condition(cases, shares) for name, shares in guesses.items()}


class Corpus:
    """Frequencies of units in captions.

    Args:
        captions: The captions.
        units: The units to count.
    """

    def __init__(self, captions: Iterable[str], units: Iterable[str]) -> None:
        unit_words = set(map(_words, units))
        lengths = sorted({len(unit) for unit in unit_words})
        self._phrases, self._words = Counter[tuple[str, ...]](), Counter[str]()
        for caption in captions:
            words = _words(caption)
            phrases = {words[i : i + n] for n in lengths for i in range(len(words) - n + 1)}
            self._phrases.update(phrases & unit_words)
            self._words.update(set(words))

    def frequency(self, unit: str) -> tuple[int, float]:
        """Returns the frequency of a unit, for comparison with another unit.

        It is the number of captions that contain the unit's words in sequence. Ties are broken by
        the mean logarithm of the number of captions that contain each word.
        """
        words = _words(unit)
        logs = math.fsum(math.log1p(self._words[word]) for word in words)
        return self._phrases[words], logs / max(len(words), 1)


def _words(text: str) -> tuple[str, ...]:
    """Returns the words of a text in lower case, without articles."""
    return tuple(word for word in re.findall(r"\w+", text.lower()) if word not in ARTICLES)


def _length_guess_accuracy(cases: Sequence[Case], true_index: int) -> list[float]:
    return [_guess_accuracy(len(case.texts[true_index]), len(case.texts[1])) for case in cases]


def _corpus_guess_accuracy(cases: Sequence[Case], captions: Iterable[str]) -> list[float]:
    added = [(_added_text(case, 2), _added_text(case, 1)) for case in cases]
    corpus = Corpus(captions, (unit for pair in added for unit in pair))
    return [_guess_accuracy(corpus.frequency(true), corpus.frequency(foil)) for true, foil in added]


def _added_text(case: Case, text_index: int) -> str:
    """Returns the part that a text adds to the anchor, or the whole text of a relation."""
    return case.texts[text_index].removeprefix(f"{case.texts[0]} and ")


def _guess_accuracy(true: float | tuple[int, float], false: float | tuple[int, float]) -> float:
    """Returns 1 if the true text has the higher value, 0 if the lower, 0.5 for a tie."""
    return 0.5 if true == false else float(true > false)  # type: ignore[operator]


def _mean_by_condition(
    cases: Sequence[Case], shares: dict[str, list[float]]
) -> dict[str, dict[str, float]]:
    results: dict[str, dict[str, float]] = {}
    for condition in CONDITIONS:
        for metric, guessed in shares.items():
            condition_shares = [
                g for g, case in zip(guessed, cases, strict=True) if case.subset == condition
            ]
            if condition_shares:
                results.setdefault(condition, {})[metric] = (
                    100 * sum(condition_shares) / len(condition_shares)
                )
    return results
