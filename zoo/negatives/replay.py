"""Replay: reads negatives from a file."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from zoo.language.text import equal_when_normalized
from zoo.negatives.base import NegativeGenerator
from zoo.support.caption_texts import read_texts_by_caption
from zoo.units.record import UnitRecord


class Replay(NegativeGenerator):
    """Negatives from a file of `zoo negatives export`, looked up by the text of the caption.

    Args:
        file: A file of JSON lines with the keys `caption` and `negative`. `negative` is null if the
            caption has none. If a caption has several lines, one is drawn.
        strict: Whether a caption that is missing from the file is an error. If False, such a
            caption has no negative.

    Raises:
        ZooError: A line is invalid, or its negative is its caption; the message names the line.
    """

    name = "replay"

    def __init__(self, file: Path, strict: bool = True) -> None:
        self.file, self.strict = Path(file), strict
        self._negatives = read_texts_by_caption(
            self.file,
            "negative",
            equal_when_normalized,
            optional=True,
            source_hint=f"`zoo negatives export CAPTIONS --out {file}` creates it",
            advice="export the file again",
        )

    def describe(self) -> dict[str, str]:
        """Returns the description of the generator, with its file."""
        return super().describe() | {"file": str(self.file)}

    def check(self, captions: Sequence[str]) -> None:
        """Checks that the file contains the captions.

        Args:
            captions: The captions.

        Raises:
            ZooError: Captions are missing from the file, and `strict` is set.
        """
        if self.strict:
            self._negatives.check_captions(captions, "export the negatives of these captions")

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
        self.check([caption])
        return self._negatives.draw(caption, rng)
