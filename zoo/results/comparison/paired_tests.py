"""The difference of two runs in one metric, with its interval and its test.

Images are the units that vary. Both count the images of each kind and draw how many of each kind
occur, instead of copying outcomes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from zoo.results.comparison.common_metrics import CommonMetric
from zoo.results.statistics import mcnemar_mid_p, paired_test, sum_by_index

RESAMPLES = 10_000
UNSEEN = 0.5  # outcomes added to those that only one run has right, for each run
FINE = 20  # kinds of images per standard deviation

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedTest:
    """The test of two runs in one metric.

    Attributes:
        difference: The second minus the first, as a share.
        p: The two-sided p-value.
        right_only: Numbers of queries that only the first run has right, and only the second. None
            where outcomes are not right or wrong, or have different weights.
        p_by_query: The p-value of McNemar's test over queries, None where `right_only` is None.
    """

    difference: float
    p: float
    right_only: tuple[int, int] | None
    p_by_query: float | None


def compare_pair(metric: CommonMetric, first: Floats, second: Floats, seed: int = 0) -> PairedTest:
    """Tests whether two runs are equally good in a metric, with images as the units that vary.

    Under the null hypothesis, the answers of the two runs about an image can be exchanged. For
    right-or-wrong outcomes of equal weight, the permutation distribution is exact (`paired_test`):
    McNemar's mid-p where no image occurs twice. For other outcomes, permutations are drawn.

    Args:
        metric: The metric.
        first: Values of the answers of the first run, `[n]`.
        second: Values of the answers of the second run, `[n]`.
        seed: Seed of the permutations.
    """
    difference = float(metric.weight @ (second - first))
    if not metric.has_equal_weights or not np.isin([first, second], (0, 1)).all():
        image_contributions = sum_by_index(metric.image_index, metric.weight * (second - first))
        return PairedTest(difference, permutation_p_value(image_contributions, seed), None, None)
    right_only = int((first > second).sum()), int((second > first).sum())
    return PairedTest(
        difference,
        paired_test(first, second, metric.image_index),
        right_only,
        mcnemar_mid_p(*right_only),
    )


def paired_interval(
    metric: CommonMetric, first: Floats, second: Floats, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Returns the 95 % interval of a difference, by resampling images.

    The mean of each metric is linear in what each image adds to it, so a resample is determined by
    how often each kind of image occurs. It is a percentile interval, with levels that correct for
    few images (Hesterberg 2014). Since resampling never draws what was not observed, half an
    outcome is added for each run in which only it is right, as Agresti and Min (2005) add to each
    cell. It is multiplied by the factor by which the variance grows because outcomes of one image
    are correlated.

    Args:
        metric: The metric.
        first: Values of the answers of the first run, `[n]`.
        second: Values of the answers of the second run, `[n]`.
        seed: Seed of the resamples.
        resamples: Number of resamples.

    Returns:
        Both ends, as shares.
    """
    differences = second - first
    weight = sum_by_index(metric.metric_index, metric.weight)
    means = sum_by_index(metric.metric_index, metric.weight * differences) / weight
    residuals = metric.weight * (differences - means[metric.metric_index])
    image_contributions = sum_by_index(metric.image_index, residuals)
    generator = np.random.default_rng(seed)
    resampled = float(weight @ means) + _resample_sums(image_contributions, generator, resamples)
    unseen = generator.poisson(UNSEEN, (2, resamples))
    variance_inflation = max(
        1.0, np.square(image_contributions).sum() / max(np.square(residuals).sum(), 1e-300)
    )
    resampled += variance_inflation * np.square(metric.weight).sum() * (unseen[1] - unseen[0])
    lower_level = _lower_quantile_level(metric.n_images)
    low, high = np.quantile(resampled, [lower_level, 1 - lower_level])
    return max(-1.0, float(low)), min(1.0, float(high))


def permutation_p_value(
    image_contributions: Floats, seed: int = 0, draws: int = RESAMPLES
) -> float:
    """Returns the mid-p over random permutations, which include the observed one.

    Args:
        image_contributions: What each image adds to the difference.
        seed: Seed of the draws.
        draws: Number of permutations.

    Returns:
        The p-value; 1 where no image distinguishes the models, as in `paired_test`.
    """
    if not image_contributions.any():
        return 1.0
    size, images, index = _group_equal_images(np.abs(image_contributions))
    observed = abs(sum_by_index(index, np.sign(image_contributions)) @ size)
    heads = np.random.default_rng(seed).binomial(images, 0.5, (draws, len(images)))
    exchanged = np.abs((2 * heads - images) @ size)
    equally_extreme = np.isclose(exchanged, observed, rtol=1e-9, atol=1e-12)
    more_extreme = (exchanged > observed) & ~equally_extreme
    return float(more_extreme.sum() + (1 + equally_extreme.sum()) / 2) / (1 + draws)


def _resample_sums(
    image_contributions: Floats, generator: np.random.Generator, resamples: int
) -> Floats:
    """Returns the sums over images that are drawn with replacement, `[resamples]`."""
    size, images, _ = _group_equal_images(image_contributions)
    counts = generator.multinomial(
        len(image_contributions), images / len(image_contributions), resamples
    )
    resampled_sums: Floats = counts @ size
    return resampled_sums


def _group_equal_images(values: Floats) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Groups images that add the same amount, up to a fine step.

    Args:
        values: What each image adds, `[images]`.

    Returns:
        The mean of each kind, `[kinds]`, so that the sum is kept; its number of images, `[kinds]`;
        and the kind of each image, `[images]`.
    """
    spread = float(values.std())
    steps = np.rint(values * (FINE / spread)) if spread > 1e-12 else np.zeros(len(values))
    _, index, images = np.unique(steps, return_inverse=True, return_counts=True)
    return sum_by_index(index, values) / images, images, index


def _lower_quantile_level(n_images: int) -> float:
    """Returns the level of the lower percentile, which is below 2.5 % where images are few."""
    if n_images < 2:
        return 0.0
    reach = special.stdtrit(n_images - 1, 0.975) * np.sqrt(n_images / (n_images - 1))
    return float(special.ndtr(-reach))
