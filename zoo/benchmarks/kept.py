"""Files that are made once of published ones, and kept: JSON lines below a header."""

import errno
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.support.files import temporary_path


def digest(header: Mapping[str, Any]) -> str:
    """Returns what tells files of one header from those of another."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()[:12]


def keep(
    path: Path, header: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], mend: str
) -> Path:
    """Writes a file.

    Args:
        path: The file.
        header: What it was made of and by which rules; the number of rows is added.
        rows: Its rows.
        mend: What the user can do where it cannot be written.

    Returns:
        The file.

    Raises:
        ZooError: It cannot be written.
    """
    try:
        _refuse_read_only(path.parent)
        with temporary_path(path) as part, part.open("w", encoding="utf-8") as file:
            for row in ({**header, "n": len(rows)}, *rows):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise ZooError(f"{path} cannot be written ({error.strerror or error}): {mend}") from error
    return path


def _refuse_read_only(folder: Path) -> None:
    """Raises PermissionError where nobody may write.

    The superuser could, and would spoil what was meant to stay as it is.
    """
    there = next(f for f in (folder, *folder.parents) if f.is_dir())
    if not there.stat().st_mode & 0o222:
        raise PermissionError(errno.EACCES, "a read-only folder", str(there))
