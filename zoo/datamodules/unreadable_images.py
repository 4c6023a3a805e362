"""Counts images that could not be decoded, whose rows are empty."""

import logging

from zoo.batch import Batch

log = logging.getLogger(__name__)


class BrokenImages:
    """Images whose rows were left empty on this device; a warning is logged once per image.

    Attributes:
        names: The references of the images.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()

    def record(self, batch: Batch) -> None:
        """Records the broken images of a batch.

        Args:
            batch: A loaded batch.
        """
        for image in batch.broken:
            if image not in self.names:
                self.names.add(image)
                count = len(self.names)
                log.warning("image %s is broken: its rows are empty (%d so far)", image, count)
