"""SugarCrepe (Hsieh et al. 2023): one image, a caption and a fluent foil made by one edit."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zoo.benchmarks.annotations import chosen, count_notes, locate, overridden, overrides, read_json
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.errors import ZooError
from zoo.sources.images import coco_ref
from zoo.support.text_files import field

HOW = (
    "`git clone https://github.com/RAIVNLab/sugar-crepe` and copy its data/*.json into "
    "DATA_ROOT/sugarcrepe; images are COCO's val2017, in DATA_ROOT/coco/val2017"
)
# subset: cases, and accuracy of OpenAI's ViT-B/32 as vl_compo measured it (the authors print 61.4
# for swap_obj)
PUBLISHED = {
    "add_att": (692, 68.8),
    "add_obj": (2062, 77.2),
    "replace_att": (788, 80.1),
    "replace_obj": (1652, 90.9),
    "replace_rel": (1406, 69.2),
    "swap_att": (666, 64.0),
    "swap_obj": (245, 61.2),
}


class SugarCrepe(Benchmark):
    """SugarCrepe: seven kinds of fluent foils, 7,511 cases.

    A case's id is its key in the published file (keys skip a number in swap_obj).

    Args:
        files: Other places of the annotations, by subset.
        subsets: The subsets wanted, None for all seven.
    """

    name = "sugarcrepe"
    offers = tuple(PUBLISHED)

    def __init__(
        self, files: dict[str, str] | None = None, subsets: list[str] | None = None
    ) -> None:
        self.files = overrides(self.name, files, PUBLISHED)
        self.wanted = chosen(self.name, subsets, self.offers)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The subsets asked for."""
        subsets = (
            Subset(
                subset,
                (f"sugarcrepe/{subset}.json",),
                n,
                HOW,
                chance={"i2t": 50.0},
                published={"i2t": accuracy},
            )
            for subset, (n, accuracy) in PUBLISHED.items()
            if subset in self.wanted
        )
        return overridden(subsets, self.files)

    def read(self, root: Path) -> Contents:
        """Returns the cases of the subsets whose files are there."""
        contents, counts = Contents([], [], []), []
        for subset in self.subsets:
            path = locate(root, subset)
            if path is None:
                contents.absent.append(subset)
                continue
            cases = list(_cases(path, subset.name))
            counts.append((subset, len(cases)))
            contents.files.append(path)
            contents.cases.extend(cases)
        contents.notes.update(count_notes(counts))
        return contents


def _cases(path: Path, subset: str) -> Iterator[Case]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise ZooError(
            f"{path} holds a {type(content).__name__}, not an object of cases by key: "
            "give the file as published"
        )
    match = np.array([[True, False]])
    for key, entry in content.items():
        origin = f"{path}[{key}]"
        texts = (
            field(entry, "caption", str, origin),
            field(entry, "negative_caption", str, origin),
        )
        yield Case(
            (coco_ref(field(entry, "filename", str, origin), origin),),
            texts,
            match,
            "i2t",
            subset,
            key,
        )
