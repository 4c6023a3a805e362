"""VisMin (Awal et al. 2024): two images and two captions with one minimal difference."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import check_kind
from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.parquet_rows import read_parquet_rows, shard_paths
from zoo.benchmarks.protocols.group import CHANCE
from zoo.benchmarks.published import PublishedBenchmark

HUB = HubDataset("mair-lab/vismin-bench", "496293372f53df900b502f12f133fc5cad5d499a")
CASES = {"object": 579, "attribute": 294, "counting": 589, "relation": 622}


class _VisMinRow(Struct):
    id: int | str
    category: str
    text_0: str
    text_1: str


class VisMin(PublishedBenchmark):
    """VisMin: two images and their captions, with one minimal difference (2,084 cases).

    The difference is an object, an attribute, a count or a spatial relation. One image of a case is
    from COCO or was generated. The other image is an edit of this image by a diffusion model.

    Protocol `group` reports three metrics. Metric `text` requires that each image chooses its
    caption. Metric `image` requires that each caption chooses its image. Metric `group` requires
    both. A tie is wrong. Publications report the mean of the four subsets. The annotation files
    include the images. zoo's code that reads these files was written without access to the
    published captions.

    Examples:
        The numbers of pairs per kind of change:

        >>> from zoo.benchmarks import VisMin
        >>> {subset.name: subset.n for subset in VisMin().subsets}
        {'object': 579, 'attribute': 294, 'counting': 589, 'relation': 622}
    """

    name = "vismin"
    licence = "CC BY 4.0"
    citation = (
        "Awal et al., VisMin: Visual Minimal-Change Understanding, NeurIPS 2024, arXiv:2407.16772"
    )
    hub = HUB
    published = tuple(
        Subset(
            category,
            ("vismin/data/test-*.parquet", "vismin/test-*.parquet"),
            n,
            HUB.download_instructions("vismin"),
            chance=CHANCE,
        )
        for category, n in CASES.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each row of the category."""
        for file in shard_paths(path):
            for place, row, images in read_parquet_rows(file, _VisMinRow, ("image_0", "image_1")):
                if check_kind(row.category, CASES, place) == subset:
                    texts = row.text_0, row.text_1
                    match = np.eye(2, dtype=bool)
                    yield Case(images, texts, match, "group", subset, str(row.id))
