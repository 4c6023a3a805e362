"""Reads local and remote files (any URL that fsspec supports), in full or in part."""

import fnmatch
import io
import itertools
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from zoo.errors import ZooError

log = logging.getLogger(__name__)

TRIES = 5
PAUSE = 1.0  # seconds before the second try; doubled before each further try
TIMEOUT = 60.0  # seconds without a byte after which a server counts as stalled
BYTES_PER_REQUEST = 4 << 20  # bytes per request when a remote file is read from start to end
PERMANENT_STATUSES = (
    400,
    401,
    403,
    404,
    405,
    410,
)  # HTTP status codes for which a retry is useless

_BRACES = re.compile(r"\{(\d+)\.\.(\d+)\}|\{([^{}]*,[^{}]*)\}")
_Result = TypeVar("_Result")


def is_url(place: str) -> bool:
    """Returns whether a place is a URL."""
    return "://" in place


def expand_braces(pattern: str) -> list[str]:
    """Expands the braces in a pattern.

    Args:
        pattern: A path or URL, in which '{000..013}' means each number of the range, with leading
            zeros, and '{a,b}' each of the words.
    """
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    start, stop, words = match.groups()
    middles = (
        words.split(",")
        if words is not None
        else [f"{number:0{len(start)}}" for number in range(int(start), int(stop) + 1)]
    )
    rests = expand_braces(pattern[match.end() :])
    return [
        f"{pattern[: match.start()]}{middle}{rest}"
        for middle, rest in itertools.product(middles, rests)
    ]


def list_files(folder: str, names: str) -> list[str]:
    """Returns the files in a folder, sorted by name.

    Args:
        folder: A local folder or a URL.
        names: Pattern of the file names, such as '*.tar'.

    Raises:
        ZooError: The server does not list its files.
    """
    if not is_url(folder):
        return sorted(fnmatch.filter(map(str, Path(folder).glob("*")), f"*/{names}"))

    def list_folder(system: Any, path: str) -> list[str]:
        matches = system.glob(f"{path.rstrip('/')}/{names}")
        return sorted(system.unstrip_protocol(name) for name in matches)

    return _request_with_retries(folder, list_folder)


def size_and_version(place: str) -> tuple[int, str]:
    """Returns the size of a file, and a mark that changes when its content does.

    Raises:
        ZooError: The file is missing, or the server does not report its size.
    """
    if not is_url(place):
        try:
            status = os.stat(place)
        except OSError as error:
            raise ZooError(
                f"{place} cannot be read ({error.strerror}): give a file that you may read"
            ) from error
        # mtime can be set to an earlier time; ctime changes when that happens
        return status.st_size, f"{status.st_mtime_ns} {status.st_ctime_ns}"
    file_info = _request_with_retries(place, lambda system, path: system.info(path))
    if file_info.get("size") is None:
        raise ZooError(f"{place}: the server does not report the file size: download the file")
    marks = ("ETag", "etag", "Last-Modified", "LastModified", "mtime", "updated", "md5Hash")
    return int(file_info["size"]), " ".join(
        str(file_info[name]) for name in marks if name in file_info
    )


def file_exists(place: str) -> bool:
    """Returns whether a file exists.

    Raises:
        ZooError: The server cannot be reached.
    """
    if not is_url(place):
        return os.path.isfile(place)
    return _request_with_retries(place, lambda system, path: bool(system.exists(path)))


def read_range(place: str, start: int, n: int) -> bytes:
    """Reads a range of bytes from a file; fewer if a local file ends earlier.

    Args:
        place: The file.
        start: Position of the first byte.
        n: Number of bytes.

    Raises:
        ZooError: The server did not send the bytes, after several tries.
        OSError: The local file cannot be read.
    """
    if not is_url(place):
        with open(place, "rb", buffering=0) as file:
            file.seek(start)
            return file.read(n)

    def fetch_part(system: Any, path: str) -> bytes:
        content: bytes = system.cat_file(path, start=start, end=start + n)
        if len(content) > n:
            raise _PermanentFailure("the server does not support range requests")
        if len(content) < n:
            raise OSError(f"received {len(content):,} of {n:,} bytes")
        return content

    return _request_with_retries(place, fetch_part)


@contextmanager
def open_stream(place: str) -> Iterator[BinaryIO]:
    """Opens a local or remote file for reading from start to end.

    Raises:
        ZooError: The file cannot be read.
    """
    if is_url(place):
        size, _ = size_and_version(place)
        with io.BufferedReader(_RangeStream(place, size), BYTES_PER_REQUEST) as parts:
            yield cast(BinaryIO, parts)
        return
    try:
        file = open(place, "rb")  # noqa: SIM115  closed below
    except OSError as error:
        raise ZooError(
            f"{place} cannot be read ({error.strerror}): give a file that you may read"
        ) from error
    with file:
        yield file


class _PermanentFailure(Exception):
    """A failure for which a retry is useless."""


class _RangeStream(io.RawIOBase):
    """A seekable stream of a remote file."""

    def __init__(self, place: str, size: int) -> None:
        self.place, self.size, self.position = place, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.size}[whence]
        self.position = base + offset
        return self.position

    def readinto(self, buffer: Any) -> int:
        n = max(0, min(len(buffer), self.size - self.position))
        buffer[:n] = read_range(self.place, self.position, n) if n else b""
        self.position += n
        return n


def _request_with_retries(place: str, send_request: Callable[[Any, str], _Result]) -> _Result:
    """Sends a request to a server, with retries.

    Args:
        place: The URL.
        send_request: Sends the request, given fsspec's file system and the path in it.

    Raises:
        ZooError: All tries failed, or the error is permanent.
    """
    for number in range(TRIES):
        try:
            return send_request(*_file_system(place))
        except Exception as error:
            reason = _reason(error)
            if _is_permanent(error) or number == TRIES - 1:
                times = "" if _is_permanent(error) else f", {TRIES} times"
                raise ZooError(
                    f"{place} cannot be read ({reason}{times}): check the URL and the server, "
                    "then run the command again"
                ) from error
            pause = PAUSE * 2**number
            log.warning(
                "%s: %s; retrying in %g s (%d of %d)", place, reason, pause, number + 1, TRIES
            )
            time.sleep(pause)
    raise AssertionError("a loop that returns or raises")


def _file_system(place: str) -> tuple[Any, str]:
    """Returns fsspec's file system for a URL, and the path in it.

    Raises:
        ZooError: The package that reads such URLs is not installed.
    """
    try:
        from fsspec.config import conf
        from fsspec.core import url_to_fs

        protocol, options = place.partition("://")[0], {}
        if protocol in ("http", "https"):
            from aiohttp import ClientTimeout

            waits = ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=TIMEOUT)
            client_options = conf.get(protocol, {}).get("client_kwargs", {})
            options = {"client_kwargs": {"timeout": waits, **client_options}}
        system, path = url_to_fs(place, **options)
    except (ImportError, ValueError) as error:
        raise ZooError(f"{place} cannot be read ({error})") from error
    return system, path


def _is_permanent(error: Exception) -> bool:
    if isinstance(error, (ZooError, _PermanentFailure, PermissionError)):
        return True
    return _is_not_found(error) or _status(error) in PERMANENT_STATUSES


def _is_not_found(error: Exception) -> bool:
    # fsspec also raises FileNotFoundError for connection errors, with the real error as cause
    return isinstance(error, FileNotFoundError) and error.__cause__ is None


def _status(error: BaseException | None) -> int | None:
    """Returns the HTTP status code of an error, or of the error that caused it."""
    if error is None:
        return None
    status = getattr(error, "status", None)
    return status if isinstance(status, int) else _status(error.__cause__)


def _reason(error: Exception) -> str:
    status = _status(error)
    if _is_not_found(error) or status in (404, 410):
        return "not found"
    source = error.__cause__ if isinstance(error, FileNotFoundError) else error
    if status is not None:
        return f"server error {status} {getattr(source, 'message', '')}".rstrip()
    return " ".join(str(source).split()) or type(source).__name__
