"""The plan of a run: its cases, distinct images and texts, and what cannot be scored."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.benchmarks.protocols.base import protocol_name, resolve_protocol
from zoo.benchmarks.roots import read_benchmark, resolve_case_images
from zoo.errors import ZooError
from zoo.results.runs import BenchmarkRun, runs_of
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef


@dataclass(frozen=True)
class ScorableCase:
    """A case that can be scored.

    Attributes:
        run: The benchmark run.
        case: The case.
        images: Indices of its images among the distinct images of the plan, in the order of the
            case.
        texts: Indices of its texts among the distinct texts of the plan, in the order of the case;
            if it has prompts, the indices of those, text by text.
        query_texts: Indices of the query texts that replace images.
    """

    run: BenchmarkRun
    case: Case
    images: NDArray[np.int64]
    texts: NDArray[np.int64]
    query_texts: NDArray[np.int64]

    @property
    def all_texts(self) -> NDArray[np.int64]:
        """Indices of all texts, including query texts."""
        return np.concatenate([self.texts, self.query_texts])


@dataclass
class Plan:
    """The cases, images and texts of a run of benchmarks.

    Attributes:
        images: Distinct images of all questions.
        texts: Distinct texts of all questions.
        cases: Cases that can be scored.
        unscorable_cases: Cases that cannot be scored because of missing images, each with its
            benchmark.
        excluded_cases: Cases beyond the limit per subset, each with its benchmark.
        contents: Contents of the benchmarks.
        absent_subsets: Subsets without annotation files, each with its benchmark.
        subsets: Subsets by benchmark.
    """

    images: list[ImageRef] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    cases: list[ScorableCase] = field(default_factory=list)
    unscorable_cases: list[tuple[BenchmarkRun, Case]] = field(default_factory=list)
    excluded_cases: list[tuple[BenchmarkRun, Case]] = field(default_factory=list)
    contents: dict[BenchmarkRun, Contents] = field(default_factory=dict)
    absent_subsets: list[tuple[BenchmarkRun, Subset]] = field(default_factory=list)
    subsets: dict[BenchmarkRun, tuple[Subset, ...]] = field(default_factory=dict)


def make_plan(
    benchmarks: Sequence[Benchmark],
    roots: Sequence[Path],
    finder: ImageFinder,
    limit: int | None = None,
) -> Plan:
    """Reads the benchmarks and searches for their images.

    Args:
        benchmarks: The benchmarks.
        roots: Folders that are searched for annotation files.
        finder: Finds images.
        limit: The most cases of a subset, and the most images of a gallery; None for all.

    Raises:
        ZooError: A case is malformed, or no case can be scored.
    """
    plan = Plan()
    image_rows: dict[ImageRef, int] = {}
    text_rows: dict[str, int] = {}
    is_missing: dict[ImageRef, bool] = {}
    counts: Counter[tuple[BenchmarkRun, str]] = Counter()
    for run, benchmark in zip(runs_of(benchmarks), benchmarks, strict=True):
        contents = resolve_case_images(read_benchmark(benchmark, roots), finder)
        plan.contents[run], plan.subsets[run] = contents, benchmark.subsets
        plan.absent_subsets += [(run, subset) for subset in contents.missing_subsets]
        for case in contents.cases:
            _check_case(run, case)
            for image in case.all_images:
                if image not in is_missing:
                    is_missing[image] = (
                        image in contents.uncroppable_images or finder.find(image) is None
                    )
            image_mask = np.array([not is_missing[image] for image in case.images])
            if case.partners and all(is_missing[image] for image in case.partners):
                image_mask[:] = False
            for part, scorable in _split_by_images(case, image_mask):
                if not scorable:
                    plan.unscorable_cases.append((run, part))
                    continue
                subset = run, case.subset
                cases, excluded = _split_by_limit(part, limit, counts[subset])
                plan.excluded_cases += [(run, piece) for piece in excluded]
                counts[subset] += len(cases)
                for piece in cases:
                    images = [image_rows.setdefault(i, len(image_rows)) for i in piece.images]
                    texts, asking = (
                        [text_rows.setdefault(text, len(text_rows)) for text in group]
                        for group in (piece.encoded_texts, piece.query_texts)
                    )
                    indices = (np.array(rows, dtype=np.int64) for rows in (images, texts, asking))
                    plan.cases.append(ScorableCase(run, piece, *indices))
    plan.images, plan.texts = list(image_rows), list(text_rows)
    if not plan.cases:
        raise ZooError(_no_images_message(plan, finder))
    return plan


def describe_missing(plan: Plan) -> list[str]:
    """Returns what cannot be measured, one phrase per benchmark and reason."""
    absent, unscored = (
        Counter(run for run, _ in plan.absent_subsets),
        Counter(r for r, _ in plan.unscorable_cases),
    )
    cases = unscored + Counter(question.run for question in plan.cases)
    parts = []
    for run, n in absent.items():
        description = run if n == len(plan.subsets[run]) else f"{n} subsets of {run}"
        parts.append(f"{description} (no annotation file)")
    for run, n in unscored.items():
        parts.append(f"{n:,} of {cases[run]:,} cases of {run} (images missing)")
    return parts


def _split_by_images(case: Case, image_mask: NDArray[np.bool_]) -> Iterator[tuple[Case, bool]]:
    """Yields the case, or its parts, with whether they can be scored.

    A case that can be scored on some of its images is split into an available and a missing part.

    Args:
        case: The case.
        image_mask: Which of its images were found, `[images]`.
    """
    by_image = case.resolved_protocol.by_image
    if bool(image_mask.all()) or not image_mask.any() or not (case.is_gallery or by_image):
        yield case, bool(image_mask.all())
        return
    if by_image:
        all_texts = np.ones(len(case.texts), dtype=bool)
        yield _select(case, image_mask, all_texts), True
        yield replace(_select(case, ~image_mask, all_texts), id=f"{case.id}, missing"), False
        return
    # a text that matches no image is a wrong answer to each query, and is kept
    text_mask: NDArray[np.bool_] = np.any(case.match[image_mask], axis=0) | ~np.any(
        case.match, axis=0
    )
    yield _select(case, image_mask, text_mask), True
    yield replace(_select(case, ~image_mask, ~text_mask), id=f"{case.id}, missing"), False


def _split_by_limit(case: Case, limit: int | None, n_before: int) -> tuple[list[Case], list[Case]]:
    """Returns the parts of a case within and beyond the limit of its subset.

    Args:
        case: The case.
        limit: The most cases of a subset, and the most images or videos of a gallery.
        n_before: How many cases of the subset are within the limit already.
    """
    if limit is None:
        return [case], []
    if n_before >= limit:
        return [], [case]
    first_images = np.arange(len(case.images)) < limit * case.resolved_protocol.frames
    parts = list(_split_by_images(case, first_images)) if case.images else [(case, True)]
    if len(parts) == 1:  # not a gallery
        return [case], []
    return [parts[0][0]], [parts[1][0]]


def _select(case: Case, images: NDArray[np.bool_], texts: NDArray[np.bool_]) -> Case:
    return replace(
        case,
        images=tuple(case.images[i] for i in np.flatnonzero(images)),
        texts=tuple(case.texts[j] for j in np.flatnonzero(texts)),
        match=case.match[images][:, texts],
    )


def _check_case(run: BenchmarkRun, case: Case) -> None:
    place = f"case {case.id} of {run}/{case.subset}"
    if case.images and case.query_texts:
        raise ZooError(f"{place} has both images and query texts (asking). Fix the reader")
    shape = (len(case.images or case.query_texts), len(case.texts))
    if np.shape(case.match) != shape:
        raise ZooError(
            f"{place} has {shape[0]} {'query texts' if case.query_texts else 'images'} and "
            f"{shape[1]} texts, but match has shape {np.shape(case.match)}. Fix the reader"
        )
    if case.prompts and not (len(case.prompts) == len(case.texts) and all(case.prompts)):
        raise ZooError(
            f"{place} has {len(case.texts)} texts, but prompts for {sum(map(bool, case.prompts))}. "
            "Fix the reader"
        )
    if not (isinstance(case.match, np.ndarray) and case.match.dtype == bool):
        raise ZooError(f"{place} has a match that is not a boolean array. Fix the reader")
    try:
        problem = resolve_protocol(protocol_name(case.resolved_protocol)).invalid_reason(case.match)
    except ZooError as error:
        raise ZooError(f"{place}: {error}") from error
    if problem:
        raise ZooError(
            f"{place} {problem}, which protocol {protocol_name(case.resolved_protocol)} cannot "
            "judge. "
            "Fix the reader"
        )


def _no_images_message(plan: Plan, finder: ImageFinder) -> str:
    roots = ", ".join(map(str, finder.roots))
    if plan.unscorable_cases:
        run, case = plan.unscorable_cases[0]
        image = next((i for i in case.all_images if finder.find(i) is None), None)
        if image is None:
            return (
                f"nothing can be scored: boxes of {len(plan.unscorable_cases):,} cases do not "
                "fit their "
                f"images, which were resized (first: {case.images[0]}, of {run}/{case.subset}). "
                "Use the images in their published size"
            )
        instructions = {subset.name: subset.instructions for subset in plan.subsets[run]}.get(
            case.subset
        )
        published_hint = image.source == "published" and instructions
        return (
            f"nothing can be scored: {len(plan.unscorable_cases):,} cases were read, but no case "
            "has its "
            f"images under {roots} (first missing: {image}, of {run}/{case.subset}); "
            f"{published_hint or finder.missing_image_advice(image)}"
        )
    if plan.absent_subsets:
        _, part = plan.absent_subsets[0]
        names = ", ".join(dict.fromkeys(str(run) for run, _ in plan.absent_subsets))
        return (
            f"nothing can be scored: {roots} has no annotation file of {names} "
            f"(first missing: {' or '.join(part.files)}): {part.instructions}"
        )
    return (
        f"nothing can be scored: no case was read from {roots}. Choose benchmarks that have cases"
    )
