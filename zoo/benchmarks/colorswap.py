"""ColorSwap (Burapacheep et al. 2024): two images, and two captions with exchanged colours."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.parquet_rows import read_parquet_rows, shard_paths
from zoo.benchmarks.protocols.group import CHANCE
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.sample import ImageRef
from zoo.support.schema import read_list

HUB = HubDataset("stanfordnlp/colorswap", gated=True)
INSTRUCTIONS = (
    f"{HUB.download_instructions('colorswap')}; or unpack test.json and the images of the "
    "authors' archive in DATA_ROOT/colorswap (Google Drive, id 1xdG94DQdz_eQVH1lrEeaHVz_BNkrVgb5, "
    "link in github.com/Top34051/colorswap)"
)


class _ColorSwapRow(Struct):
    id: int | str
    caption_1: str
    caption_2: str


class _ColorSwapEntry(_ColorSwapRow):
    image_1: str
    image_2: str


class ColorSwap(PublishedBenchmark):
    """ColorSwap: two images, and two captions of the same words with exchanged colours (300 cases).

    The protocol is `group`, and a tie is wrong. The Parquet files on the Hub include the images. If
    you use the authors' archive, its images have to be next to `test.json`.

    The CS-CLIP paper (Kargi et al., 2026) reports other values for ViT-B/32 (60.7, 72.7 and
    45.0 %), which are not comparable, because they follow another protocol.

    Examples:
        Scores that always prefer the first image and the first caption:

        >>> import numpy as np
        >>> from pathlib import Path
        >>> from zoo.benchmarks import ColorSwap
        >>> _ = Path("test.json").write_text('''[{"id": 4, "image_1": "1.png", "image_2": "2.png",
        ... "caption_1": "a red cup, a blue hat", "caption_2": "a blue cup, a red hat"}]''')
        >>> [case] = ColorSwap({"test": "test.json"}).read(Path()).cases
        >>> {outcome.metric: outcome.right for outcome in case.judge(np.array([[3, 2], [2.5, 1]]))}
        {'text': False, 'image': False, 'group': False}
    """

    name = "colorswap"
    licence = "MIT"
    citation = (
        "Burapacheep et al., ColorSwap: A Color and Word Order Dataset for Multimodal Evaluation, "
        "Findings of ACL 2024, arXiv:2402.04492"
    )
    hub = HUB
    published = (
        Subset(
            "test",
            ("colorswap/test.json", "colorswap/data/test-*.parquet", "colorswap/test-*.parquet"),
            300,
            INSTRUCTIONS,
            chance=CHANCE,
            published={"text": 35.7, "image": 15.0, "group": 12.0},
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each entry or row."""
        if path.suffix == ".parquet":
            for file in shard_paths(path):
                for _, row, images in read_parquet_rows(
                    file, _ColorSwapRow, ("image_1", "image_2")
                ):
                    yield _case(row, images, subset)
            return
        for _, entry in read_list(path, _ColorSwapEntry):
            names = entry.image_1, entry.image_2
            images = tuple(ImageRef("published", str(path.parent / name)) for name in names)
            yield _case(entry, images, subset)


def _case(row: _ColorSwapRow, images: Iterable[ImageRef], subset: str) -> Case:
    texts, match = (row.caption_1, row.caption_2), np.eye(2, dtype=bool)
    return Case(tuple(images), texts, match, "group", subset, str(row.id))
