"""Intervals and tests against hand-worked values and loops."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from zoo.results.statistics import (
    Observations,
    Z,
    benjamini_hochberg,
    interval,
    paired_test,
    wilson,
)


def test_z_is_the_quantile_of_a_standard_normal_distribution() -> None:
    assert float(special.ndtri(0.975)) == Z


def test_wilson_is_its_formula() -> None:
    z = 1.959963984540054
    for right, n in ((0, 10), (7, 10), (10, 10), (240, 481)):
        p = right / n
        centre, half = (
            (p + z**2 / (2 * n)) / (1 + z**2 / n),
            z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n),
        )
        assert wilson(right, n) == pytest.approx((centre - half, centre + half), abs=1e-9)


def test_benjamini_hochberg_adjusts_by_rank() -> None:
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.5]).tolist() == pytest.approx(
        [0.04, 0.04 * 4 / 3, 0.04 * 4 / 3, 0.5]
    )


def sample(right: np.ndarray, cluster: np.ndarray, group: np.ndarray | None = None) -> Observations:
    return Observations(
        right.astype(float), cluster, np.zeros(len(right)) if group is None else group
    )


def student(degrees: float) -> float:
    """The squared ratio of Student's quantile to the normal one."""
    return float((stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975)) ** 2)


def by_loops(right: list[float], image: list[int], group: list[int]) -> tuple[float, float]:
    """The interval of a macro average, outcome by outcome."""
    n, names, pictures = len(right), sorted(set(group)), sorted(set(image))
    size = {g: group.count(g) for g in names}
    weight = [1 / (len(names) * size[g]) for g in group]
    value = sum(w * y for w, y in zip(weight, right, strict=True))
    squares = sum(w * w for w in weight)
    pairs = [(i, j) for i, j in product(range(n), range(n)) if i != j]
    rate = {
        g: (sum(y for y, h in zip(right, group, strict=True) if h == g) + 10 * value)
        / (size[g] + 10)
        for g in names
    }
    inside = sum(w * w * rate[g] * (1 - rate[g]) for w, g in zip(weight, group, strict=True))
    spread = inside / (squares * value * (1 - value))

    left = [y - sum(right) / n for y in right]
    across = [(i, j) for i, j in pairs if group[i] == group[j] and image[i] != image[j]]
    between = max(sum(left[i] * left[j] for i, j in across) / len(across), 0) if across else 0
    variance = sum(d * d for d in left) / n
    own = [(i, j) for i, j in pairs if image[i] == image[j]]
    alike = min(max(sum(left[i] * left[j] for i, j in own) / len(own) / variance, 0), 1)
    trust, error = {}, {}
    for g in names:
        same = [(i, j) for i, j in own if group[i] == g == group[j]]
        error[g] = max(variance - between, 0) * (1 + alike * len(same) / size[g]) / size[g]
        trust[g] = between / (between + error[g]) if error[g] > 0 else 0
    mean = {g: sum(d for d, h in zip(left, group, strict=True) if h == g) / size[g] for g in names}
    residual = [d - trust[g] * mean[g] for d, g in zip(left, group, strict=True)]

    def together(weights: list[float]) -> tuple[float, float]:
        lost = [trust[g] * error[g] * w * w for g, w in zip(group, weights, strict=True)]
        apart = sum((w * r) ** 2 for w, r in zip(weights, residual, strict=True)) + sum(lost)
        crossed = sum(
            weights[i] * weights[j] * residual[i] * residual[j]
            + (lost[i] if group[i] == group[j] else 0)
            for i, j in own
        )
        totals = [
            sum(w * r for w, r, c in zip(weights, residual, image, strict=True) if c == picture)
            ** 2
            for picture in pictures
        ]
        scatter = sum(t * t for t in totals) - sum(totals) ** 2 / len(totals)
        return 1 + crossed / apart, min(2 * sum(totals) ** 2 / scatter, len(totals) - 1)

    most = sum(
        sum(w for w, c in zip(weight, image, strict=True) if c == picture) ** 2
        for picture in pictures
    )
    most /= squares
    ratio, degrees = together([1.0] * n)
    correlation = min(max((ratio - 1) / (len(own) / n), 0), 1)
    ratio, own_degrees = together(weight)
    kept, pooled = min(max(ratio, 1), most), 1 + correlation * (most - 1)
    effect = (own_degrees * kept + 30 * pooled) / (own_degrees + 30)
    effect = min(effect * student(max(degrees, own_degrees)), most * student(len(pictures) - 1))
    number = 1 / (squares * spread * effect)
    return wilson(value * number, number)


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_of_a_macro_average_is_that_of_loops(seed: int) -> None:
    generator = np.random.default_rng(seed)
    image = np.sort(generator.integers(0, 14, 40))
    group = generator.integers(0, 4, 40)
    group = np.unique(group, return_inverse=True)[1]
    chance = 0.15 + 0.2 * group + 0.4 * (generator.random(14) < 0.5)[image]
    right = (generator.random(40) < chance).astype(float)
    low, high, how = interval([sample(right, image, group)], [1.0])
    expected = by_loops(right.tolist(), image.tolist(), group.tolist())
    assert (low, high) == pytest.approx(expected, abs=1e-12)
    assert how == "Wilson on the effective number of images"


def test_questions_that_an_image_answers_alike_count_as_one() -> None:
    """Four equal outcomes an image hold the information of one.

    Student's quantile is for how few the images are.
    """
    outcomes = np.repeat(np.arange(250) % 2 == 0, 4)
    low, high, _ = interval([sample(outcomes, np.repeat(np.arange(250), 4))], [1.0])
    n = 250 / student(249)
    assert (low, high) == pytest.approx(wilson(n / 2, n))


def test_questions_that_an_image_answers_otherwise_count_as_no_more_than_they_are() -> None:
    """Each image has one right and one wrong.

    Totals do not vary at all, and the interval is that of independent outcomes.
    """
    low, high, _ = interval([sample(np.arange(12) % 2, np.arange(12) // 2)], [1.0])
    n = 12 / student(5)
    assert (low, high) == pytest.approx(wilson(n / 2, n))


def test_where_all_is_right_or_all_wrong_each_image_counts_once() -> None:
    n = 6 / student(5)
    for right in (np.zeros(12), np.ones(12)):
        low, high, _ = interval([sample(right, np.arange(12) // 2)], [1.0])
        assert (low, high) == pytest.approx(wilson(n * right.mean(), n))
        assert high - low > 0.3


def test_what_is_common_to_the_only_image_of_a_group_counts_as_the_images() -> None:
    """Ten groups of one image each, five questions an image.

    Outcomes alike inside a group are outcomes alike inside an image.
    """
    right = np.repeat(np.arange(10) % 2, 5)
    image = np.repeat(np.arange(10), 5)
    low, high, _ = interval([sample(right, image, image)], [1.0])
    assert high - low > 0.9 * (wilson(5, 10)[1] - wilson(5, 10)[0])


def test_groups_that_differ_vary_less_than_like_ones_of_the_same_mean() -> None:
    """Of two groups of 2,000, one is right in 5 and one in 95 of 100.

    The variance inside each is 0.0475 and not 0.25.
    """
    generator = np.random.default_rng(0)
    group = np.repeat([0, 1], 2000)
    right = generator.random(4000) < np.where(group == 0, 0.05, 0.95)
    low, high, _ = interval([sample(right, np.arange(4000), group)], [1.0])
    assert (high - low) / 2 == pytest.approx(1.96 * (0.0475 / 4000) ** 0.5, rel=0.1)


def test_an_average_of_rates_over_shared_images_varies_with_them_together() -> None:
    """The mean of a metric with itself varies like the metric.

    Of two over other images it varies less, by the root of 2.
    """
    right = np.arange(400) % 3 == 0
    one = sample(right, np.arange(400))
    low, high, _ = interval([one], [1.0])
    both = interval([one, one], [0.5, 0.5])
    assert both[:2] == pytest.approx((low, high), abs=2e-3)
    apart = interval([one, sample(right, np.arange(400, 800))], [0.5, 0.5])
    assert (high - low) / (apart[1] - apart[0]) == pytest.approx(2**0.5, abs=0.02)


def drawn(
    generator: np.random.Generator, image: np.ndarray, chance: float, correlation: float
) -> np.ndarray:
    shared = generator.random(image.max() + 1)[image]
    takes = generator.random(len(image)) < correlation**0.5
    return np.where(takes, shared, generator.random(len(image))) < chance


@pytest.mark.parametrize(
    ("chance", "correlation", "groups"),
    [(0.02, 0.3, 1), (0.5, 0.3, 1), (0.3, 0.0, 20), (0.5, 0.3, 20)],
)
def test_intervals_hold_the_true_value_in_about_95_of_100(
    chance: float, correlation: float, groups: int
) -> None:
    """400 questions, five an image; benchmarks/studies/interval_coverage.py has all settings."""
    generator = np.random.default_rng(1)
    image, group = np.repeat(np.arange(80), 5), generator.integers(0, groups, 400)
    held = 0
    for _ in range(400):
        right = drawn(generator, image, chance, correlation)
        low, high, _ = interval([sample(right, image, group)], [1.0])
        held += low <= chance <= high
    assert 0.925 <= held / 400 <= 0.995


def test_every_setting_of_the_committed_table_is_within_its_goal() -> None:
    table = (Path(__file__).parents[2] / "benchmarks/results/interval_coverage.md").read_text()
    (goal,) = re.findall(r"Goal: ([\d.]+) to ([\d.]+) of 100", table)
    lowest, highest = map(float, goal)
    settings = re.findall(r"^\d+ settings, ([\d.]+) to ([\d.]+)", table, re.M)
    recalls = re.findall(r"(?:text|image) \| [\d.]+ \| ([\d.]+) \|$", table, re.M)
    assert (len(settings), len(recalls)) == (4, 24)
    held = [float(share) for share in (*recalls, *(end for ends in settings for end in ends))]
    assert lowest <= min(held) <= max(held) <= highest


def test_the_paired_test_is_mcnemars_mid_p_where_each_image_is_asked_once() -> None:
    """Ten discordant pairs, 1 against 9: 2 (P(0) + P(1) / 2) = 2 (1 + 5) / 1024."""
    first = np.array([True] * 9 + [False] + [True] * 5)
    second = np.array([False] * 9 + [True] + [True] * 5)
    assert paired_test(first, second, np.arange(15)) == pytest.approx(12 / 1024)
    assert paired_test(first, first, np.arange(15)) == 1.0


def test_the_paired_test_exchanges_the_models_image_by_image() -> None:
    """Against all exchanges of ten images, one by one."""
    generator = np.random.default_rng(2)
    image = np.sort(generator.integers(0, 10, 40))
    first, second = generator.random((2, 40)) < [[0.7], [0.45]]
    totals = np.bincount(image, first.astype(int) - second, minlength=10)
    all_ways = np.abs(np.array(list(product([-1, 1], repeat=10))) @ totals)
    expected = (all_ways > abs(totals.sum())).mean() + (all_ways == abs(totals.sum())).mean() / 2
    assert paired_test(first, second, image) == pytest.approx(expected)


def test_the_paired_test_of_an_even_score_is_1_less_half_of_its_chance() -> None:
    """Image totals of 2, -1 and -1: of the 8 exchanges, 2 sum to 0, and so 1 - (2 / 8) / 2."""
    first, second = [True, True, False, False], [False, False, True, True]
    image = [0, 0, 1, 2]
    assert paired_test(first, second, image) == pytest.approx(0.875)


def test_the_paired_test_finds_no_difference_in_what_images_have_in_common() -> None:
    """Two models alike, five questions an image, answers of an image correlated by 0.5.

    McNemar's test finds a difference in 15 of 100.
    """
    generator = np.random.default_rng(4)
    image = np.repeat(np.arange(60), 5)
    found = mcnemars = 0
    for _ in range(400):
        first, second = (drawn(generator, image, 0.5, 0.5) for _ in range(2))
        found += paired_test(first, second, image) < 0.05
        mcnemars += paired_test(first, second, np.arange(300)) < 0.05
    assert found / 400 < 0.07
    assert mcnemars / 400 > 0.1
