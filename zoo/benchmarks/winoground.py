"""Winoground (Thrush et al. 2022): two images and two captions of the same words."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from zoo.benchmarks.annotations import count_notes, given_path
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.schema import lines, record

HOW = (
    "gated: accept its licence at huggingface.co/datasets/facebook/winoground, then "
    "`huggingface-cli download --repo-type dataset facebook/winoground "
    "--local-dir DATA_ROOT/winoground` with your token; "
    "where that brings data/images.zip, unpack it in DATA_ROOT/winoground/data. "
    "The images may not be passed on"
)
JSONL = ("winoground/data/examples.jsonl", "winoground/examples.jsonl")
SUBSET = Subset(
    "winoground",
    (*JSONL, "winoground/*.parquet", "winoground/*/*.parquet"),
    400,
    HOW,
    chance={"text": 25.0, "image": 25.0, "group": 100 / 6},
    published={"text": 31.25, "image": 11.0, "group": 8.75},
)


class _Row(Struct):
    id: int | str
    caption_0: str
    caption_1: str
    collapsed_tag: str | None = None
    tag: str | None = None


class _Line(_Row, kw_only=True):
    image_0: str
    image_1: str


class Winoground(Benchmark):
    """Winoground: 400 cases of two images and two captions.

    A case's group is its tag (Object, Relation or Both).

    Args:
        file: Another place of the annotations: a parquet file, a folder of parquet shards, or an
            examples.jsonl with a folder `images` beside it. None takes the published place.
    """

    name = "winoground"
    licence = "Winoground's research licence of Meta, which forbids to pass the images on"
    citation = (
        "Thrush et al., Winoground: Probing vision and language models for visio-linguistic "
        "compositionality, CVPR 2022, arXiv:2204.03162"
    )

    def __init__(self, file: str | None = None) -> None:
        self.file = file

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The one subset, which has all cases."""
        return (SUBSET if self.file is None else replace(SUBSET, files=(self.file,), named=True),)

    def read(self, root: Path) -> Contents:
        """Returns the cases where the annotations are there."""
        files = self._found(root)
        if not files:
            return Contents([], [], list(self.subsets))
        cases = [
            case
            for file in files
            for case in (_of_jsonl if file.suffix == ".jsonl" else _of_parquet)(file, root)
        ]
        return Contents(cases, files, [], count_notes([(SUBSET, len(cases))]))

    def _found(self, root: Path) -> list[Path]:
        if self.file is not None:
            given = given_path(root, self.file)
            return (
                []
                if given is None
                else [given]
                if given.is_file()
                else sorted(given.glob("*.parquet"))
            )
        lines = next((root / name for name in JSONL if (root / name).is_file()), None)
        return (
            [lines]
            if lines
            else sorted({*root.glob("winoground/*.parquet"), *root.glob("winoground/*/*.parquet")})
        )


def _of_jsonl(path: Path, root: Path) -> Iterator[Case]:
    for _, row in lines(path, _Line, "fetch the file again"):
        names = row.image_0, row.image_1
        images = tuple(ImageRef("published", _image(path, root, name)) for name in names)
        yield _case(row, images)


def _image(path: Path, root: Path, stem: str) -> str:
    name = stem if Path(stem).suffix else f"{stem}.png"
    return _under(path.parent / "images" / name, root)


def _of_parquet(path: Path, root: Path) -> Iterator[Case]:
    wanted = _Row.__struct_fields__
    try:
        names = pq.read_schema(path).names
        rows = pq.read_table(path, columns=[name for name in wanted if name in names]).to_pylist()
    except (OSError, pa.ArrowInvalid) as error:
        raise ZooError(f"{path} is not a whole parquet file ({error}): fetch it again") from error
    lacking = [name for name in ("image_0", "image_1") if name not in names]
    if lacking:
        raise ZooError(
            f"{path} has no column {lacking[0]}, only {', '.join(names)}: fetch the file again"
        )
    for i, row in enumerate(rows):
        images = tuple(ImageRef("parquet", f"{_under(path, root)}#{i}#image_{k}") for k in (0, 1))
        place = f"{path}[{i}]"
        yield _case(record(row, _Row, place, "fetch the file again"), images)


def _case(row: _Row, images: Iterable[ImageRef]) -> Case:
    texts = row.caption_0, row.caption_1
    tag = row.collapsed_tag or row.tag
    return Case(tuple(images), texts, np.eye(2, dtype=bool), "group", SUBSET.name, str(row.id), tag)


def _under(path: Path, root: Path) -> str:
    """Returns the path from the root, so that results do not depend on where the root lies.

    A path outside the root is absolute.
    """
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path.absolute())
