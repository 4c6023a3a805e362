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
        yield _Lines(what, total)


def tracked(
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


class _Lines:
    def __init__(self, what: str, total: int | None) -> None:
        self.what, self.of = what, "" if total is None else f" of {total:,}"
        self.done = 0
        self.began = self.told = time.monotonic()

    def __call__(self, more: int) -> None:
        self.done += more
        now = time.monotonic()
        if now - self.told >= EVERY:
            self.told = now
            took = timedelta(seconds=round(now - self.began))
            log.info("%s: %s%s after %s", self.what, f"{self.done:,}", self.of, took)
