"""Signals that end a command immediately, unless it has progress to save."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from zoo.errors import Stopped

ENDING = (signal.SIGTERM, signal.SIGUSR1)


class ImmediateStop:
    """A signal handler that ends the command immediately.

    Args:
        saved_note: A note about saved progress, for the message. A run that saves progress clears
            it.
    """

    def __init__(self, saved_note: str) -> None:
        self.saved_note = saved_note

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        """Raises `Stopped`, so that temporary files are removed."""
        raise Stopped(signum, self.saved_note)


@contextmanager
def signals_raise(saved_note: str = "") -> Iterator[ImmediateStop]:
    """Makes SIGTERM and SIGUSR1 raise an exception, so that temporary files are removed.

    Existing handlers are kept. Outside the main thread nothing is changed.

    Args:
        saved_note: A note about saved progress, for the message.

    Yields:
        The handler of both signals.
    """
    handler = ImmediateStop(saved_note)
    main = threading.current_thread() is threading.main_thread()
    ours = [s for s in ENDING if main and signal.getsignal(s) is signal.SIG_DFL]
    for signum in ours:
        signal.signal(signum, handler)
    try:
        yield handler
    finally:
        for signum in ours:
            signal.signal(signum, signal.SIG_DFL)
