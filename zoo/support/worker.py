"""Processes that load batches, and the signals that are meant for the one that trains."""

import mmap
import os
import signal
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

from lightning.fabric.utilities.seed import pl_worker_init_function
from torch.utils.data import DataLoader

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
HEARING = 5.0  # seconds that a busy main process may take to hear of a signal

heard = mmap.mmap(-1, 1)  # 1 once the main process has heard a signal; shared with what it forks


def outlast(worker: int) -> None:
    """Lets a process that loads batches live through a signal that the whole group is sent.

    The step under way needs its batch.

    Args:
        worker: Its number, from the DataLoader whose `worker_init_fn` this is.
    """

    def end_unless_stopping(signum: int, frame: FrameType | None) -> None:
        signal.signal(signum, signal.SIG_DFL)  # a second one is the main process's
        given_up = time.monotonic() + HEARING
        while not heard[0]:  # the main process may hear of the first after this one
            if time.monotonic() > given_up:
                os.kill(os.getpid(), signum)
            time.sleep(0.05)

    signal.signal(signal.SIGTERM, end_unless_stopping)
    for signum in (signal.SIGINT, signal.SIGUSR1):
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # which `Loader` holds back
    if os.environ.get("PL_SEED_WORKERS") == "1":
        pl_worker_init_function(worker)


class Loader(DataLoader[Any]):
    """A loader whose processes are deaf to signals until `outlast` has told them what to do.

    Args:
        args: DataLoader's arguments.
        kwargs: DataLoader's named ones.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"worker_init_fn": outlast, **kwargs})

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        """Returns the batches; a signal that comes while processes start is heard right after."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            return super().__iter__()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
