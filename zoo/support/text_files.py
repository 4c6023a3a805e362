"""Reading of text and JSON files, with errors that name file and line."""

import gzip
import hashlib
import io
import json
import stat
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from zoo.errors import ZooError

Object = dict[str, Any]
Binary = io.BufferedReader | io.BytesIO
SETTLED = 2.0  # seconds after which a further change of a file or folder changes its time
MAX_UNPACKED = 2 << 30  # bytes; more than twice the size of the largest published annotations
CHUNK = 1 << 20  # bytes to unpack at a time
_HASHES: dict[tuple[int, ...], str] = {}
_PIPES: dict[tuple[int, int], bytes] = {}


class NotJson(ValueError):
    """A text is not valid JSON.

    Args:
        reason: What is wrong.
        line: The line from 1, None if unknown.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line

    def format_location(self, path: Path) -> str:
        """Returns 'FILE:LINE', or 'FILE' if the line is unknown."""
        return f"{path}:{self.line}" if self.line else str(path)


def parse_json(text: str, object_hook: Callable[[Object], Object] | None = None) -> Any:
    """Parses a JSON text.

    Args:
        text: The text of a file or a line.
        object_hook: Returns the replacement of each object.

    Returns:
        The value.

    Raises:
        NotJson: The text is not JSON, repeats a key in an object, or is nested too deeply.
    """

    def build_object(pairs: list[tuple[str, Any]]) -> Object:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise NotJson(f"the key {twice!r} is repeated in an object")
        return entries if object_hook is None else object_hook(entries)

    try:
        return json.loads(text, object_pairs_hook=build_object)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg}, column {error.colno}", error.lineno) from error
    except RecursionError as error:
        raise NotJson("it is nested too deeply") from error
    except NotJson:
        raise
    except ValueError as error:  # a number with more digits than Python can parse
        raise NotJson(str(error)) from error


def open_bytes(path: Path) -> Binary:
    """Opens a file or pipe for reading bytes.

    The content of a pipe is kept in memory, since it can be read only once.

    Args:
        path: The file or pipe.

    Returns:
        A stream of its bytes.

    Raises:
        OSError: The file cannot be opened.
    """
    status = path.stat()
    if not stat.S_ISFIFO(status.st_mode):
        return path.open("rb")
    pipe = status.st_dev, status.st_ino
    if pipe not in _PIPES:
        _PIPES[pipe] = path.read_bytes()
    return io.BytesIO(_PIPES[pipe])


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal.

    A file is not read again unless it changed since this process hashed it.

    Raises:
        OSError: The file cannot be read.
    """
    status = path.stat()
    times = status.st_mtime_ns, status.st_ctime_ns  # mtime alone can be set back
    key = status.st_dev, status.st_ino, status.st_size, *times
    if key in _HASHES:
        return _HASHES[key]
    with open_bytes(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if time.time() - status.st_mtime > SETTLED:
        _HASHES[key] = digest
    return digest


def text_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 file, including line ends.

    Args:
        path: The file.

    Yields:
        Each line.

    Raises:
        ZooError: The file cannot be read, or a line is not UTF-8.
    """
    with _open(path) as file:
        for number, raw in enumerate(file, start=1):
            try:
                yield raw.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ZooError(
                    f"{path}:{number} is not UTF-8 text ({error.reason} at byte {error.start}): "
                    "correct the line"
                ) from error


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yields (number from 1, line without line end) for each non-blank line of a UTF-8 file."""
    for number, line in enumerate(text_lines(path), start=1):
        if line.strip():
            yield number, line.rstrip("\r\n")


def read_bytes(path: Path) -> bytes:
    """Returns the bytes of a file, unpacked if its name ends in .gz.

    Raises:
        ZooError: The file cannot be read or unpacked, or unpacks to more than `MAX_UNPACKED` bytes.
    """
    with _open(path) as file:
        try:
            return _unpack(file, path) if path.suffix == ".gz" else file.read()
        except (OSError, EOFError, zlib.error) as error:
            raise ZooError(f"{path} cannot be read ({error}): download the file again") from error


def read_json(path: Path, object_hook: Callable[[Object], Object] | None = None) -> Any:
    """Parses a .json or .json.gz file.

    Args:
        path: The file.
        object_hook: As for `parse_json`.

    Raises:
        ZooError: The file cannot be read, or is not UTF-8 or JSON. The message names the file and
            the line.
    """
    try:
        return parse_json(read_bytes(path).decode("utf-8-sig"), object_hook)
    except NotJson as error:
        raise ZooError(
            f"{error.format_location(path)} is not JSON ({error}): it may be incomplete, "
            "download it again"
        ) from error
    except UnicodeDecodeError as error:
        raise ZooError(
            f"{path} is not UTF-8 text ({error.reason} at byte {error.start}): download it again"
        ) from error


def parse_json_line(line: str, origin: str, advice: str = "correct the line") -> Any:
    """Parses a line of JSON.

    Args:
        line: The line.
        origin: File and line, for the message.
        advice: Advice for the message.

    Returns:
        The value.

    Raises:
        ZooError: The line is not JSON.
    """
    try:
        return parse_json(line)
    except NotJson as error:
        raise ZooError(f"{origin} is not JSON ({error}): {advice}") from error


def strip_caption(text: str, origin: str) -> str:
    """Strips a caption.

    Args:
        text: The caption.
        origin: File and line, for the message.

    Returns:
        The caption without surrounding whitespace.

    Raises:
        ZooError: The caption is empty.
    """
    stripped = text.strip()
    if not stripped:
        raise ZooError(f"{origin} has an empty caption: write one or remove the entry")
    return stripped


def _unpack(file: Binary, path: Path) -> bytes:
    unpacked = io.BytesIO()
    with gzip.GzipFile(fileobj=file) as packed:
        while part := packed.read(CHUNK):
            unpacked.write(part)
            if unpacked.tell() > MAX_UNPACKED:
                raise ZooError(
                    f"{path} unpacks to more than {MAX_UNPACKED:,} bytes, the limit for .gz files: "
                    "if this is expected, unpack it and give the unpacked file"
                )
    return unpacked.getvalue()


def _open(path: Path) -> Binary:
    try:
        return open_bytes(path)
    except OSError as error:
        raise ZooError(
            f"{path} cannot be read ({error.strerror}): give the path of a readable caption or "
            "annotation file"
        ) from error
