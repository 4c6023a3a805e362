"""ZooError, one sentence with culprit, reason and mend; Stopped, the end by a signal."""

import signal
from collections.abc import Iterable

DISTRIBUTION = "clip-zoo"  # the name to give to pip


class ZooError(Exception):
    """A mistake that the user can mend, which the command line prints without a traceback."""


class Stopped(SystemExit):
    """A run that a signal ended.

    Args:
        signum: The signal. The process ends with 128 + signum, as a shell says it.
        kept: A sentence on what was kept and how to go on from it; empty where nothing was trained
            yet.
        tells: Whether this process says so; of a run's ranks only the first does.
    """

    def __init__(self, signum: int, kept: str = "", tells: bool = True) -> None:
        super().__init__(128 + signum)
        self.signum, self.kept, self.tells = signum, kept, tells

    def __str__(self) -> str:
        by = "interrupted" if self.signum == signal.SIGINT else f"stopped by {self.name}"
        return f"{by}: {self.kept}" if self.kept else by

    @property
    def name(self) -> str:
        """The signal's name, such as SIGTERM."""
        return signal.Signals(self.signum).name


def suggest_names(name: str, known: Iterable[str], n: int = 3) -> str:
    """Finds the names that a misspelt one may have meant.

    Args:
        name: The name that is not known.
        known: The names that are known.
        n: How many are named at most.

    Returns:
        ' (near: a, b)', or '' where none is alike.
    """
    import difflib  # which takes its time, and most commands make no mistake

    lower = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), list(lower), n=n, cutoff=0.5)
    return f" (near: {', '.join(lower[f] for f in found)})" if found else ""


def import_optional(module: str, extra: str | None = None) -> object:
    """Imports an optional module.

    Args:
        module: Its name.
        extra: The extra of this package that installs it; None if its own package has to be
            installed.

    Returns:
        The module.

    Raises:
        ZooError: The module is not installed.
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module if extra is None else f"'{DISTRIBUTION}[{extra}]'"
        raise ZooError(f"{module} is not installed: pip install {package}") from error
