"""Processes that load batches, and the signals that are meant for the one that trains."""

import mmap
import os
import signal
import time
from types import FrameType

from lightning.fabric.utilities.seed import pl_worker_init_function

heard = mmap.mmap(-1, 1)  # 1 once the main process has heard a signal; shared with what it forks


def outlast(worker: int) -> None:
    """Lets a process that loads batches live through a signal that the whole group is sent.

    The step under way needs its batch.

    Args:
        worker: Its number, from the DataLoader whose `worker_init_fn` this is.
    """

    def end_unless_stopping(signum: int, frame: FrameType | None) -> None:
        signal.signal(signum, signal.SIG_DFL)  # a second one is the main process's
        time.sleep(0.5)  # the main process may hear of the first after this one
        if not heard[0]:
            os.kill(os.getpid(), signum)

    signal.signal(signal.SIGTERM, end_unless_stopping)
    for signum in (signal.SIGINT, signal.SIGUSR1):
        signal.signal(signum, signal.SIG_IGN)
    if os.environ.get("PL_SEED_WORKERS") == "1":
        pl_worker_init_function(worker)
