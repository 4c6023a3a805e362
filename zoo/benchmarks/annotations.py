"""Annotation files: found under the data root, plain or gzipped, and read with errors that name file and entry. Free of torch."""

import gzip
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.benchmarks.base import Part
from zoo.errors import ZooError, near
from zoo.support.text_files import NotJson, json_value, opened


def given_path(root: Path, name: str) -> Path | None:
    """Finds what a user named: as it is written, from the working directory, before it is looked for under the data root.

    Args:
        root: a data root.
        name: a file or a folder.

    Returns:
        Its path, None where it is in neither.
    """
    return next((path for path in (Path(name), root / name) if path.exists()), None)


def locate(root: Path, part: Part) -> Path | None:
    """Returns the first of a part's files that is there, as it is or with .gz, None where none is. Those that the user named are looked for
    in the working directory first."""
    folders = (Path(), root) if part.named else (root,)
    candidates = (
        folder / f"{name}{end}" for folder in folders for name in part.files for end in ("", ".gz")
    )
    return next((path for path in candidates if path.exists() and not path.is_dir()), None)


def content(path: Path) -> bytes:
    """Returns the bytes of a file, unpacked where its name ends in .gz; raises ZooError that names it."""
    try:
        with opened(path) as file:
            return gzip.decompress(file.read()) if path.suffix == ".gz" else file.read()
    except PermissionError as error:
        raise ZooError(f"{path} cannot be read ({error.strerror}): let yourself read it") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ZooError(f"{path} cannot be read ({error}): fetch the file again") from error


def read_json(path: Path) -> Any:
    """Returns what a .json or .json.gz holds; raises ZooError that names the file, and the line where it is no JSON."""
    try:
        return json_value(content(path).decode("utf-8-sig"))
    except NotJson as error:
        raise ZooError(f"{error.at(path)} is not JSON ({error}): fetch the file again") from error
    except UnicodeDecodeError as error:
        raise ZooError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}): fetch the file again"
        ) from error


def read_list(path: Path) -> list[Any]:
    """Returns the list that a .json or .json.gz holds; raises ZooError that names the file where it holds anything else."""
    records = read_json(path)
    if not isinstance(records, list):
        raise ZooError(
            f"{path} holds a {type(records).__name__}, not a list of records: "
            "give the file as published"
        )
    return records


def chosen(benchmark: str, subsets: Sequence[str] | None, known: Iterable[str]) -> tuple[str, ...]:
    """Checks which subsets a user wants.

    Args:
        benchmark: the name of the benchmark.
        subsets: those wanted, None for all.
        known: those that it has.

    Returns:
        Those wanted, in the order of `known`.

    Raises:
        ZooError: One is unknown, or none is wanted.
    """
    offered = tuple(known)
    if subsets is None:
        return offered
    unknown = next((subset for subset in subsets if subset not in offered), None)
    if unknown is not None:
        raise ZooError(
            f"{benchmark} has no subset {unknown!r}{near(unknown, offered)}: "
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
    """Returns the user's annotation files by subset; raises ZooError for a subset that the benchmark does not have."""
    known = list(subsets)
    for subset in files or {}:
        if subset not in known:
            raise ZooError(
                f"{benchmark} has no subset {subset!r}{near(subset, known)}: "
                f"`files` may name {', '.join(known)}"
            )
    return dict(files or {})


def overridden(parts: Iterable[Part], files: Mapping[str, str]) -> tuple[Part, ...]:
    """Returns the parts with the user's annotation files in the place of those as published."""
    return tuple(
        replace(part, files=(files[part.subset],), named=True) if part.subset in files else part
        for part in parts
    )


def count_notes(counts: Iterable[tuple[Part, int]]) -> dict[str, str]:
    """Returns, by subset, a note where a file holds another number of cases than the published one."""
    return {
        f"{p.subset} cases": f"{n:,} in the file, {p.n:,} as published"
        for p, n in counts
        if p.n is not None and n != p.n
    }
