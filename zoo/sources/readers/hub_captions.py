"""Captions of data sets on the Hugging Face Hub, read with the `datasets` library."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from zoo.errors import ZooError, import_optional, suggest_names
from zoo.sources.readers.base import Reader
from zoo.sources.readers.tables import CAPTION_COLUMNS
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.table_files import arrow_batches
from zoo.support.text_files import strip_caption


class HubCaptions(Reader):
    """A data set of the Hugging Face Hub whose rows have an image and one or more captions.

    The data set is downloaded once, by the library `datasets`. Images are read directly from the
    resulting Arrow files.
    A row with a list of captions yields one sample per caption.

    Args:
        name: The data set's name on the Hub ('owner/name'), or a local folder of Parquet files.
        revision: Commit or tag on the Hub, which pins the version. It is required, except for a
            local folder.
        split: The split to read.
        subset: The subset (configuration) to read, if there are several.
        image_column: Column of the images. If None, the first column of images.
        caption_column: Column of the captions. If None, the first of title, caption, text,
            sentence, description, or of their plurals.
    """

    def __init__(
        self,
        name: str,
        revision: str | None = None,
        split: str = "train",
        subset: str | None = None,
        image_column: str | None = None,
        caption_column: str | None = None,
    ) -> None:
        self.name, self.revision, self.split, self.subset = str(name), revision, split, subset
        self.image_column, self.caption_column = image_column, caption_column

    @property
    def files(self) -> tuple[Path, ...]:
        """The Parquet files of a local folder.

        Empty for a data set on the Hub, whose content is identified by `revision` instead.
        """
        return tuple(sorted(Path(self.name).glob("**/*.parquet")))

    @cached_property
    def _dataset(self) -> Any:
        """The loaded data set.

        Raises:
            ZooError: `datasets` is not installed or cannot load it, or the revision is missing.
        """
        is_local = Path(self.name).is_dir()
        if self.revision is None and not is_local:
            raise ZooError(
                f"{self.name} is on the Hub and may change there: set revision to a commit or tag, "
                "or give a local folder"
            )
        datasets: Any = import_optional("datasets", "hf")
        try:
            return datasets.load_dataset(
                self.name,
                self.subset,
                split=self.split,
                revision=None if is_local else self.revision,
            )
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            version = "" if is_local else f" at {self.revision}"
            raise ZooError(
                f"{self.name}{version} cannot be loaded by datasets ({reason}): check name, "
                "revision, subset and split, or give a local folder"
            ) from error

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each caption, in the order of the rows."""
        features: Mapping[str, Any] = self._dataset.features
        pictures = [name for name, kind in features.items() if type(kind).__name__ == "Image"]
        image = _column(self.name, self.image_column, "image_column", pictures, features)
        texts = [
            name for word in CAPTION_COLUMNS for name in (word, f"{word}s") if name in features
        ]
        text = _column(self.name, self.caption_column, "caption_column", texts, features)
        yield from self._samples(image, text)

    def _samples(self, image: str, text: str) -> Iterator[Sample]:
        number = 0
        for file in self._dataset.cache_files:
            path, row = Path(file["filename"]), 0
            for batch in arrow_batches(path):
                for value in batch.column(text).to_pylist():
                    ref = ImageRef("parquet", f"{path}#{row}#{image}")
                    yield from self._row_samples(value, ref, number, text)
                    number, row = number + 1, row + 1

    def _row_samples(
        self, value: Any, image: ImageRef, number: int, column: str
    ) -> Iterator[Sample]:
        """Yields the samples of a row.

        Args:
            value: The caption, or a list of captions.
            image: The image.
            number: The row number.
            column: Column of the captions, for error messages.
        """
        origin = f"{self.name}[{number}]"
        texts = value if isinstance(value, list) else [value]
        for i, text in enumerate(texts):
            if not isinstance(text, str):
                raise ZooError(
                    f"{origin} has {text!r:.40} in column {column!r}, which is not text: set "
                    "caption_column to another column"
                )
            name = f"{number}/{i}" if isinstance(value, list) else str(number)
            yield Sample(
                image, strip_caption(text, origin), f"{self.name}[{number}]", name, origin=origin
            )


def _column(
    name: str, column: str | None, argument: str, candidates: list[str], features: Mapping[str, Any]
) -> str:
    """Returns the name of a column.

    Args:
        name: Name of the data set.
        column: Name from the user, or None to take the first candidate.
        argument: Name of the argument that sets it.
        candidates: Possible columns.
        features: All columns.

    Raises:
        ZooError: There is no such column.
    """
    if column in features:
        return str(column)
    if column is None and candidates:
        return candidates[0]
    wanted_column = (
        "such column" if column is None else f"column {column!r}{suggest_names(column, features)}"
    )
    raise ZooError(
        f"{name} has no {wanted_column}: set {argument} to one of {', '.join(map(repr, features))}"
    )
