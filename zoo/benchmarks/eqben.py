"""EqBen (Wang et al. 2023): frames that hardly differ, of videos, of a renderer and a diffusion."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import of_kind
from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.protocols.group import CHANCE, METRICS
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text, read_list

HOW = (
    "by the links in github.com/Wangt-CN/EqBen, download the annotation that is formed as "
    "Winoground's (Google Drive, id 1gNR4K2Cv4rbnjVRdHuBV6PuoJ5MlRXnZ) as DATA_ROOT/eqben/ann.json "
    "and unpack the images in DATA_ROOT/eqben/image (100 GB; 23 GB as jpg)"
)
# subset: the folder that its images are in, cases, and text, image and group score of OpenAI's
# ViT-B/32 as vl_compo measured it (AG and YouCook2 over 5,000 cases each)
PUBLISHED = {
    "AG": ("eqbenag", 195_872, (14.7, 8.7, 3.0)),
    "YouCook2": ("eqbenyoucook2", 45_849, (49.1, 52.7, 37.3)),
    "GEBC": ("eqbengebc", 1814, (11.7, 20.6, 4.5)),
    "Kubric location": ("eqbenkubric_loc", 2000, (6.4, 5.2, 1.0)),
    "Kubric count": ("eqbenkubric_cnt", 2000, (20.1, 16.2, 6.1)),
    "Kubric attribute": ("eqbenkubric_attr", 2000, (39.9, 40.7, 22.2)),
    "Stable Diffusion": ("eqbensd", 1513, (89.2, 85.4, 77.8)),
}


class _EqBenEntry(Struct):
    image0: Text
    image1: Text
    # unions of types with constraints crash msgspec 0.22 at times, when its types are collected
    caption0: str | list[str]
    caption1: str | list[str]


class EqBen(PublishedBenchmark):
    """EqBen: seven sets of two frames and their captions, 251,048 cases.

    Of AG's captions the first counts, as in the authors' code. Frames of YouCook2 are arrays
    (.npy); the others may be jpg where the annotation says png.
    """

    name = "eqben"
    licence = "Apache-2.0"
    citation = (
        "Wang et al., Equivariant Similarity for Vision-Language Foundation Models, ICCV 2023, "
        "arXiv:2303.14465"
    )
    published = tuple(
        Subset(
            subset,
            ("eqben/ann.json",),
            n,
            HOW,
            chance=CHANCE,
            published=dict(zip(METRICS, values, strict=True)),
        )
        for subset, (_, n, values) in PUBLISHED.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each entry whose images are in the subset's folder."""
        folders = {folder: name for name, (folder, _, _) in PUBLISHED.items()}
        match = np.eye(2, dtype=bool)
        for i, (place, entry) in enumerate(read_list(path, _EqBenEntry)):
            folder = of_kind(entry.image0.partition("/")[0], folders, place)
            if folders[folder] == subset:
                images = tuple(_image(path, name) for name in (entry.image0, entry.image1))
                texts = _first_caption(entry.caption0, place), _first_caption(entry.caption1, place)
                yield Case(images, texts, match, "group", subset, str(i))


def _first_caption(captions: str | list[str], place: str) -> str:
    found = captions if isinstance(captions, str) else next(iter(captions), "")
    if not found.strip():
        raise ZooError(f"{place}: a caption is blank where a text is needed: fetch the file again")
    return found


def _image(path: Path, name: str) -> ImageRef:
    published = path.parent / "image" / name
    smaller = published.with_suffix(".jpg")
    return ImageRef("published", str(smaller if smaller.is_file() else published))
