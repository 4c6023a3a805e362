"""Broken images: those that could not be decoded, counted as their empty rows come."""

import logging

from zoo.batch import Batch

log = logging.getLogger(__name__)


class BrokenImages:
    """Images whose rows were left empty on this device, each told once.

    Attributes:
        names: The images, as references in text.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()

    def look_at(self, batch: Batch) -> None:
        """Notes the broken images of a batch.

        Args:
            batch: A batch as it was loaded.
        """
        for image in batch.broken:
            if image not in self.names:
                self.names.add(image)
                count = len(self.names)
                log.warning("image %s is broken: its rows are empty (%d so far)", image, count)
