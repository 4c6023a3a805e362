"""Statistics: intervals of rates and of averages, and paired tests. Rates are shares in [0, 1]."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import signal, special, stats

Z = float(special.ndtri(0.975))
# Both by simulation (benchmarks/studies/interval_coverage.py). Where a group's variance is
# estimated, so many outcomes of the overall rate join its own. The pooled correlation is worth so
# many image totals beside a metric's own.
OUTCOMES_BORROWED = 10
TOTALS_BORROWED = 30

Floats = NDArray[np.float64]
Labels = NDArray[np.generic]


@dataclass(frozen=True)
class Observations:
    """The outcomes that one metric is made of, as statistics see them; all arrays are `[n]`.

    Attributes:
        right: 1 where the answer is right, else 0; between where answers are graded. Intervals are
            then wider than need be, since no other outcomes of one mean vary more than 1 and 0.
        cluster: Labels of the images that each outcome is about.
        group: Labels of the groups of a macro average, all alike for a rate.
    """

    right: Floats
    cluster: Labels
    group: Labels

    @property
    def weight(self) -> Floats:
        """Weight of each outcome in `value`, `[n]`; the weights sum to 1."""
        _, index, sizes = np.unique(self.group, return_inverse=True, return_counts=True)
        return 1 / (len(sizes) * sizes[index])

    @property
    def value(self) -> float:
        """The mean over groups of the rate inside each."""
        _, index, sizes = np.unique(self.group, return_inverse=True, return_counts=True)
        return float((sums(index, self.right) / sizes).mean())


def interval(
    observations: Sequence[Observations], shares: Sequence[float]
) -> tuple[float, float, str]:
    """Finds the 95 % interval of a weighted mean of metrics, over other images for the same groups.

    A rate that asks about each image once has Wilson's interval (Wilson 1927). Any other mean has
    Wilson's at its value, on the number of independent outcomes that would vary as much (Korn and
    Graubard 1998).

    Args:
        observations: What each metric was made of.
        shares: Weights of the metrics in the mean; they sum to 1.

    Returns:
        Both ends, and in words how they were found.
    """
    outcomes = _join_observations(observations, shares)
    value = float(outcomes.weight[outcomes.group] @ outcomes.right)
    if outcomes.groups == 1 and outcomes.images == len(outcomes.right):
        return *wilson(outcomes.right.sum(), len(outcomes.right)), "Wilson"
    variance = outcomes.squares * _spread(outcomes, value) * _design_effect(outcomes)
    return *wilson(value / variance, 1 / variance), "Wilson on the effective number of images"


def wilson(right: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Returns the Wilson score interval of a rate (Wilson 1927).

    Args:
        right: Number of right outcomes.
        n: Number of outcomes; it is positive, and may be an effective number.
        confidence: Confidence level.
    """
    z, p = float(special.ndtri((1 + confidence) / 2)), min(right / n, 1.0)
    centre, half = p + z**2 / (2 * n), z * float(np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))
    return max(0.0, (centre - half) / (1 + z**2 / n)), min(1.0, (centre + half) / (1 + z**2 / n))


@dataclass(frozen=True)
class _Outcomes:
    """The outcomes of all metrics of a mean.

    Attributes:
        right: 1 where the answer is right, else 0, `[n]`.
        image: Numbers of the images, from 0, `[n]`.
        group: Numbers of the groups, from 0, `[n]`. A group belongs to one metric.
        size: Number of outcomes of each group, `[groups]`.
        weight: Weight of each outcome of a group, `[groups]`.
    """

    right: Floats
    image: NDArray[np.int64]
    group: NDArray[np.int64]
    size: NDArray[np.int64]
    weight: Floats

    @property
    def images(self) -> int:
        return int(self.image.max()) + 1

    @property
    def groups(self) -> int:
        return len(self.size)

    @property
    def squares(self) -> float:
        """The sum of all squared weights.

        It is one over the number of outcomes where all weights are alike.
        """
        return float(self.size @ self.weight**2)


def _join_observations(observations: Sequence[Observations], shares: Sequence[float]) -> _Outcomes:
    groups, sizes, weights, start = [], [], [], 0
    for observed, share in zip(observations, shares, strict=True):
        _, index, size = np.unique(observed.group, return_inverse=True, return_counts=True)
        groups.append(index + start)
        sizes.append(size)
        weights.append(share / (len(size) * size))
        start += len(size)
    _, image = np.unique(np.concatenate([s.cluster for s in observations]), return_inverse=True)
    right = np.concatenate([observed.right for observed in observations])
    return _Outcomes(
        right, image, np.concatenate(groups), np.concatenate(sizes), np.concatenate(weights)
    )


def _spread(outcomes: _Outcomes, value: float) -> float:
    """Returns the variance of outcomes inside their groups relative to that at the whole mean.

    The ratio is below 1 where groups differ. The rate of a small group is drawn towards the
    whole's.
    """
    own = sums(outcomes.group, outcomes.right)
    rate = (own + OUTCOMES_BORROWED * value) / (outcomes.size + OUTCOMES_BORROWED)
    whole = value * (1 - value)
    if whole < 1e-12:
        return 1.0
    inside = (outcomes.size * outcomes.weight**2) @ (rate * (1 - rate))
    return float(inside / (outcomes.squares * whole))


def _design_effect(outcomes: _Outcomes) -> float:
    """Returns the factor by which the variance grows as outcomes of one image go together.

    It is estimated from the totals of images, with the metric's own weights. Where those totals
    are few, one correlation for all pairs of outcomes of an image joins in. The factor includes
    Student's correction for its estimate. It is not below 1, and not above what outcomes that are
    all alike inside an image give (Kish 1965).
    """
    images, n = outcomes.images, len(outcomes.right)
    most = float(np.square(sums(outcomes.image, outcomes.weight[outcomes.group])).sum())
    most /= outcomes.squares
    few = _student(images - 1)
    if images == n:
        return few
    residuals = _residuals(outcomes)
    alike = float(np.square(np.bincount(outcomes.image)).sum()) / n
    pooled, degrees = _variance_ratio(outcomes, residuals, np.ones(outcomes.groups))
    correlation = min(max((pooled - 1) / (alike - 1), 0.0), 1.0)
    own, own_degrees = _variance_ratio(outcomes, residuals, outcomes.weight)
    modelled, own = 1 + correlation * (most - 1), min(max(own, 1.0), most)
    effect = (own_degrees * own + TOTALS_BORROWED * modelled) / (own_degrees + TOTALS_BORROWED)
    return min(effect * _student(max(degrees, own_degrees)), most * few)


@dataclass(frozen=True)
class _Residuals:
    """What the rate of its group leaves of each outcome.

    Attributes:
        value: Residuals, `[n]`.
        lost: Variance that is lost with the rates, as they are estimated from the same outcomes,
            `[groups]`.
        squared: Sum over images of the squared number of outcomes, `[groups]`.
    """

    value: Floats
    lost: Floats
    squared: Floats


def _residuals(outcomes: _Outcomes) -> _Residuals:
    """Estimates each group's rate and takes it off the outcomes.

    The estimate weighs what differs between groups against what chance adds. Only outcomes of one
    group about different images tell that groups differ. Where a group has a single image, what is
    common to its outcomes counts as the image's.
    """
    image, group, size = outcomes.image, outcomes.group, outcomes.size
    left = outcomes.right - outcomes.right.mean()
    _, first, cell, cells = np.unique(
        group * outcomes.images + image, return_index=True, return_inverse=True, return_counts=True
    )
    squared = sums(group[first], np.square(cells, dtype=np.float64))
    totals = sums(group, left)
    across = float(np.square(size).sum() - squared.sum())
    common = float(np.square(totals).sum() - np.square(sums(cell, left)).sum())
    between = max(common / across, 0.0) if across else 0.0
    variance = float(np.square(left).mean())
    pairs = float(np.square(np.bincount(image)).sum()) - len(image)
    common = float(np.square(sums(image, left)).sum()) - len(image) * variance
    correlation = min(max(common / pairs / variance, 0.0), 1.0) if variance > 0 else 0.0
    error = max(variance - between, 0.0) * (1 + correlation * (squared / size - 1)) / size
    trust = np.divide(between, between + error, out=np.zeros_like(error), where=error > 0)
    return _Residuals(left - (trust * totals / size)[group], trust * error, squared)


def _variance_ratio(
    outcomes: _Outcomes, residuals: _Residuals, weight: Floats
) -> tuple[float, float]:
    """Compares the variances of a weighted sum with and without images' totals kept together.

    Args:
        outcomes: The outcomes.
        residuals: Their residuals.
        weight: Weight of each outcome of a group, `[groups]`.

    Returns:
        The variance with totals kept together over that with all outcomes apart, and the degrees of
        freedom of the former (Satterthwaite 1946). Infinity and no freedom where nothing varies.
    """
    weighted = weight[outcomes.group] * residuals.value
    totals = np.square(sums(outcomes.image, weighted))
    lost = residuals.lost * weight**2
    together = float(totals.sum() + lost @ residuals.squared)
    apart = float(np.square(weighted).sum() + lost @ outcomes.size)
    if apart <= 1e-12 * float(outcomes.size @ weight**2):
        return float("inf"), 0.0
    scatter = float(np.square(totals).sum() - totals.sum() ** 2 / outcomes.images)
    most = outcomes.images - 1.0
    degrees = 2 * float(totals.sum()) ** 2 / scatter if scatter > 0 else most
    return together / apart, min(degrees, most)


def _student(degrees: float) -> float:
    """Returns the squared ratio of Student's quantile to the normal one."""
    return float((special.stdtrit(max(degrees, 1.0), 0.975) / Z) ** 2)


def sums(index: NDArray[np.int64], values: Floats) -> Floats:
    """Returns the sum of the values of each index, from 0 up."""
    return np.bincount(index, values).astype(np.float64, copy=False)


def paired_test(first: ArrayLike, second: ArrayLike, image: ArrayLike) -> float:
    """Tests whether two models are right equally often, with images as the units that vary.

    Under the null hypothesis the two models' answers about an image may be exchanged, image by
    image. The law of the difference over all such exchanges is exact. Where no image is asked about
    twice, this is McNemar's test (McNemar 1947).

    Args:
        first: Outcomes of one model, `[n]`.
        second: Outcomes of the other model on the same questions, `[n]`.
        image: Labels of the images that each question is about, `[n]`.

    Returns:
        The two-sided mid-p (Lancaster 1961), as of `mcnemar`; 1 where no image distinguishes the
        models.
    """
    _, index = np.unique(np.asarray(image), return_inverse=True)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    by_image = np.rint(np.bincount(index, a - b)).astype(np.int64)
    if not by_image.any():
        return 1.0
    observed = abs(int(by_image.sum()))
    law = np.ones(1)  # of the sum, over its possible values from least to most in steps of 1
    for step, images in zip(*np.unique(np.abs(by_image), return_counts=True), strict=True):
        if step:
            part = np.zeros(2 * step * images + 1)
            part[:: 2 * step] = _fair(int(images))
            law = np.maximum(signal.convolve(law, part), 0.0)
    most = len(law) // 2
    beyond, level = law[most + observed + 1 :].sum(), law[most + observed]
    if observed == 0:  # only one sum is as even as this one
        level /= 2
    return float(2 * beyond + level)


def mcnemar(first: int, second: int) -> float:
    """Tests whether two models are right equally often, with questions as the units that vary.

    Args:
        first: Number of questions that the first model alone has right.
        second: Number of questions that the second model alone has right.

    Returns:
        The two-sided mid-p of McNemar's test (McNemar 1947, Lancaster 1961): the chance of counts
        further apart than these, plus half the chance of counts just as far apart; 1 where no
        question distinguishes the models.
    """
    discordant = first + second
    if not discordant:
        return 1.0
    law = stats.binom(discordant, 0.5)
    least = min(first, second)
    if 2 * least == discordant:  # only one outcome is as even as this one
        return float(1 - law.pmf(least) / 2)
    return float(2 * law.cdf(least) - law.pmf(least))


def _fair(n: int) -> Floats:
    """Returns the law of the number of heads in n throws of a fair coin."""
    heads = np.arange(n + 1)
    ways = special.gammaln(n + 1) - special.gammaln(heads + 1) - special.gammaln(n - heads + 1)
    law: Floats = np.exp(ways - n * np.log(2))
    return law


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Returns p-values adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    adjusted: Floats = stats.false_discovery_control(np.asarray(p, dtype=np.float64))
    return adjusted
