"""Signals that end a command at once, as long as it has nothing to keep."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from zoo.errors import Stopped

ENDING = (signal.SIGTERM, signal.SIGUSR1)


class AtOnce:
    """A handler that ends the command where the signal finds it.

    Args:
        kept: What is told of what was kept. A run that begins to keep something empties it.
    """

    def __init__(self, kept: str) -> None:
        self.kept = kept

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        """Raises `Stopped`, on whose way what is half-written is removed."""
        raise Stopped(signum, self.kept)


@contextmanager
def signals_raise(kept: str = "") -> Iterator[AtOnce]:
    """Makes SIGTERM and SIGUSR1 raise as Ctrl-C does, so that what is half-written is removed.

    Handlers that others have set stay, and so do those of a thread beside the main one.

    Args:
        kept: What is told of what was kept.

    Yields:
        The handler of both signals.
    """
    handler = AtOnce(kept)
    main = threading.current_thread() is threading.main_thread()
    ours = [s for s in ENDING if main and signal.getsignal(s) is signal.SIG_DFL]
    for signum in ours:
        signal.signal(signum, handler)
    try:
        yield handler
    finally:
        for signum in ours:
            signal.signal(signum, signal.SIG_DFL)
