"""Journal: stores the answers of a language model as they arrive.

An interrupted run resumes from it and repeats no questions.
"""

import fcntl
import json
import logging
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from zoo.errors import ZooError
from zoo.support.files import build_write_error
from zoo.support.text_files import NotJson, parse_json

log = logging.getLogger(__name__)

_RESUME_NOTE = "which resumes from the journal"


@dataclass(frozen=True)
class JournalEntry:
    """The outcome of one question.

    Args:
        stage: The name of its stage.
        unit: The unit that it was about; empty if it was about the caption.
        answer: The answer, or None if it failed.
        error: The error, or None if it was answered.
        faults: The reasons of the failed attempts.
        cleaned: Whether control characters were removed from the answer.
        tokens_in: The number of tokens sent in all attempts.
        tokens_out: The number of tokens received in all attempts.
    """

    stage: str
    unit: str
    answer: Any = None
    error: str | None = None
    faults: tuple[str, ...] = ()
    cleaned: bool = False
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """Stage and unit."""
        return self.stage, self.unit


class Journal:
    """Entries by caption, in an append-only file with one line per entry.

    Memory holds the positions of the entries, not the entries. An incomplete last line is removed
    when the file is opened.

    Args:
        path: The file; None for a temporary one.
        settings: The settings that the answers depend on, written to the first line.
        retry_failed: Whether to ask failed questions of earlier runs again.

    Raises:
        ZooError: The file was made with other settings, is damaged, is written by another process,
            or cannot be written.
    """

    def __init__(
        self, path: Path | None, settings: dict[str, Any], retry_failed: bool = False
    ) -> None:
        self.path = path
        self._positions: dict[str, list[tuple[int, int]]] = {}
        self._retry_failed = retry_failed
        self._handle = _open_and_lock_journal(path)
        try:
            self._end = self._index_and_truncate(settings)
            if not self._end:
                self._append_row({"settings": settings})
        except BaseException:
            os.close(self._handle)
            raise

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def __len__(self) -> int:
        return len(self._positions)

    def entries(self, caption_key: str) -> dict[tuple[str, str], JournalEntry]:
        """Returns the latest entry of each question about a caption, by stage and unit.

        Args:
            caption_key: The caption's key, as passed to `keep`.
        """
        entries_by_key: dict[tuple[str, str], JournalEntry] = {}
        for start, length in self._positions.get(caption_key, ()):
            row = json.loads(os.pread(self._handle, length, start))
            del row["caption"]
            entry = JournalEntry(**{**row, "faults": tuple(row.get("faults", ()))})
            entries_by_key[entry.key] = entry
        return entries_by_key

    def append(self, caption_key: str, entry: JournalEntry) -> None:
        """Writes an entry, which then survives the end of this process.

        Args:
            caption_key: The caption's key.
            entry: The outcome of a question about it.

        Raises:
            ZooError: The file cannot be written.
        """
        fields = {
            name: value for name, value in asdict(entry).items() if value not in (None, 0, ())
        }
        self._positions.setdefault(caption_key, []).append(
            self._append_row({"caption": caption_key, **fields})
        )

    def _append_row(self, row: dict[str, Any]) -> tuple[int, int]:
        line = (json.dumps(row, ensure_ascii=False) + "\n").encode()
        try:
            n_written = os.write(self._handle, line)
            while n_written < len(line):
                n_written += os.write(self._handle, line[n_written:])
        except OSError as error:
            raise build_write_error(
                self.path or Path(tempfile.gettempdir()), error, _RESUME_NOTE
            ) from error
        position = self._end, len(line)
        self._end += len(line)
        return position

    def _index_and_truncate(self, settings: dict[str, Any]) -> int:
        """Indexes the entries, removes an incomplete last line, and returns the file's length.

        A file without entries is emptied, since no answer depends on its settings.
        """
        end = n_entries = 0
        with os.fdopen(os.dup(self._handle), "rb") as file:
            file.seek(0)
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                row = self._parse_line(line, number)
                if number == 1:
                    file_settings = row["settings"]
                else:
                    self._check_settings(file_settings, settings)
                    n_entries += 1
                    if not (self._retry_failed and "error" in row):
                        self._positions.setdefault(row["caption"], []).append((end, len(line)))
                end += len(line)
        end = end if n_entries else 0
        os.ftruncate(self._handle, end)
        return end

    def _parse_line(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = parse_json(line.decode())
            required_key = "settings" if number == 1 else "caption"
            if not isinstance(row, dict) or required_key not in row:
                raise NotJson("it is not an entry")
        except (NotJson, UnicodeDecodeError) as error:
            raise ZooError(
                f"{self.path}:{number} is damaged ({error}): remove the line; its question is then "
                "asked again"
            ) from error
        return row

    def _check_settings(self, file_settings: dict[str, Any], settings: dict[str, Any]) -> None:
        for name in file_settings | settings:
            if file_settings.get(name) != settings.get(name):
                raise ZooError(
                    f"the answers in {self.path} were given with {name} "
                    f"{file_settings.get(name)!r}, not {settings.get(name)!r}: use the "
                    "earlier value, or delete the file to ask all questions again"
                )


def _open_and_lock_journal(path: Path | None) -> int:
    if path is None:
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise build_write_error(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise ZooError(
            f"{path} is being written by another process: wait for it, or use another file"
        ) from error
    except OSError as error:
        log.warning(
            "%s cannot be locked (%s): make sure that no other process writes to it",
            path,
            error.strerror or error,
        )
    return handle
