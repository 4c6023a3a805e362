"""COLA's single-object sets (Ray et al. 2023): which images show an object with attributes?"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.cola import COLA
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import coco_ref, visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import DOWNLOAD_AGAIN, validate_record
from zoo.support.text_files import read_json

INSTRUCTIONS = f"{download_command('cola_single')}; put CLEVR's images into DATA_ROOT/clevr"
FILES = {"gqa": "GQA", "clevr": "CLEVR", "paco": "PACO"}

Flags = tuple[int, ...]


class COLASingle(PublishedBenchmark):
    """COLA, single-object: which images show an object with the attributes that a text names?

    A case is a text, and the images that the annotation file marks as hard for this text. Some of
    these images match the text, and should score above the others. The protocol is `ap`. The mean
    of metric `ap` over all texts is the mean average precision, which the authors report. As in the
    authors' script, a text is left out if none of its hard images matches the text. A note reports
    the number of such texts. Images are from Visual Genome (`gqa`), CLEVR (`clevr`) and COCO
    (`paco`).

    zoo's code was written from the authors' script and web page, without access to the published
    files.

    Examples:
        The average precision of a text, for which the first and the third image are right:

        >>> import numpy as np
        >>> from pathlib import Path
        >>> from zoo.benchmarks import COLASingle
        >>> _ = Path("gqa.json").write_text('''[["square plate"], [["1.jpg", {}, [1], [1]],
        ... ["2.jpg", {}, [0], [1]], ["3.jpg", {}, [1], [1]]]]''')
        >>> [case] = COLASingle({"gqa": "gqa.json"}, ["gqa"]).read(Path()).cases
        >>> round(case.judge(np.array([[3.0], [2], [1]]))[0].value, 3)  # (1/1 + 2/3) / 2
        0.833
    """

    name = "cola_single"
    licence = COLA.licence
    citation = COLA.citation
    published = tuple(
        Subset(subset, (f"cola/COLA_singleobjects_benchmark_{file}.json",), None, INSTRUCTIONS)
        for subset, file in FILES.items()
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each text that matches at least one hard image."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases, with a note on the number of texts that match no hard image."""
        texts, rows = _texts_and_rows(path)
        parsed_rows = list(_parse_rows(path, subset, rows, len(texts)))
        images = [image for image, _, _ in parsed_rows]
        shape = len(images), len(texts)
        right = np.array([flags for _, flags, _ in parsed_rows], dtype=bool).reshape(shape)
        hard = np.array([flags for _, _, flags in parsed_rows], dtype=bool).reshape(shape)
        cases = [
            _case(images, text, right[hard[:, j], j], hard[:, j], subset, str(j))
            for j, text in enumerate(texts)
            if (right & hard)[:, j].any()
        ]
        notes = {}
        if len(cases) < len(texts):
            n_omitted = len(texts) - len(cases)
            notes[f"{subset} omitted"] = f"{n_omitted:,} texts that match no hard image"
        return Contents(cases, [path], [], notes)


def _texts_and_rows(path: Path) -> tuple[list[str], list[Any]]:
    """Returns the texts and the rows of a file, which is an object or a list of the two."""
    value = read_json(path)
    if isinstance(value, dict):
        value = [value.get("labels"), value.get("data")]
    texts, rows = validate_record(value, tuple[list[str], list[Any]], str(path), DOWNLOAD_AGAIN)
    return texts, rows


def _parse_rows(
    path: Path, subset: str, rows: list[Any], n: int
) -> Iterator[tuple[ImageRef, Flags, Flags]]:
    """Yields the image, the right texts and the hard texts of each row."""
    for i, row in enumerate(rows):
        place = f"{path}[{i}]"
        fields = validate_record(row, list[Any], place, DOWNLOAD_AGAIN)
        name, right, hard = validate_record(
            [*fields[:1], *fields[-2:]], tuple[str, Flags, Flags], place, DOWNLOAD_AGAIN
        )
        if (len(right), len(hard)) != (n, n):
            raise ZooError(
                f"{place} has {len(right)} and {len(hard)} flags for {n} texts: {DOWNLOAD_AGAIN}"
            )
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
    hard_images = tuple(images[i] for i in np.flatnonzero(hard))
    return Case(hard_images, (text,), right[:, None], "ap", subset, number)
