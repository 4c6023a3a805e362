"""Paraphrases: reads positives from a file."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from zoo.errors import ZooError
from zoo.language.text import same_words
from zoo.positives.base import PositiveGenerator
from zoo.support.caption_texts import ByCaption, read_by_caption, read_entries


class Paraphrases(PositiveGenerator):
    """The paraphrases of a file, looked up by caption text.

    Args:
        file: JSON lines of `{"caption", "positive"}`. If a caption has several lines, one is
            drawn.
        strict: Whether captions that are missing from the file are an error. Otherwise they have no
            positive.

    Raises:
        ZooError: A line is invalid, or its positive is its caption; the message names the line.
    """

    name = "paraphrases"

    def __init__(self, file: Path, strict: bool = True) -> None:
        self.file, self.strict = Path(file), strict
        self._positives = _read(self.file)

    def describe(self) -> dict[str, str]:
        """Returns the generator and its file."""
        return super().describe() | {"file": str(self.file)}

    def check(self, captions: Sequence[str], of_image: Mapping[str, Sequence[str]]) -> None:
        """Checks whether the file has the captions.

        Args:
            captions: The training captions.
            of_image: Not used.

        Raises:
            ZooError: Captions are missing from the file, and `strict` is set.
        """
        absent = [caption for caption in captions if caption not in self._positives]
        if absent and self.strict:
            raise ZooError(
                f"{self.file} has no line for {len(absent):,} of {len(captions):,} captions "
                f"({absent[0][:60]!r}): add them, or set strict: false"
            )

    def positive(self, caption: str, others: Sequence[str], rng: Random) -> str | None:
        """Draws a paraphrase of the caption from the file; see `PositiveGenerator.positive`."""
        positives = self._positives.get(caption)
        return rng.choice(positives) if positives else None


def _read(file: Path) -> ByCaption:
    source = 'give JSON lines of {"caption": .., "positive": ..}'

    def read() -> Iterator[tuple[str, str | None]]:
        for origin, caption, positive in read_entries(
            file, "positive", optional=False, source=source, advice="fix the line"
        ):
            assert positive is not None
            if same_words(caption, positive):
                raise ZooError(
                    f"{origin} has the caption itself as its positive ({positive[:60]!r}): remove "
                    "the line"
                )
            yield caption, positive

    return read_by_caption(file, "positive", read, source)
