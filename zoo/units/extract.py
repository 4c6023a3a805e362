"""UnitExtractor: finds the units of captions and makes their foils."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar

from zoo.errors import ZooError
from zoo.support.spec import Configurable
from zoo.units.record import UnitRecord

Captioned = tuple[str, str, str]


class UnitExtractor(Configurable, ABC):
    """Base of extractors.

    An extractor that works on many captions at once, such as a language model, overrides
    `extract_all`.

    Attributes:
        name: What units files and results call the extractor.
        out: The path beside which an extractor may keep what it has so far, which is most often the
            file that the records go to; None where they go to none.
    """

    name: ClassVar[str]
    out: Path | None = None

    @cached_property
    def dropped_foils(self) -> Counter[str]:
        """How many foils each filter has dropped so far."""
        return Counter()

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

    def records(
        self, captions: Sequence[Captioned], progress: Callable[[int], None] | None = None
    ) -> Iterator[UnitRecord]:
        """Yields what `extract_all` does, once it is known to be the record of each caption.

        Args:
            captions: Captions, each as (caption, caption_id, image_id).
            progress: Is told how many more captions are done.

        Raises:
            ZooError: Something else comes, or more or fewer records than captions.
        """
        asked = (caption_id for _, caption_id, _ in captions)
        for record, caption_id in zip_longest(self.extract_all(captions, progress), asked):
            if not isinstance(record, UnitRecord) or record.caption_id != caption_id:
                place = "after the last caption" if caption_id is None else f"for {caption_id!r}"
                raise ZooError(
                    f"{type(self).__name__} gave {record!r:.80} {place}: an extractor gives one "
                    "zoo.units.UnitRecord a caption, in order and with its caption_id"
                )
            yield record

    def kept_open(self) -> AbstractContextManager[None]:
        """Keeps what the extractor works with, such as a model, open for the length of a block.

        Else every call of `records` opens it anew.
        """
        return nullcontext()

    def describe(self) -> dict[str, Any]:
        """Returns what a record's source says of its maker."""
        return {"extractor": self.name}
