"""Statistics: intervals of rates and of averages, and paired tests. Rates are shares in [0, 1]."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats

DRAWS = 1000
CHUNK = 100


def wilson(right: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Returns the Wilson score interval of a rate (Wilson 1927); n must be positive."""
    interval = stats.binomtest(right, n).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def bootstrap(
    right: ArrayLike, cluster: ArrayLike, group: ArrayLike | None = None, draws: int = DRAWS, seed: int = 0, confidence: float = 0.95
) -> tuple[float, float]:
    """right: [n] outcomes; cluster: [n] labels of what is drawn anew as a whole (photographs); group: [n] labels of a macro average, None
    for the rate.

    Returns the percentile interval of the mean over groups of the rate inside each. A group that a draw leaves empty is not in that
    draw's mean.
    """
    outcomes = np.asarray(right, dtype=np.float64)
    clusters, c = np.unique(np.asarray(cluster), return_inverse=True)
    groups, g = np.unique(np.zeros(len(outcomes)) if group is None else np.asarray(group), return_inverse=True)
    shape = (len(clusters), len(groups))
    hits = sparse.csr_array((outcomes, (c, g)), shape=shape)
    sizes = sparse.csr_array((np.ones(len(outcomes)), (c, g)), shape=shape)
    generator = np.random.default_rng(seed)
    means = []
    for start in range(0, draws, CHUNK):
        size = min(CHUNK, draws - start)
        drawn = generator.multinomial(len(clusters), np.full(len(clusters), 1 / len(clusters)), size=size)
        weights = sparse.csr_array(drawn.astype(np.float64))
        counts = (weights @ sizes).toarray()
        sums = (weights @ hits).toarray()
        rates = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        means.append(rates.sum(1) / (counts > 0).sum(1))
    tail = 50 * (1 - confidence)
    low, high = np.percentile(np.concatenate(means), [tail, 100 - tail])
    return float(low), float(high)


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
