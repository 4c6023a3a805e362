"""COLA's single-object sets (Ray et al. 2023): which images show an object with its attributes?"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.cola import COLA
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import coco_ref, visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import record
from zoo.support.text_files import read_json

MEND = "fetch the file again"
HOW = (
    "`git clone https://github.com/arijitray1993/COLA` and copy its "
    "data/COLA_singleobjects_benchmark_*.json into DATA_ROOT/cola; images are Visual Genome's (in "
    "DATA_ROOT/visual_genome), CLEVR's (in DATA_ROOT/clevr) and COCO's (in DATA_ROOT/coco)"
)
FILES = {"gqa": "GQA", "clevr": "CLEVR", "paco": "PACO"}

Flags = tuple[int, ...]


class COLASingle(PublishedBenchmark):
    """COLA, single-object: texts of an object and its attributes rank images, graded by precision.

    A case is a text and its hard images, which show something of it: the published figure is the
    mean average precision over texts, the metric `ap`. A case's id is the number of its text.
    """

    name = "cola_single"
    licence = COLA.licence
    citation = COLA.citation
    published = tuple(
        Subset(subset, (f"cola/COLA_singleobjects_benchmark_{file}.json",), None, HOW)
        for subset, file in FILES.items()
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each text that a hard image is right for."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases; a note counts texts that no hard image is right for."""
        texts, rows = _parts(path)
        read = list(_rows(path, subset, rows, len(texts)))
        images = [image for image, _, _ in read]
        shape = len(images), len(texts)
        right = np.array([flags for _, flags, _ in read], dtype=bool).reshape(shape)
        hard = np.array([flags for _, _, flags in read], dtype=bool).reshape(shape)
        cases = [
            _case(images, text, right[hard[:, j], j], hard[:, j], subset, str(j))
            for j, text in enumerate(texts)
            if (right & hard)[:, j].any()
        ]
        notes = {}
        if len(cases) < len(texts):
            left = len(texts) - len(cases)
            notes[f"{subset} lacking"] = f"{left:,} texts without a right hard image left out"
        return Contents(cases, [path], [], notes)


def _parts(path: Path) -> tuple[list[str], list[Any]]:
    """Returns the texts and the rows of a file, an object as documented or a list of the two."""
    found = read_json(path)
    if isinstance(found, dict):
        found = [found.get("labels"), found.get("data")]
    texts, rows = record(found, tuple[list[str], list[Any]], str(path), MEND)
    return texts, rows


def _rows(
    path: Path, subset: str, rows: list[Any], n: int
) -> Iterator[tuple[ImageRef, Flags, Flags]]:
    """Yields image, right texts and hard texts of each row, which may describe the image too."""
    for i, row in enumerate(rows):
        place = f"{path}[{i}]"
        fields = record(row, list[Any], place, MEND)
        name, right, hard = record(
            [*fields[:1], *fields[-2:]], tuple[str, Flags, Flags], place, MEND
        )
        if (len(right), len(hard)) != (n, n):
            raise ZooError(f"{place} has {len(right)} and {len(hard)} flags for {n} texts: {MEND}")
        yield _image(name, subset, place), right, hard


def _image(name: str, subset: str, place: str) -> ImageRef:
    if subset == "gqa":
        return visual_genome_ref(name, place)
    if subset == "paco":
        return coco_ref(name, place)
    return ImageRef("published", f"clevr/{Path(name).name}")


def _case(
    images: list[ImageRef],
    text: str,
    right: NDArray[np.bool_],
    hard: NDArray[np.bool_],
    subset: str,
    number: str,
) -> Case:
    some = tuple(images[i] for i in np.flatnonzero(hard))
    return Case(some, (text,), right[:, None], "ap", subset, number)
