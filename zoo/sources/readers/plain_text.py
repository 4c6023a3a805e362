"""Plain text: one caption per line, no images."""

from collections.abc import Iterator
from pathlib import Path

from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.support.text_files import numbered_lines


class PlainText(Reader):
    """A text file with one caption per line, for uses that do not need images.

    Blank lines are ignored. The id of a caption is its line number, from 1. The image reference of
    a caption is 'file:FILE:LINE'; no such image exists.

    Args:
        file: The text file.
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)

    @property
    def files(self) -> tuple[Path, ...]:
        """The text file."""
        return (self.file,)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each line that is not blank."""
        for number, line in numbered_lines(self.file):
            origin = f"{self.file}:{number}"
            image = ImageRef("file", origin)
            yield Sample(image, line.strip(), origin, str(number), origin=origin)
