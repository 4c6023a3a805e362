"""Lists of texts that stand in a cell of a table as Python writes them."""

import ast

from zoo.errors import ZooError


def texts_of(literal: str, field: str, place: str) -> tuple[str, ...]:
    """Returns the texts of a list, or of a set in sorted order, which has none of its own.

    Args:
        literal: What the cell holds, such as "['a', 'b']".
        field: The column.
        place: File and line.

    Raises:
        ZooError: It is no list or set of texts.
    """
    try:
        found = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    texts = sorted(found, key=str) if isinstance(found, set) else found
    if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        raise ZooError(
            f"{place}: field '{field}' is no list of texts where one is needed: "
            f"fetch the file again (found {literal[:40]!r})"
        )
    return tuple(texts)
