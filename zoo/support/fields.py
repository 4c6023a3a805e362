"""Checked access to the fields of one JSON record."""

from typing import Any

from zoo.errors import ZooError


def text_field(row: Any, field: str, where: str, path: str = "") -> str:
    """Reads a field of a record.

    Args:
        row: The record.
        field: The field's name.
        where: File and line of the record.
        path: The fields that lead to the record, joined by dots.

    Returns:
        A text that is not blank.

    Raises:
        ZooError: The field is missing, blank or no text.
    """
    value = object_field(row, where, path).get(field)
    if not isinstance(value, str) or not value.strip():
        raise ZooError(
            f"{where}: field '{_join(path, field)}' {_state(value)} where a text is needed: write "
            "one or leave the record out"
        )
    return value


def list_field(row: Any, field: str, where: str, path: str = "") -> list[Any]:
    """Reads a field of a record.

    Args:
        row: The record.
        field: The field's name.
        where: File and line of the record.
        path: The fields that lead to the record, joined by dots.

    Returns:
        A list, which may be empty.

    Raises:
        ZooError: The field is missing or no list.
    """
    value = object_field(row, where, path).get(field)
    if not isinstance(value, list):
        raise ZooError(
            f"{where}: field '{_join(path, field)}' {_state(value)} where a list is needed: write "
            "[] for none"
        )
    return value


def object_field(value: Any, where: str, path: str = "") -> dict[str, Any]:
    """Holds a value to be an object.

    Args:
        value: The value.
        where: File and line of the record.
        path: The fields that lead to the value, joined by dots; empty for the record itself.

    Returns:
        The object as a dict.

    Raises:
        ZooError: The value is no object.
    """
    if not isinstance(value, dict):
        what = f"field '{path}'" if path else "the record"
        raise ZooError(
            f"{where}: {what} {_state(value)} where an object is needed: docs/guides/data.md has "
            "the schema of a units file"
        )
    return value


def _join(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _state(value: Any) -> str:
    if value is None:
        return "is missing"
    if isinstance(value, str) and not value.strip():
        return "is blank"
    kinds = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return f"is {kinds[type(value)]}"
