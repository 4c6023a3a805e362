"""Signal handling in the worker processes of data loaders."""

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
FEWEST_WORKERS, MOST_WORKERS = 2, 8
SIGNAL_DELAY = 5.0  # seconds that a busy main process may take to receive a signal

# 1 when the main process has received a signal; shared with its forks
signal_received = mmap.mmap(-1, 1)


def initialize_worker_signals(worker: int) -> None:
    """Keeps a worker alive when the whole process group receives a signal.

    The current training step still needs its batch.

    Args:
        worker: The number of the worker. This is the `worker_init_fn` of a DataLoader.
    """

    def end_unless_stopping(signum: int, frame: FrameType | None) -> None:
        signal.signal(signum, signal.SIG_DFL)  # the main process sends the second signal
        given_up = time.monotonic() + SIGNAL_DELAY
        while not signal_received[0]:  # the main process may receive the signal later than this one
            if time.monotonic() > given_up:
                os.kill(os.getpid(), signum)
            time.sleep(0.05)

    signal.signal(signal.SIGTERM, end_unless_stopping)
    for signum in (signal.SIGINT, signal.SIGUSR1):
        signal.signal(signum, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # blocked by `Loader`
    if os.environ.get("PL_SEED_WORKERS") == "1":
        pl_worker_init_function(worker)


def default_workers(devices: int, on_gpu: bool) -> int:
    """Returns how many processes load data for each device if a user does not say.

    A GPU takes images as fast as several cores decode them. Towers on a CPU need the cores.

    Args:
        devices: Devices of this machine that train.
        on_gpu: Whether they are GPUs.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if not on_gpu:
        return FEWEST_WORKERS
    return min(max((cores or 1) // devices - 1, FEWEST_WORKERS), MOST_WORKERS)


class Loader(DataLoader[Any]):
    """A data loader whose workers block signals until their handlers are installed.

    Args:
        args: Positional arguments of DataLoader.
        kwargs: Keyword arguments of DataLoader.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"worker_init_fn": initialize_worker_signals, **kwargs})

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        """Returns the batches. Signals are delayed while the workers start."""
        previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            return super().__iter__()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


class TimedLoader(Loader):
    """A data loader that measures how long the main process waits for its batches.

    Attributes:
        seconds_waited: Seconds since it was created.
    """

    seconds_waited = 0.0

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        """Returns the batches."""
        batches = super().__iter__()
        while True:
            began = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                return
            finally:
                self.seconds_waited += time.perf_counter() - began
            yield batch
