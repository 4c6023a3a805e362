"""Draws foils from the distribution of the corpus, so that a text alone does not give them away."""

from collections.abc import Callable, Collection, Mapping
from random import Random

_ITERATIONS = 20


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
    counts: Mapping[str, float], alternatives: Mapping[str, Collection[str]]
) -> dict[str, float]:
    """Returns weights by which foils are drawn, so that a value is as often false as true.

    They are found by iterative proportional fitting. Where a value is more frequent than all of its
    alternatives, this is not possible, and it is more often true.

    Args:
        counts: The frequency of each value in the corpus.
        alternatives: The values that can replace each value.
    """
    true_counts = {value: counts.get(value, 0) + 0.5 for value in alternatives}
    weights: dict[str, float] = dict(true_counts)
    for _ in range(_ITERATIONS):
        false_counts = dict.fromkeys(alternatives, 0.0)
        for value, others in alternatives.items():
            total = sum(weights[other] for other in others)
            for other in others:
                false_counts[other] += true_counts[value] * weights[other] / total
        for value, false_count in false_counts.items():
            if false_count:
                weights[value] *= (true_counts[value] / false_count) ** 0.5
    return weights
