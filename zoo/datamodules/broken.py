"""Broken images: those that could not be decoded, counted as their empty rows come."""

import logging

from zoo.batch import MISSING, Batch
from zoo.sources.source import Source

log = logging.getLogger(__name__)


class BrokenImages:
    """Images whose rows were left empty on this device, each told once.

    Attributes:
        names: The images, as references in text.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()

    def look_at(self, batch: Batch, source: Source) -> None:
        """Finds the broken images of a batch.

        Args:
            batch: A batch as it was loaded. A row with a sample and no caption is of a broken one.
            source: The captions that it was made of.
        """
        empty = (batch.captions == MISSING) & (batch.samples != MISSING)
        for index in batch.samples[empty].tolist():
            image = str(source.samples[index].image)
            if image not in self.names:
                self.names.add(image)
                count = len(self.names)
                log.warning("image %s is broken: its rows are empty (%d so far)", image, count)
