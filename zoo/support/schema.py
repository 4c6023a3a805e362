"""Records of JSON, held to a schema of msgspec: types with fields, whose names are the file's."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from zoo.errors import ZooError
from zoo.support.text_files import json_line, numbered_lines, read_json

T = TypeVar("T")
Text = Annotated[str, msgspec.Meta(pattern=r"\S")]  # not blank

_NOUNS = {
    "object": "an object",
    "array": "a list",
    "str": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "null": "null",
}
_LACKS = re.compile(r"Object missing required field `(.*?)`")
_BLANK = re.compile(r"Expected `str` matching regex")
_LENGTH = re.compile(r"Expected `array` of length (\d+), got (\d+)")
_AT_LEAST = re.compile(r"Expected `array` of length >= (\d+)")
_OTHER = re.compile(r"Expected `(.*?)`( of length \d+)?, got `(\w+)`")
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_SHOWN = 40  # letters of a wrong value that are shown


def record(
    value: Any, schema: type[T], where: str, mend: str = "mend the record", path: str = ""
) -> T:
    """Holds a record to its schema. What the schema does not name is left out.

    Args:
        value: The record, as JSON gives it.
        schema: A struct of msgspec's or a dataclass.
        where: File and line or entry of the record.
        mend: What the user can do.
        path: The fields that lead to the record, joined by dots; empty for the record itself.

    Returns:
        The record as the schema has it.

    Raises:
        ZooError: A field is missing or of another type. The error names it, and says what is there.
    """
    try:
        return msgspec.convert(value, schema)
    except msgspec.ValidationError as error:
        message, place = _PLACE.fullmatch(str(error)).groups()  # type: ignore[union-attr]
        said = _format_message(message, path, place or "")
        raise ZooError(
            f"{where}: {said}: {mend}{_value_at(value, message, place or '')}"
        ) from error


def read_list(
    path: Path, schema: type[T], mend: str = "fetch the file again"
) -> Iterator[tuple[str, T]]:
    """Reads a JSON file, plain or gzipped, that holds a list of records.

    Args:
        path: The file.
        schema: As for `record`.
        mend: What the user can do.

    Yields:
        The place of each record, 'FILE[NUMBER]', and the record.

    Raises:
        ZooError: The file cannot be read or holds no record, or a record is wrong.
    """
    entries = record(read_json(path), list[Any], str(path), mend)
    if not entries:
        raise ZooError(f"{path} is empty, and must hold a list of entries: {mend}")
    for i, entry in enumerate(entries):
        place = f"{path}[{i}]"
        yield place, record(entry, schema, place, mend)


def read_object(
    path: Path, schema: type[T], mend: str = "fetch the file again"
) -> Iterator[tuple[str, str, T]]:
    """Reads a JSON file, plain or gzipped, that holds an object of records by their keys.

    Args:
        path: The file.
        schema: As for `record`.
        mend: What the user can do.

    Yields:
        The place of each record, 'FILE[KEY]', its key and the record.

    Raises:
        ZooError: The file cannot be read or holds no record, or a record is wrong.
    """
    entries = record(read_json(path), dict[str, Any], str(path), mend)
    if not entries:
        raise ZooError(f"{path} is empty, and must hold an object of entries by key: {mend}")
    for key, entry in entries.items():
        place = f"{path}[{key}]"
        yield place, key, record(entry, schema, place, mend)


def lines(path: Path, schema: type[T], mend: str = "mend the line") -> Iterator[tuple[str, T]]:
    """Reads a file of JSON lines, blank ones left out.

    Args:
        path: The file.
        schema: As for `record`.
        mend: What the user can do.

    Yields:
        The place of each line, 'FILE:LINE', and its record.

    Raises:
        ZooError: The file cannot be read, or a line is wrong.
    """
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        yield place, record(json_line(line, place, mend), schema, place, mend)


def _format_message(message: str, path: str, place: str) -> str:
    """Returns in words what msgspec says of the field that is wrong."""
    lacks = _LACKS.match(message)
    names = (path, place, lacks and lacks[1])
    field = ".".join(filter(None, names)).replace(".[", "[")
    if lacks:
        return f"field '{field}' is missing"
    what = f"field '{field}'" if field else "the record"
    if _BLANK.match(message):
        return f"{what} is blank where a text is needed"
    if length := _LENGTH.match(message):
        return f"{what} has {length[2]} of the {length[1]} entries that are needed"
    if few := _AT_LEAST.match(message):
        return f"{what} has too few entries where at least {few[1]} are needed"
    other = _OTHER.match(message)
    if other is None:
        return f"{what} is wrong ({message})"
    wanted = " or ".join(_NOUNS.get(kind, kind) for kind in other[1].split(" | "))
    state = "is missing" if other[3] == "null" else f"is {_NOUNS.get(other[3], other[3])}"
    return f"{what} {state} where {wanted}{other[2] or ''} is needed"


def _value_at(value: Any, message: str, place: str) -> str:
    """Returns what stands in the place of a wrong field, or beside a missing one."""
    for index, name in _STEP.findall(place):
        if index and isinstance(value, Sequence):
            value = value[int(index)]
        elif isinstance(value, Mapping) and name in value:
            value = value[name]
        else:  # msgspec does not say under which key
            return ""
    if _LACKS.match(message):
        return f" (it has {', '.join(map(repr, value))})" if value else ""
    if _BLANK.match(message) or value is None or isinstance(value, list | dict):
        return ""
    return f" (found {str(value)[:_SHOWN]!r})"
