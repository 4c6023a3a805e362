"""CSV and TSV tables of paths and captions, as used by open_clip."""

from collections.abc import Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.sources.image_paths import OwnImages
from zoo.sources.readers.base import Reader
from zoo.sources.readers.tables import CAPTION_COLUMNS, IMAGE_COLUMNS, Table
from zoo.sources.sample import Sample
from zoo.support.text_files import strip_caption


class CsvTable(Reader):
    """A CSV or TSV file with a header. The id of a caption is its row number, from 0.

    Args:
        file: The table.
        image_column: Column of the images. If None, the first of filepath, image, image_path,
            file_name, filename, path.
        caption_column: Column of the captions. If None, the first of title, caption, text,
            sentence, description.
        separator: Character between columns. If None, a tab if the header has one, else a comma.
    """

    def __init__(
        self,
        file: Path,
        image_column: str | None = None,
        caption_column: str | None = None,
        separator: str | None = None,
    ) -> None:
        self.file, self.image_column, self.caption_column, self.separator = (
            Path(file),
            image_column,
            caption_column,
            separator,
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """The table."""
        return (self.file,)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each row."""
        table = Table(self.file, self.separator)
        image = table.choose_column(self.image_column, "image_column", IMAGE_COLUMNS)
        text = table.choose_column(self.caption_column, "caption_column", CAPTION_COLUMNS)
        images = OwnImages(self.file.parent)
        for i, (line, row) in enumerate(table.rows()):
            origin = f"{self.file}:{line}"
            if not row[image].strip():
                raise ZooError(
                    f"{origin} has no image in column {image!r}: add one or remove the line"
                )
            ref = images.ref(row[image])
            yield Sample(ref, strip_caption(row[text], origin), str(ref), str(i), origin=origin)
