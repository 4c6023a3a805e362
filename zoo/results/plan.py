"""Plan: what a run of benchmarks asks, its distinct images and texts, and what cannot be scored."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.benchmarks.protocols.base import protocol_name, protocol_of
from zoo.benchmarks.roots import read, resolve_images
from zoo.errors import ZooError
from zoo.results.runs import BenchmarkRun, runs_of
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef


@dataclass(frozen=True)
class ScorableCase:
    """A case that can be scored.

    Attributes:
        run: The benchmark, as it was asked for.
        case: The case.
        images: Rows of the case's images among the plan's distinct images, in the case's order.
        texts: Rows of the case's texts among the plan's distinct texts, in the case's order; of
            their prompts, text by text, where it has any.
        asking: Rows of the texts that ask in the place of images, likewise.
    """

    run: BenchmarkRun
    case: Case
    images: NDArray[np.int64]
    texts: NDArray[np.int64]
    asking: NDArray[np.int64]

    @property
    def all_texts(self) -> NDArray[np.int64]:
        """Rows of all texts, those that ask among them."""
        return np.concatenate([self.texts, self.asking])


@dataclass
class Plan:
    """What a run of benchmarks asks.

    Attributes:
        images: Distinct images of all questions.
        texts: Distinct texts of all questions.
        questions: Cases that can be scored.
        unscored: Cases that cannot be scored, since images are missing, each with its benchmark.
        contents: What was read, by benchmark.
        absent: Subsets without annotation files, each with its benchmark.
        subsets: Subsets by benchmark.
    """

    images: list[ImageRef] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    questions: list[ScorableCase] = field(default_factory=list)
    unscored: list[tuple[BenchmarkRun, Case]] = field(default_factory=list)
    contents: dict[BenchmarkRun, Contents] = field(default_factory=dict)
    absent: list[tuple[BenchmarkRun, Subset]] = field(default_factory=list)
    subsets: dict[BenchmarkRun, tuple[Subset, ...]] = field(default_factory=dict)


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
    for run, benchmark in zip(runs_of(benchmarks), benchmarks, strict=True):
        contents = resolve_images(read(benchmark, roots), finder)
        made.contents[run], made.subsets[run] = contents, benchmark.subsets
        made.absent += [(run, subset) for subset in contents.absent]
        for case in contents.cases:
            _check(run, case)
            for image in case.all_images:
                if image not in missing:
                    missing[image] = image in contents.unfit or finder.find(image) is None
            found = np.array([not missing[image] for image in case.images])
            if case.partners and all(missing[image] for image in case.partners):
                found[:] = False
            for part, scorable in _parts(case, found):
                if not scorable:
                    made.unscored.append((run, part))
                    continue
                images = [image_rows.setdefault(image, len(image_rows)) for image in part.images]
                texts, asking = (
                    [text_rows.setdefault(text, len(text_rows)) for text in some]
                    for some in (part.encoded_texts, part.asking)
                )
                rows = (np.array(found, dtype=np.int64) for found in (images, texts, asking))
                made.questions.append(ScorableCase(run, part, *rows))
    made.images, made.texts = list(image_rows), list(text_rows)
    if not made.questions:
        raise ZooError(_no_images_message(made, finder))
    return made


def missing_parts(plan: Plan) -> list[str]:
    """Returns what of a plan cannot be measured, a phrase for each benchmark and reason."""
    absent, unscored = Counter(run for run, _ in plan.absent), Counter(r for r, _ in plan.unscored)
    cases = unscored + Counter(question.run for question in plan.questions)
    parts = []
    for run, n in absent.items():
        which = run if n == len(plan.subsets[run]) else f"{n} subsets of {run}"
        parts.append(f"{which} (no annotation file)")
    for run, n in unscored.items():
        parts.append(f"{n:,} of {cases[run]:,} cases of {run} (images missing)")
    return parts


def _parts(case: Case, found: NDArray[np.bool_]) -> Iterator[tuple[Case, bool]]:
    """Yields the case with whether it can be scored.

    A case that can do without some of its images is cut into what is there and the rest.

    Args:
        case: The case.
        found: Which of its images were found, `[images]`.
    """
    by_image = case.judged_by.by_image
    if found.all() or not found.any() or not (case.gallery or by_image):
        yield case, bool(found.all())
        return
    if by_image:
        every = np.ones(len(case.texts), dtype=bool)
        yield _cut(case, found, every), True
        yield replace(_cut(case, ~found, every), id=f"{case.id}, missing"), False
        return
    # a text that is of no image at all is a wrong answer for each, and stays one
    there: NDArray[np.bool_] = np.any(case.match[found], axis=0) | ~np.any(case.match, axis=0)
    yield _cut(case, found, there), True
    yield replace(_cut(case, ~found, ~there), id=f"{case.id}, missing"), False


def _cut(case: Case, images: NDArray[np.bool_], texts: NDArray[np.bool_]) -> Case:
    return replace(
        case,
        images=tuple(case.images[i] for i in np.flatnonzero(images)),
        texts=tuple(case.texts[j] for j in np.flatnonzero(texts)),
        match=case.match[images][:, texts],
    )


def _check(run: BenchmarkRun, case: Case) -> None:
    place = f"case {case.id} of {run}/{case.subset}"
    if case.images and case.asking:
        raise ZooError(f"{place} has images and texts that ask in their place: mend the reader")
    shape = (len(case.images or case.asking), len(case.texts))
    if np.shape(case.match) != shape:
        raise ZooError(
            f"{place} has {shape[0]} {'texts that ask' if case.asking else 'images'} and "
            f"{shape[1]} texts, and a match of shape {np.shape(case.match)}: mend the reader"
        )
    if case.prompts and not (len(case.prompts) == len(case.texts) and all(case.prompts)):
        raise ZooError(
            f"{place} has {len(case.texts)} texts, and prompts of {sum(map(bool, case.prompts))}: "
            "mend the reader"
        )
    if not (isinstance(case.match, np.ndarray) and case.match.dtype == bool):
        raise ZooError(f"{place} has a match that is no array of truth values: mend the reader")
    try:
        lacks = protocol_of(protocol_name(case.judged_by)).lacks(case.match)
    except ZooError as error:
        raise ZooError(f"{place}: {error}") from error
    if lacks:
        raise ZooError(
            f"{place} {lacks}, which protocol {protocol_name(case.judged_by)} cannot judge: "
            "mend the reader"
        )


def _no_images_message(made: Plan, finder: ImageFinder) -> str:
    roots = ", ".join(map(str, finder.roots))
    if made.unscored:
        run, case = made.unscored[0]
        image = next((i for i in case.all_images if finder.find(i) is None), None)
        if image is None:
            return (
                f"nothing can be scored: boxes of {len(made.unscored):,} cases do not fit their "
                f"images, which were resized (first: {case.images[0]}, of {run}/{case.subset}): "
                "put the images there as published"
            )
        how = {subset.name: subset.how for subset in made.subsets[run]}.get(case.subset)
        own = image.source == "published" and how
        return (
            f"nothing can be scored: {len(made.unscored):,} cases were read, and none has its "
            f"images under {roots} (first missing: {image}, of {run}/{case.subset}); "
            f"{own or finder.hint(image)}"
        )
    if made.absent:
        _, part = made.absent[0]
        names = ", ".join(dict.fromkeys(str(run) for run, _ in made.absent))
        return (
            f"nothing can be scored: {roots} holds no annotation file of {names} "
            f"(first missing: {' or '.join(part.files)}): {part.how}"
        )
    return f"nothing can be scored: no case was read from {roots}: name benchmarks that have cases"
