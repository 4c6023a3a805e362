"""Text-only baseline: how well the vectors of texts predict correct answers without the image.

A linear direction is fitted that separates the vectors of correct and wrong texts, on the cases of
four fifths of the images, and is tested on the last fifth; each fifth is tested once (5-fold
cross-validation).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.ceilings import (
    ALL_SUBSETS,
    chance_right_above_wrong,
    metrics_a_perfect_model_solves,
)
from zoo.results.plan import ScorableCase
from zoo.sources.images import image_identity
from zoo.sources.seeds import stable_hash

FIFTHS = 5
LEAST = 50  # queries; a fit of fewer is not meaningful
# by benchmark, subset and metric: n queries, and the share of correct answers in per cent
TextOnlyAccuracy = dict[str, dict[str, dict[str, dict[str, float]]]]

TextVectors = NDArray[np.floating]


@dataclass(frozen=True)
class _Query:
    """One query: rows of its correct and wrong texts, and the fold that its image is in."""

    right: NDArray[np.int64]
    wrong: NDArray[np.int64]
    fold: int


def text_only_accuracy(questions: Sequence[ScorableCase], texts: TextVectors) -> TextOnlyAccuracy:
    """Returns the text-only accuracy of each metric by which an image chooses among texts.

    Args:
        questions: Questions whose texts have vectors.
        texts: Vectors of the plan's texts, `[m, D]`.
    """
    texts = texts / np.maximum(np.linalg.norm(texts, axis=1, keepdims=True), 1e-12)
    queries_by_metric: dict[tuple[str, str, str], list[_Query]] = defaultdict(list)
    for question in questions:
        for metric, query in _queries(question):
            queries_by_metric[str(question.run), question.case.subset, metric].append(query)
    shares: dict[str, dict[str, dict[str, list[float]]]] = {}
    for (run, subset, metric), queries in queries_by_metric.items():
        chances = _correct_chances(queries, texts)
        if chances:
            shares.setdefault(run, {}).setdefault(subset, {})[metric] = chances
    for by_subset in shares.values():
        all_chances: dict[str, list[float]] = defaultdict(list)
        for by_metric in by_subset.values():
            for metric, chances in by_metric.items():
                all_chances[metric] += chances
        by_subset[ALL_SUBSETS] = dict(all_chances)
    return {
        run: {
            subset: {
                metric: {"n": len(chances), "value": 100 * float(np.mean(chances))}
                for metric, chances in by_metric.items()
            }
            for subset, by_metric in by_subset.items()
        }
        for run, by_subset in shares.items()
    }


def _queries(question: ScorableCase) -> Iterator[tuple[str, _Query]]:
    case = question.case
    if case.is_gallery or case.query_texts or case.prompts or case.resolved_protocol.by_image:
        return
    metrics = metrics_a_perfect_model_solves(case)
    for query in case.queries():
        n = len(query.match)
        compares_texts = len(query.images) == 1 and len(query.texts) == n
        if compares_texts and query.metric in metrics and 0 < query.match.sum() < n:
            rows = question.texts[list(query.texts)]
            fifth = stable_hash(image_identity(case.images[query.images[0]])) % FIFTHS
            yield query.metric, _Query(rows[query.match], rows[~query.match], fifth)


def _correct_chances(queries: Sequence[_Query], texts: TextVectors) -> list[float]:
    """Returns the chance of a correct answer per query, empty if there are too few queries."""
    fifths = np.array([query.fold for query in queries])
    if len(queries) < LEAST or len(set(fifths.tolist())) < FIFTHS:
        return []
    differences = np.stack([texts[q.right].mean(0) - texts[q.wrong].mean(0) for q in queries])
    lines = [
        _fit_direction(differences[fifths != fifth].astype(np.float64)) for fifth in range(FIFTHS)
    ]
    return [
        chance_right_above_wrong(
            *((texts[side] @ lines[q.fold]).tolist() for side in (q.right, q.wrong))
        )
        for q in queries
    ]


def _fit_direction(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the direction `[D]` on which differences `[n, D]` are closest to 1 (ridge)."""
    n, width = differences.shape
    penalty = max(float((differences**2).sum()) / width, 1e-12)
    if n < width:
        inner = differences @ differences.T + penalty * np.eye(n)
        return np.asarray(differences.T @ np.linalg.solve(inner, np.ones(n)))
    outer = differences.T @ differences + penalty * np.eye(width)
    return np.asarray(np.linalg.solve(outer, differences.sum(0)))
