"""OwnImages: resolves the image paths in a user's caption file."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TypedDict

from zoo.sources.folders import FolderLister, file_ending
from zoo.sources.images import parse_reference
from zoo.sources.sample import ImageRef

_WATCHERS: ContextVar[tuple[list["OwnImages"], ...]] = ContextVar("folder_watchers", default=())


class FolderState(TypedDict):
    """The state of the folders that image paths depend on.

    Attributes:
        endings: Endings of the paths.
        folders: A hash of the names of the files with these endings, by folder.
    """

    endings: list[str]
    folders: dict[str, str]


class OwnImages:
    """Resolves the image paths in a user's caption file.

    An existing file is used as it is, even if its name looks like one of a published data set.

    Args:
        folder: Folder of the caption file. A path is resolved against this folder, then against
            the working directory; `ImageFinder` then searches the data roots.
    """

    def __init__(self, folder: Path) -> None:
        self._bases = (os.path.abspath(folder), os.getcwd())
        self._folders = FolderLister()
        self._known: dict[str, ImageRef] = {}
        for watched in _WATCHERS.get():
            watched.append(self)

    def ref(self, text: str) -> ImageRef:
        """Returns the reference of an image.

        Args:
            text: A path, or a reference in the form of `str(ImageRef)`.
        """
        if text not in self._known:
            self._known[text] = parse_reference(text) or ImageRef(
                "file", self._existing_path(text) or text
            )
        return self._known[text]

    def folder_state(self) -> "FolderState":
        """Returns the state of the folders that the references depend on."""
        endings = sorted({file_ending(text) for text in self._known})
        return {"endings": endings, "folders": self._folders.name_hashes(endings)}

    def _existing_path(self, path: str) -> str | None:
        paths = (os.path.join(base, path) for base in self._bases)
        return next((path for path in paths if self._folders.has(path)), None)


@contextmanager
def watch_folders() -> Iterator[Callable[[], list["FolderState"]]]:
    """Yields a function that returns the folder states of all `OwnImages` of the block."""
    watched: list[OwnImages] = []
    token = _WATCHERS.set((*_WATCHERS.get(), watched))
    try:
        yield lambda: [own_images.folder_state() for own_images in watched]
    finally:
        _WATCHERS.reset(token)


def are_unchanged(states: Iterable["FolderState"]) -> bool:
    """Returns whether `OwnImages` would resolve paths to the same files as before.

    Args:
        states: The folder states from `watch_folders`.
    """
    for folder_state in states:
        now = FolderLister()
        for folder in folder_state["folders"]:
            now.file_names(folder)
        if now.name_hashes(folder_state["endings"]) != folder_state["folders"]:
            return False
    return True
