"""Images of COCO and Visual Genome, which their publishers serve one by one and as zips."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zoo.downloads.files import Archive, PublishedFile
from zoo.sources.sample import ImageRef

# the publisher's bucket by its own address: images.cocodataset.org has no valid certificate
COCO_SERVER = "https://s3.amazonaws.com/images.cocodataset.org"
VISUAL_GENOME_SERVER = "https://cs.stanford.edu/people/rak248"
SERVED_SOURCES = ("coco", "visual_genome")  # of image references
ARCHIVE_SHARE = 0.5  # of a folder's images, from which on its zip is fetched instead


@dataclass(frozen=True)
class ImageFolder:
    """A folder of images that are also served one by one.

    Args:
        url: The address of the folder.
        path: The folder under the data root.
        file_name: The name of an image, with a place for its number.
        count: The number of images.
        zip: The zip of the folder.
        archive: How the zip is unpacked.
    """

    url: str
    path: str
    file_name: str
    count: int
    zip: PublishedFile
    archive: Archive

    @property
    def mean_bytes(self) -> int:
        """The mean size of an image."""
        return self.archive.unpacked_bytes // self.count

    def image(self, number: int) -> PublishedFile:
        """Returns the file of one image.

        Args:
            number: Its number.
        """
        name = self.file_name.format(number)
        return PublishedFile(f"{self.url}/{name}", f"{self.path}/{name}")


def _coco(name: str, file_name: str, count: int, n_bytes: int, md5: str) -> ImageFolder:
    zip_path, folder = f"coco/{name}.zip", f"coco/{name}"
    zip_file = PublishedFile(f"{COCO_SERVER}/zips/{name}.zip", zip_path, n_bytes, f"md5:{md5}")
    return ImageFolder(
        f"{COCO_SERVER}/{name}",
        folder,
        file_name,
        count,
        zip_file,
        Archive(zip_path, ((f"{name}/*.jpg", "coco"),), ((f"{folder}/*.jpg", count),), n_bytes),
    )


def _visual_genome(name: str, zip_name: str, count: int, n_bytes: int) -> ImageFolder:
    zip_path, folder = f"visual_genome/{zip_name}", f"visual_genome/{name}"
    members = ((f"{name}/*.jpg", "visual_genome"),)
    return ImageFolder(
        f"{VISUAL_GENOME_SERVER}/{name}",
        folder,
        "{}.jpg",
        count,
        PublishedFile(f"{VISUAL_GENOME_SERVER}/VG_100K_2/{zip_name}", zip_path, n_bytes),
        Archive(zip_path, members, ((f"{folder}/*.jpg", count),), n_bytes),
    )


COCO = {
    "val2017": _coco(
        "val2017", "{:012d}.jpg", 5_000, 815_585_330, "442b8da7639aecaf257c1dceb8ba8c80"
    ),
    "train2017": _coco(
        "train2017", "{:012d}.jpg", 118_287, 19_336_861_798, "cced6f7f71b7629ddf16f17bbcfab6b2"
    ),
    "val2014": _coco(
        "val2014",
        "COCO_val2014_{:012d}.jpg",
        40_504,
        6_645_013_297,
        "a3d79f5ed8d289b7a7554ce06a5782b3",
    ),
    "train2014": _coco(
        "train2014",
        "COCO_train2014_{:012d}.jpg",
        82_783,
        13_510_573_713,
        "0da8c0bd3d6becc4dcb32757491aca88",
    ),
}
VISUAL_GENOME = (
    _visual_genome("VG_100K", "images.zip", 64_346, 9_731_705_982),
    _visual_genome("VG_100K_2", "images2.zip", 43_903, 5_471_658_058),
)


@dataclass(frozen=True)
class ImagePlan:
    """How missing images are fetched.

    Args:
        files: The images that are fetched one by one.
        folders: The folders whose zips are fetched.
        bytes: The size of the images, about.
        unavailable: The images that no publisher serves.
    """

    files: tuple[PublishedFile, ...]
    folders: tuple[ImageFolder, ...]
    bytes: int
    unavailable: tuple[ImageRef, ...]


def plan_images(
    missing: Iterable[ImageRef], coco_folders: Sequence[str], whole_folders: bool
) -> ImagePlan:
    """Returns how missing images are fetched: one by one, or as a zip if most are needed.

    Args:
        missing: The images.
        coco_folders: The folders of COCO that may have them, in the order in which they are tried.
        whole_folders: Whether the zips are fetched in any case.

    Returns:
        The images and zips to fetch.
    """
    numbers: dict[str, set[int]] = {source: set() for source in SERVED_SOURCES}
    unavailable = set()
    for image in missing:
        if image.source in numbers:
            numbers[image.source].add(int(image.key))
        else:
            unavailable.add(image)
    folders = {
        "coco": tuple(COCO[name] for name in coco_folders),
        "visual_genome": VISUAL_GENOME,
    }
    files: list[PublishedFile] = []
    unpacked: list[ImageFolder] = []
    n_bytes = 0
    for source, needed in numbers.items():
        count = sum(folder.count for folder in folders[source])
        if needed and (whole_folders or len(needed) > ARCHIVE_SHARE * count):
            unpacked += folders[source]
        else:
            files += [_first_of(folders[source], number) for number in sorted(needed)]
            n_bytes += len(needed) * folders[source][0].mean_bytes
    return ImagePlan(tuple(files), tuple(unpacked), n_bytes, tuple(sorted(unavailable)))


def _first_of(folders: Sequence[ImageFolder], number: int) -> PublishedFile:
    image, *other_images = (folder.image(number) for folder in folders)
    return PublishedFile(image.url, image.path, alternatives=tuple(other_images))
