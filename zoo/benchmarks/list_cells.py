"""Parsing of table cells that hold a list of texts as a Python literal."""

import ast

from zoo.errors import ZooError


def parse_texts(literal: str, field: str, place: str) -> tuple[str, ...]:
    """Returns the texts of a list, or of a set in sorted order.

    Args:
        literal: The content of the cell, such as "['a', 'b']".
        field: The column.
        place: File and line.

    Raises:
        ZooError: It is not a list or set of texts.
    """
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    texts = sorted(value, key=str) if isinstance(value, set) else value
    if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        raise ZooError(
            f"{place}: field '{field}' is not a list of texts: "
            f"download the file again (found {literal[:40]!r})"
        )
    return tuple(texts)
