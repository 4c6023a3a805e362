"""Paired: the difference of two runs in one row, with its interval and its test.

What varies is the images. Both count images of a kind, and draw how many of each kind come, in the
place of copying outcomes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from zoo.results.comparison.rows import ComparisonRow
from zoo.results.statistics import mcnemar, paired_test, sums

RESAMPLES = 10_000
UNSEEN = 0.5  # outcomes that each run alone has right, beside those that were seen
FINE = 20  # kinds of images in a standard deviation

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Paired:
    """The test of two runs in one row.

    Attributes:
        difference: The second less the first, as a share.
        p: The two-sided p-value.
        alone: Number of questions that the first alone has right, and that the second alone has;
            None where outcomes are not right or wrong, or do not weigh the same.
        by_question: The p-value of McNemar's test over questions, None where `alone` is.
    """

    difference: float
    p: float
    alone: tuple[int, int] | None
    by_question: float | None


def compare_pair(row: ComparisonRow, first: Floats, second: Floats, seed: int = 0) -> Paired:
    """Tests whether two runs are equally good in a row, with images as the units that vary.

    Under the null hypothesis the answers of both about an image may be exchanged. Of outcomes that
    are right or wrong and weigh the same, the law over all exchanges is exact (`paired_test`):
    McNemar's mid-p where no image comes twice. Of others, exchanges are drawn.

    Args:
        row: The row.
        first: How good the answers of the first are, `[n]`.
        second: How good those of the second are, `[n]`.
        seed: Seed of exchanges that are drawn.
    """
    difference = float(row.weight @ (second - first))
    if not row.has_equal_weights or not np.isin([first, second], (0, 1)).all():
        by_image = sums(row.image, row.weight * (second - first))
        return Paired(difference, drawn_exchanges(by_image, seed), None, None)
    alone = int((first > second).sum()), int((second > first).sum())
    return Paired(difference, paired_test(first, second, row.image), alone, mcnemar(*alone))


def paired_interval(
    row: ComparisonRow, first: Floats, second: Floats, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Finds the 95 % interval of a difference by resampling images.

    The mean of each metric is linear in what an image adds to it, so that a resample is told by how
    often each kind of image comes. It is a percentile interval, at levels that make up for few
    images (Hesterberg 2014). As of what was never seen nothing is resampled, half an outcome is
    added in which either run alone is right, as Agresti and Min (2005) add to each cell; it counts
    as many times as the variance grows because outcomes of one image go together.

    Args:
        row: The row.
        first: How good the answers of the first are, `[n]`.
        second: How good those of the second are, `[n]`.
        seed: Seed of the resamples.
        resamples: How many there are.

    Returns:
        Both ends, as shares.
    """
    apart = second - first
    weight = sums(row.part, row.weight)
    means = sums(row.part, row.weight * apart) / weight
    left = row.weight * (apart - means[row.part])
    adds = sums(row.image, left)
    generator = np.random.default_rng(seed)
    found = float(weight @ means) + _resample_sums(adds, generator, resamples)
    unseen = generator.poisson(UNSEEN, (2, resamples))
    together = max(1.0, np.square(adds).sum() / max(np.square(left).sum(), 1e-300))
    found += together * np.square(row.weight).sum() * (unseen[1] - unseen[0])
    level = _lower_percentile(row.images)
    low, high = np.quantile(found, [level, 1 - level])
    return max(-1.0, float(low)), min(1.0, float(high))


def drawn_exchanges(by_image: Floats, seed: int = 0, draws: int = RESAMPLES) -> float:
    """Returns the mid-p of exchanges that are drawn, with what was observed as one of them.

    Args:
        by_image: What each image adds to the difference.
        seed: Seed of the draws.
        draws: How many there are.

    Returns:
        The p-value; 1 where no image distinguishes the models, as of `paired_test`.
    """
    if not by_image.any():
        return 1.0
    size, images, index = _kinds(np.abs(by_image))
    observed = abs(sums(index, np.sign(by_image)) @ size)
    heads = np.random.default_rng(seed).binomial(images, 0.5, (draws, len(images)))
    exchanged = np.abs((2 * heads - images) @ size)
    level = np.isclose(exchanged, observed, rtol=1e-9, atol=1e-12)
    beyond = (exchanged > observed) & ~level
    return float(beyond.sum() + (1 + level.sum()) / 2) / (1 + draws)


def _resample_sums(adds: Floats, generator: np.random.Generator, resamples: int) -> Floats:
    """Returns the sums over images that are drawn with replacement, `[resamples]`."""
    size, images, _ = _kinds(adds)
    drawn: Floats = generator.multinomial(len(adds), images / len(adds), resamples) @ size
    return drawn


def _kinds(values: Floats) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Takes images together that add the same, to a fine step.

    Args:
        values: What each image adds, `[images]`.

    Returns:
        The mean of each kind, `[kinds]`, so that the sum stays; its number of images, `[kinds]`;
        and the kind of each image, `[images]`.
    """
    spread = float(values.std())
    steps = np.rint(values * (FINE / spread)) if spread > 1e-12 else np.zeros(len(values))
    _, index, images = np.unique(steps, return_inverse=True, return_counts=True)
    return sums(index, values) / images, images, index


def _lower_percentile(images: int) -> float:
    """Returns the level of the lower percentile, lower than 2.5 % where images are few."""
    if images < 2:
        return 0.0
    reach = special.stdtrit(images - 1, 0.975) * np.sqrt(images / (images - 1))
    return float(special.ndtr(-reach))
