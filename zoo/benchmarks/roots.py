"""Reading a benchmark from several data roots."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.benchmarks.base import Benchmark, Case, Contents
from zoo.errors import ZooError
from zoo.sources.boxes import check_boxes
from zoo.sources.images import CONTAINERS, ImageFinder
from zoo.sources.sample import ImageRef


def resolve_case_images(contents: Contents, finder: ImageFinder) -> Contents:
    """Replaces the image references of cases by the ones that are found, and applies the limits.

    Args:
        contents: The cases that were read from a benchmark's files.
        finder: Finds images under the data roots.

    Returns:
        The contents with these references, without the cases beyond their limits. Notes report
        images that are identified only by name, custom images with an orientation or transparency,
        and boxes in images that were resized.
    """
    resolved = finder.match_published_images(_distinct_images(contents.cases))
    notes = dict(contents.notes)
    absent = finder.find_missing(resolved)
    if absent:
        notes["images by name"] = (
            f"{len(absent):,} do not exist under their paths and are replaced by published ones of "
            f"the same name ({absent[0].key} by {resolved[absent[0]]})"
        )
    cases = contents.cases
    if resolved:
        cases = [_with_images(case, lambda image: resolved.get(image, image)) for case in cases]
    contents = _limit_cases(replace(contents, cases=cases, notes=notes), finder)
    images = _distinct_images(contents.cases)
    box_check = check_boxes(images, finder.read_file_dimensions)
    notes = contents.notes | finder.sample_orientation_and_alpha(images).notes(
        finder.decoding, "upright", "background"
    )
    return replace(
        contents, notes=notes | box_check.notes, uncroppable_images=box_check.uncroppable
    )


def _distinct_images(cases: Iterable[Case]) -> dict[ImageRef, None]:
    """Returns the distinct images of cases, in order."""
    return dict.fromkeys(image for case in cases for image in case.all_images)


def _limit_cases(contents: Contents, finder: ImageFinder) -> Contents:
    """Keeps the first cases of each subset whose images exist, up to the limit.

    If there are fewer, the first other cases fill the limit, so that they count as not scored.
    """
    if not contents.limits:
        return contents
    selected, notes = dict[int, Case](), dict(contents.notes)
    indices: dict[str, list[int]] = {}
    for i, case in enumerate(contents.cases):
        if case.subset in contents.limits:
            indices.setdefault(case.subset, []).append(i)
        else:
            selected[i] = case
    for subset, rows in indices.items():
        limit = contents.limits[subset]
        complete, incomplete = list[int](), list[int]()
        for i in rows:
            if len(complete) == limit:
                break
            images = contents.cases[i].images
            (incomplete if finder.find_missing(images) else complete).append(i)
        chosen_rows = [*complete, *incomplete[: limit - len(complete)]]
        selected.update((i, contents.cases[i]) for i in chosen_rows)
        if len(rows) > limit:
            notes[f"{subset} rows"] = f"the first {limit:,} of {len(rows):,}, as published"
            skipped = len(complete) + len(incomplete) - len(chosen_rows)
            if complete and skipped:
                notes[f"{subset} rows"] += f"; {skipped:,} without an image were skipped"
    return replace(contents, cases=[selected[i] for i in sorted(selected)], notes=notes)


def _with_images(case: Case, new_reference: Callable[[ImageRef], ImageRef]) -> Case:
    """Returns a case with its images and partners replaced by other references."""
    images, partners = (tuple(map(new_reference, refs)) for refs in (case.images, case.partners))
    if (images, partners) == (case.images, case.partners):
        return case
    return replace(case, images=images, partners=partners)


def make_image_paths_relative(cases: Iterable[Case], root: Path, folder: Path) -> Iterator[Case]:
    """Makes the paths of images in an annotation file's folder relative to the root.

    Results then do not depend on the path of the root. A path outside the root becomes absolute.

    Args:
        cases: The cases. A reference to such an image starts with the path of the folder; other
            references are already relative to a root.
        root: The data root that the file was found under.
        folder: The folder of the annotation file.
    """
    for case in cases:
        yield _with_images(case, lambda image: _path_from_root(image, root, folder))


def _path_from_root(image: ImageRef, root: Path, folder: Path) -> ImageRef:
    if image.source not in ("published", *CONTAINERS):
        return image
    path = Path(image.key)
    # every relative path seems to be in the working directory
    if not (path.is_relative_to(folder) and (folder != Path() or path.exists())):
        return image
    key = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path.absolute())
    return replace(image, key=key)


def read_benchmark(benchmark: Benchmark, roots: Sequence[Path]) -> Contents:
    """Reads each subset of a benchmark from the first data root that has its annotation files.

    Args:
        benchmark: The benchmark.
        roots: The data roots, at least one.

    Returns:
        The cases of all subsets.

    Raises:
        ZooError: A file that the user named is in no root, or a file is invalid.
    """
    contents = _read_contents(benchmark, roots[0])
    for root in roots[1:]:
        absent = {subset.name for subset in contents.missing_subsets}
        if not absent:
            break
        more_contents = _read_contents(benchmark, root)
        new_subsets = absent - {subset.name for subset in more_contents.missing_subsets}
        if new_subsets:
            contents = Contents(
                [
                    *contents.cases,
                    *(case for case in more_contents.cases if case.subset in new_subsets),
                ],
                list(dict.fromkeys([*contents.files, *more_contents.files])),
                [subset for subset in contents.missing_subsets if subset.name not in new_subsets],
                {**more_contents.notes, **contents.notes},
                {**more_contents.baselines, **contents.baselines},
                limits={**more_contents.limits, **contents.limits},
            )
    named_subset = next((subset for subset in contents.missing_subsets if subset.from_user), None)
    if named_subset is not None:
        searched = ", ".join(map(str, roots))
        raise ZooError(
            f"{benchmark.name}: {named_subset.files[0]} is neither in the working directory "
            f"nor under {searched}: correct the path ({named_subset.instructions})"
        )
    return contents


def _read_contents(benchmark: Benchmark, root: Path) -> Contents:
    contents = benchmark.read(root)
    if not isinstance(contents, Contents):
        raise ZooError(
            f"{type(benchmark).__name__}.read returned a {type(contents).__name__}: "
            "it must return Contents"
        )
    return contents
