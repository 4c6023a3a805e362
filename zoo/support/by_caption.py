"""JSON lines that have a text for a caption: negatives, paraphrases, names of images."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from zoo.errors import ZooError
from zoo.support.compiled import CompiledTables, Notes, Writer, compile_tables, in_batches
from zoo.support.keys import INDEX, Keys, index_of
from zoo.support.progress import track
from zoo.support.text_files import json_value, open_bytes, sha256

TEXTS = pa.schema([("caption", pa.string()), ("text", pa.string())])


class ByCaption:
    """The texts of a file by caption, in its order, compiled once.

    Args:
        tables: What `by_caption` compiled.
    """

    def __init__(self, tables: CompiledTables) -> None:
        self.tables = tables
        self._texts = tables["texts"].column("text")
        self._keys = Keys(tables["texts"].column("caption"), tables["index"])

    def __reduce__(self) -> tuple[Any, ...]:
        return ByCaption, (self.tables,)

    def __contains__(self, caption: str) -> bool:
        return bool(self._keys.rows(key_of(caption)))

    def get(self, caption: str) -> list[str] | None:
        """Returns the texts of a caption, None where the file does not have it."""
        rows = self._keys.rows(key_of(caption))
        texts = (self._texts[row].as_py() for row in rows)
        return [text for text in texts if text is not None] if rows else None


def by_caption(
    file: Path, name: str, read: Callable[[], Iterable[tuple[str, str | None]]], source: str
) -> ByCaption:
    """Returns the texts of a file.

    Args:
        file: The file.
        name: The field of the text.
        read: Yields captions and texts, and refuses what is wrong.
        source: How one comes by such a file, for messages.

    Raises:
        ZooError: The file cannot be read or is wrong, or the table cannot be written.
    """

    def make(writer: Writer) -> Notes:
        captions: list[str] = []

        def batch(some: list[tuple[str, str | None]]) -> pa.RecordBatch:
            keys, texts = [key_of(caption) for caption, _ in some], [text for _, text in some]
            captions.extend(keys)
            return pa.RecordBatch.from_pydict({"caption": keys, "text": texts}, TEXTS)

        writer.write("texts", TEXTS, map(batch, in_batches(track(read(), f"compiling {name}s"))))
        writer.write("index", INDEX, [index_of(captions)])
        return {}

    try:
        content = sha256(file)
    except OSError as error:
        raise ZooError(f"{file} cannot be read ({error}): {source}") from error
    return ByCaption(compile_tables(f"{name}s", {"file": content}, make))


def key_of(caption: str) -> str:
    """Returns a caption as it is looked up: its words, one space between them."""
    return " ".join(caption.split())


def entries(
    file: Path, name: str, *, optional: bool, source: str, mend: str
) -> Iterator[tuple[str, str, str | None]]:
    """Yields where each line stands, its caption and its text.

    Args:
        file: JSON lines of `{"caption", name}`. Newlines alone end a line.
        name: The field of the text.
        optional: Whether the text may be null.
        source: How one comes by such a file, for messages.
        mend: What is to be done with a broken line, for messages.

    Yields:
        The line as file:number, the caption, and the text.

    Raises:
        ZooError: The file cannot be read, or a line is broken; the message names the line.
    """
    try:
        with open_bytes(file) as content:
            lines = content.read().decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ZooError(f"{file} cannot be read ({why}): {source}") from error
    for number, line in enumerate(lines, start=1):
        origin = f"{file}:{number}"
        try:
            entry = json_value(line)
            caption, text = entry["caption"], entry[name]
        except (ValueError, KeyError, TypeError) as error:
            raise ZooError(
                f'{origin} is not {{"caption": .., "{name}": ..}} ({error}): {mend}'
            ) from error
        kinds = (str, type(None)) if optional else str
        if not isinstance(caption, str) or not isinstance(text, kinds):
            raise ZooError(f"{origin} has a caption or {name} that is not text: {mend}")
        yield origin, caption, text
