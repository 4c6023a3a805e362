"""Which images a model has seen: named in a file, Karpathy's training images, or its own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

from zoo.errors import ZooError
from zoo.familiarity.captions import trained_reader
from zoo.sources.images import identity, image_ref
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.support.schema import listed
from zoo.support.text_files import text_lines

FLAG = "--exclude_images"
# names that stand for images
KARPATHY, TRAINED = "karpathy_train", "trained"
KARPATHY_FILES = ("coco/dataset_coco.json", "dataset_coco.json")
IMAGE_DATA = ("visual_genome/image_data.json", "image_data.json")
COCO, VISUAL_GENOME = "coco", "visual_genome"  # photographs of one may be of the other too
NUMBERED = {COCO, VISUAL_GENOME, "flickr"}


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
    """

    named: str
    images: frozenset[str]
    coco_of: Mapping[str, str | None] = field(default_factory=dict)

    def has(self, image: str) -> bool | None:
        """Tells whether an image is among them, None where that cannot be told.

        It cannot where an image has no number in a published data set, and where photographs of
        Visual Genome stand against those of COCO and nothing says which are the same.

        Args:
            image: Its identity.
        """
        if image in self.images or self.coco_of.get(image) in self.images:
            return True
        source = image.partition(":")[0]
        if source not in NUMBERED:
            return False if source == "file" and source in self._sources else None
        if {COCO, VISUAL_GENOME} <= {source, *self._sources} and source != "flickr":
            return False if self.coco_of else None
        return False

    def describe(self) -> dict[str, Any]:
        """Returns what results say of them."""
        return {"named": self.named, "images": len(self.images)}

    @cached_property
    def _sources(self) -> set[str]:
        return {image.partition(":")[0] for image in self.images}


def seen_images(
    named: str,
    roots: Sequence[Path] = (),
    trained: Iterable[str] = (),
    captions: Mapping[str, Any] | None = None,
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

    Raises:
        ZooError: The images are not there, or the model does not say which they are.
    """
    if named == TRAINED:
        images = frozenset(identity(image_ref(image)) for image in trained)
        images = images or _of(trained_reader(captions, f"name images by {FLAG}"))
    elif named == KARPATHY:
        images = _of(_karpathy(roots))
    elif Path(named).suffix == ".txt":
        images = frozenset(_one_a_line(Path(named)))
    else:
        images = _of(guess_reader(named))
    if not images:
        raise ZooError(f"{named} names no image: give a file of images, one a line, or of captions")
    coco_of = _coco_of(roots)
    same = {one for image in images if (one := coco_of.get(image)) is not None}
    return SeenImages(named, images | same, coco_of)


def _of(reader: Reader) -> frozenset[str]:
    return frozenset(identity(sample.image) for sample in reader.read())


def _one_a_line(path: Path) -> Iterator[str]:
    for line in map(str.strip, text_lines(path)):
        if line:
            yield f"{COCO}:{int(line)}" if line.isdecimal() else identity(image_ref(line))


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
                    for _, entry in listed(root / name, _ImageData)
                }
    return {}
