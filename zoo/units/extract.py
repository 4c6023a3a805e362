"""UnitExtractor: finds the units of captions and makes their foils."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from zoo.support.spec import Recorded
from zoo.units.record import UnitRecord

Captioned = tuple[str, str, str]


class UnitExtractor(Recorded, ABC):
    """Base of extractors.

    An extractor that works on many captions at once, such as a language model, overrides
    `extract_all`.

    Attributes:
        name: What units files and results call the extractor.
        dropped: How many foils each filter has dropped so far.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()

    @abstractmethod
    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        """Returns the units of one caption.

        They depend on the caption and the extractor's arguments alone.

        Args:
            caption: The caption.
            caption_id: The caption's id, unique within a units file.
            image_id: The id of the caption's image.

        Returns:
            A record, which has no units where the caption has none.
        """

    def extract_all(
        self, captions: Iterable[Captioned], progress: Callable[[int], None] | None = None
    ) -> Iterator[UnitRecord]:
        """Yields the record of each caption, in order.

        Args:
            captions: Captions, each as (caption, caption_id, image_id).
            progress: Is told how many more captions are done.
        """
        for caption, caption_id, image_id in captions:
            yield self.extract(caption, caption_id, image_id)
            if progress:
                progress(1)

    def describe(self) -> dict[str, Any]:
        """Returns what a record's source says of its maker."""
        return {"extractor": self.name}
