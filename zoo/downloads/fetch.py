"""Downloads files over HTTP, in parallel, resuming what was interrupted."""

import fcntl
import http.client
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from zoo import __version__
from zoo.downloads.files import (
    BLOCK,
    PublishedFile,
    is_published_version,
    mirror_url,
    part_path,
)
from zoo.errors import ZooError
from zoo.sources import remote_files
from zoo.support.files import build_write_error

log = logging.getLogger(__name__)
USER_AGENT = f"zoo/{__version__}"
LONGEST_PAUSE = 120.0  # seconds, also if the server asks for more
ABSENT = (403, 404, 410)  # HTTP status codes of files that do not exist; S3 answers 403


@dataclass(frozen=True)
class Failure:
    """A file that could not be downloaded.

    Args:
        file: The file.
        error: The reason.
    """

    file: PublishedFile
    error: ZooError


class _Absent(ZooError):
    """The server has no such file."""


class _Unreachable(ZooError):
    """The server cannot be reached."""


def download_files(
    files: Sequence[PublishedFile],
    root: Path,
    mirror: str = "",
    jobs: int = 8,
    advance: Callable[[int], None] = lambda n_bytes: None,
    advance_files: Callable[[int], None] = lambda n_files: None,
) -> list[Failure]:
    """Downloads files in parallel. A file is at its path only when it is complete and checked.

    Args:
        files: The files.
        root: The data root.
        mirror: As for `mirror_url`.
        jobs: The number of parallel downloads.
        advance: Is called with the number of bytes that arrived.
        advance_files: Is called with the number of files that are finished.

    Returns:
        The files that could not be downloaded, with the reasons.

    Raises:
        OSError: A file cannot be written.
    """
    todo: queue.SimpleQueue[PublishedFile] = queue.SimpleQueue()
    results: queue.SimpleQueue[tuple[PublishedFile, Exception | None]] = queue.SimpleQueue()
    for file in files:
        todo.put(file)
    stopped = threading.Event()
    unreachable = dict[str, ZooError]()  # by server, which is not asked for other files

    def work() -> None:
        while not stopped.is_set():
            try:
                file = todo.get_nowait()
            except queue.Empty:
                return
            server = urlsplit(mirror_url(file.url, mirror)).netloc
            try:
                if server in unreachable:
                    raise unreachable[server]
                download_file(file, root, mirror, advance)
                results.put((file, None))
            except Exception as error:
                if isinstance(error, _Unreachable):
                    unreachable[server] = error
                results.put((file, error))

    # daemons, so that an interrupted command does not wait for a stalled server
    for _ in range(min(jobs, len(files))):
        threading.Thread(target=work, daemon=True).start()
    failures: list[Failure] = []
    try:
        for _ in files:
            file, error = results.get()
            if error is not None and not isinstance(error, ZooError):
                raise error
            if error is not None:
                failures.append(Failure(file, error))
            advance_files(1)
    finally:
        stopped.set()
    return failures


def download_file(
    file: PublishedFile, root: Path, mirror: str, advance: Callable[[int], None]
) -> None:
    """Downloads one file, or the first of its alternatives that exists.

    Args:
        file: The file.
        root: The data root.
        mirror: As for `mirror_url`.
        advance: Is called with the number of bytes that arrived.

    Raises:
        ZooError: The file does not exist, differs from the published one or did not arrive.
    """
    for candidate in (file, *file.alternatives):
        try:
            _download_candidate(candidate, root, mirror, advance)
            return
        except _Absent as error:
            last_error = error
    raise last_error


def _download_candidate(
    file: PublishedFile, root: Path, mirror: str, advance: Callable[[int], None]
) -> None:
    path, url = root / file.path, mirror_url(file.url, mirror)
    part = part_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ZooError(
                    f"{path} is being downloaded by another process: wait until that one ends"
                ) from None
            try:
                _receive_with_retries(url, file, handle, advance)
            except ZooError as error:
                if isinstance(error, _Absent) or not os.fstat(handle.fileno()).st_size:
                    part.unlink()
                raise
            handle.flush()
            if not is_published_version(file, part):
                part.unlink()
                raise ZooError(
                    f"{url} is not the published file (expected "
                    f"{'' if file.bytes is None else f'{file.bytes:,} bytes, '}"
                    f"{file.checksum or 'no checksum'}), and was not kept: run the command again; "
                    "if that does not help, its publisher or the mirror changed it"
                )
            os.replace(part, path)
    except OSError as error:
        raise build_write_error(path, error, "which resumes the download") from error


def _receive_with_retries(
    url: str, file: PublishedFile, handle: BinaryIO, advance: Callable[[int], None]
) -> None:
    """Appends the missing bytes of a file to its part. Progress resets the tries.

    A file without checksum starts from its first byte each time, and makes no progress.
    """
    failed_tries = 0
    while True:
        old_size = handle.tell()
        try:
            _receive(url, file, handle, advance)
            return
        except (URLError, http.client.HTTPException, _BrokenConnection) as error:
            status = error.code if isinstance(error, HTTPError) else None
            reason = _describe_failure(error)
            if status in ABSENT:
                raise _Absent(f"{url} cannot be downloaded ({reason}): check the address") from None
            has_progress = bool(file.checksum) and handle.tell() > old_size
            failed_tries = 1 if has_progress else failed_tries + 1
            is_permanent = status in remote_files.PERMANENT_STATUSES
            if is_permanent or failed_tries == remote_files.TRIES:
                times = "" if is_permanent else f", {failed_tries} times"
                no_answer = type(error) is URLError
                raise (_Unreachable if no_answer else ZooError)(
                    f"{url} cannot be downloaded ({reason}{times}): check the network, then run "
                    "the command again"
                ) from None
            pause = max(_requested_pause(error), remote_files.PAUSE * 2 ** (failed_tries - 1))
            log.warning("%s: %s; retrying in %g s", url, reason, pause)
            time.sleep(min(pause, LONGEST_PAUSE))


def ask_size(url: str) -> int | None:
    """Returns the size that a server states for a file; None if it states none.

    Args:
        url: The address of the file.
    """
    request = Request(url, headers={"User-Agent": USER_AGENT}, method="HEAD")
    try:
        with urlopen(request, timeout=remote_files.TIMEOUT) as response:
            length = response.headers.get("Content-Length", "")
    except (URLError, http.client.HTTPException, TimeoutError, ConnectionError):
        return None  # a download reports the reason
    return int(length) if length.isdecimal() else None


class _BrokenConnection(Exception):
    """The connection failed while bytes were expected."""


def _receive(
    url: str, file: PublishedFile, handle: BinaryIO, advance: Callable[[int], None]
) -> None:
    """Sends one request and appends what arrives.

    Without a checksum the part may belong to an older version of the file, so it is not used.
    """
    start = handle.seek(0, os.SEEK_END) if file.checksum else 0
    if start and start == file.bytes:
        return
    if file.bytes is not None and start > file.bytes:
        start = 0
    headers = {"User-Agent": USER_AGENT}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        response = urlopen(Request(url, headers=headers), timeout=remote_files.TIMEOUT)
    except HTTPError as error:
        if error.code != 416:
            raise
        handle.truncate(0)  # the part is longer than the file
        raise _BrokenConnection("the server has fewer bytes than the part") from error
    except TimeoutError as error:
        raise _BrokenConnection("no answer") from error
    except ConnectionError as error:
        raise _BrokenConnection(str(error)) from error
    with response:
        if response.headers.get_content_type() == "text/html":
            raise ZooError(
                f"{url} is answered with a web page instead of the file: open the address in a "
                "browser, which shows the reason, then run the command again"
            )
        if response.status != 206:
            start = 0
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            raise _BrokenConnection("the server sent another range")
        handle.truncate(start)
        handle.seek(0, os.SEEK_END)
        _append_body(response, handle, advance)


def _append_body(
    response: http.client.HTTPResponse, handle: BinaryIO, advance: Callable[[int], None]
) -> None:
    length = response.headers.get("Content-Length")
    received = 0
    while True:
        try:
            block = response.read1(BLOCK)
        except (TimeoutError, ConnectionError) as error:
            raise _BrokenConnection(str(error) or "no further bytes arrived") from error
        if not block:
            break
        handle.write(block)
        received += len(block)
        advance(len(block))
    if length is not None and received < int(length):
        raise _BrokenConnection(f"the connection ended after {received:,} of {int(length):,} bytes")


def _describe_failure(error: Exception) -> str:
    if isinstance(error, HTTPError):
        if error.code in (404, 410):
            return "not found"
        return f"server error {error.code} {error.reason}".rstrip()
    reason = error.reason if isinstance(error, URLError) else error
    return " ".join(str(reason).split()) or type(error).__name__


def _requested_pause(error: Exception) -> float:
    """Returns the seconds that the server asks to wait (Retry-After), 0 if it does not."""
    value = (error.headers.get("Retry-After") or "") if isinstance(error, HTTPError) else ""
    if value.isdecimal():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError):
        return 0.0
