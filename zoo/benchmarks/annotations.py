"""Annotation files: finding them, choosing subsets, and notes on their cases."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from zoo.benchmarks.base import Case, Subset
from zoo.errors import ZooError, suggest_names


def find_path(root: Path, name: str) -> Path | None:
    """Finds a path that the user gave: as written, else under the data root.

    Args:
        root: A data root.
        name: A file or a folder. A relative path is first resolved from the working directory.

    Returns:
        The path, or None if it exists in neither place.
    """
    return next((path for path in (Path(name), root / name) if path.exists()), None)


def find_annotation_file(root: Path, subset: Subset) -> Path | None:
    """Finds the annotation file of a subset.

    Args:
        root: A data root.
        subset: The subset. Files that the user named are first looked for in the working directory.
            Annotation folders may be in the root itself or in its folder `benchmarks`.

    Returns:
        The first of the subset's files that exists, with or without .gz; None if none does. A name
        may be a pattern such as test-*.parquet, which means the first file that matches.
    """
    root_folders = root, root / "benchmarks"
    folders = (Path(), *root_folders) if subset.from_user else root_folders
    candidates = (
        path
        for folder in folders
        for name in subset.files
        for suffix in ("", ".gz")
        for path in _matching_files(folder, f"{name}{suffix}")
    )
    return next((path for path in candidates if path.exists() and not path.is_dir()), None)


def _matching_files(folder: Path, name: str) -> Iterable[Path]:
    """Returns the file of that name, or the files that match a pattern.

    An absolute path is never a pattern.
    """
    path = folder / name
    if "*" not in name or path.exists() or Path(name).is_absolute():
        return [path]
    return sorted(folder.glob(name))


def check_subsets(
    benchmark: str, subsets: Sequence[str] | None, known: Iterable[str]
) -> tuple[str, ...]:
    """Checks the subsets that a user chose.

    Args:
        benchmark: The name of the benchmark.
        subsets: The chosen subsets; None for all.
        known: The subsets of the benchmark.

    Returns:
        The chosen subsets, in the order of `known`.

    Raises:
        ZooError: A subset is unknown, or the list is empty.
    """
    all_subsets = tuple(known)
    if subsets is None:
        return all_subsets
    unknown = next((subset for subset in subsets if subset not in all_subsets), None)
    if unknown is not None:
        raise ZooError(
            f"{benchmark} has no subset {unknown!r}{suggest_names(unknown, all_subsets)}: "
            f"it has {', '.join(all_subsets)}"
        )
    if not subsets:
        raise ZooError(
            f"{benchmark}(subsets=[]) selects nothing: choose from {', '.join(all_subsets)}"
        )
    return tuple(subset for subset in all_subsets if subset in subsets)


def check_user_files(
    benchmark: str, files: Mapping[str, str] | None, subsets: Iterable[str]
) -> dict[str, str]:
    """Returns the user's annotation files by subset.

    Args:
        benchmark: The name of the benchmark.
        files: The user's files by subset, or None.
        subsets: The subsets that the benchmark has.

    Raises:
        ZooError: The benchmark does not have one of the subsets in `files`.
    """
    subset_names = list(subsets)
    for subset in files or {}:
        if subset not in subset_names:
            raise ZooError(
                f"{benchmark} has no subset {subset!r}{suggest_names(subset, subset_names)}: "
                f"the keys of `files` are {', '.join(subset_names)}"
            )
    return dict(files or {})


def with_user_files(subsets: Iterable[Subset], files: Mapping[str, str]) -> tuple[Subset, ...]:
    """Returns the subsets with the user's annotation files instead of the published ones."""
    return tuple(
        replace(subset, files=(files[subset.name],), from_user=True)
        if subset.name in files
        else subset
        for subset in subsets
    )


def check_kind(kind: str, known: Iterable[str], place: str) -> str:
    """Checks that the kind of an entry, which determines its subset, is a published one.

    Args:
        kind: The kind of the entry.
        known: The published kinds.
        place: File and line or entry, for the message.

    Raises:
        ZooError: The kind is not one of them, so the entry would belong to no subset.
    """
    if kind not in known:
        raise ZooError(
            f"{place}: {kind!r} is not one of the kinds {', '.join(known)}: download the file again"
        )
    return kind


def case_count_notes(counts: Iterable[tuple[Subset, int]]) -> dict[str, str]:
    """Returns a note for each subset whose file has a different number of cases than published."""
    return {
        f"{subset.name} cases": f"{n:,} in the file, {subset.n:,} as published"
        for subset, n in counts
        if subset.n is not None and n != subset.n
    }


def unanswerable_note(subset: str, cases: Iterable[Case]) -> dict[str, str]:
    """Returns a note on cases in which a text is both a right and a wrong answer.

    Args:
        subset: The name of the subset.
        cases: Its cases.
    """
    n = sum(map(_is_unanswerable, cases))
    if not n:
        return {}
    return {f"{subset} identical": f"{n:,} have a text that is both a right and a wrong answer"}


def position_note(subset: str, cases: Iterable[Case]) -> dict[str, str]:
    """Returns a note on the positions of the right answers, if some positions never occur.

    A model that always takes one position would then be right more often than chance.

    Args:
        subset: The name of the subset.
        cases: Its cases, each with one right answer and the same number of answers.
    """
    matches = [case.match.ravel() for case in cases]
    right_positions = {int(np.argmax(match)) for match in matches}
    if len(right_positions) == max(map(len, matches), default=0):
        return {}
    positions = " or ".join(map(str, sorted(right_positions)))
    return {f"{subset} right answers": f"only at position {positions}"}


def _is_unanswerable(case: Case) -> bool:
    for right in case.match:
        wrong = {case.texts[j] for j in np.flatnonzero(~right)}
        if not wrong.isdisjoint(
            (*case.query_texts, *(case.texts[j] for j in np.flatnonzero(right)))
        ):
            return True
    return False
