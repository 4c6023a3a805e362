"""Scenes: the captions of a folder that `zoo scenes` filled."""

from collections.abc import Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.scenes.cache import SPLITS, read_captions
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample


class Scenes(Reader):
    """Rendered scenes; an attribute swap comes along as a sentence negative.

    Args:
        folder: Folder that was given to `--out`.
        split: 'train', 'val' or another split that the folder has, None for all.

    Raises:
        ZooError: There is no such split.
    """

    def __init__(self, folder: str, split: str | None = None) -> None:
        if split is not None and split not in SPLITS:
            raise ZooError(f"Scenes(split='{split}'): choose among {', '.join(SPLITS)}")
        self.folder, self.split = folder, split

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each caption of the split."""
        folder = Path(self.folder).absolute()
        for number, row in enumerate(read_captions(folder), start=1):
            if self.split in (None, row.split):
                yield Sample(
                    image=ImageRef("file", str(folder / row.image_id)),
                    caption=row.caption,
                    image_id=row.image_id,
                    caption_id=row.caption_id,
                    split=row.split,
                    negatives=(row.attribute_swap,) if row.attribute_swap else (),
                    origin=f"{folder / 'captions.jsonl'}:{number}",
                )
