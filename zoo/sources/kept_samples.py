"""Kept samples: what a reader reads is compiled once into tables, for all processes and runs.

The tables are known by the content of the reader's files, its settings and its own code. Where
these do not tell all, they are made anew in each process, in memory.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from zoo.errors import ZooError
from zoo.sources.own_images import looked_at, looks_the_same
from zoo.sources.readers.base import Reader
from zoo.sources.sample import Sample
from zoo.sources.samples import Samples, Unfit, write_samples
from zoo.support.collector import collector_off
from zoo.support.compiled import Notes, Writer, code_of, compile_tables, in_memory
from zoo.support.progress import track
from zoo.support.spec import to_config
from zoo.support.text_files import sha256

log = logging.getLogger(__name__)


def kept_samples(reader: Reader) -> Samples:
    """Returns all that a reader gives.

    Warnings of the reader are said again where the tables are found ready.

    Raises:
        ZooError: The files are wrong, or the tables cannot be written.
    """

    def make(writer: Writer) -> Notes:
        with collector_off(), _heard(reader) as warnings, looked_at() as folders:
            cells: set[str] = set()
            try:
                read = track(reader.checked_samples(), "compiling captions")
                write_samples(writer, _with_cells(read, cells))
            except Unfit as error:
                raise ZooError(
                    f"{type(reader).__name__}.samples() gave what a table cannot hold ({error}): "
                    "give every field of zoo.sources.Sample the type that it has there"
                ) from error
        return {"warnings": warnings, "folders": folders(), "tables": sorted(cells)}

    of = _made_of(reader)
    if of is None:
        return Samples(in_memory(make))
    made: list[Notes] = []

    def make_first(writer: Writer) -> Notes:
        made.append(make(writer))
        return made[0]

    tables = compile_tables("captions", of, make_first, _hold)
    if not made:
        for name, message in tables.notes["warnings"]:
            logging.getLogger(name).warning(message)
    return Samples(tables)


def _with_cells(samples: Iterable[Sample], tables: set[str]) -> Iterator[Sample]:
    """Yields samples, and adds the tables that have their images in cells to those known."""
    for sample in samples:
        if sample.image.source == "parquet":
            tables.add(sample.image.key.partition("#")[0])
        yield sample


def _hold(notes: Notes) -> bool:
    """Returns whether the images that samples name are where they were."""
    return all(map(os.path.isfile, notes["tables"])) and looks_the_same(notes["folders"])


def _made_of(reader: Reader) -> dict[str, Any] | None:
    """Returns all that the samples of a reader depend on, None where nothing tells."""
    if not reader.files or not all(file.is_file() for file in reader.files):
        return None
    kinds = type(reader).__mro__
    try:
        reads = code_of(*kinds[: kinds.index(Reader)])
        files = [[str(file), sha256(file)] for file in reader.files]
        told = to_config(reader)
    except (OSError, TypeError, ZooError):  # of files the reader says more
        return None
    # paths are relative to the working directory, and images are looked for there too
    return {"reader": told, "reads": reads, "files": files, "from": os.getcwd()}


@contextmanager
def _heard(reader: Reader) -> Iterator[list[tuple[str, str]]]:
    """Yields a list of the warnings that zoo and a reader's package log meanwhile, by logger."""
    heard: list[tuple[str, str]] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append((record.name, record.getMessage()))

    ear = Ear(logging.WARNING)
    packages = {kind.__module__.partition(".")[0] for kind in (type(reader), Reader)}
    loggers = [logging.getLogger(package) for package in packages]
    for logger in loggers:
        logger.addHandler(ear)
    try:
        yield heard
    finally:
        for logger in loggers:
            logger.removeHandler(ear)
