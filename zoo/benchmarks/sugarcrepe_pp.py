"""SugarCrepe++ (Dumpala et al. 2024): two captions with the same meaning, and a foil."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.images import coco_ref
from zoo.support.schema import read_list

# its files are identical to those of github.com/Sri-Harsha/scpp
HUB = HubDataset("Aman-J/SugarCrepe_pp", "dea2a1b6f9e1069c609f676aa55ec61e9b65fb61")
INSTRUCTIONS = HUB.download_instructions("sugarcrepe_pp")
PUBLISHED = {
    "replace_att": 788,
    "replace_obj": 1652,
    "replace_rel": 1406,
    "swap_att": 666,
    "swap_obj": 245,
}


class _SugarCrepePPEntry(Struct):
    id: int | str
    filename: str
    caption: str
    caption2: str
    negative_caption: str


class SugarCrepePP(PublishedBenchmark):
    """SugarCrepe++: a caption, its paraphrase and a foil (4,757 cases).

    The caption and the paraphrase both have to score above the foil (protocol `all_pos`, called ITT
    by the authors). A tie is wrong. Images are COCO's val2017. In entries 2 and 8 of `swap_obj`,
    the foil equals the caption, so no model can be right.

    Examples:
        Both captions have to score above the foil; here the paraphrase does not:

        >>> import numpy as np
        >>> from pathlib import Path
        >>> from zoo.benchmarks import SugarCrepePP
        >>> _ = Path("swaps.json").write_text('''[{"id": 4, "filename": "000000000139.jpg",
        ... "caption": "a cat sees a dog", "caption2": "a dog is seen by a cat",
        ... "negative_caption": "a dog sees a cat"}]''')
        >>> [case] = SugarCrepePP({"swap_obj": "swaps.json"}, ["swap_obj"]).read(Path()).cases
        >>> case.judge(np.array([[3.0, 1.0, 2.0]]))[0].right
        False
    """

    name = "sugarcrepe_pp"
    licence = "CC BY 4.0"
    citation = "Dumpala et al., SugarCrepe++ Dataset, NeurIPS 2024, arXiv:2406.11171"
    hub = HUB
    published = tuple(
        Subset(
            subset,
            (f"sugarcrepe_pp/{subset}.json", f"sugarcrepe_pp/data/{subset}.json"),
            n,
            INSTRUCTIONS,
            chance={"i2t": 100 / 3},
        )
        for subset, n in PUBLISHED.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each entry: the image, its two captions and the foil."""
        match = np.array([[True, True, False]])
        for place, entry in read_list(path, _SugarCrepePPEntry):
            image = coco_ref(entry.filename, place)
            texts = entry.caption, entry.caption2, entry.negative_caption
            yield Case((image,), texts, match, "all_pos", subset, str(entry.id))


class SugarCrepePPText(PublishedBenchmark):
    """SugarCrepe++ without images: is a caption closer to its paraphrase than to the foil?

    The caption and its paraphrase have to be closer to each other than either of them is to the
    foil (protocol `text_only`, called TOT by the authors). A tie is wrong. Only heads that compute
    one vector per text can be evaluated, such as `Cosine` and `Linear`. Heads that read tokens,
    crops or phrases cannot be evaluated.

    Examples:
        A case has no images; both captions are compared with the paraphrase and the foil:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import SugarCrepePPText
        >>> _ = Path("swaps.json").write_text('''[{"id": 4, "filename": "139.jpg",
        ... "caption": "cat and dog", "caption2": "dog and cat",
        ... "negative_caption": "cat or dog"}]''')
        >>> [case] = SugarCrepePPText({"swap_obj": "swaps.json"}, ["swap_obj"]).read(Path()).cases
        >>> case.images, case.query_texts, case.texts
        ((), ('cat and dog', 'dog and cat'), ('dog and cat', 'cat or dog'))
    """

    name = "sugarcrepe_pp_text"
    licence = SugarCrepePP.licence
    citation = SugarCrepePP.citation
    hub = HUB
    published = tuple(replace(subset, chance={"t2t": 100 / 3}) for subset in SugarCrepePP.published)

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each entry: both captions against the second caption and the foil."""
        match = np.array([[True, False]] * 2)
        for _, entry in read_list(path, _SugarCrepePPEntry):
            asking, texts = (
                (entry.caption, entry.caption2),
                (entry.caption2, entry.negative_caption),
            )
            number = str(entry.id)
            yield Case((), texts, match, "text_only", subset, number, query_texts=asking)
