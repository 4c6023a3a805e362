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
        negative_column: Column of wrong captions, for `data.source_negatives`. If a field is empty,
            its caption has no negative. If None, no column is read.
    """

    def __init__(
        self,
        file: Path,
        image_column: str | None = None,
        caption_column: str | None = None,
        separator: str | None = None,
        negative_column: str | None = None,
    ) -> None:
        self.file, self.separator = Path(file), separator
        self.image_column, self.caption_column = image_column, caption_column
        self.negative_column = negative_column

    @property
    def files(self) -> tuple[Path, ...]:
        """The table."""
        return (self.file,)

    @property
    def negatives_hint(self) -> str:
        """Advice to name the column of negatives; see `Reader.negatives_hint`."""
        return "name the column of your wrong captions in negative_column"

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each row."""
        table = Table(self.file, self.separator)
        image = table.choose_column(self.image_column, "image_column", IMAGE_COLUMNS)
        text = table.choose_column(self.caption_column, "caption_column", CAPTION_COLUMNS)
        negative = self.negative_column
        if negative is not None:
            table.choose_column(negative, "negative_column", ())
        images = OwnImages(self.file.parent)
        for i, (line, row) in enumerate(table.rows()):
            origin = f"{self.file}:{line}"
            if not row[image].strip():
                raise ZooError(
                    f"{origin} has no image in column {image!r}: add one or remove the line"
                )
            ref = images.ref(row[image])
            wrong_text = "" if negative is None else row[negative].strip()
            yield Sample(
                ref,
                strip_caption(row[text], origin),
                str(ref),
                str(i),
                negatives=(wrong_text,) if wrong_text else (),
                origin=origin,
            )
