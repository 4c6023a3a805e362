"""11-point mean average precision, ELEVATER's metric for VOC2007."""

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.ranked_images import RankedImages

POINTS = 11


class MeanAveragePrecision11(RankedImages):
    """Each class ranks all images. The ranking has an 11-point interpolated average precision.

    The metric is the mean over classes. 11-point interpolated average precision is a mean of eleven
    precisions, one for each recall 0, 0.1, ..., 1. The precision for a recall is the highest
    precision at this or any higher recall. As in ELEVATER, the precision at recall 0 is defined as
    1, so the first of the eleven is always 1. By VOC's rule, the first would be the highest
    precision at any recall.
    """

    name = "map_11"

    def classes(self, match: NDArray[np.bool_]) -> range:
        """Returns all classes."""
        return range(match.shape[1])

    def grade(self, right: NDArray[np.bool_], shares: NDArray[np.float64]) -> float:
        """Returns the average precision of a ranking."""
        import torch
        from torchmetrics.functional.classification import binary_precision_recall_curve

        precision, recall, _ = binary_precision_recall_curve(
            torch.from_numpy(shares), torch.from_numpy(right).long()
        )
        # recalls are compared as integer counts, since numbers such as 0.7 are not exact floats
        n = int(right.sum())
        n_found = np.rint(recall.double().numpy() * n)
        reached = n_found * (POINTS - 1) >= np.arange(POINTS)[:, None] * n
        return float(np.where(reached, precision.double().numpy(), 0.0).max(1).mean())

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns (1 + 10 s) / 11 for many images in random order, if a share s of them is right.

        The precision is 1 at the first point and s at the other ten.
        """
        chance: NDArray[np.float64] = (1 + (POINTS - 1) * right_options / options) / POINTS
        return chance
