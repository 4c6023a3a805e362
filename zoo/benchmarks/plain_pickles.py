"""Plain data of files that `torch.save` wrote, read without torch and without running code."""

import pickle
import zipfile
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.support.schema import DOWNLOAD_AGAIN
from zoo.support.text_files import MAX_UNPACKED


class _NotPlain(Exception):
    """The file has something other than numbers, texts, lists and mappings."""


class _PlainUnpickler(pickle.Unpickler):
    """Builds numbers, texts, lists, tuples, sets and mappings, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """Refuses every class and function, before it is called."""
        raise _NotPlain(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        """Refuses the storage of a tensor."""
        raise _NotPlain("a tensor")


def read_plain_pickle(path: Path) -> Any:
    """Returns the content of a file in the zip format of `torch.save`.

    Args:
        path: The file.

    Raises:
        ZooError: The file is not complete, has another format, or has objects other than numbers,
            texts, lists, tuples, sets and mappings. These objects are not built.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith("/data.pkl")]
            if len(members) != 1 or members[0].file_size > MAX_UNPACKED:
                raise _NotPlain("no single data.pkl of a reasonable size")
            with archive.open(members[0]) as file:
                return _PlainUnpickler(file).load()
    except _NotPlain as error:
        raise ZooError(
            f"{path} has {error}, but must have only numbers, texts, lists and mappings: "
            f"{DOWNLOAD_AGAIN}"
        ) from error
    except Exception as error:  # an incomplete pickle raises many types of errors
        raise ZooError(
            f"{path} is not a complete file of torch.save in the format of torch 1.6 or later "
            f"({type(error).__name__}: {error}): {DOWNLOAD_AGAIN}"
        ) from error
