"""Paired intervals and tests against loops, scipy and simulated runs."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests.support.compared import outcomes, rows_under
from zoo.results.averages import Mean, Member
from zoo.results.comparison.alignment import align_runs
from zoo.results.comparison.common_metrics import CommonMetric, MetricName
from zoo.results.comparison.outcome_differences import AS_KEPT
from zoo.results.comparison.paired_tests import compare_pair, paired_interval, permutation_p_value
from zoo.results.metrics import MacroAverage, Rules

PLACE = MetricName("official", "sugarcrepe", "swap_att", "i2t")
Floats = NDArray[np.float64]


def row(
    values: NDArray[np.float64] | NDArray[np.bool_],
    image: NDArray[np.int64],
    weight: Floats | None = None,
    part: NDArray[np.int64] | None = None,
) -> CommonMetric:
    n = values.shape[1]
    alike = np.full(n, 1 / n) if weight is None else weight
    parts = np.zeros(n, dtype=np.int64) if part is None else part
    return CommonMetric(PLACE, n, alike, image, parts, values.astype(np.float64))


def by_copies(of: CommonMetric, resamples: int) -> tuple[float, float]:
    """Percentiles of the difference over copies of images, each metric a ratio: no shortcut."""
    generator = np.random.default_rng(5)
    images = int(of.image_index.max()) + 1
    own = [np.flatnonzero(of.image_index == i) for i in range(images)]
    share = np.bincount(of.metric_index, of.weight)
    found = []
    for _ in range(resamples):
        rows = np.concatenate([own[i] for i in generator.integers(0, images, images)])
        apart = of.weight[rows] * (of.values[1] - of.values[0])[rows]
        total = np.bincount(of.metric_index[rows], of.weight[rows], len(share))
        found.append(share @ (np.bincount(of.metric_index[rows], apart, len(share)) / total))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def made_runs(
    n: int, per_image: int, seed: int, differ: float = 0.3, ahead: float = 0.1, alike: float = 0.3
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Two runs that differ in a share of outcomes, alike inside images; the second is ahead."""
    generator = np.random.default_rng(seed)
    image = np.arange(n) // per_image
    shared = generator.random(image.max() + 1)[image]
    drawn = np.where(generator.random(n) < alike**0.5, shared, generator.random(n))
    gained, lost = drawn < (differ + ahead) / 2, drawn > 1 - (differ - ahead) / 2
    base = generator.random(n) < 0.5
    return np.stack([(base & ~gained) | lost, (base & ~lost) | gained]), image


@pytest.mark.parametrize("kind", ["rate", "images asked often", "macro", "mean of metrics"])
def test_the_interval_is_that_of_resamples_in_which_images_are_copied(kind: str) -> None:
    values, image = made_runs(900, 1 if kind == "rate" else 3, seed=1)
    generator = np.random.default_rng(2)
    weight = part = None
    if kind == "macro":
        group = generator.integers(0, 6, 900)
        weight = 1 / (6 * np.bincount(group)[group])
    if kind == "mean of metrics":
        part = np.repeat([0, 1, 2], [150, 300, 450])
        values[:, :150] = [[False], [True]]  # a metric that does not vary adds no width
        weight = 1 / (3 * np.bincount(part)[part])
    of = row(values, image, weight, part)
    low, high = paired_interval(of, *of.values)
    expected = by_copies(of, 1500)
    width = expected[1] - expected[0]
    assert (low, high) == pytest.approx(expected, abs=0.07 * width)


def test_the_interval_agrees_with_scipys_bootstrap() -> None:
    values, image = made_runs(1200, 1, seed=3)
    of = row(values, image)
    apart = values[1].astype(float) - values[0]
    expected = stats.bootstrap(
        (apart,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    assert paired_interval(of, *of.values) == pytest.approx(tuple(expected), abs=0.002)


def test_the_interval_is_the_same_for_one_seed_and_near_for_another() -> None:
    values, image = made_runs(400, 2, seed=4)
    of = row(values, image)
    once, again, other = (paired_interval(of, *of.values, seed=seed) for seed in (0, 0, 1))
    assert once == again
    assert once != other
    assert once == pytest.approx(other, abs=0.005)


def test_runs_that_never_differ_have_an_interval_of_what_was_not_seen() -> None:
    """As Agresti and Min's: half an outcome each of 100, whose deviation is a hundredth."""
    right = np.ones((2, 100))
    of = row(right, np.arange(100))
    assert paired_interval(of, *of.values) == pytest.approx((-0.02, 0.02))


def test_few_images_widen_the_interval_as_students_quantile_does() -> None:
    values, image = made_runs(48, 4, seed=6, differ=0.6, ahead=0.0)
    of = row(values, image)
    low, high = paired_interval(of, *of.values, resamples=40_000)
    totals = np.bincount(image, (values[1].astype(float) - values[0]) / 48)
    deviation = (totals.var(ddof=1) * 12 + 1 / 48**2) ** 0.5
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 11) * deviation, rel=0.1)


@pytest.mark.parametrize(
    ("n", "per_image", "differ", "ahead"),
    [(60, 1, 0.3, 0.1), (245, 1, 0.2, 0.05), (400, 4, 0.3, 0.05)],
)
def test_intervals_hold_the_true_difference_in_95_of_100(
    n: int, per_image: int, differ: float, ahead: float
) -> None:
    """Within the noise of 400 runs; below, many settings at length."""
    held = 0
    for seed in range(400):
        values, image = made_runs(n, per_image, seed, differ, ahead)
        of = row(values, image)
        low, high = paired_interval(of, *of.values, seed=seed, resamples=400)
        held += low <= ahead <= high
    assert 0.92 <= held / 400 <= 0.98


def test_a_test_of_questions_that_weigh_alike_is_mcnemars_where_no_image_comes_twice() -> None:
    values = np.zeros((2, 40))
    values[0, :3], values[1, 3:17] = 1, 1
    of = row(values, np.arange(40))
    test = compare_pair(of, *of.values)
    law = stats.binom(17, 0.5)
    assert test.right_only == (3, 14)
    assert test.difference == pytest.approx(11 / 40)
    assert test.p == pytest.approx(2 * law.cdf(3) - law.pmf(3))
    assert test.p_by_query == pytest.approx(test.p)


def test_drawn_exchanges_have_the_mid_p_of_all_of_them() -> None:
    by_image = np.random.default_rng(7).normal(0.02, 0.1, 12)
    signs = np.array(list(product([-1, 1], repeat=12)))
    sums, observed = np.abs(signs @ by_image), abs(by_image.sum())
    level = np.isclose(sums, observed)
    expected = ((sums > observed) & ~level).mean() + level.mean() / 2
    assert permutation_p_value(by_image) == pytest.approx(expected, abs=0.01)


def test_drawn_exchanges_of_equal_answers_have_a_p_of_1() -> None:
    assert permutation_p_value(np.zeros(5)) == 1.0


def test_drawn_exchanges_of_a_grid_have_the_exact_mid_p() -> None:
    """Ten images of one against two: the mid-p is McNemar's."""
    law = stats.binom(12, 0.5)
    expected = 2 * law.cdf(2) - law.pmf(2)
    assert permutation_p_value(np.array([0.1] * 10 + [-0.1] * 2)) == pytest.approx(
        expected, abs=0.005
    )


def test_a_macro_average_is_tested_by_its_weights() -> None:
    """What one model gains in a large group it loses in a small one."""
    groups = ["large"] * 90 + ["small"] * 10
    first = [True] * 30 + [False] * 60 + [True] * 10
    second = [True] * 45 + [False] * 45 + [False] * 8 + [True] * 2
    rules = Rules(False, False, {("sugarcrepe", "*"): MacroAverage()})
    runs = align_runs([outcomes(right, groups=groups) for right in (first, second)])
    rate, macro = rows_under(rules, runs.tables)
    assert rate.totals.tolist() == pytest.approx([0.4, 0.47])
    assert macro.totals.tolist() == pytest.approx([(1 / 3 + 1) / 2, (1 / 2 + 0.2) / 2])
    test = compare_pair(macro, *macro.values)
    assert test.difference < 0
    assert test.right_only is None
    assert test.p < 0.05
    low, high = paired_interval(macro, *macro.values)
    assert low < test.difference < high < 0


def test_a_mean_has_the_weights_of_its_members_and_images_in_common() -> None:
    """The mean of a metric with itself varies like the metric, of two over other images less."""
    right = [i % 3 == 0 for i in range(200)], [i % 2 == 0 for i in range(200)]
    mean = Mean("both", tuple(Member("sugarcrepe", name) for name in ("a", "b")))

    def width(images: range) -> float:
        tables = [
            pa.concat_tables([outcomes(of, subset="a"), outcomes(of, images, "b")]) for of in right
        ]
        *_, row = rows_under(AS_KEPT, align_runs(tables).tables, [mean])
        assert row.totals.tolist() == pytest.approx([np.mean(of) for of in right])
        assert row.n_images == max(images) + 1
        low, high = paired_interval(row, *row.values)
        return high - low

    assert width(range(200)) / width(range(200, 400)) == pytest.approx(2**0.5, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("groups", [1, 7])
@pytest.mark.parametrize(("differ", "ahead"), [(0.1, 0.0), (0.1, 0.05), (0.3, 0.15), (0.6, 0.1)])
@pytest.mark.parametrize(
    ("n", "per_image", "alike"),
    [(100, 1, 0.0), (300, 1, 0.0), (1500, 1, 0.0), (300, 3, 0.4), (400, 5, 0.4), (1500, 5, 0.4)],
)
def test_intervals_hold_the_true_difference_in_95_of_100_at_length(
    n: int, per_image: int, alike: float, differ: float, ahead: float, groups: int
) -> None:
    """2,000 pairs of runs each, in rates and in macro averages of groups of unequal sizes."""
    group = np.random.default_rng(n).integers(0, groups, n) ** 2 // groups
    _, group, sizes = np.unique(group, return_inverse=True, return_counts=True)
    weight = 1 / (len(sizes) * sizes[group])
    held = 0
    for seed in range(2000):
        values, image = made_runs(n, per_image, seed, differ, ahead, alike)
        of = row(values, image, weight)
        low, high = paired_interval(of, *of.values, seed=seed, resamples=1000)
        held += low <= ahead <= high
    assert 0.93 <= held / 2000 <= 0.97
