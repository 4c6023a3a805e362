"""11-point mAP and ROC AUC against loops of the official rules, on random scores full of ties."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from zoo.benchmarks import Case, MeanAveragePrecision11, Protocol, RocAuc
from zoo.benchmarks.protocols.ranked_images import softmax
from zoo.results.averages import Mean, Member, compute_available_averages
from zoo.results.metrics import compute_metrics
from zoo.results.outcomes import outcome_rows, outcome_table
from zoo.results.presets.preset import preset_of
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef


def trials(k: int, n: int = 20) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Match and scores; each class has from one to ten images."""
    generator = np.random.default_rng(k)
    for trial in range(40):
        match = np.zeros((n, k), dtype=bool)
        for j in range(k):
            match[generator.permutation(n)[: 1 + (trial + j) % 10], j] = True
        yield match, generator.integers(0, 3, (n, k)).astype(np.float32)


def case_of(match: np.ndarray, protocol: Protocol) -> Case:
    images = tuple(ImageRef("published", f"{i}.png") for i in range(len(match)))
    names = tuple(f"class {j}" for j in range(match.shape[1]))
    return Case(images, names, match, protocol, "set", "all")


def eleven_points(right: np.ndarray, shares: np.ndarray) -> float:
    """The toolkit's rule in whole numbers: a curve from recall 1 to (recall 0, precision 1)."""
    points = [(Fraction(0), Fraction(1))]
    for threshold in sorted(set(shares.tolist())):
        said = shares >= threshold
        hits = int((said & right).sum())
        points.append((Fraction(hits, int(right.sum())), Fraction(hits, int(said.sum()))))
    best = [max(p for r, p in points if r >= Fraction(t, 10)) for t in range(11)]
    return float(sum(best) / 11)


def test_each_class_is_graded_by_the_mean_of_the_best_precision_at_eleven_recalls() -> None:
    for match, scores in trials(3):
        outcomes = case_of(match, MeanAveragePrecision11()).judge(scores)
        raised = np.exp(scores.astype(np.float64))
        shares = raised / raised.sum(1, keepdims=True)
        expected = [eleven_points(match[:, j], shares[:, j].round(9)) for j in range(3)]
        assert [o.value for o in outcomes] == pytest.approx(expected, abs=1e-6)


def test_a_recall_of_a_tenth_is_reached_though_it_has_no_exact_float() -> None:
    """Ten right images of which one to nine stand before a wrong one, at recalls 0.1 to 0.9."""
    for before in range(1, 10):
        right = np.array([True] * before + [False] * 5 + [True] * (10 - before))
        value = MeanAveragePrecision11().grade(right, np.linspace(1, 0, 15))
        assert value == pytest.approx(eleven_points(right, np.linspace(1, 0, 15)), abs=1e-6)


def test_the_area_is_the_share_of_pairs_in_order_with_ties_half() -> None:
    for match, scores in trials(1):
        match = np.concatenate([~match, match], axis=1)
        scores = np.concatenate([scores, np.roll(scores, 3)], axis=1)
        (outcome,) = case_of(match, RocAuc()).judge(scores)
        above = scores[:, 1] - scores[:, 0]
        positive, negative = above[match[:, 1]], above[match[:, 0]]
        pairs = [(a > b) + 0.5 * (a == b) for a in positive for b in negative]
        assert outcome.value == pytest.approx(np.mean(pairs), abs=1e-6)
        exact = mannwhitneyu(positive, negative).statistic / len(pairs)
        assert outcome.value == pytest.approx(exact, abs=1e-6)


def test_scores_far_apart_keep_their_order() -> None:
    """Logits of 100 and more, which a sigmoid in fp32 would all bring to one."""
    logits = np.array([[0, 90.0], [0, 100.0], [0, 110.0], [0, 0]], np.float32)
    match = np.array([[True, False], [False, True], [True, False], [True, False]])
    (outcome,) = case_of(match, RocAuc()).judge(logits / 5)
    assert outcome.value == pytest.approx(2 / 3, abs=1e-6)
    assert softmax(np.array([[1000, 0]], np.float32)).tolist() == [[1.0, 0.0]]


def test_they_have_no_interval_and_so_has_no_mean_that_takes_them() -> None:
    match, scores = next(trials(3))
    run = BenchmarkRun("elevater")
    judged = case_of(match, MeanAveragePrecision11()).judge(scores)
    cases = outcome_table(
        outcome_rows(run, case_of(match, MeanAveragePrecision11()), judged, frozenset())
    )
    observations = compute_metrics(cases, preset_of("official").rules, {})
    (metric,) = observations
    assert metric.value == pytest.approx(100 * np.mean([o.value for o in judged]))
    assert (metric.low, metric.high, metric.n, metric.images) == (None, None, 3, len(match))
    assert "no interval is known" in metric.interval
    mean = Mean("m", (Member("elevater", "set", "map_11"),))
    (average,) = compute_available_averages("p", [mean], list(observations), observations)
    assert (average.value, average.low, average.interval) == (metric.value, None, "")


def test_a_case_that_cannot_be_ranked_is_refused() -> None:
    match = np.array([[True, False], [True, False]])
    assert "has a class without images" in MeanAveragePrecision11().invalid_reason(match)
    assert "has a class without images" in RocAuc().invalid_reason(match)
    assert "has 3 classes instead of two" in RocAuc().invalid_reason(np.eye(3, dtype=bool))
    assert not RocAuc().invalid_reason(np.eye(2, dtype=bool))
    assert replace(case_of(match, RocAuc())).resolved_protocol.name == "roc_auc"
