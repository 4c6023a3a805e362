"""Area under the ROC curve, as ELEVATER measures Hateful Memes."""

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.ranked_images import RankedImages


class RocAuc(RankedImages):
    """The second of two classes ranks the images: how often is one of its own above another one?

    An image that is level with another counts as half above it.
    """

    name = "roc_auc"

    def classes(self, match: NDArray[np.bool_]) -> range:
        """Returns the second class."""
        return range(1, 2)

    def grade(self, right: NDArray[np.bool_], shares: NDArray[np.float64]) -> float:
        """Returns the area under the ROC curve of an order."""
        import torch
        from torchmetrics.functional.classification import binary_auroc

        found = binary_auroc(torch.from_numpy(shares), torch.from_numpy(right).long())
        return float(found)

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks for two classes with images."""
        if match.shape[1] != 2:
            return f"has {match.shape[1]} classes where there have to be two"
        return "" if match.any(0).all() else "has a class without images"

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns one half."""
        return np.full(len(options), 0.5)
