"""Tars of labelled images in the format of CLIP_benchmark."""

import io
from pathlib import Path

import numpy as np

from zoo.benchmarks.zero_shot.image_folder import SUFFIXES
from zoo.benchmarks.zero_shot.labelled_images import LabelledImages
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.sources.tars import read_members
from zoo.support.schema import DOWNLOAD_AGAIN
from zoo.support.text_files import read_bytes

SHARDS, KIND = "nshards.txt", "dataset_type.txt"


def read_tars(folder: Path, split: Path) -> LabelledImages:
    """Reads the tars of a split.

    Args:
        folder: The folder of the data set, whose dataset_type.txt is "multilabel" if an image may
            have several classes.
        split: The folder of the tars, whose nshards.txt has the number of tars.

    Raises:
        ZooError: A tar is missing or invalid, or an image has no label.
    """
    kind_file = folder / KIND
    kind = read_bytes(kind_file).decode("utf-8").strip().lower() if kind_file.is_file() else ""
    if kind == "retrieval":
        raise ZooError(
            f"{folder} has captions, not classes, according to {kind_file}: use a folder of classes"
        )
    multilabel = kind == "multilabel"
    ending = ".npy" if multilabel else ".cls"
    images: dict[str, ImageRef] = {}
    labels: dict[str, tuple[int, ...]] = {}
    n = None
    for number in range(_read_count(split / SHARDS)):
        shard = split / f"{number}.tar"
        if not shard.is_file():
            raise ZooError(f"{shard} is missing, but {split / SHARDS} counts it: download it")
        for member, data in read_members(str(shard), lambda member: member.name.endswith(ending)):
            name = Path(member.name)
            key = f"{number}/{name.parent}/{name.name.partition('.')[0]}"
            if name.suffix.lower() in SUFFIXES:
                images[key] = ImageRef("tar", f"{shard}#{member.name}")
            elif data is not None:
                place = f"{shard}#{member.name}"
                labels[key], n = (
                    _parse_vector(data, place) if multilabel else (_parse_class(data, place), None)
                )
    unlabelled = next((key for key in images if key not in labels), None)
    if unlabelled is not None or not images:
        culprit, missing_item = (
            (split, "image")
            if unlabelled is None
            else (images[unlabelled].key, f"label ({ending})")
        )
        raise ZooError(f"{culprit} has no {missing_item}: {DOWNLOAD_AGAIN}")
    label_files = [split / SHARDS, *([kind_file] if kind else [])]
    label_tuples = tuple(labels[key] for key in images)
    return LabelledImages(
        folder, tuple(images.values()), label_tuples, (), n, label_files, multilabel
    )


def _read_count(path: Path) -> int:
    text = read_bytes(path).decode("utf-8", "replace").strip()
    if not text.isdecimal():
        raise ZooError(f"{path} has {text!r} instead of the number of tars: {DOWNLOAD_AGAIN}")
    return int(text)


def _parse_class(data: bytes, place: str) -> tuple[int, ...]:
    try:
        return (int(data),)
    except ValueError as error:
        raise ZooError(
            f"{place} has {data[:40]!r} instead of the number of a class: {DOWNLOAD_AGAIN}"
        ) from error


def _parse_vector(data: bytes, place: str) -> tuple[tuple[int, ...], int]:
    """Returns the classes of a vector of zeros and ones, and its length."""
    try:
        vector = np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ZooError(f"{place} is not an array ({error}): {DOWNLOAD_AGAIN}") from error
    return tuple(map(int, np.flatnonzero(vector > 0))), len(vector)
