"""Images of a report: a small copy of each next to the pages, or a link to its publisher."""

from dataclasses import dataclass, field
from pathlib import Path

from zoo.errors import ZooError
from zoo.results.html_pages import thumbnail_jpeg
from zoo.sources.images import ImageFinder, infer_image_ref

FOLDER = "images"
LOCAL_SOURCE = "file"  # the source of a user's own images
# folders in which the publishers keep the same images under the same names
COCO = ("train2014", "val2014", "train2017", "val2017")
VISUAL_GENOME = ("VG_100K", "VG_100K_2")


@dataclass(frozen=True)
class ImageLocation:
    """The location of an image for a page.

    Attributes:
        file: Path of the copy, relative to the pages' folder; empty if there is none.
        link: Address at its publisher; empty if that is not known.
    """

    file: str = ""
    link: str = ""


@dataclass
class PageImages:
    """Copies images next to the pages, each once, as long as there is room.

    Args:
        finder: Finds the images; None if no data root was given.
        out: The folder of the pages.
        bytes_left: Bytes left for copies.
        publish: Whether to link public images instead of copying them.
    """

    finder: ImageFinder | None
    out: Path
    bytes_left: int
    publish: bool
    locations: dict[str, ImageLocation] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    n_over_limit: int = 0
    n_linked: int = 0

    def add(self, image: str) -> None:
        """Copies or links an image, unless this was done before."""
        if image not in self.locations:
            self.locations[image] = self._copy_or_link(image, f"{FOLDER}/{len(self.locations)}.jpg")

    def display_name(self, image: str) -> str:
        """Returns an image's name on the pages; for a local file, its path below a data root."""
        ref = infer_image_ref(image)
        if ref.source != LOCAL_SOURCE:
            return image
        path = Path(ref.key).absolute()
        roots = [root.absolute() for root in (self.finder.roots if self.finder else ())]
        base = next((root for root in roots if path.is_relative_to(root)), path.parent)
        return str(path.relative_to(base))

    def may_copy(self, image: str) -> bool:
        """Returns whether an image may be copied next to the pages."""
        return not self.publish or infer_image_ref(image).source == LOCAL_SOURCE

    def notes(self) -> list[str]:
        """Returns the report's notes on the images that were not copied."""
        notes, total = [], f"of {len(self.locations):,} images"
        if self.n_linked:
            notes.append(
                f"{self.n_linked:,} {total} belong to others and are not copied; those with a "
                "known "
                "address at their publisher are linked"
            )
        if self.missing and self.finder is None:
            notes.append(
                f"{len(self.missing):,} {total} are not shown, since no folder of images is given: "
                "add --data_root FOLDER"
            )
        elif self.missing and self.finder is not None:
            roots = ", ".join(map(str, self.finder.roots))
            notes.append(
                f"{len(self.missing):,} {total} are not below {roots} (with links resolved), or "
                f"cannot be decoded (first {self.display_name(self.missing[0])}): give their "
                "folder with "
                "--data_root"
            )
        if self.n_over_limit:
            notes.append(
                f"{self.n_over_limit:,} {total} are not copied, to keep the report within "
                "--max_size_mb"
            )
        return notes

    def _copy_or_link(self, image: str, name: str) -> ImageLocation:
        if not self.may_copy(image):
            self.n_linked += 1
            return ImageLocation(link=self._publisher_address(image))
        if self.bytes_left <= 0:
            self.n_over_limit += 1
            return ImageLocation()
        try:
            content = None if self.finder is None else thumbnail_jpeg(image, self.finder)
        except ZooError:  # its container is broken or missing
            content = None
        if content is None:
            self.missing.append(image)
            return ImageLocation()
        self.bytes_left -= len(content)
        (self.out / FOLDER).mkdir(exist_ok=True)
        (self.out / name).write_bytes(content)
        return ImageLocation(file=name)

    def _publisher_address(self, image: str) -> str:
        """Returns the address of an image at its publisher; empty if that is not known."""
        ref = infer_image_ref(image)
        if ref.source == "flickr":
            return f"https://www.flickr.com/photo.gne?id={ref.key}"
        path = None if self.finder is None else self.finder.find(ref)
        if path is None:
            return ""
        if ref.source == "coco" and path.parent.name in COCO:
            return f"http://images.cocodataset.org/{path.parent.name}/{path.name}"
        if ref.source == "visual_genome" and path.parent.name in VISUAL_GENOME:
            return f"https://cs.stanford.edu/people/rak248/{path.parent.name}/{path.name}"
        return ""
