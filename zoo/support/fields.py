"""Checked access to the fields of one JSON record. Free of torch."""

from typing import Any

from zoo.errors import ZooError


def text_field(row: Any, field: str, where: str, path: str = "") -> str:
    """Returns a text that is not blank; raises ZooError that names `where` (file and line) and the field."""
    value = object_field(row, where, path).get(field)
    if not isinstance(value, str) or not value.strip():
        raise ZooError(
            f"{where}: field '{_join(path, field)}' {_state(value)} where a text is needed: write one or leave the record out"
        )
    return value


def list_field(row: Any, field: str, where: str, path: str = "") -> list[Any]:
    """Returns a list, which may be empty; raises ZooError that names `where` and the field."""
    value = object_field(row, where, path).get(field)
    if not isinstance(value, list):
        raise ZooError(
            f"{where}: field '{_join(path, field)}' {_state(value)} where a list is needed: write [] for none"
        )
    return value


def object_field(value: Any, where: str, path: str = "") -> dict[str, Any]:
    """Returns an object as a dict; raises ZooError that names `where` and the path of what is none."""
    if not isinstance(value, dict):
        what = f"field '{path}'" if path else "the record"
        raise ZooError(
            f"{where}: {what} {_state(value)} where an object is needed: docs/guides/data.md has the schema of a units file"
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
