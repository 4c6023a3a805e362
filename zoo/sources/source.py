"""Sources: the samples of a reader, and which of them are used."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.seeds import stable_hash
from zoo.support.collector import collector_off
from zoo.support.spec import spec
from zoo.support.text_files import sha256


@dataclass(frozen=True)
class Source:
    """What a reader gave.

    Attributes:
        reader: The reader.
        samples: All samples.
        kept: Positions of the samples in use.
        missing: Number of images that were not found and tolerated.
        by_name: Published images that were found by name, by the path at which nothing is.
    """

    reader: Reader
    samples: list[Sample]
    kept: list[int]
    missing: int = 0
    by_name: dict[ImageRef, ImageRef] = field(default_factory=dict)

    @property
    def images(self) -> list[ImageRef]:
        """The images in use, each once, in order of first use."""
        return list(dict.fromkeys(self.samples[index].image for index in self.kept))

    @property
    def image_ids(self) -> frozenset[str]:
        """The ids of the images in use."""
        return frozenset(self.samples[index].image_id for index in self.kept)

    @property
    def rows(self) -> list[int]:
        """The positions in use that make rows by themselves."""
        return [index for index in self.kept if not self.samples[index].companion_only]

    def where(self, keep: Callable[[Sample], bool]) -> "Source":
        """Returns the source with those samples in use that satisfy `keep`."""
        return replace(self, kept=[index for index in self.kept if keep(self.samples[index])])

    def entries(self, captions_per_image: Literal["all", "one"]) -> list[tuple[int, ...]]:
        """Returns the groups of positions of which a row draws one.

        Args:
            captions_per_image: 'all' makes every caption a group by itself, 'one' makes a group of
                all captions of an image.
        """
        if captions_per_image == "all":
            return list(zip(self.rows, strict=True))
        groups: dict[str, list[int]] = {}
        for index in self.rows:
            groups.setdefault(self.samples[index].image_id, []).append(index)
        return [tuple(group) for group in groups.values()]

    def describe(self) -> dict[str, Any]:
        """Returns the reader, its files by hash, and counts."""
        return {
            "reader": spec(self.reader),
            "files": {file.name: sha256(file) for file in self.reader.files},
            "images": len(self.image_ids),
            "captions": len(self.kept),
            "missing_images": self.missing,
            "images_by_name": len(self.by_name),
        }


def read(reader: Reader) -> Source:
    """Returns all that the reader gives.

    Raises:
        ZooError: It gives nothing.
    """
    with collector_off():
        samples = reader.read()
    if not samples:
        raise ZooError(
            f"{type(reader).__name__} finds no caption in {', '.join(map(str, reader.files))}: "
            "check its path and its splits"
        )
    return Source(reader, samples, list(range(len(samples))))


def with_images(source: Source, finder: ImageFinder, tolerate_missing: bool) -> Source:
    """Returns the source without samples whose image is missing.

    Every image gets the reference that it is known as.

    Args:
        source: The source.
        finder: Finds images.
        tolerate_missing: Whether some images may be missing.

    Raises:
        ZooError: Images are missing and not tolerated, or all are missing. The first of them are
            named.
    """
    source = located(source, finder)
    images = source.images
    missing = finder.missing(images)
    if not missing:
        return source
    if not tolerate_missing or len(missing) == len(images):
        roots = ", ".join(map(str, finder.roots)) or "no data root"
        first = ", ".join([*map(str, missing[:3]), *(["..."] if len(missing) > 3 else [])])
        raise ZooError(
            f"{len(missing):,} of {len(images):,} images are missing under {roots} ({first}): "
            f"{finder.hint(missing[0])}, or set data.tolerate_missing: true to leave out some"
        )
    absent = frozenset(missing)
    return replace(source.where(lambda sample: sample.image not in absent), missing=len(missing))


def located(source: Source, finder: ImageFinder) -> Source:
    """Returns the source with every image by the reference that it is known as."""
    known = finder.settled(source.images)
    if not known:
        return source
    samples = [_known_as(sample, known) for sample in source.samples]
    absent = frozenset(finder.missing(known))
    by_name = {ref: to for ref, to in known.items() if ref in absent}
    return replace(source, samples=samples, by_name=by_name)


def _known_as(sample: Sample, known: dict[ImageRef, ImageRef]) -> Sample:
    image = known.get(sample.image)
    if image is None:
        return sample
    image_id = str(image) if sample.image_id == str(sample.image) else sample.image_id
    return replace(sample, image=image, image_id=image_id)


def split_by_image(
    source: Source, share: float | None, n_images: int | None
) -> tuple[Source, Source]:
    """Holds the images with the smallest hashes of their ids out, with all captions of each.

    Args:
        source: The source.
        share: Share of the images to hold out, where `n_images` is None.
        n_images: Number of images to hold out.

    Returns:
        The sources for training and for validation.

    Raises:
        ZooError: Nothing is left on a side.
    """
    ids = sorted(source.image_ids, key=lambda image_id: (stable_hash(image_id), image_id))
    n = n_images if n_images is not None else round((share or 0) * len(ids))
    if not 0 < n < len(ids):
        raise ZooError(
            f"val_share or val_images holds out {n:,} of {len(ids):,} images: "
            "leave at least one on each side"
        )
    held_out = frozenset(ids[:n])
    return source.where(lambda s: s.image_id not in held_out), source.where(
        lambda s: s.image_id in held_out
    )
