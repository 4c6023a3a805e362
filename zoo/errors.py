"""ZooError: one sentence with culprit, reason and mend; and the near names that such a sentence offers."""

import difflib
from collections.abc import Iterable


class ZooError(Exception):
    """A mistake that the user can mend. The command line prints it as one line, without a traceback."""


def near(name: str, known: Iterable[str], n: int = 3) -> str:
    """Returns ' (near: a, b)' with the names in `known` most like `name`, or '' where none is alike."""
    lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), list(lower), n=n, cutoff=0.5)
    return f" (near: {', '.join(lower[f] for f in found)})" if found else ""


def need(module: str, extra: str) -> object:
    """Returns the optional module, imported now; raises ZooError that names the extra which brings it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ZooError(
            f"{module} is not installed: pip install 'zoo[{extra}]' brings it"
        ) from error
