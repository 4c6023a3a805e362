"""OwnImages: images as a user's own file names them, and what that depends on besides the file."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypedDict

from zoo.sources.folders import Folders, ending
from zoo.sources.images import parse_reference
from zoo.sources.sample import ImageRef

_WATCHED: list[list["OwnImages"]] = []


class Looked(TypedDict):
    """What paths in a user's file depend on.

    Attributes:
        endings: Endings of the paths.
        folders: A hash of the files with such endings, by folder.
    """

    endings: list[str]
    folders: dict[str, str]


class OwnImages:
    """Images as a user's own file names them.

    What is there as written is meant, whatever its name looks like.

    Args:
        folder: Folder of the file that names the images. A path is looked for there, then from the
            working directory; `ImageFinder` looks under the data roots.
    """

    def __init__(self, folder: Path) -> None:
        self._bases = (os.path.abspath(folder), os.getcwd())
        self._folders = Folders()
        self._known: dict[str, ImageRef] = {}
        for watched in _WATCHED:
            watched.append(self)

    def ref(self, text: str) -> ImageRef:
        """Returns the reference of an image.

        Args:
            text: A path, or a reference written by `str`.
        """
        if text not in self._known:
            self._known[text] = parse_reference(text) or ImageRef(
                "file", self._existing_path(text) or text
            )
        return self._known[text]

    def looked_at(self) -> "Looked":
        """Returns what the references depend on besides their texts."""
        endings = sorted({ending(text) for text in self._known})
        return {"endings": endings, "folders": self._folders.state(endings)}

    def _existing_path(self, path: str) -> str | None:
        paths = (os.path.join(base, path) for base in self._bases)
        return next((path for path in paths if self._folders.has(path)), None)


@contextmanager
def looked_at() -> Iterator[Callable[[], list["Looked"]]]:
    """Yields what tells which folders `OwnImages` look into meanwhile, and what is there."""
    watched: list[OwnImages] = []
    _WATCHED.append(watched)
    try:
        yield lambda: [own.looked_at() for own in watched]
    finally:
        _WATCHED.pop()


def looks_the_same(looked: Iterable["Looked"]) -> bool:
    """Returns whether `OwnImages` would find what they found.

    Args:
        looked: What `looked_at` told.
    """
    for one in looked:
        now = Folders()
        for folder in one["folders"]:
            now.files(folder)
        if now.state(one["endings"]) != one["folders"]:
            return False
    return True
