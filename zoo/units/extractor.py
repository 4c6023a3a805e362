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
from zoo.support.configurable import Configurable
from zoo.units.record import UnitRecord

CaptionRow = tuple[str, str, str]


def check_caption_row(row: CaptionRow) -> CaptionRow:
    """Returns a row of captions after checking that it has a caption and two ids.

    Raises:
        ZooError: It has not.
    """
    if isinstance(row, str) or len(row) != 3:
        raise ZooError(
            f"extract_all got {row!r:.80}: give each caption as (caption, caption_id, image_id), "
            "as in extract_all([('a red cup', 'caption 0', 'cup.jpg')])"
        )
    return row


class UnitExtractor(Configurable, ABC):
    """Base class of extractors, which find the units of captions and make their foils.

    An extractor that processes many captions at once, such as a language model, overrides
    `extract_all`.

    Attributes:
        name: The extractor's name in units files and results.
        output_path: The path of the units file that will be written. The extractor may store
            partial results next to it. None if no file will be written.
    """

    name: ClassVar[str]
    output_path: Path | None = None

    @cached_property
    def dropped_foils(self) -> Counter[str]:
        """The number of foils that each filter has rejected so far, by filter name."""
        return Counter()

    @abstractmethod
    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        """Returns the units of one caption.

        They depend only on the caption and the extractor's arguments.

        Args:
            caption: The caption.
            caption_id: The caption's id, unique within a units file.
            image_id: The id of the caption's image.

        Returns:
            The record of the caption, without units if none were found.
        """

    def extract_all(
        self, captions: Iterable[CaptionRow], progress: Callable[[int], None] | None = None
    ) -> Iterator[UnitRecord]:
        """Yields the record of each caption, in order.

        Args:
            captions: Captions, each as (caption, caption_id, image_id).
            progress: Called with the number of captions that have just been completed.
        """
        for caption, caption_id, image_id in map(check_caption_row, captions):
            yield self.extract(caption, caption_id, image_id)
            if progress:
                progress(1)

    def validated_records(
        self, captions: Sequence[CaptionRow], progress: Callable[[int], None] | None = None
    ) -> Iterator[UnitRecord]:
        """Yields the records of `extract_all` after checking that they match the captions.

        Args:
            captions: Captions, each as (caption, caption_id, image_id).
            progress: Called with the number of captions that have just been completed.

        Raises:
            ZooError: A record does not belong to its caption, or the numbers of records and
                captions differ.
        """
        caption_ids = (caption_id for _, caption_id, _ in captions)
        for record, caption_id in zip_longest(self.extract_all(captions, progress), caption_ids):
            if not isinstance(record, UnitRecord) or record.caption_id != caption_id:
                place = "after the last caption" if caption_id is None else f"for {caption_id!r}"
                raise ZooError(
                    f"{type(self).__name__} yielded {record!r:.80} {place}: an extractor must "
                    "yield one zoo.units.UnitRecord per caption, in order and with its caption_id"
                )
            yield record

    def keep_open(self) -> AbstractContextManager[None]:
        """Returns a context manager that keeps resources loaded, such as a model.

        Without it, every call of `validated_records` loads them again.
        """
        return nullcontext()

    def describe(self) -> dict[str, Any]:
        """Returns the description of the extractor for the field `source` of records."""
        return {"extractor": self.name}
