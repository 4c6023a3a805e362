"""`ZooError`, an error that users can fix, and `Stopped`, raised if a signal ends a run."""

import signal
from collections.abc import Iterable

DISTRIBUTION = "clip-zoo"  # the name to give to pip


class ZooError(Exception):
    """An error that the user can fix. The command line prints it without a traceback."""


class Stopped(SystemExit):
    """A run that a signal ended.

    Args:
        signum: The signal. The exit status is 128 + signum, as in a shell.
        resume_hint: A sentence on what was saved and how to resume; empty if nothing was trained
            yet.
        is_reported: Whether this process prints the message. Of a run's ranks, only the first does.
    """

    def __init__(self, signum: int, resume_hint: str = "", is_reported: bool = True) -> None:
        super().__init__(128 + signum)
        self.signum, self.resume_hint, self.is_reported = signum, resume_hint, is_reported

    def __str__(self) -> str:
        event = "interrupted" if self.signum == signal.SIGINT else f"stopped by {self.name}"
        return f"{event}: {self.resume_hint}" if self.resume_hint else event

    @property
    def name(self) -> str:
        """The signal's name, such as SIGTERM."""
        return signal.Signals(self.signum).name


def suggest_names(name: str, known: Iterable[str], n: int = 3) -> str:
    """Returns the known names that are most similar to an unknown name.

    Args:
        name: The unknown name.
        known: The known names.
        n: The largest number of names to return.

    Returns:
        ' (did you mean a or b?)', or '' if no name is similar.
    """
    import difflib  # imported here because it is slow and rarely needed

    lower = {k.lower(): k for k in known}
    matches = difflib.get_close_matches(name.lower(), list(lower), n=n, cutoff=0.5)
    names = [lower[match] for match in matches]
    if not names:
        return ""
    *first_names, last_name = names
    choices = f"{', '.join(first_names)} or {last_name}" if first_names else last_name
    return f" (did you mean {choices}?)"


def import_optional(module: str, extra: str | None = None) -> object:
    """Imports an optional module.

    Args:
        module: Its name.
        extra: The extra of this package that installs it; None if the module is a package of its
            own.

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
