"""Unpacks members of zips. A member is at its path only when it is complete."""

import os
import shutil
import zipfile
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from zoo.downloads.files import part_path
from zoo.errors import ZooError
from zoo.support.files import build_write_error


def unpack_zip(
    archive: Path,
    root: Path,
    members: tuple[tuple[str, str], ...],
    advance: Callable[[int], None] = lambda n_files: None,
) -> None:
    """Unpacks the members of a zip that match a pattern, and deletes the zip.

    Members that are already there in full are skipped, so that an interrupted unpacking resumes.

    Args:
        archive: The zip.
        root: The data root.
        members: Patterns of member names, each with the folder under the data root they go to.
        advance: Is called with the number of files that were unpacked.

    Raises:
        ZooError: The zip is damaged, no member matches a pattern, a member's path leads out of
            its folder, or the system refuses to write.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            for pattern, folder in members:
                selected = [
                    member
                    for member in opened.infolist()
                    if fnmatchcase(member.filename, pattern) and not member.is_dir()
                ]
                if not selected:
                    raise ZooError(f"{archive} has no member {pattern}: its publisher changed it")
                for member in selected:
                    _unpack_member(opened, member, root / folder)
                    advance(1)
    except (zipfile.BadZipFile, EOFError) as error:
        archive.unlink()
        raise ZooError(
            f"{archive} is damaged ({error}) and was deleted: run the command again"
        ) from error
    except OSError as error:
        raise build_write_error(archive, error, "which resumes the unpacking") from error
    archive.unlink()


def _unpack_member(opened: zipfile.ZipFile, member: zipfile.ZipInfo, folder: Path) -> None:
    name = PurePosixPath(member.filename.replace("\\", "/"))
    is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
    if name.is_absolute() or ".." in name.parts or is_link:
        raise ZooError(
            f"{opened.filename} has the member {member.filename!r}, which does not stay in its "
            "folder: do not use this file"
        )
    path = folder / name
    if path.is_file() and path.stat().st_size == member.file_size:
        return
    part = part_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(member) as source, part.open("wb") as target:
        shutil.copyfileobj(source, target)
    os.replace(part, path)
