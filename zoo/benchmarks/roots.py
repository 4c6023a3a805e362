"""Reading a benchmark from several data roots."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.benchmarks.base import Benchmark, Case, Contents
from zoo.errors import ZooError
from zoo.sources.boxes import boxes
from zoo.sources.images import CONTAINERS, ImageFinder
from zoo.sources.sample import ImageRef


def settled(contents: Contents, finder: ImageFinder) -> Contents:
    """Gives every image of a reading the reference that it is known by.

    Args:
        contents: What was read of a benchmark.
        finder: Finds images under the data roots.

    Returns:
        The reading with these references. Its notes tell of images that are taken by name alone,
        of a user's own images that carry an orientation or transparency, and of boxes in images
        that were resized.
    """
    asked = dict.fromkeys(image for case in contents.cases for image in case.images)
    known = finder.settled(asked)
    own = [image for image in asked if image not in known]
    notes = contents.notes | finder.carried(own).notes(finder.decoding, "upright", "background")
    found = boxes((known.get(image, image) for image in asked), finder.size)
    notes |= found.notes
    if not known:
        return replace(contents, notes=notes, unfit=found.unfit)
    cases = [
        replace(case, images=tuple(known.get(image, image) for image in case.images))
        if any(image in known for image in case.images)
        else case
        for case in contents.cases
    ]
    absent = finder.missing(known)
    if absent:
        notes["images by name"] = (
            f"{len(absent):,} are not there as written and taken by their names for published ones "
            f"({absent[0].key} for {known[absent[0]]})"
        )
    return replace(contents, cases=cases, notes=notes, unfit=found.unfit)


def rooted(cases: Iterable[Case], root: Path, folder: Path) -> Iterator[Case]:
    """Names images that lie beside an annotation file by their paths from the root.

    Results then do not depend on where the root lies. A path outside the root is absolute.

    Args:
        cases: Cases. A reference to such an image starts with the path of the file's folder; others
            are paths from a root already.
        root: The data root that the file was found under.
        folder: The folder of the annotation file.
    """
    for case in cases:
        images = tuple(_rooted(image, root, folder) for image in case.images)
        yield case if images == case.images else replace(case, images=images)


def _rooted(image: ImageRef, root: Path, folder: Path) -> ImageRef:
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
