"""Packing: images with their captions into tars, whose folder appears when it is whole."""

import io
import shutil
import tarfile
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType

import msgspec
from PIL import Image

from zoo.errors import ZooError
from zoo.sources.images import FOLDERS, BrokenImage, ImageFinder, identity
from zoo.sources.packed import PackedCaption, samples_to_pack
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.tar_index import SUFFIX, write_index
from zoo.support.files import write_atomically
from zoo.support.helpers import helps_its_parent

LOOKED_AT = 200  # images by which the size of all is told
AT_ONCE = 16  # images that a process is handed
AHEAD = 4  # such handfuls for each process that are under way, at most
PADDED = tarfile.BLOCKSIZE * 3  # headers of a sample's files, and what fills their blocks
BESIDE = ("units", "negatives")  # what files beside the tars are called, but for their endings
ENDINGS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif", "BMP": "bmp", "TIFF": "tiff"}


@dataclass(frozen=True)
class PackingSettings:
    """How images are packed.

    Attributes:
        finder: Finds them.
        side: Pixels of the shorter side that larger images are resized to; none where None.
        quality: Quality of the JPEGs that are made of these.
        per_shard: Images of a tar.
        workers: Processes that read and resize; none but this one where 0.
        tolerate_broken: Whether images that cannot be decoded are left out.
    """

    finder: ImageFinder
    side: int | None = None
    quality: int = 95
    per_shard: int = 10_000
    workers: int = 0
    tolerate_broken: bool = False

    def file(self, ref: ImageRef) -> tuple[str, bytes] | BrokenImage:
        """Returns the ending and the bytes of an image as it is packed, or why it cannot be.

        Its own bytes are kept where it is neither resized nor cropped.
        """
        try:
            content = self.finder.content(ref)
            try:
                with Image.open(io.BytesIO(content)) as opened:
                    ending, size = ENDINGS.get(opened.format or ""), opened.size
                    exif = opened.info.get("exif", b"")
            except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
                ending, size, exif = None, (0, 0), b""  # decoded below, which says what is wrong
            resized = self.side is not None and min(size) > self.side
            if ending and ref.crop is None and not resized:
                return ending, content
            image = self.finder.load(ref)
        except BrokenImage as error:
            return error
        if self.side is not None and min(image.size) > self.side:
            shorter = min(image.size)
            width, height = (self.side * pixels // shorter for pixels in image.size)
            image = image.resize((width, height), Image.Resampling.BICUBIC)
        made = io.BytesIO()
        # its orientation stays beside its pixels, which nobody has turned
        image.save(made, "JPEG", quality=self.quality, exif=exif)
        return "jpg", made.getvalue()

    def estimate_bytes(self, images: Sequence[ImageRef]) -> int:
        """Returns about how many bytes the tars of images will have, by some of them."""
        looked = images[:: ceil(len(images) / LOOKED_AT)]
        files = [file for file in map(self.file, looked) if not isinstance(file, BrokenImage)]
        mean = sum(len(content) + PADDED for _, content in files) / max(len(files), 1)
        return round(mean * len(images))

    def files(
        self, images: Sequence[ImageRef]
    ) -> Generator[tuple[str, bytes] | BrokenImage, None, None]:
        """Yields what `file` returns of each image, in order."""
        if not self.workers:
            yield from map(self.file, images)
            return
        chunks = (images[at : at + AT_ONCE] for at in range(0, len(images), AT_ONCE))
        # spawn: a fork would answer signals as this process does, and may miss the one to end
        with ProcessPoolExecutor(self.workers, get_context("spawn"), helps_its_parent) as pool:
            try:
                first = islice(chunks, AHEAD * self.workers)
                under_way = deque(pool.submit(self._files, chunk) for chunk in first)
                while under_way:
                    yield from under_way.popleft().result()
                    under_way.extend(pool.submit(self._files, more) for more in islice(chunks, 1))
            except BrokenProcessPool as error:
                raise ZooError(
                    "a process that packed images was killed: run the same command again with "
                    "fewer --workers"
                ) from error
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _files(self, images: Sequence[ImageRef]) -> list[tuple[str, bytes] | BrokenImage]:
        return [self.file(image) for image in images]


@dataclass(frozen=True)
class Packed:
    """What was packed.

    Attributes:
        images: Number of images.
        captions: Number of captions.
        shards: Number of tars.
        bytes: Their size.
        broken: The images that were left out.
    """

    images: int
    captions: int
    shards: int
    bytes: int
    broken: tuple[str, ...] = ()


def pack(
    samples: Sequence[Sample],
    kept: Sequence[int],
    out: Path,
    packing: PackingSettings,
    beside: Mapping[str, Path] = MappingProxyType({}),
    progress: Callable[[], None] | None = None,
) -> Packed:
    """Writes a folder of tars, each with its index, which `WebDataset` reads.

    Captions keep their ids, negatives, splits and order, so that their units are found as before.

    Args:
        samples: All samples of a source.
        kept: Positions of those that are packed, whose images are there.
        out: The folder to write; what is there is lost.
        packing: How images are packed.
        beside: Files and folders that are copied into the folder, by their names in it.
        progress: Is told of every image that is done.

    Raises:
        ZooError: An image cannot be read, or the folder not be written.
    """
    captions: dict[ImageRef, list[PackedCaption]] = {}
    for image, caption in samples_to_pack(samples, kept):
        captions.setdefault(image, []).append(caption)
    done, n = 0, 0
    broken: list[str] = []
    images = list(captions)
    count = ceil(len(images) / packing.per_shard)
    with (
        write_atomically(out, "which begins anew", folder=True, over=True) as part,
        closing(packing.files(images)) as packed,  # its processes end before an error is printed
    ):
        files = zip(images, _keys(images), packed, strict=True)
        for number in range(count):
            place = part / f"{number:05}.tar"
            with tarfile.open(place, "w") as tar:
                for image, key, file in islice(files, packing.per_shard):
                    if isinstance(file, BrokenImage):
                        if not packing.tolerate_broken:
                            raise file
                        broken.append(str(image))
                    else:
                        _add(tar, key, file, captions[image])
                        done, n = done + 1, n + len(captions[image])
                    if progress:
                        progress()
            write_index(str(place), part / f"{place.name}{SUFFIX}")
        size = sum(place.stat().st_size for place in part.glob("*.tar"))
        for name, other in beside.items():
            if other.is_dir():
                shutil.copytree(other, part / name)
            else:
                shutil.copyfile(other, part / name)
    return Packed(done, n, count, size, tuple(broken))


def _keys(images: Sequence[ImageRef]) -> Iterator[str]:
    """Yields what the files of each image are called.

    That of a published image says which it is, so that it is known as trained on.
    """
    taken: set[str] = set()
    for number, image in enumerate(images):
        source, _, name = identity(image).partition(":")
        key = f"{source}/{int(name):012}" if source in FOLDERS and image.crop is None else ""
        if not key or key in taken:
            key = f"{number:09}"
        taken.add(key)
        yield key


def _add(
    tar: tarfile.TarFile, key: str, file: tuple[str, bytes], captions: Sequence[PackedCaption]
) -> None:
    ending, content = file
    said = msgspec.json.encode({"zoo_captions": captions})
    for name, data in ((ending, content), ("txt", captions[0].caption.encode()), ("json", said)):
        member = tarfile.TarInfo(f"{key}.{name}")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))


def refuse_foreign(out: Path, overwrite: bool) -> None:
    """Makes sure, before any work is done, that a folder of tars may be written.

    Args:
        out: The folder.
        overwrite: Whether tars that are there may be lost.

    Raises:
        ZooError: It is there and may not be lost, or holds what was not packed.
    """
    if not out.exists():
        return
    if not overwrite:
        raise ZooError(f"{out} exists: name another folder, or add --overwrite if it may be lost")
    there = {file.name for file in out.iterdir()} if out.is_dir() else {""}
    packed = all(f"{name}{SUFFIX}" in there for name in there if name.endswith(".tar"))
    own = {name for name in there if name.endswith((".tar", f".tar{SUFFIX}"))}
    others = {name for name in there - own if Path(name).stem not in BESIDE}
    if others or (there and not (packed and own)):
        raise ZooError(f"{out} holds what `zoo data pack` did not write: name another folder")
