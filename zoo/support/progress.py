"""Progress: a bar on terminals and in notebooks, periodic lines in logs."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

LOG_INTERVAL = 30.0  # seconds between two lines

log = logging.getLogger(__name__)
T = TypeVar("T")


@contextmanager
def show_progress(
    description: str, total: int | None = None, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Shows progress, and yields a function that advances it by a number of items.

    Args:
        description: Description of the task.
        total: Number of all items, None if unknown.
        shown: Whether to show progress; only one of several processes should.
    """
    console = Console(stderr=True)
    if not shown:
        yield lambda more: None
    elif sys.stderr.isatty() or console.is_jupyter:
        time_column = TimeElapsedColumn() if total is None else TimeRemainingColumn()
        columns = (TextColumn(description), BarColumn(), MofNCompleteColumn(), time_column)
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(description, total=total)
            yield lambda more: bar.advance(task, more)
    else:
        yield ProgressLines(description, total)


def track(
    items: Iterable[T], description: str, total: int | None = None, shown: bool = True
) -> Iterator[T]:
    """Yields the items, and shows progress.

    Args:
        items: The items.
        description: Description of the task.
        total: Number of items, None if unknown.
        shown: Whether to show progress; only one of several processes should.
    """
    with show_progress(description, total, shown) as advance_by:
        for item in items:
            yield item
            advance_by(1)


class ProgressLines:
    """Logs the progress of a task every `LOG_INTERVAL` seconds, with the estimated remaining time.

    Args:
        description: Description of the task.
        total: Number of all items, None if unknown.
        done: Number of items that are already done.
    """

    def __init__(self, description: str, total: int | None, done: int = 0) -> None:
        self.description, self.total, self.done, self.before = description, total, done, done
        self.began = self.last_logged = time.monotonic()

    def __call__(self, more: int, details: Callable[[float], Iterable[str]] | None = None) -> None:
        """Counts items, and logs a line where one is due.

        Args:
            more: Number of items to add.
            details: Returns further parts of the line, given the seconds since the previous line.
        """
        self.done += more
        now = time.monotonic()
        elapsed = now - self.last_logged
        if elapsed < LOG_INTERVAL:
            return
        self.last_logged = now
        took, new = now - self.began, self.done - self.before
        of_total = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self.description}: {self.done:,}{of_total} after {_duration(took)}"]
        if self.total is not None and new:
            parts.append(f"{_duration(took / new * max(self.total - self.done, 0))} left")
        log.info("%s", ", ".join([*parts, *(details(elapsed) if details else ())]))


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
