"""The images that a model has seen: listed in a file, Karpathy's, or its training images."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from zoo.errors import ZooError
from zoo.familiarity.captions import training_caption_reader
from zoo.sources.images import guess_published_ref, image_identity, infer_image_ref
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.readers.plain_text import PlainText
from zoo.support.schema import read_list
from zoo.support.text_files import text_lines

FLAG = "--exclude_images"
# names of predefined image sets
KARPATHY, TRAINED = "karpathy_train", "trained"
KARPATHY_FILES = ("coco/dataset_coco.json", "dataset_coco.json")
IMAGE_DATA = ("visual_genome/image_data.json", "image_data.json")
COCO, VISUAL_GENOME = "coco", "visual_genome"  # they share images
FILE = "file"
NUMBERED = {COCO, VISUAL_GENOME, "flickr"}
# Visual Genome's names have at most seven digits, like some of Flickr30k's
_ENDING = re.compile(r"\.\w+$")
_AMBIGUOUS_NAME = re.compile(r"[1-9]\d{4,6}\.jpe?g", re.IGNORECASE)


class _ImageData(Struct):
    image_id: int
    coco_id: int | None = None


@dataclass(frozen=True)
class SeenImages:
    """Images that a model has seen.

    Args:
        choice: The user's choice of images, as in `seen_images`.
        images: Their identities (`zoo.sources.images.identity`).
        coco_by_visual_genome: The COCO image of each image of Visual Genome, None if it is not in
            COCO; empty if this is unknown.
        other_identities: Other identities of images that are files: paths relative to a data root,
            and absolute paths.
        sources: Further data sets that the seen images belong to, besides those of `images`.
        partial: Whether `images` has only those that occur in cases, so that the same photograph
            in another data set cannot be looked up.
    """

    choice: str
    images: frozenset[str]
    coco_by_visual_genome: Mapping[str, str | None] = field(default_factory=dict)
    other_identities: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    partial: bool = False

    def contains(self, image: str) -> bool | None:
        """Returns whether an image was seen, None if that is unknown.

        It is unknown if an image has no number in a published data set, and if an image of Visual
        Genome has to be compared with images of COCO and the mapping between both is missing.

        Args:
            image: The identity of the image.
        """
        if image in self.images or self.coco_by_visual_genome.get(image) in self.images:
            return True
        source, _, key = image.partition(":")
        if source == FILE and f"{FILE}:{os.path.normpath(key)}" in self.other_identities:
            return True
        if source not in NUMBERED:
            return False if source == FILE and source in self._sources else None
        if {COCO, VISUAL_GENOME} <= {source, *self._sources} and source != "flickr":
            return False if self.coco_by_visual_genome and not self.partial else None
        return False

    def describe(self) -> dict[str, Any]:
        """Returns the description of the images in results."""
        return {"named": self.choice, "images": len(self.images)}

    @cached_property
    def _sources(self) -> set[str]:
        return {*self.sources, *count_by_source(self.images)}


def count_by_source(images: Iterable[str]) -> Counter[str]:
    """Counts images by data set, or `file`.

    Args:
        images: Their identities.
    """
    return Counter(image.partition(":")[0] for image in images)


def seen_images(
    selection: str,
    roots: Sequence[Path] = (),
    training_images: Iterable[str] = (),
    captions: Mapping[str, Any] | None = None,
    sources: Iterable[str] | None = None,
) -> SeenImages:
    """Returns the chosen images.

    Args:
        selection: A file of images, one per line (a COCO number, a file name, or a reference such
            as `visual_genome:2317429`), a file of captions with their images, `karpathy_train` for
            Karpathy's train and restval under a data root, or `trained` for the training images of
            the model.
        roots: Data roots.
        training_images: The training images of the model.
        captions: The description of its training captions (`Source.describe`), or None.
        sources: The data sets of all its training images, if `trained` has only those that occur
            in cases; None if `trained` has all.

    Raises:
        ZooError: The images do not exist, or the model does not state them.
    """
    base_folders = [*roots]
    if selection == TRAINED:
        images = frozenset(image_identity(infer_image_ref(image)) for image in training_images)
        if sources:
            other_identities = frozenset(_other_identities(images, base_folders))
            return SeenImages(
                selection,
                images,
                _coco_by_visual_genome(roots),
                other_identities,
                frozenset(sources),
                partial=True,
            )
        images = images or _reader_images(
            training_caption_reader(captions, f"give {FLAG} a file of them")
        )
    elif selection == KARPATHY:
        images = _reader_images(_karpathy_reader(roots))
    elif isinstance(reader := guess_reader(selection), PlainText):
        images = frozenset(_parse_image_list(Path(selection)))
        base_folders = [Path(selection).parent, Path(), *roots]
    else:
        images = _reader_images(reader)
    if not images:
        raise ZooError(
            f"{selection} has no image: use a file of images, one per line, or of captions"
        )
    coco_of = _coco_by_visual_genome(roots)
    coco_images = {coco_image for image in images if (coco_image := coco_of.get(image)) is not None}
    return SeenImages(
        selection, images | coco_images, coco_of, frozenset(_other_identities(images, base_folders))
    )


def _reader_images(reader: Reader) -> frozenset[str]:
    return frozenset(image_identity(sample.image) for sample in reader.read())


def _parse_image_list(path: Path) -> Iterator[str]:
    for number, line in enumerate(map(str.strip, text_lines(path)), 1):
        if line.isdecimal():
            yield f"{COCO}:{int(line)}"
        elif _AMBIGUOUS_NAME.fullmatch(line):
            stem = PurePosixPath(line).stem
            raise ZooError(
                f"{path}:{number}: {line} may be an image of Visual Genome or of Flickr: write "
                f"{VISUAL_GENOME}:{stem} or flickr:{stem}"
            )
        elif line:
            image_by_name = None if "/" in line else guess_published_ref(PurePosixPath(line))
            image = image_by_name or infer_image_ref(line)
            if " " in line and not _ENDING.search(line):
                raise ZooError(
                    f"{path}:{number}: {line!r} is not an image: write one image per line, or use "
                    "a file of captions with their images"
                )
            if not image.key or (image.source in NUMBERED and not image.key.isdecimal()):
                raise ZooError(
                    f"{path}:{number}: {line} is not an image: write a number after the colon, as "
                    f"in {VISUAL_GENOME}:2317429"
                )
            yield image_identity(image)


def _other_identities(images: Iterable[str], bases: Sequence[Path]) -> Iterator[str]:
    """Yields other identities of images that are files.

    Args:
        images: Identities of images.
        bases: Folders that their paths may be relative to; the first in which a path exists is
            used.
    """
    folders = [os.path.abspath(base) for base in bases]
    for source, _, key in (image.partition(":") for image in images):
        if source == FILE and os.path.isabs(key):
            absolute_path = os.path.normpath(key)
            yield f"{FILE}:{absolute_path}"
            for folder in folders:
                if absolute_path.startswith(f"{folder}{os.sep}"):
                    yield f"{FILE}:{os.path.relpath(absolute_path, folder)}"
        elif source == FILE:
            places = (os.path.normpath(os.path.join(folder, key)) for folder in folders)
            yield from (f"{FILE}:{place}" for place in [*filter(os.path.exists, places)][:1])


def _karpathy_reader(roots: Sequence[Path]) -> Reader:
    for root in roots:
        for name in KARPATHY_FILES:
            if (root / name).is_file():
                return KarpathyJson(root / name)
    raise ZooError(
        f"Karpathy's splits were not found: put {KARPATHY_FILES[0]} under "
        f"{', '.join(map(str, roots)) or 'a data root'}, or choose other images by {FLAG}"
    )


def _coco_by_visual_genome(roots: Sequence[Path]) -> dict[str, str | None]:
    """Returns the COCO image of each Visual Genome image, or nothing if its file is missing."""
    for root in roots:
        for name in IMAGE_DATA:
            if (root / name).is_file():
                return {
                    f"{VISUAL_GENOME}:{entry.image_id}": None
                    if entry.coco_id is None
                    else f"{COCO}:{entry.coco_id}"
                    for _, entry in read_list(root / name, _ImageData)
                }
    return {}
