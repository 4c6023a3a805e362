"""JSON lines: one caption per line, with its image and optional fields."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from zoo.errors import ZooError
from zoo.sources.image_paths import OwnImages
from zoo.sources.readers.base import Reader
from zoo.sources.sample import Sample
from zoo.support.schema import Text, read_json_lines


class _CaptionLine(Struct):
    image: Text
    caption: Text
    caption_id: str | int | None = None
    image_id: str | int | None = None
    split: str | None = None
    negatives: tuple[str, ...] = ()
    companions: tuple[int, ...] = ()


class JsonLines(Reader):
    """JSON lines with the fields `image` and `caption`, and optionally `negatives` and others.

    `image` is a path or an image reference such as 'coco:391895'. Optional fields are `negatives`
    (a list of wrong captions, for `data.source_negatives`), `caption_id` (default: the line number
    from 0), `image_id`, `split` and `companions` (line numbers, from 0, of hard images).

    Args:
        file: The file, with a line such as `{"image": "cup.jpg", "caption": "a red cup",
            "negatives": ["a blue cup"]}` for each caption. Optional fields are negatives,
            caption_id, image_id, split and companions.

    Examples:
        >>> from pathlib import Path
        >>> from zoo.sources.readers import JsonLines
        >>> file = Path("captions.jsonl")
        >>> _ = file.write_text(
        ...     '{"image": "cup.jpg", "caption": "a red cup", "negatives": ["a blue cup"]}')
        >>> [(sample.caption, sample.negatives) for sample in JsonLines(file).read()]
        [('a red cup', ('a blue cup',))]
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.file,)

    @property
    def negatives_hint(self) -> str:
        """Advice to add the field of negatives; see `Reader.negatives_hint`."""
        fields = next((line for _, line in read_json_lines(self.file, dict[str, object])), {})
        return f"give the field negatives (the first line has {', '.join(fields)})"

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each line."""
        images, number = OwnImages(self.file.parent), 0
        forward_references: list[tuple[str, tuple[int, ...]]] = []  # to lines not read yet
        for number, (place, line) in enumerate(read_json_lines(self.file, _CaptionLine), start=1):
            if not all(0 <= c < number for c in line.companions):
                forward_references.append((place, line.companions))
            yield _to_sample(line, number - 1, place, images)
        for place, companions in forward_references:
            if not all(0 <= c < number for c in companions):
                raise ZooError(
                    f"{place} has companions {list(companions)}, but the file has {number} "
                    "entries: use line numbers from 0"
                )


def _to_sample(line: _CaptionLine, number: int, origin: str, images: OwnImages) -> Sample:
    ref = images.ref(line.image)
    return Sample(
        ref,
        line.caption.strip(),
        str(ref if line.image_id is None else line.image_id),
        str(number if line.caption_id is None else line.caption_id),
        line.split,
        line.negatives,
        line.companions,
        origin,
    )
