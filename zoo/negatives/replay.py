"""Replay: reads negatives from a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from zoo.errors import ZooError
from zoo.language.text import same_words
from zoo.negatives.base import NegativeGenerator
from zoo.support.caption_texts import ByCaption, read_by_caption, read_entries
from zoo.units.record import UnitRecord


class Replay(NegativeGenerator):
    """The negatives of a file written by `zoo negatives export`, looked up by caption text.

    Args:
        file: JSON lines of `{"caption", "negative"}`, where a negative is null if there is none. If
            a caption has several lines, one is drawn.
        strict: Whether captions that are missing from the file are an error. Otherwise they have no
            negative.

    Raises:
        ZooError: A line is invalid, or its negative is its caption; the message names the line.
    """

    name = "replay"

    def __init__(self, file: Path, strict: bool = True) -> None:
        self.file, self.strict = Path(file), strict
        self._negatives = _read(self.file)

    def describe(self) -> dict[str, str]:
        """Returns the generator and its file."""
        return super().describe() | {"file": str(self.file)}

    def check(self, captions: Sequence[str]) -> None:
        """Checks whether the file has the captions.

        Args:
            captions: The captions.

        Raises:
            ZooError: Captions are missing from the file, and `strict` is set.
        """
        absent = [caption for caption in captions if caption not in self._negatives]
        if absent and self.strict:
            raise ZooError(
                f"{self.file} has no line for {len(absent):,} of {len(captions):,} captions "
                f"({absent[0][:60]!r}): export the negatives of these captions, or set strict: "
                "false"
            )

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Draws a negative of the caption from the file.

        Args:
            caption: The caption.
            rng: The source of random numbers.
            record: Not used.

        Returns:
            The negative, or None if the caption has none.

        Raises:
            ZooError: The caption is missing from the file, and `strict` is set.
        """
        negatives = self._negatives.get(caption)
        if negatives is None and self.strict:
            raise ZooError(
                f"{self.file} has no line for caption {caption[:60]!r}: export the negatives of "
                "these captions, or set strict: false"
            )
        return rng.choice(negatives) if negatives else None


def _read(file: Path) -> ByCaption:
    source = f"`zoo negatives export CAPTIONS --out {file}` creates it"

    def read() -> Iterator[tuple[str, str | None]]:
        for origin, caption, negative in read_entries(
            file, "negative", optional=True, source=source, advice="export the file again"
        ):
            if negative is not None and same_words(caption, negative):
                raise ZooError(
                    f"{origin} has the caption itself as its negative ({negative[:60]!r}): remove "
                    "the line or set the negative to null"
                )
            yield caption, negative

    return read_by_caption(file, "negative", read, source)
