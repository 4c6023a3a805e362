"""Files that zoo derives from published ones and saves: JSON lines after a header."""

import errno
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.support.files import temporary_path


def header_digest(header: Mapping[str, Any]) -> str:
    """Returns a short hash of a header, which distinguishes the names of files."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()[:12]


def write_rows(
    path: Path, header: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], advice: str
) -> Path:
    """Writes a header and rows as JSON lines.

    Args:
        path: The file.
        header: Describes the sources and rules of the file; the number of rows is added.
        rows: The rows.
        advice: Advice for the user if the file cannot be written.

    Returns:
        The file.

    Raises:
        ZooError: The file cannot be written.
    """
    try:
        _refuse_read_only(path.parent)
        with temporary_path(path) as part, part.open("w", encoding="utf-8") as file:
            for row in ({**header, "n": len(rows)}, *rows):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise ZooError(f"{path} cannot be written ({error.strerror or error}): {advice}") from error
    return path


def _refuse_read_only(folder: Path) -> None:
    """Raises PermissionError if the folder is read-only.

    The superuser could still write there, and would change data that is meant to be protected.
    """
    existing = next(f for f in (folder, *folder.parents) if f.is_dir())
    if not existing.stat().st_mode & 0o222:
        raise PermissionError(errno.EACCES, "a read-only folder", str(existing))
