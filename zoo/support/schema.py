"""Records of JSON, held to a schema of msgspec: types with fields, whose names are the file's."""

import re
from typing import Annotated, Any, TypeVar

import msgspec

from zoo.errors import ZooError

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
_OTHER = re.compile(r"Expected `(.*?)`( of length \d+)?, got `(\w+)`")
_PLACE = re.compile(r"(.*?)(?: - at `\$\.?(.*)`)?")


def record(
    value: Any, schema: type[T], where: str, mend: str = "mend the record", path: str = ""
) -> T:
    """Holds a record to its schema. What the schema does not name is left out.

    Args:
        value: The record, as JSON gives it.
        schema: A struct of msgspec's or a dataclass.
        where: File and line or entry of the record.
        mend: What the user can do, the end of the message.
        path: The fields that lead to the record, joined by dots; empty for the record itself.

    Returns:
        The record as the schema has it.

    Raises:
        ZooError: A field is missing or of another type. The error names it.
    """
    try:
        return msgspec.convert(value, schema)
    except msgspec.ValidationError as error:
        raise ZooError(f"{where}: {_said(str(error), path)}: {mend}") from error


def _said(message: str, path: str) -> str:
    """Returns in words what msgspec says of the field that is wrong."""
    said, place = _PLACE.fullmatch(message).groups()  # type: ignore[union-attr]
    lacks = _LACKS.match(said)
    names = (path, place, lacks and lacks[1])
    place = ".".join(filter(None, names)).replace(".[", "[")
    if lacks:
        return f"field '{place}' is missing"
    what = f"field '{place}'" if place else "the record"
    if _BLANK.match(said):
        return f"{what} is blank where a text is needed"
    other = _OTHER.match(said)
    if other is None:
        return f"{what} is wrong ({said})"
    wanted = " or ".join(_NOUNS.get(kind, kind) for kind in other[1].split(" | "))
    state = "is missing" if other[3] == "null" else f"is {_NOUNS.get(other[3], other[3])}"
    return f"{what} {state} where {wanted}{other[2] or ''} is needed"
