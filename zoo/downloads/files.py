"""PublishedFile and Archive: what a publisher serves, and where it goes."""

import csv
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path, PurePosixPath

BLOCK = 1 << 20  # bytes read at once
MB = 10**6


@dataclass(frozen=True)
class PublishedFile:
    """A file at a fixed address.

    Args:
        url: Its address.
        path: Its path under the data root.
        bytes: Its size; None if it is not known before the server is asked.
        checksum: `sha256:`, `md5:` or `git:` (the id of the file in its git repository) and the
            hexadecimal digest; empty if the publisher states none.
        alternatives: Files that serve as well, in the order in which they are tried if this one
            does not exist.
    """

    url: str
    path: str
    bytes: int | None = None
    checksum: str = ""
    alternatives: tuple["PublishedFile", ...] = ()

    def find(self, root: Path) -> Path | None:
        """Returns the file under a data root, also gzipped or in `benchmarks`; None if missing."""
        folders = (root, root / "benchmarks")
        places = (folder / f"{self.path}{end}" for folder in folders for end in ("", ".gz"))
        alternatives = (file.find(root) for file in self.alternatives)
        return next(filter(os.path.isfile, places), None) or next(filter(None, alternatives), None)


@dataclass(frozen=True)
class Archive:
    """A zip or tar among the files of a set, whose members are unpacked.

    Args:
        path: Its path under the data root. It is deleted when its members are unpacked.
        members: Patterns of member names, each with the folder under the data root that the members
            go to.
        complete: Patterns of paths under the data root, each with the number of files that match
            it when everything is unpacked.
        unpacked_bytes: The size of the unpacked members, about; 0 if unknown.
    """

    path: str
    members: tuple[tuple[str, str], ...]
    complete: tuple[tuple[str, int], ...]
    unpacked_bytes: int = 0

    def is_unpacked(self, root: Path) -> bool:
        """Returns whether everything is unpacked under a data root."""
        return not (root / self.path).exists() and all(
            sum(1 for _ in root.glob(pattern)) >= n for pattern, n in self.complete
        )


def compute_checksum(path: Path, algorithm: str) -> str:
    """Returns the checksum of a file, in the form of `PublishedFile.checksum`.

    Args:
        path: The file.
        algorithm: `sha256`, `md5` or `git`.
    """
    if algorithm == "git":
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    else:
        digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return f"{algorithm}:{digest.hexdigest()}"


def is_published_version(file: PublishedFile, path: Path) -> bool:
    """Returns whether a local file has the size and checksum that its publisher states.

    Args:
        file: The published file.
        path: The local file.
    """
    if file.bytes is not None and path.stat().st_size != file.bytes:
        return False
    algorithm = file.checksum.partition(":")[0]
    return not algorithm or compute_checksum(path, algorithm) == file.checksum


@cache
def listed_files() -> dict[str, tuple[PublishedFile, ...]]:
    """Returns the files of `files.tsv` by the name of their set."""
    files: dict[str, list[PublishedFile]] = {}
    for name, file in _read_table():
        files.setdefault(name, []).append(file)
    return {name: tuple(items) for name, items in files.items()}


def _read_table() -> Iterator[tuple[str, PublishedFile]]:
    text = resources.files("zoo.downloads").joinpath("files.tsv").read_text()
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        size = int(row["bytes"]) if row["bytes"] else None
        yield row["set"], PublishedFile(row["url"], row["path"], size, row["checksum"])


def mirror_url(url: str, mirror: str) -> str:
    """Returns the address of a file on a mirror.

    Args:
        url: The publisher's address.
        mirror: The address of a server that has each file under the publisher's host and path;
            empty for the publisher itself.
    """
    return f"{mirror.rstrip('/')}/{url.partition('://')[2]}" if mirror else url


def part_path(path: Path) -> Path:
    """Returns where a file is written until it is complete."""
    return path.with_name(f".{PurePosixPath(path).name}.download")


def format_bytes(n: int) -> str:
    """Formats a number of bytes, such as 1.7 MB."""
    if n >= 1000 * MB:
        return f"{n / (1000 * MB):,.1f} GB"
    return f"{n / MB:,.1f} MB" if n >= MB // 10 else f"{n / 1000:,.1f} kB"
