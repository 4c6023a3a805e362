"""Listings: the image files of a data set in its folders, by image number.

A listing is cached for all processes and runs until its folders change.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zoo.sources.folders import FolderLister
from zoo.support.compiled_tables import (
    Notes,
    Writer,
    build_in_memory,
    load_or_build_tables,
    split_into_batches,
)
from zoo.support.text_files import SETTLED
from zoo.support.text_index import INDEX, TextIndex, build_text_index

FILES = pa.schema([("number", pa.string()), ("folder", pa.int32()), ("name", pa.string())])
_File = tuple[str, int, str]


class Listing:
    """Finds image files by number.

    Args:
        folders: The folders to search; the first one that has an image wins.
        names: Pattern of the file names; its first group is the number.
        lister: Lists folders.
    """

    def __init__(
        self, folders: Sequence[Path], names: re.Pattern[str], lister: FolderLister
    ) -> None:
        self.folders = [folder for folder in folders if folder.is_dir()]
        self._names, self._listed = names, lister
        state = _folder_times(self.folders)
        if state is None:
            self._tables = build_in_memory(self._write_tables)
        else:
            self._tables = load_or_build_tables(
                "images", {"names": names.pattern, "folders": state}, self._write_tables
            )
            if self._tables.notes["links"]:  # the target of a link may disappear unnoticed
                self._tables = build_in_memory(self._write_tables)
        self._files = self._tables["files"]
        self._keys = TextIndex(self._files.column("number"), self._tables["index"])

    def __reduce__(self) -> tuple[Any, ...]:
        return Listing, (self.folders, self._names, self._listed)

    def get(self, number: str) -> Path | None:
        """Returns the file of an image, or None if it is missing."""
        rows = self._keys.rows(number)
        if not rows:
            return None
        folder, name = (self._files.column(i)[rows[0]].as_py() for i in (1, 2))
        return Path(self.folders[folder], name)

    def missing_mask(self, numbers: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Returns a mask of the images that are missing from all folders."""
        present = pc.is_in(numbers, self._files.column("number"))
        missing: NDArray[np.bool_] = ~present.to_numpy()
        return missing

    def _write_tables(self, writer: Writer) -> Notes:
        files: dict[str, _File] = {}
        for number, folder, name in self._scan():
            files.setdefault(number, (number, folder, name))
        writer.write("files", FILES, map(_batch, split_into_batches(files.values())))
        writer.write("index", INDEX, [build_text_index(files)])
        return {"links": any(map(_has_link, self.folders))}

    def _scan(self) -> Iterator[_File]:
        for place, folder in enumerate(self.folders):
            for name in sorted(self._listed.file_names(folder)):
                match = self._names.fullmatch(name)
                if match is not None:
                    yield str(int(match[1])), place, name


def _batch(files: Sequence[_File]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        dict(zip(FILES.names, zip(*files, strict=True), strict=True)), FILES
    )


def _folder_times(folders: Sequence[Path]) -> list[list[str | int]] | None:
    """Returns the folders with the times of their last changes.

    Returns None if a folder changed so recently that its time is not reliable, or without folders.
    """
    state: list[list[str | int]] = []
    for folder in folders:
        status = folder.stat()
        if time.time() - status.st_mtime < SETTLED:
            return None
        # mtime can be set to an earlier time; ctime changes when that happens
        state.append([os.path.abspath(folder), status.st_mtime_ns, status.st_ctime_ns])
    return state or None


def _has_link(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.is_symlink() for entry in entries)
    except OSError:
        return False
