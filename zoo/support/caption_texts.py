"""JSON lines with a text for each caption: negatives, paraphrases or image names."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from zoo.errors import ZooError
from zoo.support.compiled_tables import CompiledTables, Notes, Writer, compile_tables, in_batches
from zoo.support.progress import track
from zoo.support.text_files import open_bytes, parse_json, sha256
from zoo.support.text_index import INDEX, Keys, index_of

TEXTS = pa.schema([("caption", pa.string()), ("text", pa.string())])


class ByCaption:
    """The texts of a file, by caption, in the order of the file.

    Args:
        tables: The tables compiled by `by_caption`.
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
        """Returns the texts of a caption, or None if the file does not have the caption."""
        rows = self._keys.rows(key_of(caption))
        texts = (self._texts[row].as_py() for row in rows)
        return [text for text in texts if text is not None] if rows else None


def read_by_caption(
    file: Path, name: str, read: Callable[[], Iterable[tuple[str, str | None]]], source: str
) -> ByCaption:
    """Returns the texts of a file, compiled into tables once.

    Args:
        file: The file.
        name: Name of the field with the text.
        read: Yields captions and texts; raises ZooError for invalid lines.
        source: How to get such a file, for error messages.

    Raises:
        ZooError: The file cannot be read or is invalid, or the tables cannot be written.
    """

    def make(writer: Writer) -> Notes:
        captions: list[str] = []

        def batch(pairs: list[tuple[str, str | None]]) -> pa.RecordBatch:
            keys, texts = [key_of(caption) for caption, _ in pairs], [text for _, text in pairs]
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
    """Returns the lookup key of a caption: its words, separated by single spaces."""
    return " ".join(caption.split())


def read_entries(
    file: Path, name: str, *, optional: bool, source: str, advice: str
) -> Iterator[tuple[str, str, str | None]]:
    """Yields the place, the caption and the text of each line.

    Args:
        file: JSON lines of `{"caption", name}`. Only newline characters end a line.
        name: Name of the field with the text.
        optional: Whether the text may be null.
        source: How to get such a file, for error messages.
        advice: Advice on an invalid line, for error messages.

    Yields:
        The line as FILE:NUMBER, the caption, and the text.

    Raises:
        ZooError: The file cannot be read, or a line is invalid; the message names the line.
    """
    try:
        with open_bytes(file) as content:
            lines = content.read().decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ZooError(f"{file} cannot be read ({reason}): {source}") from error
    for number, line in enumerate(lines, start=1):
        origin = f"{file}:{number}"
        try:
            entry = parse_json(line)
            caption, text = entry["caption"], entry[name]
        except (ValueError, KeyError, TypeError) as error:
            raise ZooError(
                f'{origin} is not {{"caption": .., "{name}": ..}} ({error}): {advice}'
            ) from error
        kinds = (str, type(None)) if optional else str
        if not isinstance(caption, str) or not isinstance(text, kinds):
            raise ZooError(f"{origin} has a caption or {name} that is not text: {advice}")
        yield origin, caption, text
