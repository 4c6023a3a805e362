"""ARO's VG-Relation and VG-Attribution: a box of an image, its caption and a swapped caption."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.base import Case
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.parquet_rows import read_parquet_rows, shard_paths
from zoo.errors import ZooError
from zoo.sources.images import infer_image_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import read_list

RELATION, ATTRIBUTION = "VG-Relation", "VG-Attribution"
# tables of uncropped images of Visual Genome, with the boxes in other columns
RELATION_COPY = HubDataset("mteb/ARO-Visual-Relation", "53c1115ab5871ab33b09d5bb8856236d46bdaf2d")
ATTRIBUTION_COPY = HubDataset(
    "yjkimstats/ARO_VG_Attribute_fmt", "8cf00634501fb1fb61d62372af50218bff6ed96a"
)

Box = tuple[float, float, float, float]


class _SwapEntry(Struct):
    image_path: str
    bbox_x: float
    bbox_y: float
    bbox_w: float
    bbox_h: float
    true_caption: str
    false_caption: str

    @property
    def box(self) -> Box:
        """Left, top, width and height in pixels of the image."""
        return self.bbox_x, self.bbox_y, self.bbox_w, self.bbox_h


class _RelationEntry(_SwapEntry):
    relation_name: str

    @property
    def group(self) -> str:
        """The group for the macro average."""
        return self.relation_name


class _AttributionEntry(_SwapEntry):
    attributes: tuple[str, str]

    @property
    def group(self) -> str:
        """The group for the macro average."""
        return "_".join(self.attributes)


class _BoxColumns(Struct):
    x: float
    y: float
    w: float
    h: float


class _RelationRow(Struct):
    bbox: _BoxColumns
    true_caption: str
    false_caption: str
    relation_name: str

    @property
    def box(self) -> Box:
        """Left, top, width and height in pixels of the image."""
        return self.bbox.x, self.bbox.y, self.bbox.w, self.bbox.h

    @property
    def group(self) -> str:
        """The group for the macro average."""
        return self.relation_name


def swap_cases(path: Path, subset: str) -> Iterator[Case]:
    """Yields a case for each entry: a box, the right caption and the wrong one.

    Args:
        path: The published JSON, or a table of the set's copy on the hub, which includes the
            images.
        subset: VG-Relation or VG-Attribution.

    Raises:
        ZooError: The file is invalid. The error names the file and the entry.
    """
    if path.suffix == ".parquet":
        yield from _hub_copy_cases(path, subset)
        return
    schema: type[_RelationEntry | _AttributionEntry] = (
        _RelationEntry if subset == RELATION else _AttributionEntry
    )
    for i, (place, entry) in enumerate(read_list(path, schema)):
        image = infer_image_ref(f"visual_genome/{entry.image_path}")
        yield _case(image, entry, subset, str(i), place)


def _hub_copy_cases(path: Path, subset: str) -> Iterator[Case]:
    """Yields a case for each row; its id starts with "row", as the copy's order may differ."""
    schema: type[_RelationRow | _AttributionEntry]
    schema, column = (
        (_RelationRow, "image") if subset == RELATION else (_AttributionEntry, "images")
    )
    table = (
        record
        for file in shard_paths(path)
        for record in read_parquet_rows(file, schema, (column,))
    )
    for i, (place, row, (image,)) in enumerate(table):
        yield _case(image, row, subset, f"row {i}", place)


def _case(
    image: ImageRef,
    entry: _RelationEntry | _AttributionEntry | _RelationRow,
    subset: str,
    name: str,
    place: str,
) -> Case:
    left, top, width, height = map(int, entry.box)
    if width < 1 or height < 1:
        raise ZooError(
            f"{place} has a box of {width} x {height} pixels, which is empty: download the file "
            "again"
        )
    cropped_images = (replace(image, crop=(left, top, width, height)),)
    texts = entry.true_caption, entry.false_caption
    return Case(cropped_images, texts, np.array([[True, False]]), "i2t", subset, name, entry.group)
