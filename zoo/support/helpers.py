"""What a process that works for another one does as it starts."""

import os
import signal
import threading
from multiprocessing import parent_process


def helps_its_parent() -> None:
    """Leaves Ctrl-C to the parent of this process, and ends with it, even where it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
