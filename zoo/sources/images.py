"""Images: found in whichever folder of the data roots holds them, and opened."""

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from zoo.errors import ZooError
from zoo.sources.boxes import scale_box
from zoo.sources.folders import Folders
from zoo.sources.listings import Listing
from zoo.sources.pictures import AS_PUBLISHED, Carried, Decoding, is_transparent, is_turned, rgb
from zoo.sources.places import is_url
from zoo.sources.sample import ImageRef
from zoo.sources.tables import Tables
from zoo.sources.tar_index import Tars
from zoo.sources.torchvision_sets import TorchvisionSets

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
CONTAINERS = ("parquet", "tar", "torchvision")  # of many images in one file or folder
SOURCES = (*FOLDERS, "file", "published", *CONTAINERS)
LOOKED_AT = 1_000
UNREADABLE = (OSError, SyntaxError, ValueError)  # what PIL raises on a file that is not an image

_COCO_NAME = re.compile(r"(?:COCO_(?:train|val|test)20\d\d_)?(\d{12})\.jpe?g", re.IGNORECASE)
_VISUAL_GENOME_NAME = re.compile(r"(\d+)\.jpe?g", re.IGNORECASE)
_FLICKR_NAME = re.compile(r"(\d+)(?:_[0-9a-f]+)?\.jpe?g", re.IGNORECASE)
_FLICKR_HASHED = re.compile(r"\d+_[0-9a-f]{10}\.jpe?g", re.IGNORECASE)
# Flickr30k's own names; numbers of fewer digits are those that anybody gives to files
_FLICKR_PLAIN = re.compile(r"[1-9]\d{4,}\.jpe?g", re.IGNORECASE)
_NAMES = {"coco": _COCO_NAME, "visual_genome": _VISUAL_GENOME_NAME, "flickr": _FLICKR_NAME}


class BrokenImage(ZooError):
    """An image that is there but cannot be decoded."""


def coco_ref(name: str, origin: str = "") -> ImageRef:
    """Returns the reference of an image of COCO.

    Args:
        name: COCO file name of any year, with or without folders.
        origin: Place of the name, which an error names.

    Raises:
        ZooError: The name is not one of COCO's.
    """
    return _reference_from_name("coco", name, origin)


def flickr_ref(name: str) -> ImageRef:
    """Returns the reference of an image of Flickr8k or Flickr30k.

    Args:
        name: File name of the image.

    Raises:
        ZooError: The name is not one of Flickr's.
    """
    return _reference_from_name("flickr", name)


def visual_genome_ref(name: str, origin: str = "") -> ImageRef:
    """Returns the reference of an image of Visual Genome.

    Args:
        name: File name of the image, with or without folders.
        origin: Place of the name, which an error names.

    Raises:
        ZooError: The name is not one of Visual Genome's.
    """
    return _reference_from_name("visual_genome", name, origin)


def image_ref(text: str) -> ImageRef:
    """Returns the reference that a text most likely means.

    A COCO name means COCO wherever it stands. A folder of Visual Genome or Flickr says what its
    numbers mean. An absolute path and anything else is a file. `OwnImages` reads the paths in a
    user's own file.

    Args:
        text: A path as published, or a reference written by `str`.
    """
    known = parse_reference(text)
    if known is not None:
        return known
    path = PurePosixPath(text)
    return (
        ImageRef("file", text)
        if path.is_absolute()
        else _parse_path(path) or ImageRef("file", text)
    )


def identity(ref: ImageRef) -> str:
    """Returns the text by which an image is counted and compared.

    It is the reference without the crop. Where the path of a file tells the data set and the
    number, it is these, so that an image is the same one however it was named.
    """
    if ref.source == "tar":
        return _packed_identity(ref)
    if ref.source != "file":
        return str(ref if ref.crop is None else replace(ref, crop=None))
    path = PurePosixPath(ref.key)
    return str(
        flickr_ref(path.name)
        if _FLICKR_HASHED.fullmatch(path.name)
        else _parse_path(path) or ImageRef("file", ref.key)
    )


def _packed_identity(ref: ImageRef) -> str:
    """Returns the identity of an image in a tar, whose folder in it may say the data set."""
    folder, _, name = _split_archive_key(ref)[1].rpartition("/")
    match = _NAMES[folder].fullmatch(name) if folder in _NAMES else None
    return str(ImageRef(folder, str(int(match[1]))) if match else replace(ref, crop=None))


def _parse_path(path: PurePosixPath) -> ImageRef | None:
    folders = " ".join(path.parts[-3:-1]).lower()
    if _COCO_NAME.fullmatch(path.name):
        return coco_ref(path.name)
    if ("visual_genome" in folders or "vg_100k" in folders) and _VISUAL_GENOME_NAME.fullmatch(
        path.name
    ):
        return _reference_from_name("visual_genome", path.name)
    if ("flickr" in folders or "flicker8k" in folders) and _FLICKR_NAME.fullmatch(path.name):
        return flickr_ref(path.name)
    return None


def by_name(path: PurePosixPath) -> ImageRef | None:
    """Returns the published image that a user's path may mean where nothing is there as written."""
    flickr = _FLICKR_HASHED.fullmatch(path.name) or _FLICKR_PLAIN.fullmatch(path.name)
    return _parse_path(path) or (flickr_ref(path.name) if flickr else None)


def _reference_from_name(source: str, name: str, origin: str = "") -> ImageRef:
    match = _NAMES[source].fullmatch(PurePosixPath(name).name)
    if match is None:
        place = f"{origin}: " if origin else ""
        raise ZooError(
            f"{place}{name!r} is not a file name of {source}: expected one like {_example(source)}"
        )
    return ImageRef(source, str(int(match[1])))


def parse_reference(text: str) -> ImageRef | None:
    """Returns the reference that `str` wrote, None where the text is none."""
    source, colon, key = text.partition(":")
    return _parse_key(source, key) if colon and source in SOURCES else None


def _parse_key(source: str, key: str) -> ImageRef:
    match = re.fullmatch(r"(.*)@(\d+),(\d+),(\d+),(\d+)", key)
    if match is None:
        return ImageRef(source, key)
    left, top, width, height = (int(n) for n in match.groups()[1:])
    return ImageRef(source, match[1], (left, top, width, height))


def _example(source: str) -> str:
    return {
        "coco": "COCO_val2014_000000391895.jpg",
        "visual_genome": "2317429.jpg",
        "flickr": "1007129816_e794419615.jpg",
    }[source]


class ImageFinder:
    """Resolves references to files under the data roots.

    Every folder is listed once, when it is first needed.

    Args:
        roots: Folders laid out as the docs say; the first that holds an image wins.
        decoding: How a user's own images are decoded. Those of data sets and benchmarks are decoded
            as their scripts do.
        confined: Whether only files below the roots are found, links followed, and nothing is
            fetched. It is for references that somebody else wrote, as those in results.

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
        self._folders = Folders()
        self._by_source: dict[str, Listing] = {}
        self._tables, self._tars, self._sets = Tables(), Tars(), TorchvisionSets()
        self._sizes: dict[Path, tuple[int, int] | None] = {}

    def find(self, ref: ImageRef) -> Path | None:
        """Returns the file that holds the image, None where there is none.

        Raises:
            ZooError: The reference has an unknown source or a malformed key.
        """
        if not self.confined:
            return self._find(ref)
        if ref.source == "tar" and is_url(_split_archive_key(ref)[0]):
            return None
        path = self._find(ref)
        return path if path is not None and self._is_below_roots(path) else None

    def _find(self, ref: ImageRef) -> Path | None:
        if ref.source in FOLDERS:
            return self._listing(ref.source).get(ref.key)
        if ref.source in ("file", "published"):
            return self._file(ref.key)
        if ref.source == "parquet":
            return self._file(_parquet_key(ref)[0])
        if ref.source == "tar":
            tar = _split_archive_key(ref)[0]
            # the index of a tar at a URL is here, and another one where the tar is another
            return self._tars.index(tar) if is_url(tar) else self._file(tar)
        if ref.source == "torchvision":
            return next(filter(Path.is_dir, self._candidates(_split_archive_key(ref)[0])), None)
        raise ZooError(
            f"{ref}: {ref.source!r} is not a source of images: choose one of {', '.join(SOURCES)}"
        )

    def resolve_references(self, refs: Iterable[ImageRef]) -> dict[ImageRef, ImageRef]:
        """Returns the references that files are known as, where these differ from what is written.

        A file that a reference to COCO, Visual Genome or Flickr finds is known by that reference.
        So is a path at which nothing is, and whose name is one of theirs.
        """
        found = ((ref, self._resolve_reference(ref)) for ref in refs if ref.source == "file")
        return {ref: known for ref, known in found if known is not None}

    def by_name(self, known: Mapping[ImageRef, ImageRef]) -> dict[ImageRef, ImageRef]:
        """Returns those of what `settled` found that lie at no path, and go by their names."""
        absent = frozenset(self.missing(known))
        return {ref: to for ref, to in known.items() if ref in absent}

    def missing(self, refs: Iterable[ImageRef]) -> list[ImageRef]:
        """Returns the references without a file, in their order."""
        return [ref for ref in refs if self.find(ref) is None]

    def lacks(self, source: str, keys: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Returns which images of a source have no file.

        Args:
            source: The source.
            keys: Their names in it.

        Raises:
            ZooError: The source is unknown, or a key is malformed.
        """
        if source in FOLDERS:
            return self._listing(source).lacks(keys)
        found = (self.find(ImageRef(source, key.as_py())) for key in keys)
        return np.fromiter((path is None for path in found), bool, len(keys))

    def load(self, ref: ImageRef) -> Image.Image:
        """Returns the image in RGB, cropped where the reference says so.

        Raises:
            BrokenImage: The image cannot be decoded. It is a ZooError.
            ZooError: The image is not found, or may not be read.
        """
        path = self._existing_path(ref)
        content = self._content(path, ref)
        try:
            with _open(content) as file:
                image = rgb(file, self.decoding_of(ref))
            if ref.crop is not None:
                left, top, width, height = scale_box(ref.crop, ref.size, image.size)
                image = image.crop((left, top, left + width, top + height))
        except PermissionError as error:
            raise ZooError(
                f"image {path} cannot be read ({error.strerror}): let yourself read it"
            ) from error
        except Image.DecompressionBombError as error:
            raise BrokenImage(
                f"{path} ({ref}) has too many pixels to be decoded ({error}): reduce its size, or "
                "remove it"
            ) from error
        except UNREADABLE as error:
            raise BrokenImage(
                f"{path} ({ref}) is not a whole image ({error}): fetch it again"
            ) from error
        return image

    def content(self, ref: ImageRef) -> bytes:
        """Returns the bytes of an image as its file, or what holds it, has them.

        Raises:
            ZooError: The image is not found.
            OSError: It may not be read.
        """
        found = self._content(self._existing_path(ref), ref)
        if isinstance(found, Image.Image):
            return f"{found.mode}{found.size}".encode() + found.tobytes()
        return found.read_bytes() if isinstance(found, Path) else found.getvalue()

    def size(self, ref: ImageRef) -> tuple[int, int] | None:
        """Returns width and height of the file of an image, None where it cannot be told at once.

        It lies in a table, or is none that can be read; whoever decodes it says what is wrong.
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
        """Returns how an image is decoded: a user's own as asked for, any other as published."""
        return self.decoding if ref.source == "file" else AS_PUBLISHED

    def count_orientation_and_alpha(self, refs: Iterable[ImageRef]) -> Carried:
        """Counts which of a user's own images carry an orientation or transparency.

        At most a thousand images are looked at.
        """
        paths = [path for ref in refs if ref.source == "file" and (path := self.find(ref))]
        looked = turned = transparent = 0
        for path in paths[:: -(-len(paths) // LOOKED_AT) or 1]:
            try:
                with Image.open(path) as image:
                    marks = is_turned(image), is_transparent(image)
            except (*UNREADABLE, Image.DecompressionBombError):
                continue  # whoever decodes it says what is wrong
            looked, turned, transparent = looked + 1, turned + marks[0], transparent + marks[1]
        return Carried(looked, turned, transparent)

    def hint(self, ref: ImageRef) -> str:
        """Returns where an image of that source is looked for, as the end of a sentence."""
        astray = next(self._astray(ref), None)
        if astray is not None:
            return (
                f"mend the link {astray}, which leads to no file ({self._folders.astray[astray]})"
            )
        if ref.source in FOLDERS:
            return f"put it under a data root in {', '.join(f for f in FOLDERS[ref.source] if f)}"
        return "give the data root that the path starts from"

    def _is_below_roots(self, path: Path) -> bool:
        target = path.resolve()
        return any(target.is_relative_to(root.resolve()) for root in self.roots)

    def _existing_path(self, ref: ImageRef) -> Path:
        path = self.find(ref)
        if path is None:
            roots = ", ".join(map(str, self.roots)) or "the data roots (none given)"
            raise ZooError(f"image {ref} is in none of {roots}: {self.hint(ref)}")
        return path

    def _content(self, path: Path, ref: ImageRef) -> Path | io.BytesIO | Image.Image:
        """Returns what an image is opened from.

        Raises:
            BrokenImage: There is none in the file that should hold it.
        """
        if ref.source not in CONTAINERS:
            return path
        if ref.source == "torchvision":
            name, _, number = _split_archive_key(ref)[1].partition("/")
            return self._sets.image(path, name, int(number))
        if ref.source == "tar":
            tar, name = _split_archive_key(ref)
            place = tar if is_url(tar) else str(path)
            found = self._tars.member(place, name)
            if found is None:
                raise BrokenImage(f"{place} has no member {name}: fetch the file again")
            return io.BytesIO(found)
        _, row, column = _parquet_key(ref)
        value = self._tables.cell(path, row, column, str(ref))
        content = value.get("bytes") if isinstance(value, dict) else value
        if not isinstance(content, bytes):
            raise BrokenImage(
                f"{path} row {row}, column {column} holds no image: "
                "fetch the file again, or name another column"
            )
        return io.BytesIO(content)

    def _resolve_reference(self, ref: ImageRef) -> ImageRef | None:
        path = self._file(ref.key)
        known = by_name(PurePosixPath(ref.key if path is None else path))
        there = None if known is None else self.find(known)
        if known is None or there is None:
            return None
        same = path is None or os.path.abspath(path) == os.path.abspath(there)
        return replace(known, crop=ref.crop, size=ref.size) if same else None

    def _astray(self, ref: ImageRef) -> Iterator[str]:
        """Yields the links that may have been meant to lead to the image."""
        if ref.source in FOLDERS:
            names = _NAMES[ref.source]
            for path in self._folders.astray:
                match = names.fullmatch(os.path.basename(path))
                if match is not None and str(int(match[1])) == ref.key:
                    yield path
        elif ref.source in ("file", "published"):
            paths = (os.path.normpath(path) for path in self._candidates(ref.key))
            yield from (path for path in paths if path in self._folders.astray)

    def _listing(self, source: str) -> Listing:
        if source not in self._by_source:
            folders = [root / folder for root in self.roots for folder in FOLDERS[source]]
            self._by_source[source] = Listing(folders, _NAMES[source], self._folders)
        return self._by_source[source]

    def _file(self, key: str) -> Path | None:
        return next((path for path in self._candidates(key) if self._folders.has(path)), None)

    def _candidates(self, key: str) -> list[Path]:
        path = Path(key)
        return [path] if path.is_absolute() else [root / path for root in self.roots]


def _open(content: Path | io.BytesIO | Image.Image) -> Image.Image:
    """Opens an image file, or a frame that was saved as an array (.npy) with blue first."""
    if isinstance(content, Image.Image):
        return content
    if isinstance(content, io.BytesIO) or content.suffix != ".npy":
        return Image.open(content)
    frame = np.load(content, allow_pickle=False)
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
        raise ValueError(f"an array of {frame.dtype} {frame.shape} is no frame of three colours")
    return Image.fromarray(np.ascontiguousarray(frame[:, :, ::-1]))


def _split_archive_key(ref: ImageRef) -> tuple[str, str]:
    container, number_sign, name = ref.key.partition("#")
    if not (number_sign and name):
        raise ZooError(f"{ref} does not name what is inside its container: write FILE#NAME")
    return container, name


def _parquet_key(ref: ImageRef) -> tuple[str, int, str]:
    match = re.fullmatch(r"(.+)#(\d+)#(.+)", ref.key)
    if match is None:
        raise ZooError(f"{ref} does not name a row of a parquet file: write FILE#ROW#COLUMN")
    return match[1], int(match[2]), match[3]
