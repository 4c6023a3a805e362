"""ZooError: one sentence with culprit, reason and mend, and the near names that such a sentence offers; Stopped: a signal's end."""

import difflib
import signal
from collections.abc import Iterable


class ZooError(Exception):
    """A mistake that the user can mend. The command line prints it as one line, without a traceback."""


class Stopped(SystemExit):
    """A run that a signal ended.

    Args:
        signum: the signal. The process ends with 128 + signum, as a shell says it.
        kept: what was kept and how to go on from it, a sentence; empty where nothing was trained yet.
        tells: whether this process says so; of a run's ranks only the first does.
    """

    def __init__(self, signum: int, kept: str = "", tells: bool = True) -> None:
        super().__init__(128 + signum)
        self.signum, self.kept, self.tells = signum, kept, tells

    def __str__(self) -> str:
        by = "interrupted" if self.signum == signal.SIGINT else f"stopped by {self.name}"
        return f"{by}: {self.kept}" if self.kept else by

    @property
    def name(self) -> str:
        return signal.Signals(self.signum).name


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
