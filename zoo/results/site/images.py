"""Images of a report: a small copy of each beside the pages, or a link to where it is published."""

from dataclasses import dataclass, field
from pathlib import Path

from zoo.errors import ZooError
from zoo.results.pages import thumbnail
from zoo.sources.images import ImageFinder, image_ref

FOLDER = "images"
OWN = "file"  # the source of a user's own images
# folders under whose names the publishers keep the same images
COCO = ("train2014", "val2014", "train2017", "val2017")
VISUAL_GENOME = ("VG_100K", "VG_100K_2")


@dataclass(frozen=True)
class ImageLocation:
    """Where a page finds an image.

    Attributes:
        file: The copy, from the pages' folder; empty where there is none.
        link: Where it is published; empty where that is not known.
    """

    file: str = ""
    link: str = ""


@dataclass
class PageImages:
    """Copies images beside pages, each once, as long as there is room.

    Args:
        finder: Finds the images; None where no data root was given.
        out: The folder of the pages.
        room: How many bytes the copies may take.
        publish: Whether images of others are linked rather than copied.
    """

    finder: ImageFinder | None
    out: Path
    room: int
    publish: bool
    shown: dict[str, ImageLocation] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)
    crowded: int = 0
    linked: int = 0

    def add(self, image: str) -> None:
        """Copies or links an image that is not yet."""
        if image not in self.shown:
            self.shown[image] = self._add(image, f"{FOLDER}/{len(self.shown)}.jpg")

    def name(self, image: str) -> str:
        """Returns what pages call an image: of one's own no folder above the data roots."""
        ref = image_ref(image)
        if ref.source != OWN:
            return image
        path = Path(ref.key).absolute()
        roots = [root.absolute() for root in (self.finder.roots if self.finder else ())]
        under = next((root for root in roots if path.is_relative_to(root)), path.parent)
        return str(path.relative_to(under))

    def may_copy(self, image: str) -> bool:
        """Returns whether an image may lie beside the pages."""
        return not self.publish or image_ref(image).source == OWN

    def notes(self) -> list[str]:
        """Returns what the report says of the images that it has no copies of."""
        found, of = [], f"of {len(self.shown):,} images"
        if self.linked:
            found.append(
                f"{self.linked:,} {of} are others' and not copied; where their publisher's address "
                "is known, they are linked"
            )
        if self.gone and self.finder is None:
            found.append(
                f"{len(self.gone):,} {of} are not shown: add --data_root FOLDER, since only images "
                "below a folder that you give are read"
            )
        elif self.gone and self.finder is not None:
            roots = ", ".join(map(str, self.finder.roots))
            found.append(
                f"{len(self.gone):,} {of} are not below {roots}, links followed, or cannot be "
                f"decoded (first {self.name(self.gone[0])}): give their folder by --data_root"
            )
        if self.crowded:
            found.append(
                f"{self.crowded:,} {of} have no copy, as the report would be larger than "
                "--most_mb allows"
            )
        return found

    def _add(self, image: str, name: str) -> ImageLocation:
        if not self.may_copy(image):
            self.linked += 1
            return ImageLocation(link=self._link(image))
        if self.room <= 0:
            self.crowded += 1
            return ImageLocation()
        try:
            content = None if self.finder is None else thumbnail(image, self.finder)
        except ZooError:  # a container that held it is broken or gone
            content = None
        if content is None:
            self.gone.append(image)
            return ImageLocation()
        self.room -= len(content)
        (self.out / FOLDER).mkdir(exist_ok=True)
        (self.out / name).write_bytes(content)
        return ImageLocation(file=name)

    def _link(self, image: str) -> str:
        """Returns the address of an image at its publisher, as far as the file found tells it."""
        ref = image_ref(image)
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
