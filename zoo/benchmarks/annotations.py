"""Annotation files: found under the data root, plain or gzipped, and read with errors that name file and entry. Free of torch."""

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.benchmarks.base import Part
from zoo.errors import ZooError, near


def locate(root: Path, names: Sequence[str], override: str | None = None) -> Path | None:
    """names: paths under the root, the first that is there (as it is, or with .gz) is returned, None where none is.

    override: the user's own path instead, from the working directory or the root; raises ZooError where it is no file.
    """
    if override is not None:
        given = next((path for path in (Path(override), root / override) if path.is_file()), None)
        if given is None:
            raise ZooError(f"the annotation file {override} is neither in the working directory nor under {root}: mend the path")
        return given
    candidates = (root / f"{name}{end}" for name in names for end in ("", ".gz"))
    return next((path for path in candidates if path.is_file()), None)


def content(path: Path) -> bytes:
    """Returns the bytes of a file, unpacked where its name ends in .gz; raises ZooError that names it."""
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise ZooError(f"{path} cannot be read ({error}): fetch the file again") from error


def read_json(path: Path) -> Any:
    """Returns what a .json or .json.gz holds; raises ZooError that names the file, and the line where it is no JSON."""
    try:
        return json.loads(content(path).decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise ZooError(f"{path}:{error.lineno} is not JSON ({error.msg}, column {error.colno}): fetch the file again") from error
    except UnicodeDecodeError as error:
        raise ZooError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}): fetch the file again") from error


def read_list(path: Path) -> list[Any]:
    """Returns the list that a .json or .json.gz holds; raises ZooError that names the file where it holds anything else."""
    records = read_json(path)
    if not isinstance(records, list):
        raise ZooError(f"{path} holds a {type(records).__name__}, not a list of records: give the file as published")
    return records


def overrides(benchmark: str, files: Mapping[str, str] | None, subsets: Iterable[str]) -> dict[str, str]:
    """Returns the user's annotation files by subset; raises ZooError for a subset that the benchmark does not have."""
    known = list(subsets)
    for subset in files or {}:
        if subset not in known:
            raise ZooError(f"{benchmark} has no subset {subset!r}{near(subset, known)}: `files` may name {', '.join(known)}")
    return dict(files or {})


def count_notes(counts: Iterable[tuple[Part, int]]) -> dict[str, str]:
    """Returns, by subset, a note where a file holds another number of cases than the published one."""
    return {f"{p.subset} cases": f"{n:,} in the file, {p.n:,} as published" for p, n in counts if p.n is not None and n != p.n}
