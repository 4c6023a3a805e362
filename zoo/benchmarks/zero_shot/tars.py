"""Tars of labelled images, as CLIP_benchmark writes them."""

import io
from pathlib import Path

import numpy as np

from zoo.benchmarks.zero_shot.image_folder import SUFFIXES
from zoo.benchmarks.zero_shot.labelled import Labelled
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.sources.tars import members
from zoo.support.text_files import content

SHARDS, KIND = "nshards.txt", "dataset_type.txt"
AGAIN = "fetch the file again"


def tars(folder: Path, split: Path) -> Labelled:
    """Reads the tars of a split.

    Args:
        folder: The folder of the data set, whose dataset_type.txt says "multilabel" where an image
            may be of several classes.
        split: The folder of the tars, whose nshards.txt says how many there are.

    Raises:
        ZooError: A tar is absent or broken, or an image has no label.
    """
    kind_file = folder / KIND
    kind = content(kind_file).decode("utf-8").strip().lower() if kind_file.is_file() else ""
    if kind == "retrieval":
        raise ZooError(
            f"{kind_file} says that {folder} holds captions, not classes: name a folder of classes"
        )
    multilabel = kind == "multilabel"
    ending = ".npy" if multilabel else ".cls"
    images: dict[str, ImageRef] = {}
    labels: dict[str, tuple[int, ...]] = {}
    n = None
    for number in range(_number(split / SHARDS)):
        shard = split / f"{number}.tar"
        if not shard.is_file():
            raise ZooError(f"{shard} is absent, and {split / SHARDS} counts it: fetch it")
        for member, said in members(str(shard), lambda member: member.name.endswith(ending)):
            name = Path(member.name)
            key = f"{number}/{name.parent}/{name.name.partition('.')[0]}"
            if name.suffix.lower() in SUFFIXES:
                images[key] = ImageRef("tar", f"{shard}#{member.name}")
            elif said is not None:
                place = f"{shard}#{member.name}"
                labels[key], n = _vector(said, place) if multilabel else (_class(said, place), None)
    lacks = next((key for key in images if key not in labels), None)
    if lacks is not None or not images:
        culprit, what = (
            (split, "image") if lacks is None else (images[lacks].key, f"label ({ending})")
        )
        raise ZooError(f"{culprit} has no {what}: {AGAIN}")
    said_by = [split / SHARDS, *([kind_file] if kind else [])]
    every = tuple(labels[key] for key in images)
    return Labelled(folder, tuple(images.values()), every, (), n, said_by, multilabel)


def _number(path: Path) -> int:
    text = content(path).decode("utf-8", "replace").strip()
    if not text.isdecimal():
        raise ZooError(f"{path} says {text!r} where the number of tars is needed: {AGAIN}")
    return int(text)


def _class(said: bytes, place: str) -> tuple[int, ...]:
    try:
        return (int(said),)
    except ValueError as error:
        raise ZooError(
            f"{place} says {said[:40]!r} where the number of a class is needed: {AGAIN}"
        ) from error


def _vector(said: bytes, place: str) -> tuple[tuple[int, ...], int]:
    """Returns the classes of a vector of zeros and ones, and its length."""
    try:
        vector = np.load(io.BytesIO(said), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ZooError(f"{place} is no array ({error}): {AGAIN}") from error
    return tuple(map(int, np.flatnonzero(vector > 0))), len(vector)
