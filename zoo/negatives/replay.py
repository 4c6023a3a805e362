"""Replay: negatives that were made before and are kept in a file."""

from collections.abc import Iterable
from pathlib import Path
from random import Random

from zoo.errors import ZooError
from zoo.language.text import same_words
from zoo.negatives.base import NegativeGenerator
from zoo.support.text_files import json_value
from zoo.units.record import UnitRecord


class Replay(NegativeGenerator):
    """The negatives of a file that `zoo negatives export` wrote, found by the text of the caption.

    Args:
        file: JSON lines of `{"caption", "negative"}`, where a negative is null if there is none. Of
            several lines for one caption, one is drawn.
        strict: Whether a caption that the file does not have is refused at the start. Otherwise it
            has no negative.

    Raises:
        ZooError: A line is broken, or its negative is its caption; the message names the line.
    """

    name = "replay"

    def __init__(self, file: Path, strict: bool = True) -> None:
        self.file, self.strict = Path(file), strict
        self._negatives = _read(self.file)

    def describe(self) -> dict[str, str]:
        """Returns the generator and its file."""
        return super().describe() | {"file": str(self.file)}

    def check(self, captions: Iterable[str]) -> None:
        """Checks whether the file has the captions.

        Args:
            captions: The captions.

        Raises:
            ZooError: The file lacks captions, and `strict` is set.
        """
        captions = list(captions)
        absent = [caption for caption in captions if _key(caption) not in self._negatives]
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
            The negative, or None where the caption has none there.

        Raises:
            ZooError: The file does not have the caption, and `strict` is set.
        """
        found = self._negatives.get(_key(caption))
        if found is None and self.strict:
            raise ZooError(
                f"{self.file} has no line for caption {caption[:60]!r}: export the negatives of "
                "these captions, or set strict: false"
            )
        return rng.choice(found) if found else None


def _key(caption: str) -> str:
    return " ".join(caption.split())


def _read(file: Path) -> dict[str, list[str]]:
    negatives: dict[str, list[str]] = {}
    try:
        lines = file.read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ZooError(
            f"{file} cannot be read ({error}): `zoo negatives export CAPTIONS --out {file}` makes "
            "one"
        ) from error
    for number, line in enumerate(lines, start=1):
        caption, negative = _fields(line, f"{file}:{number}")
        found = negatives.setdefault(_key(caption), [])
        if negative is not None:
            found.append(negative)
    return negatives


def _fields(line: str, origin: str) -> tuple[str, str | None]:
    try:
        entry = json_value(line)
        caption, negative = entry["caption"], entry["negative"]
    except (ValueError, KeyError, TypeError) as error:
        raise ZooError(
            f'{origin} is not {{"caption": .., "negative": ..}} ({error}): export the file again'
        ) from error
    if not isinstance(caption, str) or not (negative is None or isinstance(negative, str)):
        raise ZooError(
            f"{origin} has a caption or negative that is not text: export the file again"
        )
    if negative is not None and same_words(caption, negative):
        raise ZooError(
            f"{origin} has the caption itself as its negative ({negative[:60]!r}): take the line "
            "out or set it to null"
        )
    return caption, negative
