"""JSON lines that have a text for a caption: negatives, paraphrases, names of images."""

from collections.abc import Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.support.text_files import json_value


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
        lines = file.read_text("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ZooError(f"{file} cannot be read ({error}): {source}") from error
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
