"""Answers of models that are right by chance.

The chance is known, and so is the correlation inside images.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Design:
    """Which image and which group each of n questions is about, as numbers from 0."""

    image: Numbers
    group: Numbers


def design(n: int, per_image: str, groups: int, zipf: bool, same_group: bool) -> Design:
    """Draws which questions are asked.

    Args:
        n: how many questions there are.
        per_image: how many an image is asked, such as '5', or '1-3' for one to three by turns.
        groups: how many groups there are; those that get no question are left out.
        zipf: whether the k-th group is 1/k as large as the first, or all are alike in the mean.
        same_group: whether all questions of an image are of one group.
    """
    generator = np.random.default_rng(7)
    least, _, most = per_image.partition("-")
    turns = np.arange(int(least), int(most or least) + 1)
    image = np.repeat(np.arange(n), np.resize(turns, n))[:n]
    size = 1 / np.arange(1, groups + 1) if zipf else np.ones(groups)
    group = generator.choice(groups, size=n, p=size / size.sum())
    if same_group:
        group = group[np.searchsorted(image, image)]
    return Design(image, np.unique(group, return_inverse=True)[1])


def answers(
    generator: np.random.Generator, image: Numbers, chance: Floats, correlation: float
) -> NDArray[np.bool_]:
    """Draws right or wrong for each question.

    A question is right where a uniform number is below its chance. With probability
    sqrt(correlation) the number is its image's, else its own, so that two questions of an image
    with equal chances correlate by just that.
    """
    shared = generator.random(image.max() + 1)[image]
    takes = generator.random(len(image)) < np.sqrt(correlation)
    return np.where(takes, shared, generator.random(len(image))) < chance


def spread_chances(chance: float, groups: int, deviation: float) -> Floats:
    """Returns a chance for each group: normal on the logit scale around `chance`."""
    around = np.random.default_rng(3).standard_normal(groups)
    spread: Floats = 1 / (1 + np.exp(-np.log(chance / (1 - chance)) - deviation * around))
    return spread
