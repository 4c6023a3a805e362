"""Which images a model has seen: named in a file, Karpathy's training images, or its own."""

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
from zoo.familiarity.captions import trained_reader
from zoo.sources.images import by_name, identity, image_ref
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.support.schema import read_list
from zoo.support.text_files import text_lines

FLAG = "--exclude_images"
# names that stand for images
KARPATHY, TRAINED = "karpathy_train", "trained"
KARPATHY_FILES = ("coco/dataset_coco.json", "dataset_coco.json")
IMAGE_DATA = ("visual_genome/image_data.json", "image_data.json")
COCO, VISUAL_GENOME = "coco", "visual_genome"  # photographs of one may be of the other too
FILE = "file"
NUMBERED = {COCO, VISUAL_GENOME, "flickr"}
# Visual Genome's names have at most seven digits, and some of Flickr30k's no more
_OF_EITHER = re.compile(r"[1-9]\d{4,6}\.jpe?g", re.IGNORECASE)


class _ImageData(Struct):
    image_id: int
    coco_id: int | None = None


@dataclass(frozen=True)
class SeenImages:
    """Images that a model has seen.

    Args:
        named: How they were named.
        images: Their identities (`zoo.sources.images.identity`).
        coco_of: The COCO image of each image of Visual Genome, None where it is none of COCO's;
            empty where nothing tells.
        otherwise: Other identities of images that are files: one is known by its path from a data
            root, or by its whole path.
        sources: The data sets that images are of, beside those of `images`.
        partial: Whether `images` are only those that cases are about, so that a photograph of
            another data set cannot be found among them.
    """

    named: str
    images: frozenset[str]
    coco_of: Mapping[str, str | None] = field(default_factory=dict)
    otherwise: frozenset[str] = frozenset()
    sources: frozenset[str] = frozenset()
    partial: bool = False

    def has(self, image: str) -> bool | None:
        """Tells whether an image is among them, None where that cannot be told.

        It cannot where an image has no number in a published data set, and where photographs of
        Visual Genome stand against those of COCO and nothing says which are the same.

        Args:
            image: Its identity.
        """
        if image in self.images or self.coco_of.get(image) in self.images:
            return True
        source, _, key = image.partition(":")
        if source == FILE and f"{FILE}:{os.path.normpath(key)}" in self.otherwise:
            return True
        if source not in NUMBERED:
            return False if source == FILE and source in self._sources else None
        if {COCO, VISUAL_GENOME} <= {source, *self._sources} and source != "flickr":
            return False if self.coco_of and not self.partial else None
        return False

    def describe(self) -> dict[str, Any]:
        """Returns what results say of them."""
        return {"named": self.named, "images": len(self.images)}

    @cached_property
    def _sources(self) -> set[str]:
        return {*self.sources, *sources_of(self.images)}


def sources_of(images: Iterable[str]) -> Counter[str]:
    """Counts images by the data set that they are of, or `file`.

    Args:
        images: Their identities.
    """
    return Counter(image.partition(":")[0] for image in images)


def seen_images(
    named: str,
    roots: Sequence[Path] = (),
    trained: Iterable[str] = (),
    captions: Mapping[str, Any] | None = None,
    sources: Iterable[str] | None = None,
) -> SeenImages:
    """Returns the images that are meant.

    Args:
        named: A file of images, one a line (a COCO number, a file name, or a reference such as
            `visual_genome:2317429`), a file of captions, whose images are meant, `karpathy_train`
            for Karpathy's train and restval under a data root, or `trained` for those that the
            model was trained on.
        roots: Data roots.
        trained: The images that the model says it was trained on.
        captions: What it says of its training captions (`Source.describe`), None for nothing.
        sources: The data sets of all images that it was trained on, where `trained` are only those
            of them that cases are about; None where `trained` are all.

    Raises:
        ZooError: The images are not there, or the model does not say which they are.
    """
    bases = [*roots]
    if named == TRAINED:
        images = frozenset(identity(image_ref(image)) for image in trained)
        if sources:
            otherwise = frozenset(_otherwise(images, bases))
            return SeenImages(
                named, images, _coco_of(roots), otherwise, frozenset(sources), partial=True
            )
        images = images or _training_images(trained_reader(captions, f"name images by {FLAG}"))
    elif named == KARPATHY:
        images = _training_images(_karpathy(roots))
    elif Path(named).suffix == ".txt":
        images = frozenset(_one_a_line(Path(named)))
        bases = [Path(named).parent, Path(), *roots]
    else:
        images = _training_images(guess_reader(named))
    if not images:
        raise ZooError(f"{named} names no image: give a file of images, one a line, or of captions")
    coco_of = _coco_of(roots)
    same = {one for image in images if (one := coco_of.get(image)) is not None}
    return SeenImages(named, images | same, coco_of, frozenset(_otherwise(images, bases)))


def _training_images(reader: Reader) -> frozenset[str]:
    return frozenset(identity(sample.image) for sample in reader.read())


def _one_a_line(path: Path) -> Iterator[str]:
    for number, line in enumerate(map(str.strip, text_lines(path)), 1):
        if line.isdecimal():
            yield f"{COCO}:{int(line)}"
        elif _OF_EITHER.fullmatch(line):
            stem = PurePosixPath(line).stem
            raise ZooError(
                f"{path}:{number}: {line} may be an image of Visual Genome or of Flickr: write "
                f"{VISUAL_GENOME}:{stem} or flickr:{stem}"
            )
        elif line:
            bare = None if "/" in line else by_name(PurePosixPath(line))
            image = bare or image_ref(line)
            if not image.key or (image.source in NUMBERED and not image.key.isdecimal()):
                raise ZooError(
                    f"{path}:{number}: {line} names no image: write a number behind the colon, as "
                    f"in {VISUAL_GENOME}:2317429"
                )
            yield identity(image)


def _otherwise(images: Iterable[str], bases: Sequence[Path]) -> Iterator[str]:
    """Yields what else images that are files may be called.

    Args:
        images: Identities of images.
        bases: Folders from which their paths may start; the first that has one wins.
    """
    folders = [os.path.abspath(base) for base in bases]
    for source, _, key in (image.partition(":") for image in images):
        if source == FILE and os.path.isabs(key):
            whole = os.path.normpath(key)
            yield f"{FILE}:{whole}"
            for folder in folders:
                if whole.startswith(f"{folder}{os.sep}"):
                    yield f"{FILE}:{os.path.relpath(whole, folder)}"
        elif source == FILE:
            places = (os.path.normpath(os.path.join(folder, key)) for folder in folders)
            yield from (f"{FILE}:{place}" for place in [*filter(os.path.exists, places)][:1])


def _karpathy(roots: Sequence[Path]) -> Reader:
    for root in roots:
        for name in KARPATHY_FILES:
            if (root / name).is_file():
                return KarpathyJson(root / name)
    raise ZooError(
        f"Karpathy's splits are not there: put {KARPATHY_FILES[0]} under "
        f"{', '.join(map(str, roots)) or 'a data root'}, or name other images by {FLAG}"
    )


def _coco_of(roots: Sequence[Path]) -> dict[str, str | None]:
    """Returns the images of COCO that images of Visual Genome are, where its file is there."""
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
