"""Intervals and tests against hand-worked values and loops."""

import numpy as np
import pytest

from zoo.evaluation.statistics import (
    Sample,
    benjamini_hochberg,
    bootstrap,
    interval,
    mcnemar,
    wilson,
)


def test_wilson_is_its_formula() -> None:
    z = 1.959963984540054
    for right, n in ((0, 10), (7, 10), (10, 10), (240, 481)):
        p = right / n
        centre, half = (
            (p + z**2 / (2 * n)) / (1 + z**2 / n),
            z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n),
        )
        assert wilson(right, n) == pytest.approx((centre - half, centre + half), abs=1e-9)


def test_bootstrap_of_independent_outcomes_is_the_normal_interval() -> None:
    outcomes = np.arange(1000) % 4 == 0
    low, high = bootstrap(outcomes, np.arange(1000), draws=4000)
    half = 1.96 * np.sqrt(0.25 * 0.75 / 1000)
    assert (low, high) == pytest.approx((0.25 - half, 0.25 + half), abs=0.003)


def test_bootstrap_draws_whole_photographs() -> None:
    """Four equal outcomes a photograph hold the information of one: the interval is twice as wide."""
    outcomes = np.repeat(np.arange(250) % 2 == 0, 4)
    clustered = bootstrap(outcomes, np.repeat(np.arange(250), 4), draws=4000)
    apart = bootstrap(outcomes, np.arange(1000), draws=4000)
    assert (clustered[1] - clustered[0]) / (apart[1] - apart[0]) == pytest.approx(2.0, abs=0.1)


def test_bootstrap_of_a_macro_average_is_that_of_a_loop() -> None:
    generator = np.random.default_rng(3)
    outcomes, clusters, groups = (
        generator.random(60) < 0.6,
        generator.integers(0, 12, 60),
        generator.integers(0, 4, 60),
    )
    drawn = np.random.default_rng(0)
    means = []
    for _ in range(3):  # the draws come 100 at a time
        for counts in drawn.multinomial(12, np.full(12, 1 / 12), size=100):
            rates = []
            for g in range(4):
                weights = counts[clusters] * (groups == g)
                if weights.sum():
                    rates.append((weights * outcomes).sum() / weights.sum())
            means.append(np.mean(rates))
    assert bootstrap(outcomes, clusters, groups, draws=300) == pytest.approx(
        tuple(np.percentile(means, [2.5, 97.5])), abs=1e-12
    )


def test_bootstrap_is_a_function_of_its_seed() -> None:
    outcomes = np.arange(50) % 3 == 0
    assert bootstrap(outcomes, np.arange(50)) == bootstrap(outcomes, np.arange(50))
    assert bootstrap(outcomes, np.arange(50)) != bootstrap(outcomes, np.arange(50), seed=1)


def test_mcnemar_takes_half_of_the_observed_probability() -> None:
    """Ten discordant pairs, 1 against 9: 2 (P(0) + P(1) / 2) = 2 (1 + 5) / 1024."""
    first = np.array([True] * 9 + [False] + [True] * 5)
    second = np.array([False] * 9 + [True] + [True] * 5)
    assert mcnemar(first, second) == pytest.approx(12 / 1024)
    assert mcnemar(first, first) == 1.0


def test_benjamini_hochberg_adjusts_by_rank() -> None:
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.5]).tolist() == pytest.approx(
        [0.04, 0.04 * 4 / 3, 0.04 * 4 / 3, 0.5]
    )


def sample(right: np.ndarray, cluster: np.ndarray, group: np.ndarray | None = None) -> Sample:
    return Sample(right.astype(float), cluster, np.zeros(len(right)) if group is None else group)


def test_an_average_of_rates_over_shared_photographs_is_drawn_with_them_together() -> None:
    """The mean of a figure with itself varies like the figure; of two over other photographs it varies less, by the root of 2."""
    right = np.arange(400) % 3 == 0
    one = sample(right, np.arange(400))
    low, high = bootstrap(right, np.arange(400))
    assert interval([one, one], [0.5, 0.5])[:2] == pytest.approx((low, high))
    apart = interval([one, sample(right, np.arange(400, 800))], [0.5, 0.5])
    assert (high - low) / (apart[1] - apart[0]) == pytest.approx(2**0.5, abs=0.15)


def test_no_interval_has_no_width() -> None:
    for right in (
        np.zeros(12),
        np.ones(12),
        np.arange(12) % 2,
    ):  # each photograph one right and one wrong: every draw says 50 %
        low, high, how = interval([sample(right, np.arange(12) // 2)], [1.0])
        assert (low, high) == pytest.approx(wilson(6 * right.mean(), 6))
        assert "effective" in how


def test_samples_that_most_draws_leave_empty_are_not_averaged_over_the_rest() -> None:
    large, small = sample(np.arange(99) % 2, np.arange(99)), sample(np.array([1.0]), np.array([99]))
    draws_with_the_small_one = 1 - (99 / 100) ** 100
    assert draws_with_the_small_one > 0.5
    assert interval([large, small], [0.5, 0.5])[2] == "bootstrap by photograph"
    pair = [sample(np.array([1.0]), np.array([k])) for k in range(4)]
    assert interval([large, *pair], [0.2] * 5)[2] == "Wilson on the effective number of photographs"
