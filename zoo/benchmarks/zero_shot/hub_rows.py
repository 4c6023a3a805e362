"""Labelled images in tables: parquet files of the hub, or a folder saved by `datasets`."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct, field

from zoo.benchmarks.parquet_rows import shard_paths
from zoo.benchmarks.zero_shot.labelled_images import LabelledImages, single_labels
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.sources.table_files import arrow_batches
from zoo.support.schema import DOWNLOAD_AGAIN, validate_record
from zoo.support.text_files import read_json

STATE, INFO = "state.json", "dataset_info.json"
SPLITS = ("test", "validation", "val")


class _DataFile(Struct):
    filename: str


class _DatasetState(Struct):
    files: list[_DataFile] = field(name="_data_files")


class _DatasetInfo(Struct):
    features: dict[str, Any] | None = None


def read_saved_dataset(folder: Path) -> LabelledImages:
    """Reads a folder written by `save_to_disk` of Hugging Face's datasets.

    Raises:
        ZooError: A file is missing or invalid, or has no labels.
    """
    info = validate_record(
        read_json(folder / INFO), _DatasetInfo, str(folder / INFO), "save it again"
    )
    state = validate_record(
        read_json(folder / STATE), _DatasetState, str(folder / STATE), "save it again"
    )
    files = [folder / file.filename for file in state.files]
    image, label, names = _find_columns(info.features or {}, folder / INFO)
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


def evaluation_parquet_files(folder: Path) -> list[Path]:
    """Returns the parquet files of the evaluation split, or an empty list.

    They are in the folder or in its folder `data`. The split is the first of test, validation and
    val, or all files if their names have no split.
    """
    for place in (folder, folder / "data"):
        for pattern in (*(f"{split}*.parquet" for split in SPLITS), "*.parquet"):
            paths = sorted(place.glob(pattern))
            if paths and not (pattern == "*.parquet" and paths[0].name.startswith("train")):
                return shard_paths(paths[0]) if len(shard_paths(paths[0])) > 1 else paths
    return []


def read_parquet(folder: Path, files: list[Path]) -> LabelledImages:
    """Reads parquet files whose columns are described by Hugging Face's datasets.

    Raises:
        ZooError: A file is invalid or has no labels.
    """
    refs, labels, names = [], [], tuple[str, ...]()
    for file in files:
        try:
            schema = pq.read_schema(file)
            header = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
            features = header.get("info", {}).get("features", {})
            image, label, names = _find_columns(features, file)
            file_labels = pq.read_table(file, columns=[label])[label].to_pylist()
        except (OSError, pa.ArrowInvalid) as error:
            raise ZooError(
                f"{file} is not a complete parquet file ({error}): {DOWNLOAD_AGAIN}"
            ) from error
        labels += file_labels
        refs += [ImageRef("parquet", f"{file}#{i}#{image}") for i in range(len(file_labels))]
    return _labelled_images(folder, refs, labels, names, [])


def _find_columns(features: Mapping[str, Any], file: Path) -> tuple[str, str, tuple[str, ...]]:
    """Returns the columns of images and of labels, and the names of the classes."""
    image = next(_columns_of_type(features, "Image"), None)
    label = next(_columns_of_type(features, "ClassLabel"), None)
    if image is None or label is None:
        missing_column = "images" if image is None else "class labels"
        raise ZooError(
            f"{file} does not say which column holds {missing_column}: save it with the features "
            "Image and ClassLabel of Hugging Face's datasets"
        )
    return image, label, tuple(features[label].get("names") or ())


def _columns_of_type(features: Mapping[str, Any], kind: str) -> Iterator[str]:
    for name, feature in features.items():
        if isinstance(feature, dict) and feature.get("_type") == kind:
            yield name


def _labelled_images(
    folder: Path, refs: list[ImageRef], labels: list[Any], names: tuple[str, ...], files: list[Path]
) -> LabelledImages:
    blank = next((ref for ref, label in zip(refs, labels, strict=True) if label is None), None)
    if blank is not None:
        raise ZooError(f"{blank} has no label: use a split with labels")
    n = len(names) or None
    return LabelledImages(folder, tuple(refs), single_labels(labels), names, n, files)
