"""Mean average precision at eleven points, as ELEVATER measures VOC2007."""

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.ranked_images import RankedImages

POINTS = 11


class MeanAveragePrecision11(RankedImages):
    """Each class ranks the images and is graded by its 11-point interpolated average precision.

    That is the mean, over recalls of 0, 0.1, up to 1, of the highest precision at that recall or a
    higher one. The curve begins at recall 0 with precision 1, as ELEVATER's does, so that the first
    of the eleven is always 1; in VOC's own rule it is the highest precision anywhere.
    """

    name = "map_11"

    def classes(self, match: NDArray[np.bool_]) -> range:
        """Returns all classes."""
        return range(match.shape[1])

    def grade(self, right: NDArray[np.bool_], shares: NDArray[np.float64]) -> float:
        """Returns the average precision of an order."""
        import torch
        from torchmetrics.functional.classification import binary_precision_recall_curve

        precision, recall, _ = binary_precision_recall_curve(
            torch.from_numpy(shares), torch.from_numpy(right).long()
        )
        # recalls are shares of few images: compared in whole numbers, since 0.7 has no exact float
        n = int(right.sum())
        found = np.rint(recall.double().numpy() * n)
        reached = found * (POINTS - 1) >= np.arange(POINTS)[:, None] * n
        return float(np.where(reached, precision.double().numpy(), 0.0).max(1).mean())

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns the share of images of the class, which a random order of many comes to.

        It is the precision at the other ten points; at the first it is 1.
        """
        chance: NDArray[np.float64] = (1 + (POINTS - 1) * right_options / options) / POINTS
        return chance
