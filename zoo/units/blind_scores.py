"""Blind scores: how well a model that reads only texts distinguishes units from their foils."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from zlib import crc32

import numpy as np
import scipy  # loads its packages on first use
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_FOLDS = 5
_MAX_ITERATIONS = 30
_MAX_PAIRS = 10_000
_L2_PENALTY = 1.0
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True)
class UnitAndFoil:
    """The texts of a unit and of one of its foils.

    Attributes:
        image_id: The id of the image.
        unit: The unit's text.
        foil: The foil's text.
    """

    image_id: str
    unit: str
    foil: str


@dataclass(frozen=True)
class BlindScore:
    """The accuracy of the model.

    Attributes:
        accuracy: The share of pairs in which the unit has the higher score; a tie counts half. It
            is 0.5 for foils that cannot be distinguished from units.
        n: The number of pairs.
    """

    accuracy: float
    n: int


def blind_scores(pairs: Mapping[str, Sequence[UnitAndFoil]]) -> dict[str, BlindScore]:
    """Returns the blind score of each group of pairs.

    The model is a logistic regression on the words and word pairs of a text. It is trained for each
    group to give the unit a higher score than its foil, and tested on other images, by
    cross-validation with five folds. Of a larger group, 10,000 pairs are used.

    Args:
        pairs: The pairs by group, such as the kind of foil.
    """
    return {name: _cross_validated(group) for name, group in pairs.items() if group}


def _cross_validated(pairs: Sequence[UnitAndFoil]) -> BlindScore:
    if len(pairs) > _MAX_PAIRS:
        pairs = sorted(pairs, key=lambda p: crc32(f"{p.image_id}/{p.unit}/{p.foil}".encode()))
        pairs = pairs[:_MAX_PAIRS]
    differences = _feature_differences(pairs)
    fold_of_pair = np.array([crc32(f"fold {pair.image_id}".encode()) % _FOLDS for pair in pairs])
    n_right = 0.0
    for fold in range(_FOLDS):
        tested = differences[fold_of_pair == fold]
        if tested.shape[0]:
            margins = tested @ _fit_weights(differences[fold_of_pair != fold])
            n_right += float((margins > 0).sum() + 0.5 * (margins == 0).sum())
    return BlindScore(n_right / len(pairs), len(pairs))


def _feature_differences(pairs: Sequence[UnitAndFoil]) -> "scipy.sparse.csr_array":
    """Returns one row per pair: the features of the unit minus those of the foil."""
    columns: dict[Hashable, int] = {}
    indices, values, ends = [], [], [0]
    for pair in pairs:
        unit, foil = set(_features(pair.unit)), set(_features(pair.foil))
        for sign, features in ((1.0, unit - foil), (-1.0, foil - unit)):
            # sorted, since the order of a set of texts changes between runs
            for feature in sorted(features):
                indices.append(columns.setdefault(feature, len(columns)))
                values.append(sign)
        ends.append(len(indices))
    return scipy.sparse.csr_array((values, indices, ends), shape=(len(pairs), len(columns)))


def _features(text: str) -> Iterator[tuple[str, ...]]:
    """Yields the words of a text and all pairs of them, in order."""
    words = [word for word in text.lower().split() if word not in _ARTICLES]
    yield from ((word,) for word in words)
    yield from combinations(words, 2)


def _fit_weights(differences: "scipy.sparse.csr_array") -> FloatArray:
    """Returns the weights of the logistic regression that gives units the higher scores."""

    def loss_and_gradient(weights: FloatArray) -> tuple[float, FloatArray]:
        margins = differences @ weights
        loss = np.logaddexp(0, -margins).sum() + _L2_PENALTY / 2 * weights @ weights
        return loss, _L2_PENALTY * weights - differences.T @ scipy.special.expit(-margins)

    result = scipy.optimize.minimize(
        loss_and_gradient,
        np.zeros(differences.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_ITERATIONS},
    )
    weights: FloatArray = result.x
    return weights
