"""Journal: the answers of a language model, kept as they come.

A run that is ended at any moment goes on from it, and asks nothing twice.
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
from zoo.support.files import not_written
from zoo.support.text_files import NotJson, json_value

log = logging.getLogger(__name__)

_GOES_ON = "which goes on from what is kept"


@dataclass(frozen=True)
class JournalEntry:
    """What became of one question.

    Args:
        stage: The name of its stage.
        unit: The unit that it was asked about; empty where it was the caption.
        answer: The answer, None where there is none.
        error: Why there is none, None where there is one.
        faults: The reasons of the attempts that failed before.
        mended: Whether control characters were taken out.
        tokens_in: How many tokens all its attempts sent.
        tokens_out: How many tokens all its attempts brought.
    """

    stage: str
    unit: str
    answer: Any = None
    error: str | None = None
    faults: tuple[str, ...] = ()
    mended: bool = False
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """Stage and unit."""
        return self.stage, self.unit


class Journal:
    """Entries by caption, in a file of a line each that only ever grows.

    Memory holds where the entries are, and not the entries. A last line that was cut off is taken
    off when the file is opened.

    Args:
        path: The file; None for one that vanishes with the process.
        settings: What the answers depend on. They stand in the first line.
        retry_failed: Whether failed questions of earlier runs count as not asked.

    Raises:
        ZooError: The file was made with other settings, is damaged, is written by another process,
            or cannot be written.
    """

    def __init__(
        self, path: Path | None, settings: dict[str, Any], retry_failed: bool = False
    ) -> None:
        self.path = path
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._retry_failed = retry_failed
        self._handle = _open_journal(path)
        try:
            self._end = self._read(settings)
            if not self._end:
                self._append({"settings": settings})
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
        return len(self._places)

    def entries(self, caption: str) -> dict[tuple[str, str], JournalEntry]:
        """Returns what became of a caption's questions, by stage and unit, the last of each.

        Args:
            caption: The caption's key, as it was given to `keep`.
        """
        kept: dict[tuple[str, str], JournalEntry] = {}
        for start, length in self._places.get(caption, ()):
            row = json.loads(os.pread(self._handle, length, start))
            del row["caption"]
            entry = JournalEntry(**{**row, "faults": tuple(row.get("faults", ()))})
            kept[entry.key] = entry
        return kept

    def keep(self, caption: str, entry: JournalEntry) -> None:
        """Writes an entry, which is safe from the end of this process from then on.

        Args:
            caption: The caption's key.
            entry: What became of a question about it.

        Raises:
            ZooError: The system refuses.
        """
        told = {name: value for name, value in asdict(entry).items() if value not in (None, 0, ())}
        self._places.setdefault(caption, []).append(self._append({"caption": caption, **told}))

    def _append(self, row: dict[str, Any]) -> tuple[int, int]:
        line = (json.dumps(row, ensure_ascii=False) + "\n").encode()
        try:
            written = os.write(self._handle, line)
            while written < len(line):
                written += os.write(self._handle, line[written:])
        except OSError as error:
            raise not_written(self.path or Path(tempfile.gettempdir()), error, _GOES_ON) from error
        place = self._end, len(line)
        self._end += len(line)
        return place

    def _read(self, settings: dict[str, Any]) -> int:
        """Finds the entries, takes off a last line that was cut, and returns the file's length.

        A file without an entry is emptied, since no answer depends on its settings.
        """
        end = entries = 0
        with os.fdopen(os.dup(self._handle), "rb") as file:
            file.seek(0)
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                row = self._row(line, number)
                if number == 1:
                    first = row["settings"]
                else:
                    self._check(first, settings)
                    entries += 1
                    if not (self._retry_failed and "error" in row):
                        self._places.setdefault(row["caption"], []).append((end, len(line)))
                end += len(line)
        end = end if entries else 0
        os.ftruncate(self._handle, end)
        return end

    def _row(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = json_value(line.decode())
            named = "settings" if number == 1 else "caption"
            if not isinstance(row, dict) or named not in row:
                raise NotJson("it is no entry")
        except (NotJson, UnicodeDecodeError) as error:
            raise ZooError(
                f"{self.path}:{number} is damaged ({error}): remove the line, and what it held is "
                "asked again"
            ) from error
        return row

    def _check(self, kept: dict[str, Any], asked: dict[str, Any]) -> None:
        for name in kept | asked:
            if kept.get(name) != asked.get(name):
                raise ZooError(
                    f"the answers in {self.path} were given with {name} {kept.get(name)!r}, and "
                    f"{asked.get(name)!r} is asked for: give what it was, or remove the file to "
                    "ask everything anew"
                )


def _open_journal(path: Path | None) -> int:
    if path is None:
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise not_written(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise ZooError(
            f"{path} is being written by another process: wait for it, or name another file"
        ) from error
    except OSError as error:
        log.warning(
            "%s cannot be locked (%s): see to it that no other process writes it meanwhile",
            path,
            error.strerror or error,
        )
    return handle
