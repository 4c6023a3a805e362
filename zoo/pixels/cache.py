"""A cache of decoded, resized images, in a file that all processes map.

    KEY/manifest.json   what the pixels depend on
    KEY/pixels.bin      height x width x 3 bytes per image, one image after the other
    KEY/index.npy       start, height and width of each image; height 0 for broken images

KEY is a hash of the manifest, which lists every image with the size and the time of its file.
"""

import hashlib
import json
import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from zoo.backbones.preparation import Decoder
from zoo.errors import ZooError
from zoo.pixels.decoding import pixels_of
from zoo.sources.images import BrokenImage, ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.caches import exclusive_lock
from zoo.support.distributed import rank
from zoo.support.files import remove_leftovers, write_atomically
from zoo.support.progress import track
from zoo.support.ranges import PositiveInt, PositiveNumber, RangedType

log = logging.getLogger(__name__)

VERSION = 1
GIB = 1 << 30
LOOKED_AT = 1_000  # images from which the total size is estimated
USUAL = 4 / 3  # assumed aspect ratio of images of unknown size
AT_ONCE = 16


@dataclass(frozen=True)
class ImageCache(metaclass=RangedType):
    """A cache of decoded, resized training images, for runs of many epochs.

    Args:
        folder: Folder of the cache. It is created if it does not exist. Each set of images is in a
            separate subfolder.
        limit_gib: Maximum size of the folder, in GiB.
        side: Pixels of the shorter side that larger images are resized to. None for the smallest
            side that never requires a square crop to be enlarged.
    """

    folder: str
    limit_gib: PositiveNumber = 64.0
    side: PositiveInt | None = None


@dataclass(frozen=True)
class CachedImageSet:
    """A set of images in a cache.

    Attributes:
        folder: Its folder.
        images: Number of images.
        bytes: Size in bytes.
    """

    folder: Path
    images: int
    bytes: int


def cached_image_sets(folder: Path) -> list[CachedImageSet]:
    """Returns the sets of images in a cache, largest first.

    Args:
        folder: The folder of the cache.
    """
    sets = []
    for pixels in folder.glob("*/pixels.bin"):
        index = pixels.with_name("index.npy")
        if not pixels.parent.name.startswith(".") and index.is_file():
            n = len(np.load(index, mmap_mode="r"))
            sets.append(CachedImageSet(pixels.parent, n, pixels.stat().st_size))
    return sorted(sets, key=lambda kept: (-kept.bytes, kept.folder))


class CachedPixels:
    """The pixels of a set of images in a cache.

    Args:
        folder: Folder of the set.
        rows: Rows of the images in the index of the set.
    """

    def __init__(self, folder: Path, rows: dict[ImageRef, int]) -> None:
        self.folder, self.rows = folder, rows
        self._index: NDArray[np.int64] = np.load(folder / "index.npy")
        self._mapped: NDArray[np.uint8] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state without the mapped file: each worker maps it itself."""
        return {**vars(self), "_mapped": None}

    def __getitem__(self, image: ImageRef) -> Tensor:
        """Returns the pixels of an image, `[3, H, W]` in uint8.

        Raises:
            BrokenImage: The image could not be decoded.
        """
        start, height, width = self._index[self.rows[image]].tolist()
        if not height:
            raise BrokenImage(f"{image} is damaged or not an image: download it again")
        if self._mapped is None:  # not in the constructor: an empty file cannot be mapped
            # copy-on-write, since torch requires writable arrays
            self._mapped = np.memmap(self.folder / "pixels.bin", np.uint8, "c")
        pixels = self._mapped[start : start + height * width * 3].reshape(height, width, 3)
        return torch.from_numpy(pixels).permute(2, 0, 1)


def cached_pixels(
    cache: ImageCache,
    side: int,
    images: Sequence[ImageRef],
    finder: ImageFinder,
    workers: int = 0,
    tolerate_broken: bool = False,
) -> CachedPixels:
    """Returns the cached pixels of images. If needed, one process decodes them while others wait.

    Args:
        cache: The cache.
        side: Pixels of the shorter side.
        images: The images.
        finder: Finds the images.
        workers: Number of processes that decode.
        tolerate_broken: Whether to leave out images that cannot be decoded.

    Raises:
        ZooError: The images would exceed the limit, cannot be written, or an image is missing.
        BrokenImage: An image cannot be decoded. It is a ZooError.
    """
    distinct = list(dict.fromkeys(images))
    claims = {
        "version": VERSION,
        "side": side,
        "libraries": {name: version(name) for name in ("pillow", "torch", "torchvision")},
        "images": [_image_fingerprint(ref, finder) for ref in distinct],
    }
    content = json.dumps(claims).encode()
    folder = Path(cache.folder) / hashlib.sha256(content).hexdigest()[:16]
    with exclusive_lock(folder, "data.image_cache"):
        if not folder.exists():
            remove_leftovers(folder.parent)  # an interrupted set may never be requested again
            _check_size(cache, folder, side, distinct, finder)
            with write_atomically(folder, "which starts from the beginning", folder=True) as part:
                _write(part, cache, side, distinct, finder, workers, tolerate_broken)
                (part / "manifest.json").write_bytes(content)
    return CachedPixels(folder, {ref: row for row, ref in enumerate(distinct)})


def check_cache(cache: ImageCache | None, decoder: Decoder, features_are_stored: bool) -> None:
    """Checks that an image cache is compatible with the other settings.

    Args:
        cache: The cache, or None.
        decoder: The image decoder.
        features_are_stored: Whether images are encoded once, so that training reads no pixels.

    Raises:
        ZooError: The cache would not be used.
    """
    if cache is None:
        return
    if decoder == "pil":
        raise ZooError(
            "data.image_cache requires the torchvision decoder, but data.decoder is pil: set it to "
            "torchvision, or data.image_cache to null"
        )
    if features_are_stored:
        raise ZooError(
            "data.features encodes every image only once, so data.image_cache has no use: set one "
            "of the two to null"
        )


def _image_fingerprint(ref: ImageRef, finder: ImageFinder) -> str:
    path = finder.find(ref)
    if path is None:
        raise ZooError(f"image {ref} is missing: {finder.missing_image_advice(ref)}")
    stat = path.stat()
    return f"{ref} {stat.st_size} {stat.st_mtime_ns} {finder.decoding_of(ref)}"


def _check_size(
    cache: ImageCache, folder: Path, side: int, images: Sequence[ImageRef], finder: ImageFinder
) -> None:
    """Estimates and logs the size of a new set of images.

    Raises:
        ZooError: The cache would exceed its limit.
    """
    sample = images[:: -(-len(images) // LOOKED_AT)]
    sizes = [finder.read_file_dimensions(ref) or (round(side * USUAL), side) for ref in sample]
    mean = sum(math.prod(_fitted_size(w, h, side)) * 3 for w, h in sizes) / len(sizes)
    size = mean * len(images) / GIB
    used_gib = _cached_bytes(cache) / GIB
    if used_gib + size > cache.limit_gib:
        other_sets = f" in addition to {used_gib:,.2f} GiB of other sets" if used_gib else ""
        remove = (
            f", remove sets (`zoo doctor --image_cache {cache.folder}` lists them)"
            if used_gib
            else ""
        )
        raise ZooError(
            f"{len(images):,} images of shorter side {side} would take about {size:,.2f} GiB in "
            f"{cache.folder}{other_sets}, but data.image_cache.limit_gib is {cache.limit_gib:g}: "
            f"increase it{remove}, or set data.image_cache to null"
        )
    log.info(
        "decoding %s images with shorter side %d into about %.2f GiB in %s",
        f"{len(images):,}",
        side,
        size,
        folder,
    )


def _cached_bytes(cache: ImageCache) -> int:
    """Returns the total size of all cached sets in bytes."""
    return sum(kept_set.bytes for kept_set in cached_image_sets(Path(cache.folder)))


def _write(
    part: Path,
    cache: ImageCache,
    side: int,
    images: Sequence[ImageRef],
    finder: ImageFinder,
    workers: int,
    tolerate_broken: bool,
) -> None:
    index = np.zeros((len(images), 3), np.int64)
    limit = cache.limit_gib * GIB - _cached_bytes(cache)
    position = 0
    with (part / "pixels.bin").open("wb") as file:
        for row, pixels in enumerate(_decode_images(images, finder, side, workers)):
            if isinstance(pixels, ZooError):
                if not (tolerate_broken and isinstance(pixels, BrokenImage)):
                    raise pixels
                continue
            index[row] = position, *pixels.shape[:2]
            position += file.write(pixels.numpy().tobytes())
            if position > limit:
                raise ZooError(
                    f"the images in {cache.folder} exceed data.image_cache.limit_gib, "
                    f"{cache.limit_gib:g}: raise it, or set data.image_cache to null"
                )
    np.save(part / "index.npy", index)


def _decode_images(
    images: Sequence[ImageRef], finder: ImageFinder, side: int, workers: int
) -> Iterator[Tensor | ZooError]:
    loader = DataLoader(
        _Resized(images, finder, side), AT_ONCE, num_workers=workers, collate_fn=list
    )
    decoded_images = chain.from_iterable(loader)
    yield from track(decoded_images, "decoding images", len(images), rank() == 0)


class _Resized(Dataset[Any]):
    """Images resized to a shorter side, `[H, W, 3]`.

    Errors are returned as values, since exceptions of workers would include their traceback.
    """

    def __init__(self, images: Sequence[ImageRef], finder: ImageFinder, side: int) -> None:
        self.images, self.finder, self.side = images, finder, side

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Tensor | ZooError:
        try:
            pixels = pixels_of(self.finder, self.images[index])[None]
        except ZooError as error:
            return error
        size = _fitted_size(pixels.shape[2], pixels.shape[3], self.side)
        if size != tuple(pixels.shape[2:]):
            pixels = pixels.contiguous(memory_format=torch.channels_last)
            pixels = F.interpolate(pixels, size, mode="bicubic", antialias=True)
        return pixels[0].permute(1, 2, 0).contiguous()


def _fitted_size(height: int, width: int, side: int) -> tuple[int, int]:
    """Returns height and width, scaled down to the given shorter side if larger."""
    shorter = min(height, width)
    if shorter <= side:
        return height, width
    return side * height // shorter, side * width // shorter
