"""All positives: every right text of an image has to score above the wrong one."""

from collections.abc import Iterator
from dataclasses import replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Query
from zoo.benchmarks.protocols.image_to_text import ImageToText


class AllPositives(ImageToText):
    """Every right text of an image has to score above every wrong text, as in `i2t`.

    The rule and the metric are those of `i2t`. The chance level differs, because it takes into
    account that an image has several right texts.
    """

    name = "all_pos"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `i2t` for each image."""
        for query in super().queries(match):
            right = int(query.match.sum())
            yield replace(query, options=len(query.match), right_options=right)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1 / C(N, m), with m right texts among N."""
        return np.array([1 / comb(n, k) for n, k in zip(options, right_options, strict=True)])
