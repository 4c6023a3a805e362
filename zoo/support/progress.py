"""Progress: a bar on a terminal and in a notebook, a line now and then in a log."""

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

EVERY = 30.0  # seconds between two lines

log = logging.getLogger(__name__)
T = TypeVar("T")


@contextmanager
def counting(
    what: str, total: int | None = None, shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Gives what is told how many more items are done, and shows it.

    Args:
        what: What is done.
        total: Number of all items, None if it is not known.
        shown: Whether anything is shown, which one process of several does.
    """
    console = Console(stderr=True)
    if not shown:
        yield lambda more: None
    elif sys.stderr.isatty() or console.is_jupyter:
        left = TimeElapsedColumn() if total is None else TimeRemainingColumn()
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), left)
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda more: bar.advance(task, more)
    else:
        yield ProgressLines(what, total)


def track(
    items: Iterable[T], what: str, total: int | None = None, shown: bool = True
) -> Iterator[T]:
    """Yields the items, and shows how many were taken.

    Args:
        items: The items.
        what: What is done with them.
        total: Their number, None if it is not known.
        shown: Whether anything is shown, which one process of several does.
    """
    with counting(what, total, shown) as done:
        for item in items:
            yield item
            done(1)


class ProgressLines:
    """Logs how far a task is: a line every `EVERY` seconds, with the time that is left.

    Args:
        what: What is done.
        total: Number of all items, None if it is not known.
        done: Number of items that are done already.
    """

    def __init__(self, what: str, total: int | None, done: int = 0) -> None:
        self.what, self.total, self.done, self.before = what, total, done, done
        self.began = self.told = time.monotonic()

    def __call__(self, more: int, details: Callable[[float], Iterable[str]] | None = None) -> None:
        """Counts items, and logs a line where one is due.

        Args:
            more: How many more items are done.
            details: Makes what the line ends with, from the seconds since the line before.
        """
        self.done += more
        now = time.monotonic()
        since = now - self.told
        if since < EVERY:
            return
        self.told = now
        took, new = now - self.began, self.done - self.before
        of = "" if self.total is None else f" of {self.total:,}"
        parts = [f"{self.what}: {self.done:,}{of} after {_duration(took)}"]
        if self.total is not None and new:
            parts.append(f"{_duration(took / new * max(self.total - self.done, 0))} left")
        log.info("%s", ", ".join([*parts, *(details(since) if details else ())]))


def _duration(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
