"""Plan: what a run of benchmarks asks, its distinct images and texts, and what cannot be scored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.benchmarks.catalog import ARGUMENT
from zoo.benchmarks.protocols.base import protocol_of, written
from zoo.benchmarks.roots import read, settled
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.spec import spec


@dataclass(frozen=True)
class Question:
    """A case that can be scored.

    Attributes:
        benchmark: Name of the benchmark, as `run_names` gives it.
        case: The case.
        images: Rows of the case's images among the plan's distinct images, in the case's order.
        texts: Rows of the case's texts among the plan's distinct texts, in the case's order.
    """

    benchmark: str
    case: Case
    images: NDArray[np.int64]
    texts: NDArray[np.int64]


@dataclass
class Plan:
    """What a run of benchmarks asks.

    Attributes:
        images: Distinct images of all questions.
        texts: Distinct texts of all questions.
        questions: Cases that can be scored.
        unscored: Cases whose images are missing, each with the name of its benchmark.
        contents: What was read, by benchmark, named as `run_names` does.
        absent: Subsets without annotation files, each with the name of its benchmark.
        subsets: Subsets by benchmark, named as `run_names` does.
    """

    images: list[ImageRef] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    unscored: list[tuple[str, Case]] = field(default_factory=list)
    contents: dict[str, Contents] = field(default_factory=dict)
    absent: list[tuple[str, Subset]] = field(default_factory=list)
    subsets: dict[str, tuple[Subset, ...]] = field(default_factory=dict)


def make_plan(benchmarks: Sequence[Benchmark], roots: Sequence[Path], finder: ImageFinder) -> Plan:
    """Reads the benchmarks and looks for their images.

    Args:
        benchmarks: The benchmarks.
        roots: Folders in which annotation files are looked for.
        finder: Finds images.

    Raises:
        ZooError: A case is malformed. Or nothing at all can be scored, with what is missing.
    """
    made = Plan()
    image_rows: dict[ImageRef, int] = {}
    text_rows: dict[str, int] = {}
    missing: dict[ImageRef, bool] = {}
    for name, benchmark in zip(run_names(benchmarks), benchmarks, strict=True):
        contents = settled(read(benchmark, roots), finder)
        made.contents[name], made.subsets[name] = contents, benchmark.subsets
        made.absent += [(name, subset) for subset in contents.absent]
        for case in contents.cases:
            _check(name, case)
            for image in case.images:
                if image not in missing:
                    missing[image] = finder.find(image) is None
            found = np.array([not missing[image] for image in case.images])
            for part, scorable in _parts(case, found):
                if not scorable:
                    made.unscored.append((name, part))
                    continue
                images = [image_rows.setdefault(image, len(image_rows)) for image in part.images]
                texts = [text_rows.setdefault(text, len(text_rows)) for text in part.texts]
                made.questions.append(Question(name, part, np.array(images), np.array(texts)))
    made.images, made.texts = list(image_rows), list(text_rows)
    if not made.questions:
        raise ZooError(_nothing(made, finder))
    return made


def run_names(benchmarks: Sequence[Benchmark]) -> list[str]:
    """Returns the names of benchmarks, told apart where several share one.

    What tells them apart stands behind a colon: `retrieval:flickr8k`, `half_truth:preset=paper`.

    Raises:
        ZooError: A benchmark is asked for twice.
    """
    specs = [spec(benchmark) for benchmark in benchmarks]
    names = []
    for benchmark, own in zip(benchmarks, specs, strict=True):
        others = [
            other["init_args"]
            for b, other in zip(benchmarks, specs, strict=True)
            if b.name == benchmark.name
        ]
        apart = {
            k: v
            for k, v in own["init_args"].items()
            if v and any(other.get(k) != v for other in others)
        }
        first = apart.pop(ARGUMENT.get(benchmark.name, ""), None)
        telling = [] if first is None else [_short(first)]
        telling += [f"{key}={_short(value)}" for key, value in apart.items()]
        names.append(":".join([benchmark.name, *([",".join(telling)] if telling else [])]))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ZooError(
            f"the benchmark {twice} is asked for twice: "
            "name it once, or with another file or option"
        )
    return names


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value))
    return (
        value["class_path"].rpartition(".")[2]
        if isinstance(value, dict) and "class_path" in value
        else str(value)
    )


def _parts(case: Case, found: NDArray[np.bool_]) -> Iterator[tuple[Case, bool]]:
    """Yields the case with whether it can be scored.

    A retrieval is cut into the gallery that is there and the rest.

    Args:
        case: The case.
        found: Which of its images were found, `[images]`.
    """
    if found.all() or not found.any() or not case.gallery:
        yield case, bool(found.all())
        return
    there: NDArray[np.bool_] = np.any(case.match[found], axis=0)
    yield _gallery(case, found, there), True
    yield replace(_gallery(case, ~found, ~there), id=f"{case.id}, missing"), False


def _gallery(case: Case, images: NDArray[np.bool_], texts: NDArray[np.bool_]) -> Case:
    return replace(
        case,
        images=tuple(case.images[i] for i in np.flatnonzero(images)),
        texts=tuple(case.texts[j] for j in np.flatnonzero(texts)),
        match=case.match[images][:, texts],
    )


def _check(benchmark: str, case: Case) -> None:
    place = f"case {case.id} of {benchmark}/{case.subset}"
    shape = (len(case.images), len(case.texts))
    if np.shape(case.match) != shape:
        raise ZooError(
            f"{place} has {shape[0]} images and {shape[1]} texts, "
            f"and a match of shape {np.shape(case.match)}: mend the reader"
        )
    if not (isinstance(case.match, np.ndarray) and case.match.dtype == bool):
        raise ZooError(f"{place} has a match that is no array of truth values: mend the reader")
    try:
        lacks = protocol_of(written(case.judged_by)).lacks(case.match)
    except ZooError as error:
        raise ZooError(f"{place}: {error}") from error
    if lacks:
        raise ZooError(
            f"{place} {lacks}, which protocol {written(case.judged_by)} cannot judge: "
            "mend the reader"
        )


def _nothing(made: Plan, finder: ImageFinder) -> str:
    roots = ", ".join(map(str, finder.roots))
    if made.unscored:
        benchmark, case = made.unscored[0]
        image = next(image for image in case.images if finder.find(image) is None)
        return (
            f"nothing can be scored: {len(made.unscored):,} cases were read, and none has its "
            f"images under {roots} (first missing: {image}, of {benchmark}/{case.subset}); "
            f"{finder.hint(image)}"
        )
    if made.absent:
        benchmark, part = made.absent[0]
        names = ", ".join(dict.fromkeys(name for name, _ in made.absent))
        return (
            f"nothing can be scored: {roots} holds no annotation file of {names} "
            f"(first missing: {' or '.join(part.files)}): {part.how}"
        )
    return f"nothing can be scored: no case was read from {roots}: name benchmarks that have cases"
