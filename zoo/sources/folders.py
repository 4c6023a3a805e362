"""Folders: which files they hold, each folder listed once."""

import hashlib
import os
from collections.abc import Collection, Iterable

from zoo.errors import ZooError

NOWHERE = "No such file or directory"


class Folders:
    """Tells whether a file is there without asking the disk for each.

    A folder is listed when it is first needed.

    Attributes:
        astray: Links that lead to no file that can be read, by path, with the reason.
    """

    def __init__(self) -> None:
        self.astray: dict[str, str] = {}
        self._files: dict[str, frozenset[str]] = {}

    def has(self, path: str | os.PathLike[str]) -> bool:
        """Returns whether there is a file of that path; a folder is none."""
        folder, name = os.path.split(path)
        return name in self.files(folder)

    def files(self, folder: str | os.PathLike[str]) -> frozenset[str]:
        """Returns the names of the files in a folder, none where there is no such folder.

        Raises:
            ZooError: The folder is there and may not be read.
        """
        given = os.fspath(folder)
        if given not in self._files:
            key = os.path.normpath(given)
            self._files[given] = self._files[key] if key in self._files else self._list_folder(key)
            self._files[key] = self._files[given]
        return self._files[given]

    def state(self, endings: Collection[str]) -> dict[str, str]:
        """Returns a hash of the files with one of some endings in each folder that was listed.

        Args:
            endings: Endings of names, in lower case.
        """
        return {
            os.path.abspath(folder): _state(names, endings) for folder, names in self._files.items()
        }

    def _list_folder(self, folder: str) -> frozenset[str]:
        try:
            with os.scandir(folder) as entries:
                return frozenset(entry.name for entry in entries if self._is_file(entry))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return frozenset()  # ValueError: a name that no file can have
        except OSError as error:
            raise ZooError(
                f"the folder {folder} cannot be listed ({error.strerror}): "
                "name one that you may read"
            ) from error

    def _is_file(self, entry: os.DirEntry[str]) -> bool:
        """Returns whether an entry is a file, and notes a link that leads to none.

        One link that leads to itself must not hide the rest of its folder.
        """
        try:
            found = entry.is_file()
            if not found and entry.is_symlink() and not entry.is_dir():
                self.astray[entry.path] = NOWHERE
        except OSError as error:
            found = False
            self.astray[entry.path] = error.strerror or str(error)
        return found


def ending(name: str) -> str:
    """Returns the ending of a file's name in lower case."""
    return os.path.splitext(name)[1].lower()


def _state(names: Iterable[str], endings: Collection[str]) -> str:
    some = sorted(name for name in names if ending(name) in endings)
    return hashlib.sha256("/".join(some).encode("utf-8", "surrogateescape")).hexdigest()[:16]
