"""Statistics: intervals of rates and of averages, and paired tests. Rates are shares in [0, 1]."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import signal, special, stats

Z = float(special.ndtri(0.975))
# by simulation (benchmarks/studies/interval_coverage.py): how many outcomes of the overall rate join each group's own where its variance is
# estimated, and how many image totals the pooled correlation is worth beside a metric's own
OUTCOMES_BORROWED = 10
TOTALS_BORROWED = 30

Floats = NDArray[np.float64]
Labels = NDArray[np.generic]


@dataclass(frozen=True)
class Sample:
    """The outcomes that one metric is made of: [n] each. cluster: labels of the images that each asks about; group: labels of a macro
    average, all alike for a rate."""

    right: Floats
    cluster: Labels
    group: Labels

    @property
    def weight(self) -> Floats:
        """[n] what each outcome counts in the mean over groups of the rate inside each; sums to 1."""
        _, index, sizes = np.unique(self.group, return_inverse=True, return_counts=True)
        return 1 / (len(sizes) * sizes[index])

    @property
    def value(self) -> float:
        """The mean over groups of the rate inside each."""
        _, index, sizes = np.unique(self.group, return_inverse=True, return_counts=True)
        return float((_sums(index, self.right) / sizes).mean())


def interval(samples: Sequence[Sample], shares: Sequence[float]) -> tuple[float, float, str]:
    """Finds the 95 % interval of a weighted mean of metrics, over other images for the same groups.

    A rate that asks about each image once has Wilson's interval (Wilson 1927). Any other mean has Wilson's at its value, on the number
    of independent outcomes that would vary as much (Korn and Graubard 1998).

    Args:
        samples: what each metric was made of.
        shares: by which their values enter the mean; they sum to 1.

    Returns:
        Both ends, and in words how they were found.
    """
    outcomes = _joined(samples, shares)
    value = float(outcomes.weight[outcomes.group] @ outcomes.right)
    if outcomes.groups == 1 and outcomes.images == len(outcomes.right):
        return *wilson(outcomes.right.sum(), len(outcomes.right)), "Wilson"
    variance = outcomes.squares * _spread(outcomes, value) * _design_effect(outcomes)
    return *wilson(value / variance, 1 / variance), "Wilson on the effective number of images"


def wilson(right: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Returns the Wilson score interval of a rate (Wilson 1927); n must be positive, and may be an effective number."""
    z, p = float(special.ndtri((1 + confidence) / 2)), min(right / n, 1.0)
    centre, half = p + z**2 / (2 * n), z * float(np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))
    return max(0.0, (centre - half) / (1 + z**2 / n)), min(1.0, (centre + half) / (1 + z**2 / n))


@dataclass(frozen=True)
class _Outcomes:
    """The outcomes of all samples of a mean. right, image, group: [n], the latter two as numbers from 0; a group is one of one sample.
    size, weight: [groups] how many outcomes, and what each of them counts."""

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
        """The sum of all squared weights: one over the number of outcomes, were all alike and independent."""
        return float(self.size @ self.weight**2)


def _joined(samples: Sequence[Sample], shares: Sequence[float]) -> _Outcomes:
    groups, sizes, weights, start = [], [], [], 0
    for sample, share in zip(samples, shares, strict=True):
        _, index, size = np.unique(sample.group, return_inverse=True, return_counts=True)
        groups.append(index + start)
        sizes.append(size)
        weights.append(share / (len(size) * size))
        start += len(size)
    _, image = np.unique(np.concatenate([s.cluster for s in samples]), return_inverse=True)
    right = np.concatenate([sample.right for sample in samples])
    return _Outcomes(
        right, image, np.concatenate(groups), np.concatenate(sizes), np.concatenate(weights)
    )


def _spread(outcomes: _Outcomes, value: float) -> float:
    """Returns the variance of an outcome inside its group over that of one whose chance is the whole mean's: below 1 where groups
    differ. A small group's rate is drawn towards the whole's."""
    own = _sums(outcomes.group, outcomes.right)
    rate = (own + OUTCOMES_BORROWED * value) / (outcomes.size + OUTCOMES_BORROWED)
    whole = value * (1 - value)
    if whole < 1e-12:
        return 1.0
    inside = (outcomes.size * outcomes.weight**2) @ (rate * (1 - rate))
    return float(inside / (outcomes.squares * whole))


def _design_effect(outcomes: _Outcomes) -> float:
    """Returns by what factor the variance grows as outcomes of one image go together, with Student's correction for its estimate.

    It is estimated from the totals of images, with the metric's own weights and, as far as those are few, from one correlation for all
    pairs of outcomes of an image. It is not below 1, and not above what outcomes that are all alike inside an image give (Kish 1965).
    """
    images, n = outcomes.images, len(outcomes.right)
    most = float(np.square(_sums(outcomes.image, outcomes.weight[outcomes.group])).sum())
    most /= outcomes.squares
    few = _student(images - 1)
    if images == n:
        return few
    residuals = _residuals(outcomes)
    alike = float(np.square(np.bincount(outcomes.image)).sum()) / n
    pooled, degrees = _together(outcomes, residuals, np.ones(outcomes.groups))
    correlation = min(max((pooled - 1) / (alike - 1), 0.0), 1.0)
    own, own_degrees = _together(outcomes, residuals, outcomes.weight)
    modelled, own = 1 + correlation * (most - 1), min(max(own, 1.0), most)
    effect = (own_degrees * own + TOTALS_BORROWED * modelled) / (own_degrees + TOTALS_BORROWED)
    return min(effect * _student(max(degrees, own_degrees)), most * few)


@dataclass(frozen=True)
class _Residuals:
    """What the rate of its group leaves of each outcome. value: [n]. lost: [groups] the variance that was lost with the rates, as they
    are estimated from the same outcomes. squared: [groups] sum over images of the squared number of outcomes."""

    value: Floats
    lost: Floats
    squared: Floats


def _residuals(outcomes: _Outcomes) -> _Residuals:
    """Estimates each group's rate by what differs between groups and what chance adds, and takes it off.

    That groups differ is told by outcomes of one group about different images alone: where a group has a single image, what is common
    to its outcomes counts as the image's.
    """
    image, group, size = outcomes.image, outcomes.group, outcomes.size
    left = outcomes.right - outcomes.right.mean()
    _, first, cell, cells = np.unique(
        group * outcomes.images + image, return_index=True, return_inverse=True, return_counts=True
    )
    squared = _sums(group[first], np.square(cells, dtype=np.float64))
    totals = _sums(group, left)
    across = float(np.square(size).sum() - squared.sum())
    common = float(np.square(totals).sum() - np.square(_sums(cell, left)).sum())
    between = max(common / across, 0.0) if across else 0.0
    variance = float(np.square(left).mean())
    pairs = float(np.square(np.bincount(image)).sum()) - len(image)
    common = float(np.square(_sums(image, left)).sum()) - len(image) * variance
    correlation = min(max(common / pairs / variance, 0.0), 1.0) if variance > 0 else 0.0
    error = max(variance - between, 0.0) * (1 + correlation * (squared / size - 1)) / size
    trust = np.divide(between, between + error, out=np.zeros_like(error), where=error > 0)
    return _Residuals(left - (trust * totals / size)[group], trust * error, squared)


def _together(outcomes: _Outcomes, residuals: _Residuals, weight: Floats) -> tuple[float, float]:
    """weight: [groups]. Returns the variance of a weighted sum with its images' totals kept together over that with all outcomes apart,
    and the degrees of freedom of the former (Satterthwaite 1946); infinity, and no freedom, where nothing varies."""
    weighted = weight[outcomes.group] * residuals.value
    totals = np.square(_sums(outcomes.image, weighted))
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


def _sums(index: NDArray[np.int64], values: Floats) -> Floats:
    return np.bincount(index, values).astype(np.float64, copy=False)


def paired_test(first: ArrayLike, second: ArrayLike, image: ArrayLike) -> float:
    """Tests whether two models are right equally often, with images as the units that vary.

    Under the null hypothesis the two models' answers about an image may be exchanged, image by image. The law of the difference over
    all such exchanges is exact. Where no image is asked about twice, this is McNemar's test (McNemar 1947).

    Args:
        first: [n] outcomes of one model.
        second: [n] those of the other, on the same questions.
        image: [n] labels of the images that each asks about.

    Returns:
        The two-sided mid-p (Lancaster 1961); 1 where the models are right equally often.
    """
    _, index = np.unique(np.asarray(image), return_inverse=True)
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    by_image = np.rint(np.bincount(index, a - b)).astype(np.int64)
    observed = abs(int(by_image.sum()))
    if observed == 0:
        return 1.0
    law = np.ones(1)  # of the sum, over its possible values from least to most in steps of 1
    for step, images in zip(*np.unique(np.abs(by_image), return_counts=True), strict=True):
        if step:
            part = np.zeros(2 * step * images + 1)
            part[:: 2 * step] = _fair(int(images))
            law = np.maximum(signal.convolve(law, part), 0.0)
    most = len(law) // 2
    beyond, level = law[most + observed + 1 :].sum(), law[most + observed]
    return min(1.0, float(2 * beyond + level))


def _fair(n: int) -> Floats:
    """Returns the law of the number of heads in n throws of a fair coin."""
    heads = np.arange(n + 1)
    ways = special.gammaln(n + 1) - special.gammaln(heads + 1) - special.gammaln(n - heads + 1)
    law: Floats = np.exp(ways - n * np.log(2))
    return law


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """p: [n] p-values. Returns them adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    adjusted: Floats = stats.false_discovery_control(np.asarray(p, dtype=np.float64))
    return adjusted
