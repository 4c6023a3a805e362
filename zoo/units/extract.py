"""UnitExtractor: finds the units of captions and makes their foils. Free of torch."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from zoo.support.spec import Recorded
from zoo.units.record import UnitRecord

Captioned = tuple[str, str, str]


class UnitExtractor(Recorded, ABC):
    """Base of extractors.

    name: what units files and results call it. dropped: how many foils each filter has dropped so far. An extractor that works on many
    captions at once, such as a language model, overrides `extract_all`.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.dropped: Counter[str] = Counter()

    @abstractmethod
    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        """Returns the units of one caption, none where it has none; a function of the caption and the extractor's arguments alone."""

    def extract_all(
        self, captions: Iterable[Captioned], progress: Callable[[int], None] | None = None
    ) -> Iterator[UnitRecord]:
        """captions: (caption, caption_id, image_id). Yields a record each, in order; `progress` is told how many more are done."""
        for caption, caption_id, image_id in captions:
            yield self.extract(caption, caption_id, image_id)
            if progress:
                progress(1)

    def describe(self) -> dict[str, Any]:
        """Returns what a record's source says of its maker."""
        return {"extractor": self.name}
