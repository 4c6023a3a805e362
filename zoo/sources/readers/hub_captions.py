"""Captions of data sets on the Hugging Face hub, read by its `datasets`."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from zoo.errors import ZooError, import_optional, suggest_names
from zoo.sources.readers.base import Reader
from zoo.sources.readers.tables import CAPTION_COLUMNS
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.tables import arrow_batches
from zoo.support.text_files import caption


class HubCaptions(Reader):
    """A data set of the Hugging Face hub with an image and its captions a row.

    `datasets` fetches it once, and keeps it in arrow files in which images are read in place. A row
    with a list of captions gives a sample for each.

    Args:
        name: Its name on the hub, as 'owner/name', or a folder of Parquet here that is a copy.
        revision: Commit or tag of the hub's, which pins what is read. A copy has none.
        split: The split that is read.
        subset: The subset that is read, where there are several.
        image_column: Column of the images. Where None, the first that holds images.
        caption_column: Column of the captions. Where None, the first of title, caption, text,
            sentence, description, or of these with an s.
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
        """The files of a copy; what is on the hub is pinned by its revision."""
        return tuple(sorted(Path(self.name).glob("**/*.parquet")))

    @cached_property
    def _dataset(self) -> Any:
        """What `datasets` has of it.

        Raises:
            ZooError: `datasets` is not installed or cannot load it, or no revision is named.
        """
        here = Path(self.name).is_dir()
        if self.revision is None and not here:
            raise ZooError(
                f"{self.name} is on the hub and may change there: name a commit or tag of it by "
                "revision, or the folder of a copy"
            )
        datasets: Any = import_optional("datasets", "hf")
        try:
            return datasets.load_dataset(
                self.name, self.subset, split=self.split, revision=None if here else self.revision
            )
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            at = "" if here else f" at {self.revision}"
            raise ZooError(
                f"{self.name}{at} cannot be loaded by datasets ({reason}): check name, revision, "
                "subset and split, or name the folder of a copy"
            ) from error

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each caption, in the order of the rows."""
        features: Mapping[str, Any] = self._dataset.features
        pictures = [name for name, kind in features.items() if type(kind).__name__ == "Image"]
        image = _column(self.name, self.image_column, "image_column", pictures, features)
        texts = [name for one in CAPTION_COLUMNS for name in (one, f"{one}s") if name in features]
        text = _column(self.name, self.caption_column, "caption_column", texts, features)
        yield from self._samples(image, text)

    def _samples(self, image: str, text: str) -> Iterator[Sample]:
        number = 0
        for file in self._dataset.cache_files:
            path, row = Path(file["filename"]), 0
            for batch in arrow_batches(path):
                for said in batch.column(text).to_pylist():
                    ref = ImageRef("parquet", f"{path}#{row}#{image}")
                    yield from self._captions(said, ref, number, text)
                    number, row = number + 1, row + 1

    def _captions(self, said: Any, image: ImageRef, number: int, column: str) -> Iterator[Sample]:
        """Yields the samples of a row.

        Args:
            said: Its caption, or a list of them.
            image: Its image.
            number: Its number.
            column: Where the captions are, for messages.
        """
        origin = f"{self.name}[{number}]"
        listed = said if isinstance(said, list) else [said]
        for i, one in enumerate(listed):
            if not isinstance(one, str):
                raise ZooError(
                    f"{origin} has {one!r:.40} in column {column!r}, which is no text: name "
                    "another by caption_column"
                )
            name = f"{number}/{i}" if isinstance(said, list) else str(number)
            yield Sample(image, caption(one, origin), f"{self.name}[{number}]", name, origin=origin)


def _column(
    name: str, given: str | None, argument: str, found: list[str], features: Mapping[str, Any]
) -> str:
    """Returns the name of a column.

    Args:
        name: Name of the data set.
        given: Name that the user gives, None where the first of `found` is meant.
        argument: Argument by which a user gives it.
        found: Columns that may be meant.
        features: All columns.

    Raises:
        ZooError: There is none.
    """
    if given in features:
        return str(given)
    if given is None and found:
        return found[0]
    asked = "such column" if given is None else f"column {given!r}{suggest_names(given, features)}"
    raise ZooError(
        f"{name} has no {asked}: it has {', '.join(map(repr, features))}; say by {argument} which "
        "one it is"
    )
