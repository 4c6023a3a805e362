"""Reading text files so that whatever is wrong is named by file and line. Free of torch."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from zoo.errors import ZooError


def text_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 file with their ends; raises ZooError that names a line which is not UTF-8."""
    with _open(path) as file:
        for number, raw in enumerate(file, start=1):
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ZooError(
                    f"{path}:{number} is not UTF-8 text ({error.reason} at byte {error.start}): mend the line"
                ) from error


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yields (number from 1, line without its end) of a UTF-8 file, blank lines left out."""
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            yield number, line.rstrip("\r\n")


def read_json(
    path: Path, object_hook: Callable[[dict[str, Any]], Any] | None = None
) -> dict[str, Any]:
    """Returns the object that a JSON file holds; raises ZooError that names the line of what is broken."""
    with _open(path) as file:
        try:
            value = json.load(file, object_hook=object_hook)
        except json.JSONDecodeError as error:
            raise ZooError(
                f"{path}:{error.lineno} is not JSON ({error.msg}, column {error.colno}): fetch the file again"
            ) from error
        except UnicodeDecodeError as error:
            raise ZooError(
                f"{path} is not UTF-8 text ({error.reason} at byte {error.start}): fetch the file again"
            ) from error
    if not isinstance(value, dict):
        raise ZooError(
            f"{path} holds a {type(value).__name__}, not an object with named fields: give a file of this reader's format"
        )
    return value


def field(entry: Any, name: str, kind: type | tuple[type, ...], origin: str) -> Any:
    """Returns `entry[name]`; raises ZooError that names origin and field where it is absent or of another kind."""
    if not isinstance(entry, dict):
        raise ZooError(
            f"{origin} is a {type(entry).__name__}, not an object with a field {name!r}: mend the entry"
        )
    if name not in entry:
        raise ZooError(
            f"{origin} has no field {name!r}: it has {', '.join(map(repr, entry)) or 'none'}"
        )
    if not isinstance(entry[name], kind):
        raise ZooError(
            f"{origin} has {type(entry[name]).__name__} {str(entry[name])[:40]!r} as {name!r}: expected {_kinds(kind)}"
        )
    return entry[name]


def caption(text: str, origin: str) -> str:
    """Returns the caption without the space around it; raises ZooError where nothing is left."""
    stripped = text.strip()
    if not stripped:
        raise ZooError(f"{origin} has an empty caption: write one or take the entry out")
    return stripped


def _kinds(kind: type | tuple[type, ...]) -> str:
    return " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))


def _open(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise ZooError(
            f"{path} cannot be read ({error.strerror}): give the path of a caption file"
        ) from error
