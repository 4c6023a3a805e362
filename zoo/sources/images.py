"""Finds image files under the data roots and opens them."""

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from zoo.errors import ZooError
from zoo.sources.boxes import scale_box
from zoo.sources.folders import FolderLister
from zoo.sources.listings import Listing
from zoo.sources.remote_files import is_url
from zoo.sources.rgb_conversion import (
    AS_PUBLISHED,
    Decoding,
    OrientationAndAlphaCounts,
    has_orientation,
    is_transparent,
    to_rgb,
)
from zoo.sources.sample import ImageRef
from zoo.sources.table_files import TableFiles
from zoo.sources.tar_index import Tars
from zoo.sources.torchvision_sets import TorchvisionSets
from zoo.sources.videos import check_video_reader, read_frame, split_frame_key

COCO = ("", "train2014", "val2014", "train2017", "val2017")
COCO_BASES = ("", "coco")
VISUAL_GENOME = ("visual_genome/VG_100K", "visual_genome/VG_100K_2", "visual_genome/images")
FLICKR = (
    "flickr30k",
    "flickr30k/images",
    "flickr30k/flickr30k-images",
    "flickr30k-images",
    "flickr8k",
    "flickr8k/images",
    "flickr8k/Flicker8k_Dataset",
)
FOLDERS = {
    "coco": tuple(f"{base}/{folder}".strip("/") for base in COCO_BASES for folder in COCO),
    "visual_genome": VISUAL_GENOME,
    "flickr": FLICKR,
}
CONTAINERS = ("parquet", "tar", "torchvision", "video")  # of many images in one file or folder
SOURCES = (*FOLDERS, "file", "published", *CONTAINERS)
CHECKED_IMAGES = 1_000
UNREADABLE = (OSError, SyntaxError, ValueError)  # what PIL raises on a file that is not an image

_COCO_NAME = re.compile(r"(?:COCO_(?:train|val|test)20\d\d_)?(\d{12})\.jpe?g", re.IGNORECASE)
_VISUAL_GENOME_NAME = re.compile(r"(\d+)\.jpe?g", re.IGNORECASE)
_FLICKR_NAME = re.compile(r"(\d+)(?:_[0-9a-f]+)?\.jpe?g", re.IGNORECASE)
_FLICKR_HASHED = re.compile(r"\d+_[0-9a-f]{10}\.jpe?g", re.IGNORECASE)
# names as in Flickr30k; shorter numbers are common names for any image file
_FLICKR_PLAIN = re.compile(r"[1-9]\d{4,}\.jpe?g", re.IGNORECASE)
_NAMES = {"coco": _COCO_NAME, "visual_genome": _VISUAL_GENOME_NAME, "flickr": _FLICKR_NAME}


class BrokenImage(ZooError):
    """An image file exists but cannot be decoded."""


def coco_ref(name: str, origin: str = "") -> ImageRef:
    """Returns the reference of an image of COCO.

    Args:
        name: COCO file name of any year, with or without folders.
        origin: Where the name was read, for error messages.

    Raises:
        ZooError: The name is not a COCO file name.
    """
    return _build_dataset_ref("coco", name, origin)


def flickr_ref(name: str) -> ImageRef:
    """Returns the reference of an image of Flickr8k or Flickr30k.

    Args:
        name: File name of the image.

    Raises:
        ZooError: The name is not a Flickr file name.
    """
    return _build_dataset_ref("flickr", name)


def visual_genome_ref(name: str, origin: str = "") -> ImageRef:
    """Returns the reference of an image of Visual Genome.

    Args:
        name: File name of the image, with or without folders.
        origin: Where the name was read, for error messages.

    Raises:
        ZooError: The name is not a Visual Genome file name.
    """
    return _build_dataset_ref("visual_genome", name, origin)


def infer_image_ref(text: str) -> ImageRef:
    """Returns the image reference that a path most likely means.

    A COCO file name is recognized in any folder. Names from Visual Genome and Flickr are recognized
    by their folder. Absolute paths and all other paths are plain files. `OwnImages` reads the paths
    in a user's file.

    Args:
        text: A path as published, or a reference in the form of `str(ImageRef)`.
    """
    reference = parse_reference(text)
    if reference is not None:
        return reference
    path = PurePosixPath(text)
    return (
        ImageRef("file", text)
        if path.is_absolute()
        else _match_dataset_path(path) or ImageRef("file", text)
    )


def image_identity(ref: ImageRef) -> str:
    """Returns the text that identifies an image when images are counted and compared.

    This is the reference without the crop. If the path of a file identifies the data set and the
    number of the image, these are used instead, so that the result does not depend on the path.
    """
    if ref.source == "tar":
        return _tar_image_identity(ref)
    if ref.source != "file":
        return str(ref if ref.crop is None else replace(ref, crop=None))
    path = PurePosixPath(ref.key)
    return str(
        flickr_ref(path.name)
        if _FLICKR_HASHED.fullmatch(path.name)
        else _match_dataset_path(path) or ImageRef("file", ref.key)
    )


def _tar_image_identity(ref: ImageRef) -> str:
    """Returns the identity of an image in a tar, where its folder may name the data set."""
    folder, _, name = _split_container_key(ref)[1].rpartition("/")
    match = _NAMES[folder].fullmatch(name) if folder in _NAMES else None
    return str(ImageRef(folder, str(int(match[1]))) if match else replace(ref, crop=None))


def _match_dataset_path(path: PurePosixPath) -> ImageRef | None:
    folders = " ".join(path.parts[-3:-1]).lower()
    if _COCO_NAME.fullmatch(path.name):
        return coco_ref(path.name)
    if ("visual_genome" in folders or "vg_100k" in folders) and _VISUAL_GENOME_NAME.fullmatch(
        path.name
    ):
        return _build_dataset_ref("visual_genome", path.name)
    if ("flickr" in folders or "flicker8k" in folders) and _FLICKR_NAME.fullmatch(path.name):
        return flickr_ref(path.name)
    return None


def guess_published_ref(path: PurePosixPath) -> ImageRef | None:
    """Returns the published image that the name of a missing file may refer to."""
    flickr = _FLICKR_HASHED.fullmatch(path.name) or _FLICKR_PLAIN.fullmatch(path.name)
    return _match_dataset_path(path) or (flickr_ref(path.name) if flickr else None)


def _build_dataset_ref(source: str, name: str, origin: str = "") -> ImageRef:
    match = _NAMES[source].fullmatch(PurePosixPath(name).name)
    if match is None:
        place = f"{origin}: " if origin else ""
        raise ZooError(
            f"{place}{name!r} is not a file name of {source}: expected one like "
            f"{_example_file_name(source)}"
        )
    return ImageRef(source, str(int(match[1])))


def parse_reference(text: str) -> ImageRef | None:
    """Parses the output of `str(ImageRef)`; returns None for any other text."""
    source, colon, key = text.partition(":")
    return _build_ref_with_crop(source, key) if colon and source in SOURCES else None


def _build_ref_with_crop(source: str, key: str) -> ImageRef:
    match = re.fullmatch(r"(.*)@(\d+),(\d+),(\d+),(\d+)", key)
    if match is None:
        return ImageRef(source, key)
    left, top, width, height = (int(n) for n in match.groups()[1:])
    return ImageRef(source, match[1], (left, top, width, height))


def _example_file_name(source: str) -> str:
    return {
        "coco": "COCO_val2014_000000391895.jpg",
        "visual_genome": "2317429.jpg",
        "flickr": "1007129816_e794419615.jpg",
    }[source]


class ImageFinder:
    """Resolves image references to files under the data roots.

    Each folder is listed once, when it is first needed.

    Args:
        roots: Folders with the layout described in the docs; the first one that has an image wins.
        decoding: How a user's own images are decoded. Images of data sets and benchmarks are
            decoded like in the published scripts.
        confined: Whether to find only files below the roots (after following links) and download
            nothing. Use it for references from untrusted files such as results.

    Raises:
        ZooError: A root is not a folder.
    """

    def __init__(
        self,
        roots: Sequence[Path | str],
        decoding: Decoding = AS_PUBLISHED,
        confined: bool = False,
    ) -> None:
        self.roots, self.decoding = tuple(Path(root) for root in roots), decoding
        self.confined = confined
        for root in self.roots:
            if not root.is_dir():
                raise ZooError(f"data root {root} is not a folder: give one that exists")
        self._folders = FolderLister()
        self._by_source: dict[str, Listing] = {}
        self._tables, self._tars, self._sets = TableFiles(), Tars(), TorchvisionSets()
        self._sizes: dict[Path, tuple[int, int] | None] = {}

    def find(self, ref: ImageRef) -> Path | None:
        """Returns the file that contains the image, or None if it is missing.

        Raises:
            ZooError: The reference has an unknown source or a malformed key.
        """
        if not self.confined:
            return self._find_unconfined(ref)
        if ref.source == "tar" and is_url(_split_container_key(ref)[0]):
            return None
        path = self._find_unconfined(ref)
        return path if path is not None and self._is_below_roots(path) else None

    def _find_unconfined(self, ref: ImageRef) -> Path | None:
        if ref.source in FOLDERS:
            return self._listing(ref.source).get(ref.key)
        if ref.source in ("file", "published"):
            return self._find_file(ref.key)
        if ref.source == "parquet":
            return self._find_file(_split_parquet_key(ref)[0])
        if ref.source == "tar":
            tar = _split_container_key(ref)[0]
            # the index of a remote tar is a local file, which changes if the tar changes
            return self._tars.index(tar) if is_url(tar) else self._find_file(tar)
        if ref.source == "video":
            path = self._find_file(split_frame_key(ref)[0])
            if path is not None:
                check_video_reader()
            return path
        if ref.source == "torchvision":
            return next(
                filter(Path.is_dir, self._candidate_paths(_split_container_key(ref)[0])), None
            )
        raise ZooError(
            f"{ref}: {ref.source!r} is not an image source: choose one of {', '.join(SOURCES)}"
        )

    def match_published_images(self, refs: Iterable[ImageRef]) -> dict[ImageRef, ImageRef]:
        """Maps references to files to the references of the same images in published data sets.

        An entry is returned for each file that is an image of COCO, Visual Genome or Flickr under
        the data roots, and for each missing file whose name is that of such an image.
        """
        resolved = ((ref, self._match_published_image(ref)) for ref in refs if ref.source == "file")
        return {ref: target for ref, target in resolved if target is not None}

    def select_refs_of_missing_files(
        self, resolved: Mapping[ImageRef, ImageRef]
    ) -> dict[ImageRef, ImageRef]:
        """Selects the entries of `match_published_images` whose original files are missing."""
        missing_refs = frozenset(self.find_missing(resolved))
        return {ref: target for ref, target in resolved.items() if ref in missing_refs}

    def find_missing(self, refs: Iterable[ImageRef]) -> list[ImageRef]:
        """Returns the references whose files are missing, in the given order."""
        return [ref for ref in refs if self.find(ref) is None]

    def missing_mask(self, source: str, keys: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Returns a mask of the images of a source whose files are missing.

        Args:
            source: The source.
            keys: The keys of the images in the source.

        Raises:
            ZooError: The source is unknown, or a key is malformed.
        """
        if source in FOLDERS:
            return self._listing(source).missing_mask(keys)
        paths = (self.find(ImageRef(source, key.as_py())) for key in keys)
        return np.fromiter((path is None for path in paths), bool, len(keys))

    def load(self, ref: ImageRef) -> Image.Image:
        """Returns the image in RGB, cropped if the reference has a crop.

        Raises:
            BrokenImage: The image cannot be decoded. It is a ZooError.
            ZooError: The image is missing or is not readable.
        """
        path = self._require_path(ref)
        content = self._read_source(path, ref)
        try:
            with _open(content) as file:
                image = to_rgb(file, self.decoding_of(ref))
            if ref.crop is not None:
                left, top, width, height = scale_box(ref.crop, ref.size, image.size)
                image = image.crop((left, top, left + width, top + height))
        except PermissionError as error:
            raise ZooError(
                f"image {path} cannot be read ({error.strerror}): change its permissions"
            ) from error
        except Image.DecompressionBombError as error:
            raise BrokenImage(
                f"{path} ({ref}) has too many pixels to be decoded ({error}): "
                "resize it or remove it"
            ) from error
        except UNREADABLE as error:
            raise BrokenImage(
                f"{path} ({ref}) is damaged or not an image ({error}): download it again"
            ) from error
        return image

    def read_stored_bytes(self, ref: ImageRef) -> bytes:
        """Returns the encoded bytes of an image, from its file or its container.

        Raises:
            ZooError: The image is missing.
            OSError: The file is not readable.
        """
        data = self._read_source(self._require_path(ref), ref)
        if isinstance(data, Image.Image):
            return f"{data.mode}{data.size}".encode() + data.tobytes()
        return data.read_bytes() if isinstance(data, Path) else data.getvalue()

    def read_file_dimensions(self, ref: ImageRef) -> tuple[int, int] | None:
        """Returns width and height of an image file, or None for damaged or packed images.

        Errors are reported when the image is decoded.
        """
        path = self.find(ref)
        if path is None or ref.source in CONTAINERS:
            return None
        if path not in self._sizes:
            try:
                with Image.open(path) as file:
                    self._sizes[path] = file.size
            except (*UNREADABLE, Image.DecompressionBombError):
                self._sizes[path] = None
        return self._sizes[path]

    def decoding_of(self, ref: ImageRef) -> Decoding:
        """Returns how an image is decoded: user files as configured, all others as published."""
        return self.decoding if ref.source == "file" else AS_PUBLISHED

    def sample_orientation_and_alpha(self, refs: Iterable[ImageRef]) -> OrientationAndAlphaCounts:
        """Counts the user's own images that have an EXIF orientation or transparency.

        At most `CHECKED_IMAGES` images are read.
        """
        paths = [path for ref in refs if ref.source == "file" and (path := self.find(ref))]
        n_images = n_turned = n_transparent = 0
        for path in paths[:: -(-len(paths) // CHECKED_IMAGES) or 1]:
            try:
                with Image.open(path) as image:
                    has_marks = has_orientation(image), is_transparent(image)
            except (*UNREADABLE, Image.DecompressionBombError):
                continue  # reported when the image is decoded
            n_images, n_turned, n_transparent = (
                n_images + 1,
                n_turned + has_marks[0],
                n_transparent + has_marks[1],
            )
        return OrientationAndAlphaCounts(n_images, n_turned, n_transparent)

    def missing_image_advice(self, ref: ImageRef) -> str:
        """Returns advice on a missing image, as the end of an error message."""
        broken_link = next(self._matching_broken_links(ref), None)
        if broken_link is not None:
            reason = self._folders.broken_links[broken_link]
            return f"fix the broken link {broken_link} ({reason})"
        if ref.source in FOLDERS:
            for root, folder in product(self.roots, filter(None, FOLDERS[ref.source])):
                path = root.resolve().as_posix()
                above = path.removesuffix(f"/{folder}")
                if above != path and ImageFinder([above]).find(ref) is not None:
                    return f"give {above} as the data root, which contains {folder}"
            return f"put it under a data root in {', '.join(f for f in FOLDERS[ref.source] if f)}"
        return "set the data root that the path is relative to"

    def _is_below_roots(self, path: Path) -> bool:
        target = path.resolve()
        return any(target.is_relative_to(root.resolve()) for root in self.roots)

    def _require_path(self, ref: ImageRef) -> Path:
        path = self.find(ref)
        if path is None:
            roots = ", ".join(map(str, self.roots)) or "the data roots (none given)"
            raise ZooError(f"image {ref} is in none of {roots}: {self.missing_image_advice(ref)}")
        return path

    def _read_source(self, path: Path, ref: ImageRef) -> Path | io.BytesIO | Image.Image:
        """Returns the file, the bytes or the decoded image of a reference.

        Raises:
            BrokenImage: The container does not have the image.
        """
        if ref.source not in CONTAINERS:
            return path
        if ref.source == "torchvision":
            name, _, number = _split_container_key(ref)[1].partition("/")
            return self._sets.image(path, name, int(number))
        if ref.source == "video":
            try:
                return read_frame(path, *split_frame_key(ref)[1:])
            except UNREADABLE as error:
                raise BrokenImage(
                    f"{path} ({ref}) is damaged or not a video ({error}): download it again"
                ) from error
        if ref.source == "tar":
            tar, name = _split_container_key(ref)
            place = tar if is_url(tar) else str(path)
            data = self._tars.member(place, name)
            if data is None:
                raise BrokenImage(f"{place} has no member {name}: download the file again")
            return io.BytesIO(data)
        _, row, column = _split_parquet_key(ref)
        value = self._tables.cell(path, row, column, str(ref))
        content = value.get("bytes") if isinstance(value, dict) else value
        if not isinstance(content, bytes):
            raise BrokenImage(
                f"{path}: row {row}, column {column} does not contain an image: "
                "download the file again, or choose another column"
            )
        return io.BytesIO(content)

    def _match_published_image(self, ref: ImageRef) -> ImageRef | None:
        path = self._find_file(ref.key)
        reference = guess_published_ref(PurePosixPath(ref.key if path is None else path))
        reference_path = None if reference is None else self.find(reference)
        if reference is None or reference_path is None:
            return None
        is_same_file = path is None or os.path.abspath(path) == os.path.abspath(reference_path)
        return replace(reference, crop=ref.crop, size=ref.size) if is_same_file else None

    def _matching_broken_links(self, ref: ImageRef) -> Iterator[str]:
        """Yields the broken links that may belong to the image."""
        if ref.source in FOLDERS:
            names = _NAMES[ref.source]
            for path in self._folders.broken_links:
                match = names.fullmatch(os.path.basename(path))
                if match is not None and str(int(match[1])) == ref.key:
                    yield path
        elif ref.source in ("file", "published"):
            paths = (os.path.normpath(path) for path in self._candidate_paths(ref.key))
            yield from (path for path in paths if path in self._folders.broken_links)

    def _listing(self, source: str) -> Listing:
        if source not in self._by_source:
            folders = [root / folder for root in self.roots for folder in FOLDERS[source]]
            self._by_source[source] = Listing(folders, _NAMES[source], self._folders)
        return self._by_source[source]

    def _find_file(self, key: str) -> Path | None:
        return next((path for path in self._candidate_paths(key) if self._folders.has(path)), None)

    def _candidate_paths(self, key: str) -> list[Path]:
        path = Path(key)
        return [path] if path.is_absolute() else [root / path for root in self.roots]


def _open(content: Path | io.BytesIO | Image.Image) -> Image.Image:
    """Opens an image file, or a video frame that was saved as a BGR array (.npy)."""
    if isinstance(content, Image.Image):
        return content
    if isinstance(content, io.BytesIO) or content.suffix != ".npy":
        return Image.open(content)
    frame = np.load(content, allow_pickle=False)
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
        raise ValueError(
            f"expected a uint8 array [height, width, 3], got {frame.dtype} {list(frame.shape)}"
        )
    return Image.fromarray(np.ascontiguousarray(frame[:, :, ::-1]))


def _split_container_key(ref: ImageRef) -> tuple[str, str]:
    container, number_sign, name = ref.key.partition("#")
    if not (number_sign and name):
        raise ZooError(f"{ref} does not name a member of its container: write FILE#NAME")
    return container, name


def _split_parquet_key(ref: ImageRef) -> tuple[str, int, str]:
    match = re.fullmatch(r"(.+)#(\d+)#(.+)", ref.key)
    if match is None:
        raise ZooError(f"{ref} does not name a row of a parquet file: write FILE#ROW#COLUMN")
    return match[1], int(match[2]), match[3]
