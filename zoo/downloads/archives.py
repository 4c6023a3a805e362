"""Unpacks members of zips and tars. A member is at its path only when it is complete."""

import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from gzip import BadGzipFile
from pathlib import Path, PurePosixPath
from typing import IO

from zoo.downloads.files import part_path
from zoo.errors import ZooError
from zoo.support.files import build_write_error

TARS = (".tar", ".tar.gz")


@dataclass(frozen=True)
class _Member:
    name: str
    size: int
    is_file: bool
    open: Callable[[], IO[bytes] | None]


def unpack_archive(
    archive: Path,
    root: Path,
    members: tuple[tuple[str, str], ...],
    advance: Callable[[int], None] = lambda n_files: None,
) -> None:
    """Unpacks the members of a zip or tar that match a pattern, and deletes the archive.

    Members that are already there in full are skipped, so that an interrupted unpacking resumes.

    Args:
        archive: The zip or tar; its name ends in one of `TARS` if it is a tar.
        root: The data root.
        members: Patterns of member names, each with the folder under the data root they go to. The
            first pattern that matches is used.
        advance: Is called with the number of files that were unpacked.

    Raises:
        ZooError: The archive is damaged, no member matches a pattern, a member's path leads out of
            its folder, or the system refuses to write.
    """
    unused = dict.fromkeys(pattern for pattern, _ in members)
    try:
        with closing(_read_members(archive)) as opened:
            for member in opened:
                pattern, folder = next(
                    (m for m in members if fnmatchcase(member.name, m[0])), ("", "")
                )
                if pattern:
                    _unpack_member(archive, member, root / folder)
                    unused.pop(pattern, None)
                    advance(1)
    except (zipfile.BadZipFile, tarfile.TarError, BadGzipFile, zlib.error, EOFError) as error:
        archive.unlink()
        raise ZooError(
            f"{archive} is damaged ({error}) and was deleted: run the command again"
        ) from error
    except OSError as error:
        raise build_write_error(archive, error, "which resumes the unpacking") from error
    if unused:
        raise ZooError(f"{archive} has no member {next(iter(unused))}: its publisher changed it")
    archive.unlink()


def _read_members(archive: Path) -> Generator[_Member, None, None]:
    """Yields the members that are not folders. One must be read before the next is requested."""
    if archive.name.endswith(TARS):
        with tarfile.open(archive) as tar:
            for item in tar:
                if not item.isdir():
                    yield _Member(
                        item.name, item.size, item.isfile(), partial(tar.extractfile, item)
                    )
        return
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            if not info.is_dir():
                is_link = (info.external_attr >> 16) & 0o170000 == 0o120000
                yield _Member(
                    info.filename, info.file_size, not is_link, partial(opened.open, info)
                )


def _unpack_member(archive: Path, member: _Member, folder: Path) -> None:
    name = PurePosixPath(member.name.replace("\\", "/"))
    if name.is_absolute() or ".." in name.parts or not member.is_file:
        raise ZooError(
            f"{archive} has the member {member.name!r}, which does not stay in its folder: do not "
            "use this file"
        )
    path = folder / name
    if path.is_file() and path.stat().st_size == member.size:
        return
    source = member.open()
    assert source is not None, "only members that are not files cannot be opened"
    part = part_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with source, part.open("wb") as target:
        shutil.copyfileobj(source, target)
    os.replace(part, path)
