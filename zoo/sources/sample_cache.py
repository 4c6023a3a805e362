"""Caches the samples of a reader in tables that all processes and runs share.

The cache key is made of the content of the reader's files, its settings and its code. If these are
not known, the tables are built in memory, in each process.
"""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from zoo.errors import ZooError
from zoo.sources.concatenated_samples import concatenate_samples
from zoo.sources.image_paths import are_unchanged, watch_folders
from zoo.sources.readers.base import Reader
from zoo.sources.readers.concatenation import Concatenation
from zoo.sources.sample import Sample
from zoo.sources.samples import Samples, WrongFieldType, write_samples
from zoo.support.compiled_tables import (
    Notes,
    Writer,
    build_in_memory,
    hash_modules_around,
    load_or_build_tables,
)
from zoo.support.configurable import to_config
from zoo.support.garbage_collection import collector_off
from zoo.support.progress import track
from zoo.support.text_files import sha256

log = logging.getLogger(__name__)


def cached_samples(reader: Reader) -> Samples:
    """Returns all samples of a reader, from the cache if possible.

    The warnings of the reader are logged again if the samples come from the cache. A concatenation
    has no tables of its own; those of its readers are used.

    Raises:
        ZooError: The files are invalid, or the tables cannot be written.
    """
    if isinstance(reader, Concatenation):
        return concatenate_samples([cached_samples(part) for part in reader.parts])

    def write_tables(writer: Writer) -> Notes:
        with collector_off(), _collect_warnings(reader) as warnings, watch_folders() as folders:
            cells: set[str] = set()
            try:
                read = track(reader.checked_samples(), "compiling captions")
                write_samples(writer, _record_parquet_files(read, cells))
            except WrongFieldType as error:
                raise ZooError(
                    f"{type(reader).__name__}.samples() returned a field of the wrong type "
                    f"({error}): use the types that are declared in zoo.sources.Sample"
                ) from error
        return {"warnings": warnings, "folders": folders(), "tables": sorted(cells)}

    dependencies = _dependencies(reader)
    if dependencies is None:
        return Samples(build_in_memory(write_tables))
    new_notes: list[Notes] = []

    def make_first(writer: Writer) -> Notes:
        new_notes.append(write_tables(writer))
        return new_notes[0]

    tables = load_or_build_tables("captions", dependencies, make_first, _is_current)
    if not new_notes:
        for name, message in tables.notes["warnings"]:
            logging.getLogger(name).warning(message)
    return Samples(tables)


def _record_parquet_files(samples: Iterable[Sample], parquet_files: set[str]) -> Iterator[Sample]:
    """Yields samples, and adds the Parquet files that contain their images to `tables`."""
    for sample in samples:
        if sample.image.source == "parquet":
            parquet_files.add(sample.image.key.partition("#")[0])
        yield sample


def _is_current(notes: Notes) -> bool:
    """Returns whether the images of the samples are still where they were."""
    return all(map(os.path.isfile, notes["tables"])) and are_unchanged(notes["folders"])


def _dependencies(reader: Reader) -> dict[str, Any] | None:
    """Returns all that the samples of a reader depend on, or None if this is unknown."""
    if not reader.files or not all(file.is_file() for file in reader.files):
        return None
    classes = type(reader).__mro__
    try:
        code = hash_modules_around(*classes[: classes.index(Reader)])
        files = [[str(file), sha256(file)] for file in reader.files]
        settings = to_config(reader)
    except (OSError, TypeError, ZooError):  # the reader reports errors in files
        return None
    # paths are relative to the working directory, and images are searched there too
    return {"reader": settings, "reads": code, "files": files, "from": os.getcwd()}


@contextmanager
def _collect_warnings(reader: Reader) -> Iterator[list[tuple[str, str]]]:
    """Collects the warnings that zoo and the reader's package log, as (logger, message)."""
    messages: list[tuple[str, str]] = []

    class WarningHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append((record.name, record.getMessage()))

    ear = WarningHandler(logging.WARNING)
    packages = {kind.__module__.partition(".")[0] for kind in (type(reader), Reader)}
    loggers = [logging.getLogger(package) for package in packages]
    for logger in loggers:
        logger.addHandler(ear)
    try:
        yield messages
    finally:
        for logger in loggers:
            logger.removeHandler(ear)
