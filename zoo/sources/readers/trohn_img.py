"""TROHN-Img: COCO's captions in the Parquet shards of the Hugging Face Hub.

Each caption has a negative caption and an image generated for it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError, suggest_names
from zoo.sources.images import coco_ref
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.support.text_files import strip_caption

SPLITS = ("train", "validation")
TEXTS = ("image_id", "caption", "negative_caption")
NEGATIVE_IMAGE = "negative_image"


class TrohnImg(Reader):
    """TROHN-Img (Miranda et al., 2024): COCO's captions with negative captions and images.

    The columns are `image_id` (a file name of COCO 2017), `caption`, `negative_caption` and
    `negative_image`. The positive image is read from COCO. Each row yields two samples. The first
    is the COCO image with its caption, the negative caption as its negative, and the id
    'SHARD#ROW'. The second is the negative image with the negative caption. It is only used as a
    companion of the first.

    Args:
        path: A Parquet file (shard), or a folder with shards at any depth.
        split: 'train' or 'validation', according to the shards' names; None for all.

    Raises:
        ZooError: The split does not exist.
    """

    def __init__(self, path: Path, split: str | None = None) -> None:
        if split is not None and split not in SPLITS:
            raise ZooError(
                f"split {split!r} of {path} does not exist{suggest_names(split, SPLITS)}: "
                f"choose one of {', '.join(SPLITS)}"
            )
        self.path, self.split = Path(path), split

    @property
    def files(self) -> tuple[Path, ...]:
        """The shards of the split."""
        if self.path.is_file():
            return (self.path,)
        return tuple(sorted(self.path.glob(f"**/{self.split or ''}*.parquet")))

    def all_splits(self) -> Reader:
        """Returns a reader of all shards."""
        return TrohnImg(self.path)

    def samples(self) -> list[Sample]:
        """Returns two samples for each row, the positive pair and the negative pair."""
        if not self.files:
            raise ZooError(
                f"{self.path} has no {self.split or ''}*.parquet: give the folder of TROHN-Img's "
                "shards"
            )
        samples: list[Sample] = []
        for file in self.files:
            for positive, negative in _pairs(file.absolute(), len(samples)):
                samples += [positive, negative]
        return samples


def _pairs(file: Path, start: int) -> Iterator[tuple[Sample, Sample]]:
    """Yields positive samples and their negatives. Images are not read.

    Args:
        file: The shard.
        start: Position of the first sample in the source's list.
    """
    for i, row in enumerate(_read_text_rows(file)):
        origin, number, split = (
            f"{file}[{i}]",
            f"{file.stem}#{i}",
            next((s for s in SPLITS if file.name.startswith(s)), None),
        )
        for column in TEXTS:
            if not isinstance(row[column], str):
                raise ZooError(
                    f"{origin} has {row[column]!r} in column {column!r}, which must be text: "
                    "download the shard again"
                )
        image = coco_ref(row["image_id"], origin)
        negative_image = ImageRef("parquet", f"{file}#{i}#{NEGATIVE_IMAGE}")
        true, false = (
            strip_caption(row["caption"], origin),
            strip_caption(row["negative_caption"], origin),
        )
        yield (
            Sample(
                image,
                true,
                str(image),
                number,
                split,
                (false,),
                (start + 2 * i + 1,),
                origin,
            ),
            Sample(
                negative_image,
                false,
                str(negative_image),
                f"{number}-",
                split,
                origin=origin,
                companion_only=True,
            ),
        )


def _read_text_rows(file: Path) -> list[dict[str, Any]]:
    try:
        shard = pq.ParquetFile(file)
        columns = shard.schema_arrow.names
        for column in (*TEXTS, NEGATIVE_IMAGE):
            if column not in columns:
                raise ZooError(
                    f"{file} has no column {column!r}{suggest_names(column, columns)}: "
                    f"it has {', '.join(columns)}"
                )
        rows: list[dict[str, object]] = shard.read(columns=list(TEXTS)).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ZooError(
            f"{file} is not a valid Parquet file ({error}): download it again"
        ) from error
    return rows
