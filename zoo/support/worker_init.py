"""Initialization of worker processes."""

import os
import signal
import threading
from multiprocessing import parent_process


def initialize_worker() -> None:
    """Ignores Ctrl-C, which the parent process handles, and exits when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
