"""NaturalBench-Retrieval (Li et al. 2024): two photographs that CLIP confuses, and their captions.

The format and the rule are those of `naturalbench_retrieval.py` in
github.com/Baiqi-Li/NaturalBench at 9967605.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.protocols.group import CHANCE
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text, read_list

HUB = HubDataset("BaiqiL/NaturalBench", "b6a84a18ba24544169681d4b15543dd103d4d3bb")
FOLDER = "NaturalBench-Retrieval"


class _Pair(Struct):
    index: int
    image_0: Text
    image_1: Text
    caption_0: Text
    caption_1: Text


class NaturalBench(PublishedBenchmark):
    """NaturalBench-Retrieval: two photographs that CLIP models confuse, and two captions.

    Protocol `group` reports three metrics. Metric `text` requires that each photograph chooses its
    caption. Metric `image` requires that each caption chooses its photograph. Metric `group`
    requires both. A tie is wrong.

    The photographs are from Flickr30k. zoo expects them in folder `images` next to the annotations.
    According to the paper, there are about 1,200 cases. The published values are from Table 7 of
    the paper.

    The authors used OpenCLIP's ViT-L/14 (LAION-400M) and BLIP-2 to find cases that confuse models,
    so do not compare these two models with others. NaturalBench also has questions for generative
    models, which zoo does not read.

    Examples:
        Both captions prefer the first photograph, so that only the text score can be right:

        >>> import numpy as np
        >>> from pathlib import Path
        >>> from zoo.benchmarks import NaturalBench
        >>> _ = Path("metadata.json").write_text('''[{"index": 0, "image_0": "a.jpg",
        ... "image_1": "b.jpg", "caption_0": "a man on a bench", "caption_1": "a bench"}]''')
        >>> [case] = NaturalBench({"retrieval": "metadata.json"}).read(Path()).cases
        >>> {outcome.metric: outcome.right for outcome in case.judge(np.array([[4.0, 3], [1, 2]]))}
        {'text': True, 'image': False, 'group': False}
    """

    name = "naturalbench"
    licence = "Apache-2.0"
    citation = (
        "Li et al., NaturalBench: Evaluating Vision-Language Models on Natural Adversarial "
        "Samples, NeurIPS 2024, arXiv:2410.14669"
    )
    hub = HUB
    published = (
        Subset(
            "retrieval",
            tuple(f"{folder}metadata.json" for folder in (f"naturalbench/{FOLDER}/", f"{FOLDER}/")),
            None,
            HUB.download_instructions("naturalbench"),
            chance=CHANCE,
            published={"text": 36.92, "image": 36.43, "group": 15.89},  # Table 7
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each pair."""
        match = np.eye(2, dtype=bool)
        for _, pair in read_list(path, _Pair):
            images = tuple(
                ImageRef("published", str(path.parent / "images" / name))
                for name in (pair.image_0, pair.image_1)
            )
            texts = pair.caption_0, pair.caption_1
            yield Case(images, texts, match, "group", subset, str(pair.index))
