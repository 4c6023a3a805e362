"""ImageCoDe (Krojer et al. 2022): a long description picks one of ten similar images."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from zoo.benchmarks.annotations import position_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text, read_list, read_object

INSTRUCTIONS = download_command("imagecode")
IMAGES = 10
SIMPLE = "simple"
# subset: its file, number of cases, and OpenAI ViT-B/32's accuracy as measured by vl_compo
PUBLISHED: dict[str, tuple[str, int, dict[str, float]]] = {
    "video": ("valid_data.json", 1872, {"t2i": 15.1}),
    "static": ("valid_data.json", 430, {"t2i": 50.7}),
    SIMPLE: ("valid_simple.json", 2302, {}),
}
STATIC = "open-images"

Index = Annotated[int, Meta(ge=0, lt=IMAGES)]


class _SimpleEntry(Struct):
    directory: Text
    pos_idx: Index
    neg_idx: Index
    caption: Text


class ImageCoDe(PublishedBenchmark):
    """ImageCoDe: a description chooses among ten similar images (two in subset `simple`).

    Ten images form a set: frames of a video (`video`) or similar photographs (`static`). In
    `simple`, the description chooses only between the right image and one other image of the set.

    The protocol is `t2i`, and the first of equal scores wins. In `video` and `static`, the right
    image may be at any position. In `simple`, the right image is listed first, so a tie is right.
    The authors' script has no fixed rule for ties: its sorting is not stable, so the winner depends
    on the machine. zoo sorts the images of a set by the number K in their paths,
    `imagecode/image-sets/SET/imgK.jpg`.

    The cases are from the validation split, because the labels of the test split are not public.
    The published values are from vl_compo. Over all cases of `video` and `static`, vl_compo reports
    21.7 %.

    Examples:
        The fourth of ten images is right for a description:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import ImageCoDe
        >>> _ = Path("valid.json").write_text('{"video-a": {"3": "a hand is seen"}}')
        >>> [case] = ImageCoDe({"video": "valid.json"}, subsets=["video"]).read(Path()).cases
        >>> case.texts, len(case.images), int(case.match[:, 0].argmax())
        (('a hand is seen',), 10, 3)
    """

    name = "imagecode"
    licence = "MIT"
    citation = (
        "Krojer et al., Image Retrieval from Contextual Descriptions, ACL 2022, arXiv:2203.15867"
    )
    copies = (HubDataset("JamieSJS/imagecode-multi", "d28adfd8b34fefa546fdf94bdc352622b2575f6c"),)
    published = tuple(
        Subset(
            subset,
            (f"imagecode/{file}", f"imagecode/data/{file}"),
            n,
            INSTRUCTIONS,
            chance={"t2i": 50.0 if subset == SIMPLE else 100 / IMAGES},
            published=values,
        )
        for subset, (file, n, values) in PUBLISHED.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each description."""
        if subset == SIMPLE:
            for i, (_, entry) in enumerate(read_list(path, _SimpleEntry)):
                images = _images(path, entry.directory)
                both_images = images[entry.pos_idx], images[entry.neg_idx]
                yield _case(both_images, 0, entry.caption, subset, str(i))
            return
        for place, folder, descriptions in read_object(path, dict[str, Text]):
            if (STATIC in folder) != (subset == "static"):
                continue
            for index, text in descriptions.items():
                if index not in map(str, range(IMAGES)):
                    raise ZooError(
                        f"{place}: {index!r} is not a number from 0 to 9: download the file again"
                    )
                images = _images(path, folder)
                yield _case(images, int(index), text, subset, f"{folder} {index}")

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset, with a note if right answers never have some positions."""
        contents = super().read_subset(path, subset)
        if subset != SIMPLE:
            contents.notes.update(position_note(subset, contents.cases))
        return contents


def _case(images: Iterable[ImageRef], right_index: int, text: str, subset: str, name: str) -> Case:
    image_refs = tuple(images)
    match = np.arange(len(image_refs))[:, None] == right_index
    return Case(image_refs, (text.strip(),), match, "t2i", subset, name, argmax=True)


def _images(path: Path, folder: str) -> list[ImageRef]:
    """Returns the ten images of a set, sorted by the numbers in their names as the authors do."""
    place = path.parent / "image-sets" / folder
    names = sorted((file.name for file in place.glob("*.jpg")), key=_number)
    if len(names) != IMAGES:
        names = [f"img{k}.jpg" for k in range(IMAGES)]
    return [ImageRef("published", str(place / name)) for name in names]


def _number(name: str) -> int:
    digits = re.search(r"\d+", name)
    return int(digits[0]) if digits else -1
