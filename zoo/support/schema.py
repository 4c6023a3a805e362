"""Validation of JSON records against msgspec schemas, with readable error messages."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from zoo.errors import ZooError
from zoo.support.text_files import numbered_lines, parse_json_line, read_json

T = TypeVar("T")
Text = Annotated[str, msgspec.Meta(pattern=r"\S")]  # not blank

DOWNLOAD_AGAIN = "download the file again"  # usual advice on a published file that is invalid

_NOUNS = {
    "object": "an object",
    "array": "a list",
    "str": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "null": "null",
}
_MISSING = re.compile(r"Object missing required field `(.*?)`")
_BLANK = re.compile(r"Expected `str` matching regex")
_LENGTH = re.compile(r"Expected `array` of length (\d+), got (\d+)")
_AT_LEAST = re.compile(r"Expected `array` of length >= (\d+)")
_OTHER = re.compile(r"Expected `(.*?)`( of length \d+)?, got `(\w+)`")
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_SHOWN = 40  # characters of a wrong value in the message


def validate_record(
    value: Any, schema: type[T], origin: str, advice: str = "correct the record", path: str = ""
) -> T:
    """Converts a record to its schema. Fields that are not in the schema are ignored.

    Args:
        value: The record, as parsed from JSON.
        schema: A msgspec struct or a dataclass.
        origin: File and line or entry of the record.
        advice: Advice for the error message.
        path: The path of the record in the entry, joined by dots; empty for the entry itself.

    Returns:
        An instance of the schema.

    Raises:
        ZooError: A field is missing or has a wrong type. The message names it and its value.
    """
    try:
        return msgspec.convert(value, schema)
    except msgspec.ValidationError as error:
        message, place = _PLACE.fullmatch(str(error)).groups()  # type: ignore[union-attr]
        fault = _format_message(message, path, place or "")
        raise ZooError(
            f"{origin}: {fault}: {advice}{_value_note(value, message, place or '')}"
        ) from error


def read_list(path: Path, schema: type[T], advice: str = DOWNLOAD_AGAIN) -> Iterator[tuple[str, T]]:
    """Reads a JSON file, plain or gzipped, with a list of records.

    Args:
        path: The file.
        schema: As for `validate_record`.
        advice: Advice for the error message.

    Yields:
        The place of each record, 'FILE[NUMBER]', and the record.

    Raises:
        ZooError: The file cannot be read or is empty, or a record is invalid.
    """
    entries = validate_record(read_json(path), list[Any], str(path), advice)
    if not entries:
        raise ZooError(f"{path} is empty, but must contain a list of entries: {advice}")
    for i, entry in enumerate(entries):
        place = f"{path}[{i}]"
        yield place, validate_record(entry, schema, place, advice)


def read_object(
    path: Path, schema: type[T], advice: str = DOWNLOAD_AGAIN
) -> Iterator[tuple[str, str, T]]:
    """Reads a JSON file, plain or gzipped, with an object of records by key.

    Args:
        path: The file.
        schema: As for `validate_record`.
        advice: Advice for the error message.

    Yields:
        The place of each record, 'FILE[KEY]', its key and the record.

    Raises:
        ZooError: The file cannot be read or is empty, or a record is invalid.
    """
    entries = validate_record(read_json(path), dict[str, Any], str(path), advice)
    if not entries:
        raise ZooError(f"{path} is empty, but must contain an object of entries by key: {advice}")
    for key, entry in entries.items():
        place = f"{path}[{key}]"
        yield place, key, validate_record(entry, schema, place, advice)


def read_json_lines(
    path: Path, schema: type[T], advice: str = "correct the line"
) -> Iterator[tuple[str, T]]:
    """Reads a file of JSON lines, skipping blank ones.

    Args:
        path: The file.
        schema: As for `validate_record`.
        advice: Advice for the error message.

    Yields:
        The place of each line, 'FILE:LINE', and its record.

    Raises:
        ZooError: The file cannot be read, or a line is invalid.
    """
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        yield place, validate_record(parse_json_line(line, place, advice), schema, place, advice)


def _format_message(message: str, path: str, place: str) -> str:
    """Rewords a message of msgspec about an invalid field."""
    missing = _MISSING.match(message)
    names = (path, place, missing and missing[1])
    field = ".".join(filter(None, names)).replace(".[", "[")
    if missing:
        return f"field '{field}' is missing"
    subject = f"field '{field}'" if field else "the record"
    if _BLANK.match(message):
        return f"{subject} is blank, but must be a text"
    if length := _LENGTH.match(message):
        return f"{subject} has {length[2]} of {length[1]} required entries"
    if shortage := _AT_LEAST.match(message):
        return f"{subject} has too few entries, but must have at least {shortage[1]}"
    mismatch = _OTHER.match(message)
    if mismatch is None:
        return f"{subject} is wrong ({message})"
    expected = " or ".join(_NOUNS.get(kind, kind) for kind in mismatch[1].split(" | "))
    state = "is missing" if mismatch[3] == "null" else f"is {_NOUNS.get(mismatch[3], mismatch[3])}"
    return f"{subject} {state}, but must be {expected}{mismatch[2] or ''}"


def _value_note(value: Any, message: str, place: str) -> str:
    """Returns a note with the wrong value, or with the existing fields if one is missing."""
    for index, name in _STEP.findall(place):
        if index and isinstance(value, Sequence):
            value = value[int(index)]
        elif isinstance(value, Mapping) and name in value:
            value = value[name]
        else:  # msgspec does not report the key
            return ""
    if _MISSING.match(message):
        return f" (it has {', '.join(map(repr, value))})" if value else ""
    if _BLANK.match(message) or value is None or isinstance(value, list | dict):
        return ""
    return f" (found {str(value)[:_SHOWN]!r})"
