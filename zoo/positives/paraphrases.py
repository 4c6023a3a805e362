"""Paraphrases: reads positives from a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

from zoo.language.text import equal_when_normalized
from zoo.positives.base import PositiveGenerator
from zoo.support.caption_texts import read_texts_by_caption


class Paraphrases(PositiveGenerator):
    """Paraphrases from a file, looked up by the text of the caption.

    Args:
        file: A file of JSON lines with the keys `caption` and `positive`. If a caption has several
            lines, one is drawn.
        strict: Whether a caption that is missing from the file is an error. If False, such a
            caption has no positive.

    Raises:
        ZooError: A line is invalid, or its positive equals its caption. The message names the line.
    """

    name = "paraphrases"

    def __init__(self, file: Path, strict: bool = True) -> None:
        self.file, self.strict = Path(file), strict
        self._positives = read_texts_by_caption(
            self.file,
            "positive",
            equal_when_normalized,
            optional=False,
            source_hint='give JSON lines of {"caption": .., "positive": ..}',
            advice="fix the line",
        )

    def describe(self) -> dict[str, str]:
        """Returns the name of the generator and its file, which results store."""
        return super().describe() | {"file": str(self.file)}

    def check(
        self, captions: Sequence[str], captions_by_image: Mapping[str, Sequence[str]]
    ) -> None:
        """Checks that the file contains the captions.

        Args:
            captions: The training captions.
            captions_by_image: Not used.

        Raises:
            ZooError: Captions are missing from the file, and `strict` is set.
        """
        if self.strict:
            self._positives.check_captions(captions, "add them")

    def positive(self, caption: str, image_captions: Sequence[str], rng: Random) -> str | None:
        """Draws a paraphrase of the caption from the file; see `PositiveGenerator.positive`."""
        return self._positives.draw(caption, rng)
