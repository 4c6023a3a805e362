"""Annotation files: where they are, which subsets are wanted, and how many cases were published."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from zoo.benchmarks.base import Case, Subset
from zoo.errors import ZooError, suggest_names


def given_path(root: Path, name: str) -> Path | None:
    """Finds what a user named, first as it is written, then under the data root.

    Args:
        root: A data root.
        name: A file or a folder. As it is written, it is looked for from the working directory.

    Returns:
        Its path, None where it is in neither place.
    """
    return next((path for path in (Path(name), root / name) if path.exists()), None)


def locate(root: Path, subset: Subset) -> Path | None:
    """Finds the annotation file of a subset.

    Args:
        root: A data root.
        subset: The subset. Files that the user named are looked for in the working directory first.
            Folders of annotations may lie in the root or be gathered in its `benchmarks`.

    Returns:
        The first of the subset's files that is there, as it is or with .gz; None where none is. A
        name may be a pattern, as in test-*.parquet, which stands for the first file of that kind.
    """
    under = root, root / "benchmarks"
    folders = (Path(), *under) if subset.named else under
    candidates = (
        path
        for folder in folders
        for name in subset.files
        for end in ("", ".gz")
        for path in _matching_files(folder, f"{name}{end}")
    )
    return next((path for path in candidates if path.exists() and not path.is_dir()), None)


def _matching_files(folder: Path, name: str) -> Iterable[Path]:
    """Returns the file of that name, or those of a pattern; an absolute path is no pattern."""
    there = folder / name
    if "*" not in name or there.exists() or Path(name).is_absolute():
        return [there]
    return sorted(folder.glob(name))


def check_subsets(
    benchmark: str, subsets: Sequence[str] | None, known: Iterable[str]
) -> tuple[str, ...]:
    """Checks which subsets a user wants.

    Args:
        benchmark: The name of the benchmark.
        subsets: The subsets wanted, None for all.
        known: The subsets that it has.

    Returns:
        The subsets wanted, in the order of `known`.

    Raises:
        ZooError: A subset is unknown, or none is wanted.
    """
    offered = tuple(known)
    if subsets is None:
        return offered
    unknown = next((subset for subset in subsets if subset not in offered), None)
    if unknown is not None:
        raise ZooError(
            f"{benchmark} has no subset {unknown!r}{suggest_names(unknown, offered)}: "
            f"it has {', '.join(offered)}"
        )
    if not subsets:
        raise ZooError(
            f"{benchmark}(subsets=[]) asks for nothing: name one of {', '.join(offered)}"
        )
    return tuple(subset for subset in offered if subset in subsets)


def overrides(
    benchmark: str, files: Mapping[str, str] | None, subsets: Iterable[str]
) -> dict[str, str]:
    """Returns the user's annotation files by subset.

    Args:
        benchmark: The name of the benchmark.
        files: The user's files by subset, None where there are none.
        subsets: The subsets that the benchmark has.

    Raises:
        ZooError: The benchmark does not have one of the subsets in `files`.
    """
    known = list(subsets)
    for subset in files or {}:
        if subset not in known:
            raise ZooError(
                f"{benchmark} has no subset {subset!r}{suggest_names(subset, known)}: "
                f"`files` may name {', '.join(known)}"
            )
    return dict(files or {})


def overridden(subsets: Iterable[Subset], files: Mapping[str, str]) -> tuple[Subset, ...]:
    """Returns the subsets with the user's annotation files in the place of those as published."""
    return tuple(
        replace(subset, files=(files[subset.name],), named=True) if subset.name in files else subset
        for subset in subsets
    )


def of_kind(kind: str, known: Iterable[str], place: str) -> str:
    """Returns the kind of an entry, by which its subset is told.

    Args:
        kind: What the entry says.
        known: The kinds that were published.
        place: File and line or entry.

    Raises:
        ZooError: The kind is none of them, so that the entry would be in no subset.
    """
    if kind not in known:
        raise ZooError(
            f"{place}: {kind!r} is none of the kinds {', '.join(known)}: fetch the file again"
        )
    return kind


def count_notes(counts: Iterable[tuple[Subset, int]]) -> dict[str, str]:
    """Returns a note for each subset whose file holds another number of cases than published."""
    return {
        f"{subset.name} cases": f"{n:,} in the file, {subset.n:,} as published"
        for subset, n in counts
        if subset.n is not None and n != subset.n
    }


def identical_note(subset: str, cases: Iterable[Case]) -> dict[str, str]:
    """Returns a note of the cases that have the same text as a right and as a wrong answer.

    Args:
        subset: The name of the subset.
        cases: Its cases.
    """
    n = sum(map(_unanswerable, cases))
    if not n:
        return {}
    return {f"{subset} identical": f"{n:,} with the same text as a right and as a wrong answer"}


def place_note(subset: str, cases: Iterable[Case]) -> dict[str, str]:
    """Returns a note of where right answers stand, where they do not stand at every place.

    A model that always takes one place would then be right more often than by chance.

    Args:
        subset: The name of the subset.
        cases: Its cases, each with one right answer among as many.
    """
    asked = [case.match.ravel() for case in cases]
    at = {int(np.argmax(match)) for match in asked}
    if len(at) == max(map(len, asked), default=0):
        return {}
    return {f"{subset} right answers": f"stand at {' or '.join(map(str, sorted(at)))} alone"}


def _unanswerable(case: Case) -> bool:
    for right in case.match:
        wrong = {case.texts[j] for j in np.flatnonzero(~right)}
        if not wrong.isdisjoint((*case.asking, *(case.texts[j] for j in np.flatnonzero(right)))):
            return True
    return False
