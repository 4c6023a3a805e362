"""ComVG (Jiang et al. 2024): the task of SVO-Probes on photographs of Visual Genome."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import check_kind
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.csv_rows import read_csv
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.benchmarks.svo_probes import repetition_notes
from zoo.sources.images import visual_genome_ref
from zoo.support.schema import Text

INSTRUCTIONS = download_command("comvg")
CASES = {"subject": 1536, "verb": 1280, "object": 2584}


class _ComVGRow(Struct):
    id: Text
    sentence: Text
    pos_image_id: Text
    neg_image_id: Text
    neg_value: str


class ComVG(PublishedBenchmark):
    """ComVG: a sentence, and two images that differ in subject, verb or object (5,400 cases).

    The sentence has to choose its image, as in `svo_probes`. The images are 524 photographs of
    Visual Genome. The protocol is `t2i`, and a tie is wrong. In the published file, 78 rows repeat
    another row. In 75 rows, the right image is also the wrong image in another row with the same
    sentence. Notes report these numbers per subset.

    Examples:
        A row, in which the first image is the one of the sentence:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import ComVG
        >>> _ = Path("comvg.csv").write_text('''id,sentence,pos_image_id,neg_image_id,neg_value
        ... 7,a man rides a horse,21,22,subject''')
        >>> [case] = ComVG({"subject": "comvg.csv"}, subsets=["subject"]).read(Path()).cases
        >>> [str(image) for image in case.images], case.texts
        (['visual_genome:21', 'visual_genome:22'], ('a man rides a horse',))
    """

    name = "comvg"
    licence = "MIT"
    citation = (
        "Jiang et al., ComCLIP: Training-Free Compositional Image and Text Matching, NAACL 2024, "
        "arXiv:2211.13854"
    )
    published = tuple(
        Subset(kind, ("comvg/ComVG.csv",), n, INSTRUCTIONS, chance={"t2i": 50.0})
        for kind, n in CASES.items()
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Yields a case for each row of the kind."""
        match = np.array([[True], [False]])
        for place, row in read_csv(path, _ComVGRow):
            if check_kind(row.neg_value, CASES, place) == subset:
                numbers = row.pos_image_id, row.neg_image_id
                images = tuple(visual_genome_ref(f"{number}.jpg", place) for number in numbers)
                yield Case(images, (row.sentence,), match, "t2i", subset, row.id)

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a kind, with notes on rows that repeat or contradict others."""
        cases = list(self.cases(path, subset))
        return Contents(cases, [path], [], repetition_notes(subset, cases))
