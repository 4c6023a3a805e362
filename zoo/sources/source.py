"""Source: the samples of a reader, and the selection of samples in use."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef
from zoo.sources.sample_cache import cached_samples
from zoo.sources.samples import CaptionColumn, Rows, Samples
from zoo.sources.seeds import stable_hash
from zoo.support.configurable import to_config
from zoo.support.text_files import sha256


class Groups(Sequence[list[int]]):
    """Groups of positions, stored in two arrays.

    Args:
        positions: The positions, group by group.
        starts: The start of each group, followed by the end of the last one.
    """

    def __init__(self, positions: Rows, starts: Rows) -> None:
        self._positions, self._starts = positions, starts

    @classmethod
    def concatenate(cls, parts: "Sequence[Groups]") -> "Groups":
        """Concatenates groups."""
        lengths = [np.diff(part._starts) for part in parts]
        starts = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return cls(np.concatenate([part._positions for part in parts]), starts)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> list[int]: ...

    @overload
    def __getitem__(self, index: slice) -> list[list[int]]: ...

    def __getitem__(self, index: int | slice) -> list[int] | list[list[int]]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(f"group {index:,} is out of range: there are {len(self):,} groups")
        positions: list[int] = self._positions[
            self._starts[index] : self._starts[index + 1]
        ].tolist()
        return positions


@dataclass(frozen=True)
class Source:
    """The samples of a reader, and a selection of them.

    Attributes:
        reader: The reader.
        samples: All samples.
        kept: Positions of the samples in use, ascending.
        missing: Number of missing images that were left out.
        by_name: Published images that were found by file name, by the reference whose file is
            missing.
    """

    reader: Reader
    samples: Samples
    kept: Rows
    missing: int = 0
    by_name: Mapping[ImageRef, ImageRef] = field(default_factory=dict)

    @property
    def image_rows(self) -> NDArray[np.int32]:
        """The rows of the images in use, each once, in order of first use."""
        return _distinct(self.samples.image_rows[self.kept])

    @property
    def images(self) -> list[ImageRef]:
        """The images in use, each once, in order of first use."""
        return list(dict.fromkeys(map(self.samples.image, self.image_rows.tolist())))

    @property
    def image_ids(self) -> pa.Array:
        """The ids of the images in use, each once, in order of first use."""
        ids = self.samples.images.column("image_id").take(pa.array(self.image_rows))
        return ids.unique()

    @property
    def rows(self) -> Rows:
        """The positions in use, without samples that are only companions."""
        return self.without_companions().kept

    @property
    def captions(self) -> CaptionColumn:
        """The captions in use."""
        return CaptionColumn(self.samples, self.kept)

    def column(self, name: str) -> pa.ChunkedArray:
        """Returns a column of the captions in use."""
        column = self.samples.captions.column(name)
        return column if len(self.kept) == len(column) else column.take(pa.array(self.kept))

    def select(self, keep: NDArray[np.bool_]) -> "Source":
        """Returns the source with a part of the samples in use.

        Args:
            keep: Mask over `kept`.
        """
        return replace(self, kept=self.kept[keep])

    def without_companions(self) -> "Source":
        """Returns the source without samples that are only companions of others."""
        return self.select(~self.column("companion_only").to_numpy())

    def training_groups(
        self, captions_per_image: Literal["all", "one"], by_reader: bool = False
    ) -> Groups:
        """Returns groups of positions; each training row samples one position of its group.

        Args:
            captions_per_image: 'all' for one group per caption, 'one' for one group per image with
                all of its captions.
            by_reader: Whether the groups of concatenated readers follow one another, so that an
                image of two readers has a group in each.
        """
        if by_reader:
            parts = self.split_by_reader()
            return Groups.concatenate([part.training_groups(captions_per_image) for part in parts])
        used = self.without_companions()
        if captions_per_image == "all":
            return Groups(used.kept, np.arange(len(used.kept) + 1))
        return used.group_by_image()

    def group_by_image(self) -> Groups:
        """Returns the positions in use, grouped by image, in order of first use."""
        codes = self.samples.image_codes[self.samples.image_rows[self.kept]]
        _, first_positions, groups = np.unique(codes, return_index=True, return_inverse=True)
        order = np.empty(len(first_positions), np.int64)
        order[np.argsort(first_positions)] = np.arange(len(first_positions))
        groups = order[groups]
        starts = np.concatenate([[0], np.cumsum(np.bincount(groups))])
        return Groups(self.kept[np.argsort(groups, kind="stable")], starts)

    def split_by_reader(self) -> list["Source"]:
        """Returns for each concatenated reader the source with only its samples in use."""
        starts = self.samples.reader_starts
        ends = np.searchsorted(self.kept, starts)
        return [replace(self, kept=self.kept[start:end]) for start, end in pairwise(ends)]

    def describe(self) -> dict[str, Any]:
        """Returns the reader, the hashes of its files, and counts."""
        return {
            "reader": to_config(self.reader),
            "files": hash_files(self.reader),
            "images": len(self.image_ids),
            "captions": len(self.kept),
            "missing_images": self.missing,
            "images_by_name": len(self.by_name),
        }


def hash_files(reader: Reader) -> dict[str, str]:
    """Returns the SHA-256 of the reader's files by name, or by path if two have the same name."""
    names = Counter(file.name for file in reader.files)
    return {
        file.name if names[file.name] == 1 else str(file): sha256(file) for file in reader.files
    }


def read_source(reader: Reader) -> Source:
    """Returns the source with all samples of a reader.

    Raises:
        ZooError: The reader, or one of those that it concatenates, finds no caption.
    """
    samples = cached_samples(reader)
    for part, n_samples in zip(reader.parts, np.diff(samples.reader_starts), strict=True):
        if not n_samples:
            raise ZooError(
                f"{type(part).__name__} found no captions in {', '.join(map(str, part.files))}: "
                "check the path and the splits"
            )
    return Source(reader, samples, np.arange(len(samples)))


def drop_missing_images(source: Source, finder: ImageFinder, tolerate_missing: bool) -> Source:
    """Returns the source without samples whose image is missing.

    References to files that are images of published data sets are replaced.

    Args:
        source: The source.
        finder: Finds images.
        tolerate_missing: Whether some images may be missing.

    Raises:
        ZooError: Images are missing although `tolerate_missing` is false, or all are missing. The
            message names the first ones.
    """
    source = resolve_images(source, finder)
    rows = source.image_rows
    missing_rows = rows[_absent(source.samples, rows, finder)]
    if not len(missing_rows):
        return source
    missing = list(dict.fromkeys(map(source.samples.image, missing_rows.tolist())))
    n = len(source.images)
    if not tolerate_missing or len(missing) == n:
        roots = ", ".join(map(str, finder.roots)) or "no data root"
        first_missing = ", ".join([*map(str, missing[:3]), *(["..."] if len(missing) > 3 else [])])
        raise ZooError(
            f"{len(missing):,} of {n:,} images are missing in {roots} (first: {first_missing}): "
            f"{finder.missing_image_advice(missing[0])}, or set data.tolerate_missing: true to "
            "skip missing images"
        )
    is_present = ~np.isin(source.samples.image_rows[source.kept], missing_rows)
    return replace(source.select(is_present), missing=len(missing))


def resolve_images(source: Source, finder: ImageFinder) -> Source:
    """Replaces references to files that are images of published data sets."""
    if not pc.any(pc.equal(source.samples.images.column("source"), "file")).as_py():
        return source  # only files can have a second reference
    resolved = finder.match_published_images(_images(source))
    if not resolved:
        return source
    return replace(
        source,
        samples=source.samples.with_images(resolved),
        by_name=finder.select_refs_of_missing_files(resolved),
    )


def _images(source: Source) -> Iterator[ImageRef]:
    return map(source.samples.image, source.image_rows.tolist())


def _absent(samples: Samples, rows: NDArray[np.int32], finder: ImageFinder) -> NDArray[np.bool_]:
    """Returns a mask of the image rows whose files are missing."""
    images = samples.images.select(["source", "key"]).take(pa.array(rows))
    absent = np.zeros(len(rows), bool)
    for source in images.column("source").unique().to_pylist():
        positions = np.flatnonzero(pc.equal(images.column("source"), source).to_numpy())
        absent[positions] = finder.missing_mask(
            source, images.column("key").take(pa.array(positions))
        )
    return absent


def split_by_image(
    source: Source, share: float | None, n_images: int | None
) -> tuple[Source, Source]:
    """Splits images, with all of their captions, into training and validation.

    The images with the smallest hashes of their ids are held out for validation.

    Args:
        source: The source.
        share: Share of the images to hold out, if `n_images` is None.
        n_images: Number of images to hold out.

    Returns:
        The sources for training and for validation.

    Raises:
        ZooError: One of the two would be empty.
    """
    ids = source.image_ids.to_pylist()
    n = n_images if n_images is not None else round((share or 0) * len(ids))
    if not 0 < n < len(ids):
        raise ZooError(
            f"val_share or val_images holds out {n:,} of {len(ids):,} images: "
            "training and validation need at least one image each"
        )
    ids.sort(key=lambda image_id: (stable_hash(image_id), image_id))
    held_out = pc.is_in(source.samples.images.column("image_id"), pa.array(ids[:n]))
    validated = held_out.to_numpy()[source.samples.image_rows[source.kept]]
    return source.select(~validated), source.select(validated)


def _distinct(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns each value once, in order of first use."""
    _, first_positions = np.unique(values, return_index=True)
    return values[np.sort(first_positions)]
