"""BLA (Chen et al. 2023): true and false captions with voice, coordination, relative clauses."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import unanswerable_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.images import visual_genome_ref
from zoo.support.schema import read_list

INSTRUCTIONS = download_command("bla")
# subset: the prefix of its file, and the number of cases, two per entry
PUBLISHED = {
    "ap": ("active_passive", 2 * 613),
    "co": ("coordination", 2 * 654),
    "rc": ("relative_clause", 2 * 672),
}


class _Group(Struct, rename="pascal"):
    true1: str
    true2: str
    false1: str
    false2: str


class _BLAEntry(Struct):
    index: int
    image_id: int | str | None = None
    caption_group: tuple[_Group, ...] = ()


class BLA(PublishedBenchmark):
    """BLA: captions with active and passive voice, coordination and relative clauses (3,878 cases).

    The subsets are `ap` (active and passive voice), `co` (coordination) and `rc` (relative
    clauses). An entry of a file has an image, two true captions and two false captions. zoo makes
    two cases from an entry. Each case has a true and a false
    caption of the same type, such as both in passive voice. The protocol
    is `i2t`, and a tie is wrong.

    Cases and protocol are those of the CS-CLIP paper (Kargi et al., 2026). The code of BLA's
    authors ranks all four captions and reports no accuracy. Images are from Visual Genome. Entries
    without an image or without captions are left out, and a note reports their number.

    Examples:
        An entry makes two cases:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import BLA
        >>> _ = Path("voices.json").write_text('''[{"image_id": 7, "index": 3, "caption_group": [
        ... {"True1": "a man holds a cat", "False1": "a cat holds a man",
        ... "True2": "a cat is held by a man", "False2": "a man is held by a cat"}]}]''')
        >>> [case.texts[1] for case in BLA({"ap": "voices.json"}, ["ap"]).read(Path()).cases]
        ['a cat holds a man', 'a man is held by a cat']
    """

    name = "bla"
    licence = "MIT"
    citation = "Chen et al., The BLA Benchmark, EMNLP 2023, arXiv:2310.15061"
    published = tuple(
        Subset(subset, (f"bla/{file}_captions.json",), n, INSTRUCTIONS, chance={"i2t": 50.0})
        for subset, (file, n) in PUBLISHED.items()
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns two cases for each entry: the image, a true caption and a false one."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases, with a note on the number of entries without an image or captions."""
        match, cases, n_incomplete = np.array([[True, False]]), [], 0
        for place, entry in read_list(path, _BLAEntry):
            if entry.image_id is None or not entry.caption_group:
                n_incomplete += 1
                continue
            image = visual_genome_ref(f"{entry.image_id}.jpg", place)
            group = entry.caption_group[0]
            pairs = (group.true1, group.false1), (group.true2, group.false2)
            cases += [
                Case((image,), texts, match, "i2t", subset, f"{entry.index}-{k}")
                for k, texts in enumerate(pairs, 1)
            ]
        notes = unanswerable_note(subset, cases)
        if n_incomplete:
            notes[f"{subset} omitted"] = f"{n_incomplete:,} entries without an image or captions"
        return Contents(cases, [path], [], notes)
