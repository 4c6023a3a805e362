"""Plain text: one caption a line, no photographs."""

from pathlib import Path

from zoo.datamodules.readers.base import Reader
from zoo.datamodules.readers.files import numbered_lines
from zoo.datamodules.sample import ImageRef, Sample


class PlainText(Reader):
    """A text file with one caption a line, for what needs captions alone.

    Blank lines are left out. A caption's id is its line, from 1; its photograph is 'file:FILE:LINE', which does not exist.
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.file,)

    def samples(self) -> list[Sample]:
        samples = []
        for number, line in numbered_lines(self.file):
            origin = f"{self.file}:{number}"
            samples.append(
                Sample(ImageRef("file", origin), line.strip(), origin, str(number), origin=origin)
            )
        return samples
