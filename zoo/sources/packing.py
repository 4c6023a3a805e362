"""Packs images and their captions into tars, in a folder that appears only when complete."""

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
from zoo.sources.images import FOLDERS, BrokenImage, ImageFinder, image_identity
from zoo.sources.packed import PackedCaption, build_packed_captions
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.tar_index import SUFFIX, write_index
from zoo.support.files import write_atomically
from zoo.support.worker_init import initialize_worker

ESTIMATE_IMAGES = 200  # images from which the total size is estimated
IMAGES_PER_TASK = 16  # images per task of a process
QUEUED_TASKS = 4  # queued tasks per process, at most
PADDING_BYTES = (
    tarfile.BLOCKSIZE * 3
)  # headers of a sample's files, and the padding of their blocks
EXTRA_FILES = ("units", "negatives")  # names of other files in the folder, without endings
ENDINGS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif", "BMP": "bmp", "TIFF": "tiff"}


@dataclass(frozen=True)
class PackingSettings:
    """How images are packed.

    Attributes:
        finder: Finds the images.
        side: Pixels of the shorter side that larger images are resized to; None to keep all sizes.
        quality: JPEG quality of resized images.
        per_shard: Images per tar.
        workers: Number of processes that read and resize; 0 to use this process only.
        tolerate_broken: Whether to leave out images that cannot be decoded.
    """

    finder: ImageFinder
    side: int | None = None
    quality: int = 95
    per_shard: int = 10_000
    workers: int = 0
    tolerate_broken: bool = False

    def prepare_image_file(self, ref: ImageRef) -> tuple[str, bytes] | BrokenImage:
        """Returns the file ending and the bytes to pack for an image, or the error.

        The original bytes are kept unless the image is resized or cropped.
        """
        try:
            content = self.finder.read_stored_bytes(ref)
            try:
                with Image.open(io.BytesIO(content)) as opened:
                    ending, size = ENDINGS.get(opened.format or ""), opened.size
                    exif = opened.info.get("exif", b"")
            except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
                ending, size, exif = None, (0, 0), b""  # decoding it below reports the error
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
        buffer = io.BytesIO()
        # the pixels were not rotated, so the orientation tag must be kept
        image.save(buffer, "JPEG", quality=self.quality, exif=exif)
        return "jpg", buffer.getvalue()

    def estimate_bytes(self, images: Sequence[ImageRef]) -> int:
        """Estimates the total size of the tars in bytes from a sample of the images."""
        sample = images[:: ceil(len(images) / ESTIMATE_IMAGES)]
        files = [
            file
            for file in map(self.prepare_image_file, sample)
            if not isinstance(file, BrokenImage)
        ]
        mean = sum(len(content) + PADDING_BYTES for _, content in files) / max(len(files), 1)
        return round(mean * len(images))

    def prepare_image_files(
        self, images: Sequence[ImageRef]
    ) -> Generator[tuple[str, bytes] | BrokenImage, None, None]:
        """Yields the result of `file` for each image, in order."""
        if not self.workers:
            yield from map(self.prepare_image_file, images)
            return
        chunks = (
            images[at : at + IMAGES_PER_TASK] for at in range(0, len(images), IMAGES_PER_TASK)
        )
        # spawn: a forked process would inherit signal handlers, and may miss its termination
        with ProcessPoolExecutor(self.workers, get_context("spawn"), initialize_worker) as pool:
            try:
                first_chunks = islice(chunks, QUEUED_TASKS * self.workers)
                pending = deque(pool.submit(self._prepare_chunk, chunk) for chunk in first_chunks)
                while pending:
                    yield from pending.popleft().result()
                    pending.extend(
                        pool.submit(self._prepare_chunk, next_chunk)
                        for next_chunk in islice(chunks, 1)
                    )
            except BrokenProcessPool as error:
                raise ZooError(
                    "a worker process was killed while packing images: run the command again with "
                    "fewer --workers"
                ) from error
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def _prepare_chunk(self, images: Sequence[ImageRef]) -> list[tuple[str, bytes] | BrokenImage]:
        return [self.prepare_image_file(image) for image in images]


@dataclass(frozen=True)
class PackingCounts:
    """Counts of what was packed.

    Attributes:
        images: Number of images.
        captions: Number of captions.
        shards: Number of tars.
        bytes: Total size of the tars.
        broken: The images that were left out.
    """

    images: int
    captions: int
    shards: int
    bytes: int
    broken: tuple[str, ...] = ()


def pack_samples(
    samples: Sequence[Sample],
    positions: Sequence[int],
    out: Path,
    packing: PackingSettings,
    extra_files: Mapping[str, Path] = MappingProxyType({}),
    progress: Callable[[], None] | None = None,
) -> PackingCounts:
    """Writes a folder of tars and their indices, to be read by `WebDataset`.

    Captions keep their ids, negatives, splits and order, so that the same units file applies.

    Args:
        samples: All samples of a source.
        positions: Positions of the samples to pack. Their images must exist.
        out: The folder to write; it is replaced if it exists.
        packing: How images are packed.
        extra_files: Further files and folders to copy into the folder, by their names there.
        progress: Called after each image.

    Raises:
        ZooError: An image cannot be read, or the folder cannot be written.
    """
    captions: dict[ImageRef, list[PackedCaption]] = {}
    for image, caption in build_packed_captions(samples, positions):
        captions.setdefault(image, []).append(caption)
    n_images, n_captions = 0, 0
    broken: list[str] = []
    images = list(captions)
    n_shards = ceil(len(images) / packing.per_shard)
    with (
        write_atomically(
            out, "which starts from the beginning", folder=True, overwrite=True
        ) as part,
        closing(
            packing.prepare_image_files(images)
        ) as packed,  # ends the workers before an error is printed
    ):
        files = zip(images, _keys(images), packed, strict=True)
        for number in range(n_shards):
            place = part / f"{number:05}.tar"
            with tarfile.open(place, "w") as tar:
                for image, key, file in islice(files, packing.per_shard):
                    if isinstance(file, BrokenImage):
                        if not packing.tolerate_broken:
                            raise file
                        broken.append(str(image))
                    else:
                        _add_sample(tar, key, file, captions[image])
                        n_images, n_captions = n_images + 1, n_captions + len(captions[image])
                    if progress:
                        progress()
            write_index(str(place), part / f"{place.name}{SUFFIX}")
        size = sum(place.stat().st_size for place in part.glob("*.tar"))
        for name, extra_path in extra_files.items():
            if extra_path.is_dir():
                shutil.copytree(extra_path, part / name)
            else:
                shutil.copyfile(extra_path, part / name)
    return PackingCounts(n_images, n_captions, n_shards, size, tuple(broken))


def _keys(images: Sequence[ImageRef]) -> Iterator[str]:
    """Yields the name of each image's files in the tar.

    Published images are named by data set and number, so that training images can be identified.
    """
    used_keys: set[str] = set()
    for number, image in enumerate(images):
        source, _, name = image_identity(image).partition(":")
        key = f"{source}/{int(name):012}" if source in FOLDERS and image.crop is None else ""
        if not key or key in used_keys:
            key = f"{number:09}"
        used_keys.add(key)
        yield key


def _add_sample(
    tar: tarfile.TarFile, key: str, file: tuple[str, bytes], captions: Sequence[PackedCaption]
) -> None:
    ending, content = file
    metadata = msgspec.json.encode({"zoo_captions": captions})
    for name, data in (
        (ending, content),
        ("txt", captions[0].caption.encode()),
        ("json", metadata),
    ):
        member = tarfile.TarInfo(f"{key}.{name}")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))


def check_output_folder(out: Path, overwrite: bool) -> None:
    """Checks, before any work is done, that a folder of tars may be written.

    Args:
        out: The folder.
        overwrite: Whether existing tars may be replaced.

    Raises:
        ZooError: The folder exists and `overwrite` is false, or it has files of another origin.
    """
    if not out.exists():
        return
    if not overwrite:
        raise ZooError(f"{out} exists: choose another folder, or add --overwrite to replace it")
    names = {file.name for file in out.iterdir()} if out.is_dir() else {""}
    all_indexed = all(f"{name}{SUFFIX}" in names for name in names if name.endswith(".tar"))
    packed_names = {name for name in names if name.endswith((".tar", f".tar{SUFFIX}"))}
    other_names = {name for name in names - packed_names if Path(name).stem not in EXTRA_FILES}
    if other_names or (names and not (all_indexed and packed_names)):
        raise ZooError(f"{out} has files that `zoo data pack` did not write: choose another folder")
