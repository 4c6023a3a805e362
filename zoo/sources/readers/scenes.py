"""Scenes: the captions of a folder of scenes that `zoo scenes` rendered."""

from collections.abc import Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.scenes.cache import SPLITS, read_captions
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample


class Scenes(Reader):
    """Rendered scenes; the negative of a caption is the caption with swapped attributes.

    Args:
        folder: The folder given as `--out` of `zoo scenes render`.
        split: 'train', 'val' or another split of the folder, None for all.

    Raises:
        ZooError: The split does not exist.
    """

    def __init__(self, folder: str, split: str | None = None) -> None:
        if split is not None and split not in SPLITS:
            raise ZooError(f"Scenes(split='{split}'): choose one of {', '.join(SPLITS)}")
        self.folder, self.split = folder, split

    def all_splits(self) -> Reader:
        """Returns a reader of all scenes of the folder."""
        return Scenes(self.folder)

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
