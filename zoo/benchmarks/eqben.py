"""EqBen (Wang et al. 2023): pairs of similar video frames, renderings and generated images."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import check_kind
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.protocols.group import CHANCE, METRICS
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.sources.seeds import stable_hash
from zoo.support.schema import Text, read_list

INSTRUCTIONS = (
    "download the annotations in Winoground's format as DATA_ROOT/eqben/ann.json (Google Drive, id "
    "1gNR4K2Cv4rbnjVRdHuBV6PuoJ5MlRXnZ, link in github.com/Wangt-CN/EqBen) and unpack the images "
    "in DATA_ROOT/eqben/image (100 GB; 23 GB as .jpg files; links on the same page)"
)
# subset: the folder of its images, number of cases, and text, image and group score of OpenAI's
# ViT-B/32 as measured by vl_compo (AG and YouCook2 on 5,000 cases each)
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
    # unions of constrained types sometimes crash msgspec 0.22, when their types are collected
    caption0: str | list[str]
    caption1: str | list[str]


class EqBen(PublishedBenchmark):
    """EqBen: two similar images, from a video, a renderer or a generative model (251,048 cases).

    A case has two images and their captions. The protocol is `group`, and a tie is wrong. An image
    of subset AG can have several captions. Only the first caption is used, as in the authors' code.

    zoo expects the images in `eqben/image`. Frames of YouCook2 are arrays (.npy). For all other
    images, the annotations name .png files. If a .jpg file with the same name exists, zoo reads the
    .jpg file.

    The published values are from vl_compo. For AG and YouCook2, vl_compo measured only 5,000 cases
    each. Averages over EqBen count the three Kubric subsets as one. `--benchmarks suite:fsc_clip`
    keeps at most 20,000 cases per subset, as the FSC-CLIP paper does.

    Args:
        max_cases: The maximum number of cases per subset. zoo hashes the position of each case in
            the file, and keeps the cases with the lowest hashes. By default, all cases are kept.
            The FSC-CLIP paper keeps 20,000 cases, and does not state which.
        files: Paths of annotation files, by subset, if they are not the default ones.
        subsets: The chosen subsets; None for all.

    Examples:
        The sets that one annotation file is split into:

        >>> from zoo.benchmarks import EqBen
        >>> {subset.name: subset.n for subset in EqBen(subsets=["GEBC", "Kubric count"]).subsets}
        {'GEBC': 1814, 'Kubric count': 2000}
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
            INSTRUCTIONS,
            chance=CHANCE,
            published=dict(zip(METRICS, values, strict=True)),
        )
        for subset, (_, n, values) in PUBLISHED.items()
    )

    def __init__(
        self,
        max_cases: int | None = None,
        files: dict[str, str] | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        super().__init__(files, subsets)
        if max_cases is not None and max_cases < 1:
            raise ZooError(f"eqben: max_cases is {max_cases}: give a number of at least 1")
        self.max_cases = max_cases

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen subsets, with the number of cases that are kept."""
        limit = self.max_cases
        return tuple(
            subset if limit is None else replace(subset, n=min(subset.n or limit, limit))
            for subset in super().subsets
        )

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset that are kept, with a note on how they were chosen."""
        contents = super().read_subset(path, subset)
        n = len(contents.cases)
        if self.max_cases is None or n <= self.max_cases:
            return contents
        by_hash = sorted(contents.cases, key=lambda case: stable_hash(case.id))
        case_ids = {case.id for case in by_hash[: self.max_cases]}
        note = f"{self.max_cases:,} of {n:,}, those with the lowest hash of their number"
        return replace(
            contents,
            cases=[case for case in contents.cases if case.id in case_ids],
            notes={**contents.notes, f"{subset} cases kept": note},
        )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each entry whose images are in the subset's folder."""
        folders = {folder: name for name, (folder, _, _) in PUBLISHED.items()}
        match = np.eye(2, dtype=bool)
        for i, (place, entry) in enumerate(read_list(path, _EqBenEntry)):
            folder = check_kind(entry.image0.partition("/")[0], folders, place)
            if folders[folder] == subset:
                images = tuple(_image(path, name) for name in (entry.image0, entry.image1))
                texts = _first_caption(entry.caption0, place), _first_caption(entry.caption1, place)
                yield Case(images, texts, match, "group", subset, str(i))


def _first_caption(captions: str | list[str], place: str) -> str:
    caption = captions if isinstance(captions, str) else next(iter(captions), "")
    if not caption.strip():
        raise ZooError(f"{place}: a caption is blank: download the file again")
    return caption


def _image(path: Path, name: str) -> ImageRef:
    published = path.parent / "image" / name
    jpg = published.with_suffix(".jpg")
    return ImageRef("published", str(jpg if jpg.is_file() else published))
