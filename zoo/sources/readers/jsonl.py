"""JSON lines: one caption a line, with whatever belongs to it."""

from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.sources.images import OwnImages
from zoo.sources.readers.base import Reader
from zoo.sources.sample import Sample
from zoo.support.text_files import caption, field, json_line, numbered_lines


class JsonLines(Reader):
    """A file of `{"image", "caption"}` lines.

    `image` is a path or a reference as this project writes it ('coco:391895'). A line may also hold
    `caption_id` (its number from 0 where absent), `image_id`, `split`, `negatives` (a list of
    sentences) and `companions` (line numbers, from 0, of hard images).

    Args:
        file: The file.
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.file,)

    def samples(self) -> list[Sample]:
        """Returns a sample for each line."""
        entries = [
            (f"{self.file}:{number}", json_line(line, f"{self.file}:{number}"))
            for number, line in numbered_lines(self.file)
        ]
        images = OwnImages(self.file.parent)
        return [
            _sample(entry, str(i), len(entries), origin, images)
            for i, (origin, entry) in enumerate(entries)
        ]


def _sample(entry: Any, number: str, n: int, origin: str, images: OwnImages) -> Sample:
    ref = images.ref(field(entry, "image", str, origin))
    text = caption(field(entry, "caption", str, origin), origin)
    negatives = _list(entry, "negatives", str, origin)
    companions = _list(entry, "companions", int, origin)
    if not all(0 <= c < n for c in companions):
        raise ZooError(
            f"{origin} has companions {list(companions)}, and the file has {n} entries: "
            "number them from 0"
        )
    return Sample(
        ref,
        text,
        str(entry.get("image_id", ref)),
        str(entry.get("caption_id", number)),
        entry.get("split"),
        negatives,
        companions,
        origin,
    )


def _list(entry: Any, name: str, kind: type, origin: str) -> tuple[Any, ...]:
    values = field(entry, name, list, origin) if name in entry else []
    for value in values:
        if type(value) is not kind:
            raise ZooError(
                f"{origin} has {str(value)[:40]!r} in {name!r}: expected a list of {kind.__name__}"
            )
    return tuple(values)
