"""JSON lines with a text for each caption: negatives, paraphrases or image names."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from zoo.errors import ZooError
from zoo.support.compiled_tables import (
    CompiledTables,
    Notes,
    Writer,
    load_or_build_tables,
    split_into_batches,
)
from zoo.support.progress import track
from zoo.support.text_files import open_bytes, parse_json, sha256
from zoo.support.text_index import INDEX, TextIndex, build_text_index

TEXTS = pa.schema([("caption", pa.string()), ("text", pa.string())])


class TextsByCaption:
    """The texts of a file, by caption.

    Args:
        file: The file.
        tables: The tables compiled by `read_texts_by_caption`.
    """

    def __init__(self, file: Path, tables: CompiledTables) -> None:
        self.file, self._tables = file, tables
        self._texts = tables["texts"].column("text")
        self._keys = TextIndex(tables["texts"].column("caption"), tables["index"])

    def __reduce__(self) -> tuple[Any, ...]:
        return TextsByCaption, (self.file, self._tables)

    def check_captions(self, captions: Sequence[str], advice: str) -> None:
        """Checks whether the file has the captions.

        Args:
            captions: The captions.
            advice: How to add captions, for the error message.

        Raises:
            ZooError: Captions are missing from the file.
        """
        missing = [caption for caption in captions if not self._keys.rows(caption_key(caption))]
        if missing:
            raise ZooError(
                f"{self.file} has no line for {len(missing):,} of {len(captions):,} captions "
                f"({missing[0][:60]!r}): {advice}, or set strict: false"
            )

    def draw(self, caption: str, rng: Random) -> str | None:
        """Draws one of the texts of a caption, or returns None if there is none."""
        rows = (self._texts[row].as_py() for row in self._keys.rows(caption_key(caption)))
        texts = [text for text in rows if text is not None]
        return rng.choice(texts) if texts else None


def read_texts_by_caption(
    file: Path,
    field: str,
    is_same: Callable[[str, str], bool],
    *,
    optional: bool,
    source_hint: str,
    advice: str,
) -> TextsByCaption:
    """Returns the texts of a file, compiled into tables once.

    Args:
        file: As for `read_entries`.
        field: As for `read_entries`.
        is_same: Returns whether a text only repeats its caption, which is an error.
        optional: As for `read_entries`.
        source_hint: As for `read_entries`.
        advice: As for `read_entries`.

    Raises:
        ZooError: The file cannot be read, a line is invalid, or the tables cannot be written.
    """
    remedy = f"remove the line or set the {field} to null" if optional else "remove the line"

    def read() -> Iterator[tuple[str, str | None]]:
        for origin, caption, text in read_entries(
            file, field, optional=optional, source_hint=source_hint, advice=advice
        ):
            if text is not None and is_same(caption, text):
                raise ZooError(
                    f"{origin} has the caption itself as its {field} ({text[:60]!r}): {remedy}"
                )
            yield caption_key(caption), text

    def build(writer: Writer) -> Notes:
        captions: list[str] = []

        def to_batch(pairs: list[tuple[str, str | None]]) -> pa.RecordBatch:
            keys, texts = zip(*pairs, strict=True)
            captions.extend(keys)
            return pa.RecordBatch.from_pydict({"caption": keys, "text": texts}, TEXTS)

        lines = track(read(), f"compiling {field}s")
        writer.write("texts", TEXTS, map(to_batch, split_into_batches(lines)))
        writer.write("index", INDEX, [build_text_index(captions)])
        return {}

    try:
        content = sha256(file)
    except OSError as error:
        raise ZooError(f"{file} cannot be read ({error}): {source_hint}") from error
    return TextsByCaption(file, load_or_build_tables(f"{field}s", {"file": content}, build))


def caption_key(caption: str) -> str:
    """Returns the lookup key of a caption: its words, separated by single spaces."""
    return " ".join(caption.split())


def read_entries(
    file: Path, field: str, *, optional: bool, source_hint: str, advice: str
) -> Iterator[tuple[str, str, str | None]]:
    """Yields the place, the caption and the text of each line.

    Args:
        file: JSON lines of `{"caption", field}`. Only newline characters end a line.
        field: Name of the field with the text.
        optional: Whether the text may be null.
        source_hint: How to get such a file, for error messages.
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
        raise ZooError(f"{file} cannot be read ({reason}): {source_hint}") from error
    for number, line in enumerate(lines, start=1):
        origin = f"{file}:{number}"
        try:
            entry = parse_json(line)
            caption, text = entry["caption"], entry[field]
        except (ValueError, KeyError, TypeError) as error:
            raise ZooError(
                f'{origin} is not {{"caption": .., "{field}": ..}} ({error}): {advice}'
            ) from error
        types = (str, type(None)) if optional else str
        if not isinstance(caption, str) or not isinstance(text, types):
            raise ZooError(f"{origin} has a caption or {field} that is not text: {advice}")
        yield origin, caption, text
