"""Area under the ROC curve, ELEVATER's metric for Hateful Memes."""

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.ranked_images import RankedImages


class RocAuc(RankedImages):
    """The second of two classes ranks the images. The metric is the area under the ROC curve.

    This area is how often an image of the second class ranks above an image of the first class.
    Ties count as one half.
    """

    name = "roc_auc"

    def classes(self, match: NDArray[np.bool_]) -> range:
        """Returns the second class."""
        return range(1, 2)

    def grade(self, right: NDArray[np.bool_], shares: NDArray[np.float64]) -> float:
        """Returns the area under the ROC curve of a ranking."""
        import torch
        from torchmetrics.functional.classification import binary_auroc

        area = binary_auroc(torch.from_numpy(shares), torch.from_numpy(right).long())
        return float(area)

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: it needs two classes with images."""
        if match.shape[1] != 2:
            return f"has {match.shape[1]} classes instead of two"
        return "" if match.any(0).all() else "has a class without images"

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1/2."""
        return np.full(len(options), 0.5)
