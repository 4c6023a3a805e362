"""BiVLC (Miranda et al. 2024): SugarCrepe's captions and foils, and an image made for each foil."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import check_kind
from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.parquet_rows import read_parquet_rows, shard_paths
from zoo.benchmarks.protocols import directed, group
from zoo.benchmarks.published import PublishedBenchmark

HUB = HubDataset("imirandam/BiVLC", "0c504074819f3fa83d5d3f37018f8b43c05bda82")
IMAGES = ("image", "negative_image")
METRICS = (*group.METRICS, *directed.TEXT_OF, *directed.IMAGE_OF)
CHANCE = dict.fromkeys(METRICS, 50.0) | group.CHANCE
# subset: number of cases, and OpenAI ViT-B/32's scores (as METRICS) in the authors' results file
PUBLISHED = {
    "add_att": (76, (47.4, 25.0, 22.4, 67.1, 76.3, 52.6, 72.4)),
    "add_obj": (399, (74.7, 48.4, 42.9, 80.7, 92.7, 67.9, 80.2)),
    "replace_att": (437, (77.8, 47.8, 45.3, 85.1, 91.1, 68.4, 78.9)),
    "replace_obj": (1200, (92.0, 76.2, 73.4, 93.8, 98.2, 84.3, 91.8)),
    "replace_rel": (462, (60.4, 31.0, 26.6, 79.2, 78.1, 54.5, 75.5)),
    "swap_att": (278, (46.8, 17.3, 14.7, 65.8, 73.4, 41.4, 74.8)),
    "swap_obj": (81, (45.7, 12.3, 9.9, 66.7, 69.1, 50.6, 61.7)),
}


class _BiVLCRow(Struct):
    caption: str
    negative_caption: str
    type: str
    subtype: str


class BiVLC(PublishedBenchmark):
    """BiVLC: a caption with its image, and a foil with a generated image (2,933 cases).

    Captions and foils are SugarCrepe's, with changes in wording. The protocol is `directed`, and a
    tie is wrong. Metric `text` (I2T in the paper) requires that both images choose their texts.
    Metric `image` (T2I) requires that both texts choose their images. Metric `group` requires all
    four choices. Each other metric counts one choice: that of the original image (`i_pos2t`), of
    the generated image (`i_neg2t`), of the caption (`t_pos2i`) or of the foil (`t_neg2i`).

    The published values are computed from the authors' results per case. Over all cases, ViT-B/32
    reaches 75.8 % (`text`), 52.4 % (`image`) and 49.1 % (`group`). The annotation files include the
    images.

    Examples:
        The metrics, and two published values of OpenAI's ViT-B/32:

        >>> from zoo.benchmarks import BiVLC
        >>> published = BiVLC(subsets=["swap_att"]).subsets[0].published
        >>> list(published)
        ['text', 'image', 'group', 'i_pos2t', 'i_neg2t', 't_pos2i', 't_neg2i']
        >>> published["i_pos2t"], published["t_pos2i"]
        (65.8, 41.4)
    """

    name = "bivlc"
    licence = "MIT"
    citation = (
        "Miranda et al., BiVLC: Extending Vision-Language Compositionality Evaluation with "
        "Text-to-Image Retrieval, NeurIPS 2024, arXiv:2406.09952"
    )
    hub = HUB
    published = tuple(
        Subset(
            subset,
            ("bivlc/data/test-*.parquet", "bivlc/test-*.parquet"),
            n,
            HUB.download_instructions("bivlc"),
            chance=CHANCE,
            published=dict(zip(METRICS, values, strict=True)),
        )
        for subset, (n, values) in PUBLISHED.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each row of the subset."""
        table = (
            record
            for file in shard_paths(path)
            for record in read_parquet_rows(file, _BiVLCRow, IMAGES)
        )
        for i, (place, row, images) in enumerate(table):
            if check_kind(f"{row.type}_{row.subtype}", PUBLISHED, place) == subset:
                texts = row.caption, row.negative_caption
                yield Case(images, texts, np.eye(2, dtype=bool), "directed", subset, str(i))
