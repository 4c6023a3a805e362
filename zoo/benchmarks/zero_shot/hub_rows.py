"""Labelled images in tables: a data set of the hub as it is fetched, or as datasets saves it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct, field

from zoo.benchmarks.parquet import shards
from zoo.benchmarks.zero_shot.labelled import Labelled, numbered_labels
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.sources.tables import arrow_batches
from zoo.support.schema import record
from zoo.support.text_files import read_json

STATE, INFO = "state.json", "dataset_info.json"
SPLITS = ("test", "validation", "val")
AGAIN = "fetch the file again"


class _DatasetInfo(Struct):
    filename: str


class _State(Struct):
    files: list[_DatasetInfo] = field(name="_data_files")


class _Info(Struct):
    features: dict[str, Any] | None = None


def read_saved_dataset(folder: Path) -> Labelled:
    """Reads a folder that `save_to_disk` of Hugging Face's datasets wrote.

    Raises:
        ZooError: A file is absent or broken, or tells no labels.
    """
    info = record(read_json(folder / INFO), _Info, str(folder / INFO), "save it again")
    state = record(read_json(folder / STATE), _State, str(folder / STATE), "save it again")
    files = [folder / file.filename for file in state.files]
    image, label, names = _columns(info.features or {}, folder / INFO)
    refs, labels = [], []
    for file in files:
        row = 0
        for batch in arrow_batches(file):
            labels += batch.column(label).to_pylist()
            refs += [
                ImageRef("parquet", f"{file}#{row + i}#{image}") for i in range(batch.num_rows)
            ]
            row += batch.num_rows
    return _labelled_images(folder, refs, labels, names, [folder / STATE, folder / INFO])


def parquet_files(folder: Path) -> list[Path]:
    """Returns the parquet files of the split that is measured, none where there are none.

    They lie in the folder or in its `data`. The first of test, validation and val is taken, or the
    files that are there where their names tell no split.
    """
    for place in (folder, folder / "data"):
        for pattern in (*(f"{split}*.parquet" for split in SPLITS), "*.parquet"):
            found = sorted(place.glob(pattern))
            if found and not (pattern == "*.parquet" and found[0].name.startswith("train")):
                return shards(found[0]) if len(shards(found[0])) > 1 else found
    return []


def parquet(folder: Path, files: list[Path]) -> Labelled:
    """Reads parquet files whose columns are told by Hugging Face's datasets.

    Raises:
        ZooError: A file is broken or tells no labels.
    """
    refs, labels, names = [], [], tuple[str, ...]()
    for file in files:
        try:
            schema = pq.read_schema(file)
            told = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
            features = told.get("info", {}).get("features", {})
            image, label, names = _columns(features, file)
            found = pq.read_table(file, columns=[label])[label].to_pylist()
        except (OSError, pa.ArrowInvalid) as error:
            raise ZooError(f"{file} is not a whole parquet file ({error}): {AGAIN}") from error
        labels += found
        refs += [ImageRef("parquet", f"{file}#{i}#{image}") for i in range(len(found))]
    return _labelled_images(folder, refs, labels, names, [])


def _columns(features: Mapping[str, Any], file: Path) -> tuple[str, str, tuple[str, ...]]:
    """Returns the columns of images and of labels, and the names of the classes."""
    image = next(_of_type(features, "Image"), None)
    label = next(_of_type(features, "ClassLabel"), None)
    if image is None or label is None:
        lacks = "images" if image is None else "class labels"
        raise ZooError(
            f"{file} does not say which column holds {lacks}, as Hugging Face's datasets does: "
            "save it with the features Image and ClassLabel"
        )
    return image, label, tuple(features[label].get("names") or ())


def _of_type(features: Mapping[str, Any], kind: str) -> Iterator[str]:
    for name, feature in features.items():
        if isinstance(feature, dict) and feature.get("_type") == kind:
            yield name


def _labelled_images(
    folder: Path, refs: list[ImageRef], labels: list[Any], names: tuple[str, ...], files: list[Path]
) -> Labelled:
    blank = next((ref for ref, label in zip(refs, labels, strict=True) if label is None), None)
    if blank is not None:
        raise ZooError(f"{blank} has no label: name a split with labels")
    n = len(names) or None
    return Labelled(folder, tuple(refs), numbered_labels(labels), names, n, files)
