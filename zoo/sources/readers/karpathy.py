"""Karpathy's JSON, as published for COCO, Flickr30k and Flickr8k.

It has `images` with `split`, `filename` and `sentences`.
"""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from zoo.errors import ZooError, suggest_names
from zoo.sources.image_paths import OwnImages
from zoo.sources.images import infer_image_ref
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.support.schema import validate_record
from zoo.support.text_files import read_json, strip_caption

SPLITS = ("train", "restval", "val", "test")
PUBLISHED_IMAGES = {
    "coco": {"train": 82_783, "restval": 30_504, "val": 5_000, "test": 5_000},
    "flickr30k": {"train": 29_000, "val": 1_014, "test": 1_000},
    "flickr8k": {"train": 6_000, "val": 1_000, "test": 1_000},
}

FORMAT = "the file must have the format of this reader"

log = logging.getLogger(__name__)


class _KarpathyFile(Struct):
    images: list[Any]
    dataset: str = "coco"


class _Split(Struct):
    split: str


class _Sentence(Struct):
    raw: str
    sentid: int


class _KarpathyImage(Struct):
    imgid: int
    sentences: list[Any]


class _CocoImage(Struct):
    cocoid: int


class _NamedImage(Struct):
    filename: str
    filepath: str | None = None


class KarpathyJson(Reader):
    """Karpathy and Fei-Fei's splits of COCO, Flickr30k or Flickr8k.

    The id of a caption is 'DATASET_IMGID_SENTID', as in the units that CS-CLIP's authors published.
    A warning is logged if the number of images differs from the published one.

    Args:
        file: dataset_coco.json or a file with the same layout.
        splits: Splits to read. CS-CLIP trains on train and restval, 113,287 images of COCO.

    Raises:
        ZooError: A split does not exist.
    """

    def __init__(self, file: Path, splits: Sequence[str] = ("train", "restval")) -> None:
        self.file, self.splits = Path(file), tuple(splits)
        for split in self.splits:
            if split not in SPLITS:
                raise ZooError(
                    f"split {split!r} of {file} does not exist{suggest_names(split, SPLITS)}: "
                    f"choose one of {', '.join(SPLITS)}"
                )

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.file,)

    def all_splits(self) -> Reader:
        """Returns a reader of all splits."""
        return KarpathyJson(self.file, SPLITS)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each sentence of each image of the splits."""
        content = validate_record(
            read_json(self.file, object_hook=_without_tokens), _KarpathyFile, str(self.file), FORMAT
        )
        dataset = content.dataset
        own_images = OwnImages(self.file.parent)
        n_images = n_captions = 0
        present = set()
        for i, image in enumerate(content.images):
            origin = f"{self.file}[images/{i}]"
            split = validate_record(image, _Split, origin).split
            present.add(split)
            if split in self.splits:
                n_images += 1
                image_samples = _image_samples(image, split, dataset, origin, own_images)
                n_captions += len(image_samples)
                yield from image_samples
        if not n_captions:
            raise ZooError(
                f"{self.file} has no images in split {', '.join(self.splits)}: "
                f"its splits are {', '.join(sorted(present)) or 'missing'}"
            )
        self._warn_on_other_counts(dataset, n_images)

    def _warn_on_other_counts(self, dataset: str, n_images: int) -> None:
        published_counts = PUBLISHED_IMAGES.get(dataset, {})
        published = sum(published_counts.get(split, 0) for split in self.splits)
        if published_counts and n_images != published:
            log.warning(
                "%s has %s images in %s, but the published file has %s",
                self.file,
                f"{n_images:,}",
                " + ".join(self.splits),
                f"{published:,}",
            )


def _image_samples(
    entry: Any, split: str, dataset: str, origin: str, own_images: OwnImages
) -> list[Sample]:
    ref = _reference(entry, dataset, origin, own_images)
    image, image_id, samples = validate_record(entry, _KarpathyImage, origin), str(ref), []
    for k, sentence in enumerate(image.sentences):
        place = f"{origin[:-1]}/sentences/{k}]"
        sentence_record = validate_record(sentence, _Sentence, place)
        text, caption_id = (
            strip_caption(sentence_record.raw, place),
            f"{dataset}_{image.imgid}_{sentence_record.sentid}",
        )
        samples.append(Sample(ref, text, image_id, caption_id, split, origin=place))
    return samples


def _reference(entry: dict[str, Any], dataset: str, origin: str, own_images: OwnImages) -> ImageRef:
    if "cocoid" in entry:
        return ImageRef("coco", str(validate_record(entry, _CocoImage, origin).cocoid))
    image = validate_record(entry, _NamedImage, origin)
    if dataset.startswith("flickr"):
        return infer_image_ref(f"{image.filepath or dataset}/{image.filename}")
    return own_images.ref(str(PurePosixPath(image.filepath or "") / image.filename))


def _without_tokens(entry: dict[str, Any]) -> dict[str, Any]:
    entry.pop("tokens", None)  # seven million strings in COCO's file; dropped early to save memory
    return entry
