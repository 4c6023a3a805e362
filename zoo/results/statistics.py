"""Confidence intervals of rates and averages, and paired tests. Rates are in [0, 1]."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy  # loads its packages on first use, which takes half a second and 60 MiB
from numpy.typing import ArrayLike, NDArray

Z = 1.959963984540054  # the 0.975 quantile of a standard normal distribution
# Both were chosen by simulation (benchmarks/studies/interval_coverage.py).
# Pseudo-outcomes at the overall rate that are added to each group to estimate its variance:
OUTCOMES_BORROWED = 10
# Weight of the pooled correlation, in image totals:
TOTALS_BORROWED = 30

Floats = NDArray[np.float64]
Labels = NDArray[np.generic]


@dataclass(frozen=True)
class Observations:
    """The outcomes of one metric, for statistics; all arrays are `[n]`.

    Attributes:
        right: 1 for a right and 0 for a wrong answer, or between for graded answers. Intervals of
            graded answers are conservative: for a given mean, the variance is largest for 0 and 1.
        cluster: Labels of the images that each outcome is about.
        group: Labels of the groups of a macro average, all equal for a rate.
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
        """The mean of the rates of all groups."""
        _, index, sizes = np.unique(self.group, return_inverse=True, return_counts=True)
        return float((sum_by_index(index, self.right) / sizes).mean())


def interval(
    observations: Sequence[Observations], shares: Sequence[float]
) -> tuple[float, float, str]:
    """Returns the 95 % interval of a weighted mean of metrics, for a new sample of images.

    A rate with one outcome per image has the Wilson interval (Wilson 1927). Any other mean has the
    Wilson interval at the effective number of independent outcomes (Korn and Graubard 1998).

    Args:
        observations: The observations of each metric.
        shares: Weights of the metrics in the mean; they sum to 1.

    Returns:
        Both ends, and a description of the method.
    """
    outcomes = _join_observations(observations, shares)
    value = float(outcomes.weight[outcomes.group] @ outcomes.right)
    if outcomes.n_groups == 1 and outcomes.n_images == len(outcomes.right):
        return *wilson(outcomes.right.sum(), len(outcomes.right)), "Wilson"
    variance = (
        outcomes.sum_of_squared_weights
        * _within_group_variance_ratio(outcomes, value)
        * _design_effect(outcomes)
    )
    return *wilson(value / variance, 1 / variance), "Wilson on the effective number of images"


def wilson(right: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Returns the Wilson score interval of a rate (Wilson 1927).

    Args:
        right: Number of right outcomes.
        n: Number of outcomes, positive; it may be an effective number.
        confidence: Confidence level.
    """
    z, p = float(scipy.special.ndtri((1 + confidence) / 2)), min(right / n, 1.0)
    centre, half = p + z**2 / (2 * n), z * float(np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))
    return max(0.0, (centre - half) / (1 + z**2 / n)), min(1.0, (centre + half) / (1 + z**2 / n))


@dataclass(frozen=True)
class _Outcomes:
    """The outcomes of all metrics of a mean.

    Attributes:
        right: 1 for a right and 0 for a wrong answer, `[n]`.
        image: Image numbers, from 0, `[n]`.
        group: Group numbers, from 0, `[n]`. A group belongs to one metric.
        size: Number of outcomes of each group, `[groups]`.
        weight: Weight of each outcome of a group, `[groups]`.
    """

    right: Floats
    image: NDArray[np.int64]
    group: NDArray[np.int64]
    size: NDArray[np.int64]
    weight: Floats

    @property
    def n_images(self) -> int:
        return int(self.image.max()) + 1

    @property
    def n_groups(self) -> int:
        return len(self.size)

    @property
    def sum_of_squared_weights(self) -> float:
        """The sum of all squared weights; 1 / n if all weights are equal."""
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


def _within_group_variance_ratio(outcomes: _Outcomes, value: float) -> float:
    """Returns the variance within groups relative to the variance at the overall mean.

    The ratio is below 1 if groups differ. The rate of a small group is shrunk towards the overall
    mean.
    """
    group_sums = sum_by_index(outcomes.group, outcomes.right)
    rate = (group_sums + OUTCOMES_BORROWED * value) / (outcomes.size + OUTCOMES_BORROWED)
    total_variance = value * (1 - value)
    if total_variance < 1e-12:
        return 1.0
    within_variance = (outcomes.size * outcomes.weight**2) @ (rate * (1 - rate))
    return float(within_variance / (outcomes.sum_of_squared_weights * total_variance))


def _design_effect(outcomes: _Outcomes) -> float:
    """Returns the factor by which correlation within images increases the variance.

    It is estimated from the totals of images, with the weights of the metric. If there are few
    totals, the estimate is combined with one pooled correlation for all pairs of outcomes of an
    image. The factor includes Student's correction for its own estimate. It lies between 1 and its
    value for perfectly correlated outcomes within each image (Kish 1965).
    """
    images, n = outcomes.n_images, len(outcomes.right)
    largest_effect = float(
        np.square(sum_by_index(outcomes.image, outcomes.weight[outcomes.group])).sum()
    )
    largest_effect /= outcomes.sum_of_squared_weights
    student_factor = _student_variance_factor(images - 1)
    if images == n:
        return student_factor
    residuals = _compute_residuals(outcomes)
    mean_cluster_size = float(np.square(np.bincount(outcomes.image)).sum()) / n
    pooled, degrees = _variance_ratio(outcomes, residuals, np.ones(outcomes.n_groups))
    correlation = min(max((pooled - 1) / (mean_cluster_size - 1), 0.0), 1.0)
    observed, observed_degrees = _variance_ratio(outcomes, residuals, outcomes.weight)
    modelled = 1 + correlation * (largest_effect - 1)
    observed = min(max(observed, 1.0), largest_effect)
    effect = observed_degrees * observed + TOTALS_BORROWED * modelled
    effect /= observed_degrees + TOTALS_BORROWED
    return min(
        effect * _student_variance_factor(max(degrees, observed_degrees)),
        largest_effect * student_factor,
    )


@dataclass(frozen=True)
class _Residuals:
    """Residuals of outcomes from the rates of their groups.

    Attributes:
        value: Residuals, `[n]`.
        lost_variance: Variance lost by estimating the rates from the same outcomes, `[groups]`.
        squared_counts: Sum over images of the squared number of outcomes, `[groups]`.
    """

    value: Floats
    lost_variance: Floats
    squared_counts: Floats


def _compute_residuals(outcomes: _Outcomes) -> _Residuals:
    """Subtracts the estimated rate of each group from its outcomes.

    The estimate is shrunk by the ratio of the variance between groups to the sampling error. Only
    outcomes of one group about different images give evidence of differences between groups. If a
    group has a single image, the common part of its outcomes is attributed to the image.
    """
    image, group, size = outcomes.image, outcomes.group, outcomes.size
    centred = outcomes.right - outcomes.right.mean()
    _, first_index, cell, cells = np.unique(
        group * outcomes.n_images + image,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    squared = sum_by_index(group[first_index], np.square(cells, dtype=np.float64))
    totals = sum_by_index(group, centred)
    across = float(np.square(size).sum() - squared.sum())
    common = float(np.square(totals).sum() - np.square(sum_by_index(cell, centred)).sum())
    between_groups = max(common / across, 0.0) if across else 0.0
    variance = float(np.square(centred).mean())
    pairs = float(np.square(np.bincount(image)).sum()) - len(image)
    common = float(np.square(sum_by_index(image, centred)).sum()) - len(image) * variance
    correlation = min(max(common / pairs / variance, 0.0), 1.0) if variance > 0 else 0.0
    error = max(variance - between_groups, 0.0) * (1 + correlation * (squared / size - 1)) / size
    trust = np.divide(
        between_groups, between_groups + error, out=np.zeros_like(error), where=error > 0
    )
    return _Residuals(centred - (trust * totals / size)[group], trust * error, squared)


def _variance_ratio(
    outcomes: _Outcomes, residuals: _Residuals, weight: Floats
) -> tuple[float, float]:
    """Compares the variance of a weighted sum clustered by image with that of independent outcomes.

    Args:
        outcomes: The outcomes.
        residuals: Their residuals.
        weight: Weight of each outcome of a group, `[groups]`.

    Returns:
        The ratio of the clustered to the independent variance, and the degrees of freedom of the
        clustered one (Satterthwaite 1946). Infinity and 0 if nothing varies.
    """
    weighted = weight[outcomes.group] * residuals.value
    totals = np.square(sum_by_index(outcomes.image, weighted))
    lost_variance = residuals.lost_variance * weight**2
    clustered = float(totals.sum() + lost_variance @ residuals.squared_counts)
    independent = float(np.square(weighted).sum() + lost_variance @ outcomes.size)
    if independent <= 1e-12 * float(outcomes.size @ weight**2):
        return float("inf"), 0.0
    scatter = float(np.square(totals).sum() - totals.sum() ** 2 / outcomes.n_images)
    max_degrees = outcomes.n_images - 1.0
    degrees = 2 * float(totals.sum()) ** 2 / scatter if scatter > 0 else max_degrees
    return clustered / independent, min(degrees, max_degrees)


def _student_variance_factor(degrees: float) -> float:
    """Returns the squared ratio of Student's quantile to the normal quantile."""
    return float((scipy.special.stdtrit(max(degrees, 1.0), 0.975) / Z) ** 2)


def sum_by_index(index: NDArray[np.int64], values: Floats) -> Floats:
    """Returns the sum of the values per index, from 0."""
    return np.bincount(index, values).astype(np.float64, copy=False)


def paired_test(first: ArrayLike, second: ArrayLike, image: ArrayLike) -> float:
    """Tests whether two models are right equally often, with images as the sampling unit.

    This is an exact permutation test: under the null hypothesis, the answers of the two models
    about an image can be exchanged. With one question per image, it is McNemar's test
    (McNemar 1947).

    Args:
        first: Outcomes of one model, `[n]`.
        second: Outcomes of the other model on the same questions, `[n]`.
        image: Label of the image of each question, `[n]`.

    Returns:
        The two-sided mid-p (Lancaster 1961), as in `mcnemar_mid_p`; 1 if the models are equal on
        every image.
    """
    _, index = np.unique(np.asarray(image), return_inverse=True)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    by_image = np.rint(np.bincount(index, a - b)).astype(np.int64)
    if not by_image.any():
        return 1.0
    observed = abs(int(by_image.sum()))
    distribution = np.ones(1)  # of the sum, over its possible values in ascending steps of 1
    for step, images in zip(*np.unique(np.abs(by_image), return_counts=True), strict=True):
        if step:
            part = np.zeros(2 * step * images + 1)
            part[:: 2 * step] = _fair_coin_distribution(int(images))
            distribution = np.maximum(scipy.signal.convolve(distribution, part), 0.0)
    middle = len(distribution) // 2
    tail, level = distribution[middle + observed + 1 :].sum(), distribution[middle + observed]
    if observed == 0:  # the two tails share this sum
        level /= 2
    return float(2 * tail + level)


def mcnemar_mid_p(only_first_right: int, only_second_right: int) -> float:
    """Tests whether two models are right equally often, with questions as the sampling unit.

    Args:
        only_first_right: Number of questions that only the first model answers right.
        only_second_right: Number of questions that only the second model answers right.

    Returns:
        The two-sided mid-p of McNemar's test (McNemar 1947, Lancaster 1961): the probability of
        more unequal counts, plus half the probability of equally unequal counts; 1 if the models
        agree on every question.
    """
    discordant = only_first_right + only_second_right
    if not discordant:
        return 1.0
    distribution = scipy.stats.binom(discordant, 0.5)
    least = min(only_first_right, only_second_right)
    if 2 * least == discordant:  # the two tails share this outcome
        return float(1 - distribution.pmf(least) / 2)
    return float(2 * distribution.cdf(least) - distribution.pmf(least))


def _fair_coin_distribution(n: int) -> Floats:
    """Returns the distribution of the number of heads in n throws of a fair coin."""
    heads = np.arange(n + 1)
    ways = (
        scipy.special.gammaln(n + 1)
        - scipy.special.gammaln(heads + 1)
        - scipy.special.gammaln(n - heads + 1)
    )
    distribution: Floats = np.exp(ways - n * np.log(2))
    return distribution


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Returns p-values adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    adjusted: Floats = scipy.stats.false_discovery_control(np.asarray(p, dtype=np.float64))
    return adjusted
