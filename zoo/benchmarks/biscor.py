"""BiSCoR-Ctrl (Miranda et al. 2026): scenes like CLEVR's with one attribute exchanged."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import with_user_files
from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.parquet_rows import read_parquet_rows, shard_paths
from zoo.benchmarks.protocols import group
from zoo.benchmarks.published import PublishedBenchmark
from zoo.support.schema import Text

HUB = HubDataset("imirandam/BiSCoR")
IMAGES = ("image", "negative_image")
CASES = 1_000
# group score of OpenAI's ViT-B/32 on the split test, by the paper's Table 1
PUBLISHED = {"color": 1.5, "size": 0.2, "material": 0.7, "quantity": 3.3}


class _BiSCoRRow(Struct):
    caption: Text
    negative_caption: Text


def _subsets(split: str) -> tuple[Subset, ...]:
    return tuple(
        Subset(
            kind,
            tuple(f"biscor/{folder}/{split}-*.parquet" for folder in (kind, kind.capitalize())),
            CASES,
            f"{HUB.download_instructions('biscor')}; zoo reads "
            f"DATA_ROOT/biscor/SUBSET/{split}-*.parquet: if a file has another name, rename it or "
            "give its path in argument `files`",
            chance=group.CHANCE,
            published={"group": value} if split == "test" else {},
        )
        for kind, value in PUBLISHED.items()
    )


class BiSCoR(PublishedBenchmark):
    """BiSCoR-Ctrl: a scene, and a copy in which two objects exchange an attribute (4,000 cases).

    A case has two rendered images, each with a caption. Both images show the same scene, but in the
    second image, two objects have exchanged their colours, sizes or materials, or two groups of
    objects have exchanged their numbers. The protocol is
    `group`, and a tie is wrong. zoo's code for this benchmark was written without access to the
    published files.

    Args:
        files: Paths of annotation files, by subset, if they are not the default ones.
        subsets: The chosen subsets; None for all.
        split: `test` or `development`. Each has 1,000 cases per subset.

    Examples:
        One kind of change of the development split, and the files that it is read from:

        >>> from zoo.benchmarks import BiSCoR
        >>> [subset] = BiSCoR(subsets=["color"], split="development").subsets
        >>> subset.n, subset.files[0]
        (1000, 'biscor/color/development-*.parquet')
    """

    name = "biscor"
    licence = "CC BY 4.0"
    citation = (
        "Miranda et al., Revisiting Compositionality in Dual-Encoder Vision-Language Models: The "
        "Role of Inference, 2026, arXiv:2604.11496"
    )
    hub = HUB
    published = _subsets("test")

    def __init__(
        self,
        files: dict[str, str] | None = None,
        subsets: list[str] | None = None,
        split: Literal["test", "development"] = "test",
    ) -> None:
        super().__init__(files, subsets)
        self.split = split

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen subsets of the chosen split."""
        selected = (subset for subset in _subsets(self.split) if subset.name in self.wanted)
        return with_user_files(selected, self.files)

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each row of the kind."""
        table = (
            record
            for file in shard_paths(path)
            for record in read_parquet_rows(file, _BiSCoRRow, ("image", "negative_image"))
        )
        for i, (_, row, images) in enumerate(table):
            texts = row.caption, row.negative_caption
            yield Case(images, texts, np.eye(2, dtype=bool), "group", subset, str(i))
