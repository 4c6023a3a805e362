"""Cache: decoded images, resized to one shorter side, in a file that all processes map.

    KEY/manifest.json   what the pixels depend on
    KEY/pixels.bin      height x width x 3 bytes an image, one after the other
    KEY/index.npy       of each image: where it begins, its height and width; no height, no image

KEY is a hash of the manifest, in which every image is named with the size and the time of its file.
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
from zoo.support.files import sweep, write_atomically
from zoo.support.progress import track
from zoo.support.ranges import PositiveInt, PositiveNumber, RangedType

log = logging.getLogger(__name__)

VERSION = 1
GIB = 1 << 30
LOOKED_AT = 1_000  # images by which the size of all is told
USUAL = 4 / 3  # longer to shorter side, where a file does not tell it
AT_ONCE = 16


@dataclass(frozen=True)
class ImageCache(metaclass=RangedType):
    """Where decoded, resized training images are kept, for runs of many epochs.

    Args:
        folder: Folder of the pixels; it is made where there is none. Every set of images has a
            folder of its own in it.
        limit_gib: The most that the folder may hold, in GiB.
        side: Pixels of the shorter side that larger images are resized to. None takes the least
            from which a square crop needs no enlarging.
    """

    folder: str
    limit_gib: PositiveNumber = 64.0
    side: PositiveInt | None = None


@dataclass(frozen=True)
class KeptSet:
    """A set of images in a cache.

    Attributes:
        folder: Its folder.
        images: How many they are.
        bytes: How much room they take.
    """

    folder: Path
    images: int
    bytes: int


def kept_sets(folder: Path) -> list[KeptSet]:
    """Returns the sets of images that a cache holds, the largest first.

    Args:
        folder: The folder of the cache.
    """
    found = []
    for pixels in folder.glob("*/pixels.bin"):
        index = pixels.with_name("index.npy")
        if not pixels.parent.name.startswith(".") and index.is_file():
            n = len(np.load(index, mmap_mode="r"))
            found.append(KeptSet(pixels.parent, n, pixels.stat().st_size))
    return sorted(found, key=lambda one: (-one.bytes, one.folder))


class KeptPixels:
    """The pixels of images in a cache.

    Args:
        folder: Folder of this set of images.
        rows: Rows of the images in its index.
    """

    def __init__(self, folder: Path, rows: dict[ImageRef, int]) -> None:
        self.folder, self.rows = folder, rows
        self._index: NDArray[np.int64] = np.load(folder / "index.npy")
        self._mapped: NDArray[np.uint8] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Returns what a worker is sent; it maps the file itself."""
        return {**vars(self), "_mapped": None}

    def __getitem__(self, image: ImageRef) -> Tensor:
        """Returns the pixels of an image, `[3, H, W]` in uint8.

        Raises:
            BrokenImage: It could not be decoded.
        """
        start, height, width = self._index[self.rows[image]].tolist()
        if not height:
            raise BrokenImage(f"{image} is not a whole image: fetch it again")
        if self._mapped is None:  # a file of no pixels could not be
            # copied where it is written to, which torch wants to be able to do
            self._mapped = np.memmap(self.folder / "pixels.bin", np.uint8, "c")
        pixels = self._mapped[start : start + height * width * 3].reshape(height, width, 3)
        return torch.from_numpy(pixels).permute(2, 0, 1)


def kept_pixels(
    cache: ImageCache,
    side: int,
    images: Sequence[ImageRef],
    finder: ImageFinder,
    workers: int = 0,
    tolerate_broken: bool = False,
) -> KeptPixels:
    """Returns the pixels of images, which the first process to ask decodes while others wait.

    Args:
        cache: Where they are kept.
        side: Pixels of the shorter side.
        images: The images.
        finder: Finds them.
        workers: Number of processes that decode.
        tolerate_broken: Whether images that cannot be decoded are left out.

    Raises:
        ZooError: They would take more than may be or cannot be written, or one is not there.
        BrokenImage: One cannot be decoded. It is a ZooError.
    """
    wanted = list(dict.fromkeys(images))
    claims = {
        "version": VERSION,
        "side": side,
        "libraries": {name: version(name) for name in ("pillow", "torch", "torchvision")},
        "images": [_name(ref, finder) for ref in wanted],
    }
    content = json.dumps(claims).encode()
    folder = Path(cache.folder) / hashlib.sha256(content).hexdigest()[:16]
    with exclusive_lock(folder, "data.image_cache"):
        if not folder.exists():
            sweep(folder.parent)  # a set that was killed half-way may never be asked for again
            _tell(cache, folder, side, wanted, finder)
            with write_atomically(folder, "which begins anew", folder=True) as part:
                _write(part, cache, side, wanted, finder, workers, tolerate_broken)
                (part / "manifest.json").write_bytes(content)
    return KeptPixels(folder, {ref: row for row, ref in enumerate(wanted)})


def check_cache(cache: ImageCache | None, decoder: Decoder, stored: bool) -> None:
    """Checks that a cache is of use.

    Args:
        cache: The cache, None for none.
        decoder: What decodes images.
        stored: Whether images are encoded once, and no pixels are read in training.

    Raises:
        ZooError: It is not.
    """
    if cache is None:
        return
    if decoder == "pil":
        raise ZooError(
            "data.image_cache keeps torchvision's pixels, and data.decoder is pil: set it to "
            "torchvision, or data.image_cache to null"
        )
    if stored:
        raise ZooError(
            "data.features encodes every image once, so that data.image_cache would be read once: "
            "set one of the two to null"
        )


def _name(ref: ImageRef, finder: ImageFinder) -> str:
    path = finder.find(ref)
    if path is None:
        raise ZooError(f"image {ref} is not there: {finder.hint(ref)}")
    stat = path.stat()
    return f"{ref} {stat.st_size} {stat.st_mtime_ns} {finder.decoding_of(ref)}"


def _tell(
    cache: ImageCache, folder: Path, side: int, images: Sequence[ImageRef], finder: ImageFinder
) -> None:
    """Says how large the cache will be, before it is made.

    Raises:
        ZooError: It would be larger than it may be.
    """
    looked = images[:: -(-len(images) // LOOKED_AT)]
    sizes = [finder.size(ref) or (round(side * USUAL), side) for ref in looked]
    mean = sum(math.prod(_fitted_size(w, h, side)) * 3 for w, h in sizes) / len(sizes)
    size = mean * len(images) / GIB
    held = _cached_bytes(cache) / GIB
    if held + size > cache.limit_gib:
        others = f" beside {held:,.2f} GiB of other sets" if held else ""
        remove = (
            f", remove sets (`zoo doctor --image_cache {cache.folder}` lists them)" if held else ""
        )
        raise ZooError(
            f"{len(images):,} images of shorter side {side} would take about {size:,.2f} GiB in "
            f"{cache.folder}{others}, and data.image_cache.limit_gib is {cache.limit_gib:g}: raise "
            f"it{remove}, or set data.image_cache to null"
        )
    log.info(
        "%s images of shorter side %d are decoded once, into about %.2f GiB in %s",
        f"{len(images):,}",
        side,
        size,
        folder,
    )


def _cached_bytes(cache: ImageCache) -> int:
    """Returns the bytes of all sets that are there."""
    return sum(one.bytes for one in kept_sets(Path(cache.folder)))


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
    room = cache.limit_gib * GIB - _cached_bytes(cache)
    place = 0
    with (part / "pixels.bin").open("wb") as out:
        for row, pixels in enumerate(_decode_images(images, finder, side, workers)):
            if isinstance(pixels, ZooError):
                if not (tolerate_broken and isinstance(pixels, BrokenImage)):
                    raise pixels
                continue
            index[row] = place, *pixels.shape[:2]
            place += out.write(pixels.numpy().tobytes())
            if place > room:
                raise ZooError(
                    f"the images in {cache.folder} take more than data.image_cache.limit_gib, "
                    f"{cache.limit_gib:g}: raise it, or set data.image_cache to null"
                )
    np.save(part / "index.npy", index)


def _decode_images(
    images: Sequence[ImageRef], finder: ImageFinder, side: int, workers: int
) -> Iterator[Tensor | ZooError]:
    loader = DataLoader(
        _Resized(images, finder, side), AT_ONCE, num_workers=workers, collate_fn=list
    )
    each = chain.from_iterable(loader)
    yield from track(each, "decoding images", len(images), rank() == 0)


class _Resized(Dataset[Any]):
    """Images resized to a shorter side, `[H, W, 3]`.

    Errors are values, since a worker's exception would come with its traceback.
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
    """Returns height and width with that shorter side, or as they are where it is no longer."""
    shorter = min(height, width)
    if shorter <= side:
        return height, width
    return side * height // shorter, side * width // shorter
