"""Winoground (Thrush et al. 2022): two images and two captions with the same words."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import case_count_notes, find_path
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.parquet_rows import read_parquet_rows
from zoo.benchmarks.protocols.group import CHANCE
from zoo.benchmarks.roots import make_image_paths_relative
from zoo.sources.sample import ImageRef
from zoo.support.schema import read_json_lines

HUB = HubDataset("facebook/winoground", "b400e173549071916ad1b3d449293bc8d8b4b763", gated=True)
INSTRUCTIONS = f"{HUB.download_instructions('winoground')}. The images must not be redistributed"
JSONL = ("winoground/data/examples.jsonl", "winoground/examples.jsonl")
SUBSET = Subset(
    "winoground",
    (*JSONL, "winoground/*.parquet", "winoground/*/*.parquet"),
    400,
    INSTRUCTIONS,
    chance=CHANCE,
    published={"text": 31.25, "image": 11.0, "group": 8.75},
)


class _WinogroundRow(Struct):
    id: int | str
    caption_0: str
    caption_1: str
    collapsed_tag: str | None = None
    tag: str | None = None


class _WinogroundLine(_WinogroundRow, kw_only=True):
    image_0: str
    image_1: str


class Winoground(Benchmark):
    """Winoground: two images, and two captions of the same words in another order (400 cases).

    Protocol `group` reports three metrics. Metric `text` requires that each image chooses its
    caption. Metric `image` requires that each caption chooses its image. Metric `group` requires
    both. A tie is wrong. With 400 cases, a 95 % interval extends 3 to 5 percentage points to either
    side.

    The images have to be in folder `images` next to `examples.jsonl`, or inside parquet files. In
    the results per case (`cases.parquet`), column `group` is not metric `group`, but the tag of
    the case: Object, Relation or Both.

    Args:
        file: The annotations: a parquet file, a folder of parquet shards, or an examples.jsonl next
            to a folder `images`. None for the default path.

    Examples:
        The text score is right and the image score is not, if both texts prefer the second image:

        >>> import numpy as np
        >>> from pathlib import Path
        >>> from zoo.benchmarks import Winoground
        >>> _ = Path("examples.jsonl").write_text('{"id": 3, "image_0": "a", "image_1": "b", '
        ...     '"caption_0": "a mug in grass", "caption_1": "grass in a mug", '
        ...     '"collapsed_tag": "Object"}')
        >>> [case] = Winoground("examples.jsonl").read(Path()).cases
        >>> {outcome.metric: outcome.right for outcome in case.judge(np.array([[2.0, 1], [3, 4]]))}
        {'text': True, 'image': False, 'group': False}
    """

    name = "winoground"
    licence = "Meta's research licence of Winoground, which forbids redistributing the images"
    citation = (
        "Thrush et al., Winoground: Probing vision and language models for visio-linguistic "
        "compositionality, CVPR 2022, arXiv:2204.03162"
    )
    hub = HUB

    def __init__(self, file: str | None = None) -> None:
        self.file = file

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The only subset, with all cases."""
        return (
            SUBSET if self.file is None else replace(SUBSET, files=(self.file,), from_user=True),
        )

    def read(self, root: Path) -> Contents:
        """Returns the cases if the annotations exist."""
        files = self._find_files(root)
        if not files:
            return Contents([], [], list(self.subsets))
        cases = [
            case
            for file in files
            for case in (_jsonl_cases if file.suffix == ".jsonl" else _parquet_cases)(file)
        ]
        notes = case_count_notes([(SUBSET, len(cases))])
        return Contents(
            list(make_image_paths_relative(cases, root, files[0].parent)), files, [], notes
        )

    def _find_files(self, root: Path) -> list[Path]:
        if self.file is not None:
            path = find_path(root, self.file)
            return (
                [] if path is None else [path] if path.is_file() else sorted(path.glob("*.parquet"))
            )
        jsonl_file = next((root / name for name in JSONL if (root / name).is_file()), None)
        return (
            [jsonl_file]
            if jsonl_file
            else sorted({*root.glob("winoground/*.parquet"), *root.glob("winoground/*/*.parquet")})
        )


def _jsonl_cases(path: Path) -> Iterator[Case]:
    for _, row in read_json_lines(path, _WinogroundLine, "download the file again"):
        names = row.image_0, row.image_1
        yield _case(row, [ImageRef("published", _image_path(path, name)) for name in names])


def _image_path(path: Path, stem: str) -> str:
    return str(path.parent / "images" / (stem if Path(stem).suffix else f"{stem}.png"))


def _parquet_cases(path: Path) -> Iterator[Case]:
    for _, row, images in read_parquet_rows(path, _WinogroundRow, ("image_0", "image_1")):
        yield _case(row, images)


def _case(row: _WinogroundRow, images: Iterable[ImageRef]) -> Case:
    texts = row.caption_0, row.caption_1
    tag = row.collapsed_tag or row.tag
    return Case(tuple(images), texts, np.eye(2, dtype=bool), "group", SUBSET.name, str(row.id), tag)
