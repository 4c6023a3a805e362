"""Statistics: intervals of rates and of averages, and paired tests. Rates are shares in [0, 1]."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats

DRAWS = 1000
CHUNK = 100


@dataclass(frozen=True)
class Sample:
    """The outcomes that one figure is made of: [n] each. cluster: labels of what is drawn anew as a whole (photographs); group: labels of a
    macro average, all alike for a rate."""

    right: NDArray[np.float64]
    cluster: NDArray[Any]
    group: NDArray[Any]

    @property
    def weight(self) -> NDArray[np.float64]:
        """[n] what each outcome counts in the mean over groups of the rate inside each; sums to 1."""
        _, index, sizes = np.unique(self.group, return_inverse=True, return_counts=True)
        return 1 / (len(sizes) * sizes[index])

    @property
    def value(self) -> float:
        """The mean over groups of the rate inside each."""
        _, index, sizes = np.unique(self.group, return_inverse=True, return_counts=True)
        return float((np.bincount(index, self.right) / sizes).mean())


def interval(samples: Sequence[Sample], shares: Sequence[float]) -> tuple[float, float, str]:
    """shares: by which the samples' values enter a weighted mean; they sum to 1. Returns its 95 % interval and how that was found.

    Wilson's for a rate where no photograph is asked about twice; else by bootstrap over photographs, drawn for all samples at once. Where
    draws do not vary (all is right, or all wrong), or most leave a sample empty, Wilson's on the effective number of photographs, 1 / sum
    of their squared weights (Kish 1965).
    """
    first = samples[0]
    if (
        len(samples) == 1
        and len(np.unique(first.group)) == 1
        and len(np.unique(first.cluster)) == len(first.right)
    ):
        return *wilson(float(first.right.sum()), len(first.right)), "Wilson"
    means = resampled(samples) @ np.asarray(shares)
    whole = means[~np.isnan(means)]
    if 2 * len(whole) > len(means) and np.ptp(whole) > 1e-9:
        low, high = np.percentile(whole, [2.5, 97.5])
        return float(low), float(high), "bootstrap by photograph"
    _, c = np.unique(np.concatenate([sample.cluster for sample in samples]), return_inverse=True)
    weights = np.bincount(
        c,
        np.concatenate(
            [share * sample.weight for share, sample in zip(shares, samples, strict=True)]
        ),
    )
    n = float(1 / np.square(weights).sum())
    value = sum(share * sample.value for share, sample in zip(shares, samples, strict=True))
    return *wilson(value * n, n), "Wilson on the effective number of photographs"


def wilson(right: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Returns the Wilson score interval of a rate (Wilson 1927); n must be positive, and may be an effective number."""
    z, p = float(stats.norm.ppf((1 + confidence) / 2)), min(right / n, 1.0)
    centre, half = p + z**2 / (2 * n), z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return max(0.0, (centre - half) / (1 + z**2 / n)), min(1.0, (centre + half) / (1 + z**2 / n))


def bootstrap(
    right: ArrayLike,
    cluster: ArrayLike,
    group: ArrayLike | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """right: [n] outcomes; cluster: [n] labels of what is drawn anew as a whole (photographs); group: [n] labels of a macro average, None
    for the rate.

    Returns the percentile interval of the mean over groups of the rate inside each. A group that a draw leaves empty is not in that
    draw's mean.
    """
    outcomes = np.asarray(right, dtype=np.float64)
    sample = Sample(
        outcomes,
        np.asarray(cluster),
        np.zeros(len(outcomes)) if group is None else np.asarray(group),
    )
    tail = 50 * (1 - confidence)
    low, high = np.percentile(resampled([sample], draws, seed)[:, 0], [tail, 100 - tail])
    return float(low), float(high)


def resampled(samples: Sequence[Sample], draws: int = DRAWS, seed: int = 0) -> NDArray[np.float64]:
    """Returns [draws, samples]: the values with the clusters of all samples drawn anew together; not a number where a draw leaves a sample
    empty."""
    clusters, c = np.unique(
        np.concatenate([sample.cluster for sample in samples]), return_inverse=True
    )
    tables = []
    for sample, own in zip(
        samples, np.split(c, np.cumsum([len(sample.right) for sample in samples])[:-1]), strict=True
    ):
        groups, g = np.unique(sample.group, return_inverse=True)
        shape = (len(clusters), len(groups))
        hits = sparse.csr_array((sample.right, (own, g)), shape=shape)
        tables.append((hits, sparse.csr_array((np.ones(len(own)), (own, g)), shape=shape)))
    generator = np.random.default_rng(seed)
    values = []
    for start in range(0, draws, CHUNK):
        drawn = generator.multinomial(
            len(clusters), np.full(len(clusters), 1 / len(clusters)), size=min(CHUNK, draws - start)
        )
        weights = sparse.csr_array(drawn.astype(np.float64))
        values.append(
            np.stack(
                [
                    _macro((weights @ hits).toarray(), (weights @ sizes).toarray())
                    for hits, sizes in tables
                ],
                axis=1,
            )
        )
    return np.concatenate(values)


def _macro(sums: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """sums, counts: [draws, groups]. Returns the mean rate over the groups that a draw holds, not a number where it holds none."""
    held = (counts > 0).sum(1)
    rates = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0).sum(1)
    means: NDArray[np.float64] = np.divide(
        rates, held, out=np.full(len(held), np.nan), where=held > 0
    )
    return means


def mcnemar(first: ArrayLike, second: ArrayLike) -> float:
    """first, second: [n] outcomes of two models on the same queries. Returns the two-sided mid-p of McNemar's test; 1 where they never
    differ."""
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    fewer, differ = int(min((a & ~b).sum(), (b & ~a).sum())), int((a != b).sum())
    if differ == 0:
        return 1.0
    law = stats.binom(differ, 0.5)
    return min(1.0, float(2 * law.cdf(fewer) - law.pmf(fewer)))


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """p: [n] p-values. Returns them adjusted for the false discovery rate (Benjamini and Hochberg 1995)."""
    adjusted: NDArray[np.float64] = stats.false_discovery_control(np.asarray(p, dtype=np.float64))
    return adjusted
