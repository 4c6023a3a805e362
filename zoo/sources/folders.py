"""Lists the files in folders, each folder once."""

import hashlib
import os
from collections.abc import Collection, Iterable

from zoo.errors import ZooError

NOT_FOUND = "No such file or directory"


class FolderLister:
    """Checks which files exist without a disk access per file.

    A folder is listed when it is first needed.

    Attributes:
        broken_links: Paths of broken links, with the reason.
    """

    def __init__(self) -> None:
        self.broken_links: dict[str, str] = {}
        self._files: dict[str, frozenset[str]] = {}

    def has(self, path: str | os.PathLike[str]) -> bool:
        """Returns whether a path is an existing file (not a folder)."""
        folder, name = os.path.split(path)
        return name in self.file_names(folder)

    def file_names(self, folder: str | os.PathLike[str]) -> frozenset[str]:
        """Returns the names of the files in a folder; an empty set if the folder does not exist.

        Raises:
            ZooError: The folder exists but is not readable.
        """
        folder_path = os.fspath(folder)
        if folder_path not in self._files:
            key = os.path.normpath(folder_path)
            self._files[folder_path] = (
                self._files[key] if key in self._files else self._list_folder(key)
            )
            self._files[key] = self._files[folder_path]
        return self._files[folder_path]

    def name_hashes(self, endings: Collection[str]) -> dict[str, str]:
        """Returns a hash of the file names with certain endings, for each folder listed so far.

        Args:
            endings: File endings, in lower case.
        """
        return {
            os.path.abspath(folder): _hash_names(names, endings)
            for folder, names in self._files.items()
        }

    def _list_folder(self, folder: str) -> frozenset[str]:
        try:
            with os.scandir(folder) as entries:
                return frozenset(entry.name for entry in entries if self._is_file(entry))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return frozenset()  # ValueError: not a valid file name
        except OSError as error:
            raise ZooError(
                f"folder {folder} cannot be listed ({error.strerror}): "
                "change its permissions or choose another folder"
            ) from error

    def _is_file(self, entry: os.DirEntry[str]) -> bool:
        """Returns whether an entry is a file, and records broken links.

        A circular link must not make the whole folder unreadable.
        """
        try:
            is_file_entry = entry.is_file()
            if not is_file_entry and entry.is_symlink() and not entry.is_dir():
                self.broken_links[entry.path] = NOT_FOUND
        except OSError as error:
            is_file_entry = False
            self.broken_links[entry.path] = error.strerror or str(error)
        return is_file_entry


def file_ending(name: str) -> str:
    """Returns the ending of a file name, in lower case."""
    return os.path.splitext(name)[1].lower()


def _hash_names(names: Iterable[str], endings: Collection[str]) -> str:
    matching = sorted(name for name in names if file_ending(name) in endings)
    return hashlib.sha256("/".join(matching).encode("utf-8", "surrogateescape")).hexdigest()[:16]
