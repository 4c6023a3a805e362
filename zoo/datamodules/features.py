"""Frozen features: images and texts, encoded once by frozen towers and stored on disk.

Every epoch reads them from a folder:

    manifest.json           what the features depend on: weights, preprocessing, tokenizer, token
                            keys, precision
    images/*.safetensors    by reference, crop and size of the image's file
    texts/*.safetensors     by the text

It is an `EmbeddingStore` from which nothing is deleted. A folder has one manifest; runs that use
the folder share its features.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from lightning.pytorch.strategies import Strategy
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import encoding_dependencies
from zoo.backbones.preparation import Decoder
from zoo.batch import Encoded, TokenKey, concatenate
from zoo.datamodules.feature_encoder import ItemEncoder, NamedItems, slice_batches
from zoo.embeddings.shards import MappedShards
from zoo.embeddings.store import GIB, EmbeddingStore
from zoo.errors import ZooError
from zoo.sources.images import BrokenImage, ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.distributed import gather_objects, rank, world_size
from zoo.support.files import remove_leftovers, write_bytes
from zoo.support.ranges import PositiveNumber, RangedType
from zoo.support.text_files import parse_json

VERSION = 2
IMAGES_A_FILE, TEXTS_A_FILE = 512, 4096

Precision = Literal["fp32", "fp16"]
DTYPES = {"fp32": torch.float32, "fp16": torch.float16}

T = TypeVar("T")


@dataclass(frozen=True)
class Features(metaclass=RangedType):
    """Settings of the folder in which the outputs of frozen towers (features) are stored.

    Args:
        folder: Folder of the features; it is created if it does not exist.
        limit_gib: Maximum size of the folder in GiB.
        precision: Precision of the stored features; fp16 needs half the space of fp32.

    Examples:
        Batches of stored features. Since texts are encoded only once, negatives are drawn only
        once (`resample=False`):

        >>> from zoo.datamodules import CaptionDataModule, Features
        >>> from zoo.sources.readers import CsvTable
        >>> features = Features("features", precision="fp16")
        >>> table = CsvTable("captions.csv")
        >>> data = CaptionDataModule(table, ["images"], resample=False, features=features)
        >>> data.provides.encoded
        True
    """

    folder: str
    limit_gib: PositiveNumber = 32.0
    precision: Precision = "fp32"


@dataclass(frozen=True)
class StoredImages:
    """The rows of images in the store, which replace decoded and transformed images.

    Args:
        store_rows: Rows in the store, by reference.
        blank: The image of a filling row.
    """

    store_rows: dict[ImageRef, int]
    blank: Tensor = dataclasses.field(default_factory=lambda: torch.tensor(0))

    def __call__(self, image: ImageRef, seed: str) -> Tensor:
        """Returns the row, as a scalar.

        Raises:
            BrokenImage: The image could not be encoded.
        """
        if image not in self.store_rows:
            raise BrokenImage(f"{image} is not a whole image: download it again")
        return torch.tensor(self.store_rows[image])


class FeatureStore:
    """Encoded images and texts of one backbone, on disk.

    Args:
        settings: Folder, limit and precision.
        backbone: Encodes images and texts.
        image_keys: The image tokens to store.
        text_keys: The text tokens to store.
        decoder: The decoder of images.

    Raises:
        ZooError: The folder holds features of other weights or settings, or a damaged file.
    """

    def __init__(
        self,
        settings: Features,
        backbone: Backbone,
        image_keys: frozenset[TokenKey],
        text_keys: frozenset[TokenKey],
        decoder: Decoder = "pil",
    ) -> None:
        self.settings, self.folder = settings, Path(settings.folder)
        limit = int(settings.limit_gib * GIB)
        self.store = EmbeddingStore(self.folder, limit, "data.features.folder")
        self.decoder: Decoder = decoder
        claims = {
            "version": VERSION,
            **encoding_dependencies(backbone),
            "image_keys": [vars(key) for key in sorted(image_keys)],
            "text_keys": [vars(key) for key in sorted(text_keys)],
            "precision": settings.precision,
            "decoder": decoder,
        }
        run_on_all_ranks(lambda: _write_or_check_manifest(self.folder, claims))
        for kind in ("images", "texts"):
            remove_leftovers(self.folder / kind)
        self.images = MappedShards(self.folder / "images", image_keys)
        self.texts = MappedShards(self.folder / "texts", text_keys)

    def fill(
        self,
        images: Sequence[ImageRef],
        texts: Sequence[str],
        backbone: Backbone,
        finder: ImageFinder,
        workers: int = 0,
        tolerate_broken: bool = False,
    ) -> StoredImages:
        """Encodes what is not stored yet, each rank its share, and returns the rows of the images.

        The backbone encodes on its device.

        Args:
            images: The needed images.
            texts: The needed texts.
            backbone: Encodes them.
            finder: Finds and opens images.
            workers: Number of processes that load images.
            tolerate_broken: Whether images that cannot be decoded are left out.

        Raises:
            ZooError: On every rank, if the store would exceed its limit (before anything is
                encoded), a file cannot be written, or an image is broken and not tolerated.
        """
        names = {ref: _stored_image_name(ref, finder) for ref in images}
        new_images = [ref for ref, name in names.items() if name not in self.images]
        new_texts = [text for text in dict.fromkeys(texts) if text not in self.texts]
        if new_images or new_texts:
            self._refuse_over_limit(new_images, new_texts, backbone)
        gather_objects(None)  # no rank writes before every rank knows what is missing
        encoder = ItemEncoder(backbone, finder, workers, tolerate_broken, self.decoder)
        encoded = encoder.encode_images(_rank_share(new_images), names, frozenset(self.images.keys))
        run_on_all_ranks(lambda: self._write_batches(self.images, encoded, IMAGES_A_FILE))
        by_length = sorted(new_texts, key=len)  # texts of similar length are cut to one length
        texts_encoded = encoder.encode_texts(_rank_share(by_length), frozenset(self.texts.keys))
        run_on_all_ranks(lambda: self._write_batches(self.texts, texts_encoded, TEXTS_A_FILE))
        self.images.remap()
        self.texts.remap()
        stored = {ref: self.images.row(name) for ref, name in names.items() if name in self.images}
        self._refuse_absent(
            len(names) - len(stored),
            sum(text not in self.texts for text in new_texts),
            tolerate_broken,
        )
        return StoredImages(stored)

    def _refuse_over_limit(
        self, images: Sequence[ImageRef], texts: Sequence[str], backbone: Backbone
    ) -> None:
        item_bytes = DTYPES[self.settings.precision].itemsize
        size = self.store.size
        probe = ItemEncoder(backbone, ImageFinder([]), 0, False)
        if images:
            item = probe.blank_image(frozenset(self.images.keys))
            size += (
                len(images)
                * item_bytes
                * (item.pooled.numel() + sum(t.numel() for t in item.tokens.values()))
            )
        if texts:
            item = probe.blank_text(frozenset(self.texts.keys))
            widths = sum(t.shape[-1] for t in item.tokens.values())
            lengths = (
                sum(
                    int(probe.tokenize(batch).lengths.sum())
                    for batch in slice_batches(texts, TEXTS_A_FILE)
                )
                if widths
                else 0
            )
            size += item_bytes * (len(texts) * item.pooled.numel() + widths * lengths) + sum(
                map(len, texts)
            )
        if size > self.store.limit:
            raise ZooError(
                f"{self.folder} would need {size / GIB:.3g} GiB with {len(images):,} more images "
                f"and {len(texts):,} more texts, and data.features.limit_gib is "
                f"{self.settings.limit_gib:g}: increase it, or set data.features.precision to fp16"
            )

    def _write_batches(
        self, shards: MappedShards, batches: Iterable[NamedItems], min_items_per_file: int
    ) -> None:
        waiting: list[NamedItems] = []
        for batch in batches:
            waiting.append(batch)
            if sum(len(part.names) for part in waiting) >= min_items_per_file:
                self._write_file(shards, waiting)
                waiting = []
        if waiting:
            self._write_file(shards, waiting)

    def _write_file(self, shards: MappedShards, batches: Sequence[NamedItems]) -> None:
        names, items, hashes = zip(*batches, strict=True)
        encoded = convert_precision(concatenate(list(items)), self.settings.precision)
        # padding is not stored, nor other tokens that no head reads
        shards.write_file(
            [n for part in names for n in part], encoded, torch.cat(hashes), encoded.masks
        )

    def _refuse_absent(
        self, n_absent_images: int, n_absent_texts: int, tolerate_broken: bool
    ) -> None:
        if n_absent_texts or (n_absent_images and not tolerate_broken):
            raise ZooError(
                f"{n_absent_images:,} images and {n_absent_texts:,} texts that other processes "
                "encoded are missing "
                f"in {self.folder}: set data.features.folder to a folder that all processes share"
            )


def convert_precision(items: Encoded, precision: Precision) -> Encoded:
    """Returns items in a precision.

    Raises:
        ZooError: Numbers are out of its range.
    """
    dtype = DTYPES[precision]
    converted = items.map(lambda t: t if t.dtype == torch.bool else t.to(dtype))
    if not all(t.isfinite().all() for t in (converted.pooled, *converted.tokens.values())):
        raise ZooError(
            f"features are out of the range of {precision}: set data.features.precision to fp32"
        )
    return converted


def check_features_constant(backbone: Backbone, strategy: Strategy, resamples_texts: bool) -> None:
    """Checks that stored features equal what a training step would encode.

    Args:
        backbone: The backbone.
        strategy: Lightning's strategy.
        resamples_texts: Whether texts are drawn again in every epoch.

    Raises:
        ZooError: They do not, since towers are trained or sharded, or images or texts change.
    """
    reason = "data.features encodes images and texts once"
    if any(backbone.has_trained_parameters(tower) for tower in ("image", "text")):
        raise ZooError(
            f"{reason}, and model.backbone.tuning.towers is "
            f"{backbone.tuning.describe_towers()}: set it to none, or data.features to null"
        )
    if backbone.augmentation is not None:
        raise ZooError(
            f"{reason}, and model.backbone.augmentation crops training images at random: "
            "set it to null, or data.features to null"
        )
    if resamples_texts:
        raise ZooError(
            f"{reason}, and data.resample draws negatives and units again in every epoch: "
            "set it to false, or data.features to null"
        )
    if strategy.restore_checkpoint_after_setup:
        raise ZooError(
            f"{reason} with complete towers, and {type(strategy).__name__} shards them: "
            "set trainer.strategy to ddp"
        )


def run_on_all_ranks(share: Callable[[], None]) -> None:
    """Runs this rank's share of some work and waits for all ranks.

    Raises:
        ZooError: On every rank, if one of them raised it.
    """
    own_error: ZooError | None = None
    try:
        share()
    except ZooError as error:
        own_error = error
    messages = [
        message
        for message in gather_objects(None if own_error is None else str(own_error))
        if message is not None
    ]
    if messages:
        raise ZooError(messages[0]) from own_error


def _write_or_check_manifest(folder: Path, claims: dict[str, Any]) -> None:
    """Writes the manifest of these features to a new folder, or checks an existing one."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        if any(folder.glob("*/*.safetensors")):
            raise ZooError(
                f"{folder} holds features without {manifest.name}, so their origin is unknown: "
                "delete the folder, or use another one"
            )
        write_bytes(manifest, json.dumps(claims, indent=2).encode())
        return
    try:
        recorded = dict(parse_json(manifest.read_text(encoding="utf-8")))
    except (OSError, TypeError, ValueError) as error:
        raise ZooError(
            f"{manifest} cannot be read ({error}): "
            "set another data.features.folder, or delete the folder"
        ) from error
    for name, value in claims.items():
        if recorded.get(name) != value:
            raise ZooError(
                f"{folder} holds features of other {name} ({_truncate_value(recorded.get(name))}, "
                f"and this run has {_truncate_value(value)}): set another data.features.folder, or "
                "delete the folder"
            )


def _truncate_value(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:12]}..."


def _stored_image_name(ref: ImageRef, finder: ImageFinder) -> str:
    path = finder.find(ref)
    if path is None:
        raise ZooError(f"image {ref} is missing: {finder.missing_image_advice(ref)}")
    # the same image with another file size, or decoded differently, is another input
    return " ".join(
        filter(None, (str(ref), str(path.stat().st_size), str(finder.decoding_of(ref))))
    )


def _rank_share(items: Sequence[T]) -> Sequence[T]:
    return items[rank() :: world_size()]
