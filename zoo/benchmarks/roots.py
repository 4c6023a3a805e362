"""Reading a benchmark from several data roots."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.benchmarks.base import Benchmark, Case, Contents
from zoo.errors import ZooError
from zoo.sources.boxes import boxes
from zoo.sources.images import CONTAINERS, ImageFinder
from zoo.sources.sample import ImageRef


def resolve_images(contents: Contents, finder: ImageFinder) -> Contents:
    """Gives every image of a reading the reference that it is known by.

    Args:
        contents: What was read of a benchmark.
        finder: Finds images under the data roots.

    Returns:
        The reading with these references, and without the cases beyond its limits. Its notes tell
        of images that are taken by name alone, of a user's own images that carry an orientation or
        transparency, and of boxes in images that were resized.
    """
    known = finder.resolve_references(_images(contents.cases))
    notes = dict(contents.notes)
    absent = finder.missing(known)
    if absent:
        notes["images by name"] = (
            f"{len(absent):,} are not there as written and taken by their names for published ones "
            f"({absent[0].key} for {known[absent[0]]})"
        )
    cases = contents.cases
    if known:
        cases = [_with_images(case, lambda image: known.get(image, image)) for case in cases]
    contents = _limit_cases(replace(contents, cases=cases, notes=notes), finder)
    asked = _images(contents.cases)
    found = boxes(asked, finder.size)
    notes = contents.notes | finder.count_orientation_and_alpha(asked).notes(
        finder.decoding, "upright", "background"
    )
    return replace(contents, notes=notes | found.notes, unfit=found.unfit)


def _images(cases: Iterable[Case]) -> dict[ImageRef, None]:
    """Returns the distinct images of cases, in their order."""
    return dict.fromkeys(image for case in cases for image in case.all_images)


def _limit_cases(contents: Contents, finder: ImageFinder) -> Contents:
    """Keeps as many cases of a subset as its limit: the first whose images are found.

    Where fewer are found, the first others fill the limit, so that they count as not scored.
    """
    if not contents.limits:
        return contents
    kept, notes = dict[int, Case](), dict(contents.notes)
    indices: dict[str, list[int]] = {}
    for i, case in enumerate(contents.cases):
        if case.subset in contents.limits:
            indices.setdefault(case.subset, []).append(i)
        else:
            kept[i] = case
    for subset, rows in indices.items():
        limit = contents.limits[subset]
        found, missing = list[int](), list[int]()
        for i in rows:
            if len(found) == limit:
                break
            images = contents.cases[i].images
            (missing if finder.missing(images) else found).append(i)
        asked = [*found, *missing[: limit - len(found)]]
        kept.update((i, contents.cases[i]) for i in asked)
        if len(rows) > limit:
            notes[f"{subset} rows"] = f"the first {limit:,} of {len(rows):,}, as published"
            skipped = len(found) + len(missing) - len(asked)
            if found and skipped:
                notes[f"{subset} rows"] += f"; {skipped:,} without an image were passed over"
    return replace(contents, cases=[kept[i] for i in sorted(kept)], notes=notes)


def _with_images(case: Case, reference: Callable[[ImageRef], ImageRef]) -> Case:
    """Returns a case with other references to its images and their partners."""
    images, partners = (tuple(map(reference, refs)) for refs in (case.images, case.partners))
    if (images, partners) == (case.images, case.partners):
        return case
    return replace(case, images=images, partners=partners)


def cases_from_root(cases: Iterable[Case], root: Path, folder: Path) -> Iterator[Case]:
    """Names images that lie beside an annotation file by their paths from the root.

    Results then do not depend on where the root lies. A path outside the root is absolute.

    Args:
        cases: Cases. A reference to such an image starts with the path of the file's folder; others
            are paths from a root already.
        root: The data root that the file was found under.
        folder: The folder of the annotation file.
    """
    for case in cases:
        yield _with_images(case, lambda image: _path_from_root(image, root, folder))


def _path_from_root(image: ImageRef, root: Path, folder: Path) -> ImageRef:
    if image.source not in ("published", *CONTAINERS):
        return image
    path = Path(image.key)
    # every relative path seems to lie in the working directory
    if not (path.is_relative_to(folder) and (folder != Path() or path.exists())):
        return image
    key = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path.absolute())
    return replace(image, key=key)


def read(benchmark: Benchmark, roots: Sequence[Path]) -> Contents:
    """Reads each subset of a benchmark from the first data root that has its annotation files.

    Args:
        benchmark: The benchmark.
        roots: The data roots, at least one.

    Returns:
        The cases of all subsets.

    Raises:
        ZooError: A file that the user named is in no root, or a file is wrong.
    """
    whole = _contents(benchmark, roots[0])
    for root in roots[1:]:
        absent = {subset.name for subset in whole.absent}
        if not absent:
            break
        more = _contents(benchmark, root)
        gained = absent - {subset.name for subset in more.absent}
        if gained:
            whole = Contents(
                [*whole.cases, *(case for case in more.cases if case.subset in gained)],
                list(dict.fromkeys([*whole.files, *more.files])),
                [subset for subset in whole.absent if subset.name not in gained],
                {**more.notes, **whole.notes},
                {**more.baselines, **whole.baselines},
                limits={**more.limits, **whole.limits},
            )
    named = next((subset for subset in whole.absent if subset.named), None)
    if named is not None:
        searched = ", ".join(map(str, roots))
        raise ZooError(
            f"{benchmark.name}: {named.files[0]} is neither in the working directory "
            f"nor under {searched}: mend the path ({named.how})"
        )
    return whole


def _contents(benchmark: Benchmark, root: Path) -> Contents:
    contents = benchmark.read(root)
    if not isinstance(contents, Contents):
        raise ZooError(
            f"{type(benchmark).__name__}.read gave a {type(contents).__name__}: "
            "a benchmark gives Contents, with its cases"
        )
    return contents
