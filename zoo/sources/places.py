"""Places: files on this machine or at a URL, read whole or in part."""

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
PAUSE = 1.0  # seconds before the second try; each further pause is twice as long
STALLED = 60.0  # seconds without a byte after which a server counts as stalled
AT_ONCE = 4 << 20  # bytes that are asked of a server where a file is read from start to end
GONE = (400, 401, 403, 404, 405, 410)  # answers of a server that another try does not change

_BRACES = re.compile(r"\{(\d+)\.\.(\d+)\}|\{([^{}]*,[^{}]*)\}")
_Got = TypeVar("_Got")


def is_url(place: str) -> bool:
    """Returns whether a place is at a URL."""
    return "://" in place


def expand_braces(pattern: str) -> list[str]:
    """Returns the places that a pattern with braces means.

    Args:
        pattern: A place, in which '{000..013}' stands for numbers of that length and '{a,b}' for
            each of the words.
    """
    match = _BRACES.search(pattern)
    if match is None:
        return [pattern]
    first, last, words = match.groups()
    middles = (
        words.split(",")
        if words is not None
        else [f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)]
    )
    rests = expand_braces(pattern[match.end() :])
    return [
        f"{pattern[: match.start()]}{middle}{rest}"
        for middle, rest in itertools.product(middles, rests)
    ]


def list_files(folder: str, names: str) -> list[str]:
    """Returns the files in a folder, by name.

    Args:
        folder: A folder here, or a URL.
        names: Pattern of their names, as in '*.tar'.

    Raises:
        ZooError: The server gives no list.
    """
    if not is_url(folder):
        return sorted(fnmatch.filter(map(str, Path(folder).glob("*")), f"*/{names}"))

    def list_folder(system: Any, path: str) -> list[str]:
        found = system.glob(f"{path.rstrip('/')}/{names}")
        return sorted(system.unstrip_protocol(name) for name in found)

    return _retry(folder, list_folder)


def size_and_mark(place: str) -> tuple[int, str]:
    """Returns the size of a file, and what changes where its content does.

    Raises:
        ZooError: It is not there, or the server does not tell.
    """
    if not is_url(place):
        try:
            status = os.stat(place)
        except OSError as error:
            raise ZooError(
                f"{place} cannot be read ({error.strerror}): give a file that you may read"
            ) from error
        # the first can be set back, the second tells so
        return status.st_size, f"{status.st_mtime_ns} {status.st_ctime_ns}"
    told = _retry(place, lambda system, path: system.info(path))
    if told.get("size") is None:
        raise ZooError(f"{place}: the server does not say how large it is: copy it to this machine")
    marks = ("ETag", "etag", "Last-Modified", "LastModified", "mtime", "updated", "md5Hash")
    return int(told["size"]), " ".join(str(told[name]) for name in marks if name in told)


def file_exists(place: str) -> bool:
    """Returns whether a file is there.

    Raises:
        ZooError: The server does not tell.
    """
    if not is_url(place):
        return os.path.isfile(place)
    return _retry(place, lambda system, path: bool(system.exists(path)))


def part(place: str, start: int, n: int) -> bytes:
    """Returns a part of a file; fewer bytes where a file on this machine ends before.

    Args:
        place: The file.
        start: Where the part begins.
        n: Its number of bytes.

    Raises:
        ZooError: It cannot be had, however often a server is asked.
        OSError: A file on this machine cannot be read.
    """
    if not is_url(place):
        with open(place, "rb", buffering=0) as file:
            file.seek(start)
            return file.read(n)

    def fetch_part(system: Any, path: str) -> bytes:
        content: bytes = system.cat_file(path, start=start, end=start + n)
        if len(content) > n:
            raise _Useless("the server sends whole files where it is asked for a part")
        if len(content) < n:
            raise OSError(f"{len(content):,} of {n:,} bytes came")
        return content

    return _retry(place, fetch_part)


@contextmanager
def open_stream(place: str) -> Iterator[BinaryIO]:
    """Opens a file to be read from start to end.

    Raises:
        ZooError: It cannot be read.
    """
    if is_url(place):
        size, _ = size_and_mark(place)
        with io.BufferedReader(_Parts(place, size), AT_ONCE) as parts:
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


class _Useless(Exception):
    """A failure that another try would only repeat."""


class _Parts(io.RawIOBase):
    """A file at a URL as a stream that can be sought in."""

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
        buffer[:n] = part(self.place, self.position, n) if n else b""
        self.position += n
        return n


def _retry(place: str, work: Callable[[Any, str], _Got]) -> _Got:
    """Returns what a server gives, asked again where it fails.

    Args:
        place: The URL.
        work: Asks, given fsspec's file system and the path in it.

    Raises:
        ZooError: It fails each time, or in a way that would not change.
    """
    for number in range(TRIES):
        try:
            return work(*_system(place))
        except Exception as error:
            reason = _reason(error)
            if _final(error) or number == TRIES - 1:
                times = "" if _final(error) else f", {TRIES} times"
                raise ZooError(
                    f"{place} cannot be read ({reason}{times}): look whether it is there and "
                    "whether the server answers, then run the same command again"
                ) from error
            pause = PAUSE * 2**number
            log.warning(
                "%s: %s; asked again in %g s (%d of %d)", place, reason, pause, number + 1, TRIES
            )
            time.sleep(pause)
    raise AssertionError("a loop that returns or raises")


def _system(place: str) -> tuple[Any, str]:
    """Returns fsspec's file system of this process, and the path in it.

    Raises:
        ZooError: What reads such URLs is not installed.
    """
    try:
        from fsspec.config import conf
        from fsspec.core import url_to_fs

        protocol, options = place.partition("://")[0], {}
        if protocol in ("http", "https"):
            from aiohttp import ClientTimeout

            waits = ClientTimeout(total=None, sock_connect=STALLED, sock_read=STALLED)
            asked = conf.get(protocol, {}).get("client_kwargs", {})
            options = {"client_kwargs": {"timeout": waits, **asked}}
        system, path = url_to_fs(place, **options)
    except (ImportError, ValueError) as error:
        raise ZooError(f"{place} cannot be read ({error})") from error
    return system, path


def _final(error: Exception) -> bool:
    if isinstance(error, (ZooError, _Useless, PermissionError)):
        return True
    return _absent(error) or _status(error) in GONE


def _absent(error: Exception) -> bool:
    # fsspec says "not found" of whatever keeps it from asking, with the true reason as cause
    return isinstance(error, FileNotFoundError) and error.__cause__ is None


def _status(error: BaseException | None) -> int | None:
    """Returns the number that a server answered with, which fsspec may have wrapped."""
    if error is None:
        return None
    status = getattr(error, "status", None)
    return status if isinstance(status, int) else _status(error.__cause__)


def _reason(error: Exception) -> str:
    status = _status(error)
    if _absent(error) or status in (404, 410):
        return "it is not there"
    source = error.__cause__ if isinstance(error, FileNotFoundError) else error
    if status is not None:
        return f"the server answers {status} {getattr(source, 'message', '')}".rstrip()
    return " ".join(str(source).split()) or type(source).__name__
