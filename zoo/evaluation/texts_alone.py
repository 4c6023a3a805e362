"""Texts alone: how much of the right answers the text tower tells without the image.

A line through the vectors of texts is fitted to tell right ones from wrong ones, on the cases of
four fifths of the images, and asked about those of the last fifth; each fifth is asked about once.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.ceilings import EVERY, choosing_metrics, put_in_order
from zoo.results.plan import ScorableCase
from zoo.sources.images import identity
from zoo.sources.seeds import stable_hash

FIFTHS = 5
LEAST = 50  # queries; of fewer a line says little
# by benchmark, subset and metric: n queries, and the share of right answers in per cent
Told = dict[str, dict[str, dict[str, dict[str, float]]]]

Vectors = NDArray[np.floating]


@dataclass(frozen=True)
class _Query:
    """One query: rows of its right and wrong texts, and the fifth that its image is in."""

    right: NDArray[np.int64]
    wrong: NDArray[np.int64]
    fifth: int


def told_by_texts(questions: Sequence[ScorableCase], texts: Vectors) -> Told:
    """Returns what is told of each metric by which an image chooses among texts.

    Args:
        questions: Questions whose texts have vectors.
        texts: Vectors of the plan's texts, `[m, D]`.
    """
    texts = texts / np.maximum(np.linalg.norm(texts, axis=1, keepdims=True), 1e-12)
    asked: dict[tuple[str, str, str], list[_Query]] = defaultdict(list)
    for question in questions:
        for metric, query in _queries(question):
            asked[str(question.run), question.case.subset, metric].append(query)
    shares: dict[str, dict[str, dict[str, list[float]]]] = {}
    for (run, subset, metric), queries in asked.items():
        found = _shares(queries, texts)
        if found:
            shares.setdefault(run, {}).setdefault(subset, {})[metric] = found
    for by_subset in shares.values():
        together: dict[str, list[float]] = defaultdict(list)
        for by_metric in by_subset.values():
            for metric, found in by_metric.items():
                together[metric] += found
        by_subset[EVERY] = dict(together)
    return {
        run: {
            subset: {
                metric: {"n": len(found), "value": 100 * float(np.mean(found))}
                for metric, found in by_metric.items()
            }
            for subset, by_metric in by_subset.items()
        }
        for run, by_subset in shares.items()
    }


def _queries(question: ScorableCase) -> Iterator[tuple[str, _Query]]:
    case = question.case
    if case.gallery or case.asking or case.prompts or case.judged_by.by_image:
        return
    wanted = choosing_metrics(case)
    for query in case.queries():
        n = len(query.match)
        of_texts = len(query.images) == 1 and len(query.texts) == n
        if of_texts and query.metric in wanted and 0 < query.match.sum() < n:
            rows = question.texts[list(query.texts)]
            fifth = stable_hash(identity(case.images[query.images[0]])) % FIFTHS
            yield query.metric, _Query(rows[query.match], rows[~query.match], fifth)


def _shares(queries: Sequence[_Query], texts: Vectors) -> list[float]:
    """Returns the chance that each query is answered rightly, none where they are too few."""
    fifths = np.array([query.fifth for query in queries])
    if len(queries) < LEAST or len(set(fifths.tolist())) < FIFTHS:
        return []
    differences = np.stack([texts[q.right].mean(0) - texts[q.wrong].mean(0) for q in queries])
    lines = [_line(differences[fifths != fifth].astype(np.float64)) for fifth in range(FIFTHS)]
    return [
        put_in_order(*((texts[side] @ lines[q.fifth]).tolist() for side in (q.right, q.wrong)))
        for q in queries
    ]


def _line(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the direction `[D]` along which differences `[n, D]` are nearest to 1 (ridge)."""
    n, width = differences.shape
    pull = max(float((differences**2).sum()) / width, 1e-12)
    if n < width:
        inner = differences @ differences.T + pull * np.eye(n)
        return np.asarray(differences.T @ np.linalg.solve(inner, np.ones(n)))
    outer = differences.T @ differences + pull * np.eye(width)
    return np.asarray(np.linalg.solve(outer, differences.sum(0)))
