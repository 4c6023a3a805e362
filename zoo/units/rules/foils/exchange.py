"""Draws foils from the distribution of the corpus, so that a text alone does not give them away."""

from collections.abc import Callable, Collection, Mapping
from random import Random

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_ITERATIONS = 100


def draw_exchanged(
    true: str,
    alternatives: Callable[[str], Collection[str]],
    counts: Mapping[str, float],
    rng: Random,
) -> str | None:
    """Draws a foil of a value, or none.

    A value and its foil are exchangeable: over the corpus, a with the foil b is as frequent as b
    with the foil a. For this an alternative is drawn by its frequency and accepted with probability
    Z(true) / max(Z(true), Z(alternative)), where Z is the total frequency of the alternatives of a
    value. If every alternative were accepted, frequent values would be true more often than false.

    Args:
        true: The true value.
        alternatives: Returns the values that are false if a value is true; symmetric.
        counts: The frequency of each value in the corpus, in this context.
        rng: Draws the foil.

    Returns:
        The foil; None if no alternative was accepted, or the corpus has not the value here.
    """
    candidates = [value for value in alternatives(true) if value in counts]
    if not candidates or true not in counts:
        return None
    total = sum(counts[value] for value in candidates)
    (foil,) = rng.choices(candidates, [counts[value] for value in candidates])
    total_of_foil = sum(counts.get(value, 0) for value in alternatives(foil))
    return foil if rng.random() * max(total, total_of_foil) < total else None


def balanced_weights(
    counts: Mapping[str, float], alternatives: Mapping[str, Collection[str]], n_draws: int = 1
) -> dict[str, float]:
    """Returns weights by which foils are drawn, so that a value is as often false as true.

    They are found by iterative proportional fitting. Where a value is more frequent than all of its
    alternatives, this is not possible, and it is more often true.

    Args:
        counts: The frequency of each value in the corpus.
        alternatives: The values that can replace each value.
        n_draws: The number of foils of a value, which differ.
    """
    values = list(alternatives)
    index = {value: i for i, value in enumerate(values)}
    allowed = np.zeros((len(values), len(values)))
    for value, alternative_values in alternatives.items():
        allowed[index[value], [index[alternative] for alternative in alternative_values]] = 1
    true_counts = np.array([counts.get(value, 0) + 0.5 for value in values])
    weights = true_counts.copy()
    for _ in range(_ITERATIONS):
        shares = _divide(allowed * weights, (allowed @ weights)[:, None])
        # the share of each value's foils that another one is among
        included = 1 - (1 - shares) ** n_draws
        false_counts = _divide(true_counts, included.sum(axis=1)) @ included
        weights *= np.sqrt(_divide(true_counts, false_counts))
        weights /= weights.sum() or 1
    return dict(zip(values, weights.tolist(), strict=True))


def _divide(numbers: FloatArray, divisors: FloatArray) -> FloatArray:
    """Returns the quotients, and zero where the divisor is zero."""
    zeros = np.zeros(np.broadcast_shapes(numbers.shape, divisors.shape))
    return np.divide(numbers, divisors, out=zeros, where=divisors > 0)
