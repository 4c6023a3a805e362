"""COLA's multi-object set (Ray et al. 2023): two images, two captions with other attributes."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.protocols.group import CHANCE
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.images import visual_genome_ref
from zoo.support.schema import Text, read_list

INSTRUCTIONS = download_command("cola")


class COLA(PublishedBenchmark):
    """COLA, multi-object: two images, and two captions with different attributes (210 cases).

    The protocol is `group`, and a tie is wrong. COLA's authors report metric `image`: each caption
    has to choose its image. In 200 of the 210 cases, the two captions do not consist of the same
    words. The published values are from the CS-CLIP paper (Kargi et al., 2026). Images are from
    Visual Genome.

    Examples:
        Scores that give each text its image, but not each image its text:

        >>> import numpy as np
        >>> from pathlib import Path
        >>> from zoo.benchmarks import COLA
        >>> _ = Path("cola.json").write_text('[["1.jpg", "tall tree", "2.jpg", "short tree"]]')
        >>> [case] = COLA({"multi": "cola.json"}).read(Path()).cases
        >>> {outcome.metric: outcome.right for outcome in case.judge(np.array([[3.0, 4], [2, 5]]))}
        {'text': False, 'image': True, 'group': False}
    """

    name = "cola"
    licence = "MIT"
    citation = (
        "Ray et al., Cola: A Benchmark for Compositional Text-to-image Retrieval, NeurIPS 2023, "
        "arXiv:2305.03689"
    )
    published = (
        Subset(
            "multi",
            ("cola/COLA_multiobjects_matching_benchmark.json",),
            210,
            INSTRUCTIONS,
            chance=CHANCE,
            published={"text": 41.9, "image": 22.4, "group": 14.8},
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each row: two links to images of Visual Genome, each with a caption."""
        match = np.eye(2, dtype=bool)
        for i, (place, row) in enumerate(read_list(path, tuple[Text, Text, Text, Text])):
            images = tuple(visual_genome_ref(link, place) for link in row[::2])
            yield Case(images, row[1::2], match, "group", subset, str(i))
