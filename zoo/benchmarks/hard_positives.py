"""Hard Positives (Kamath et al. 2024): a caption, a paraphrase of it, and a foil."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import unanswerable_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import read_list

INSTRUCTIONS = download_command("hard_positives")
FILES = {
    "replace_att": "vl_checklist_attributes.json",
    "replace_rel": "vl_checklist_relations.json",
    "swap": "visual_genome_attribution.json",
}
POSITIVES = "swapped_data"


class _HardPositivesEntry(Struct):
    image_path: str
    true_caption: str
    false_caption: str
    bbox_x: float | None = None
    bbox_y: float | None = None
    bbox_w: float | None = None
    bbox_h: float | None = None


class HardPositives(PublishedBenchmark):
    """Hard Positives: a caption, a paraphrase of it (hard positive) and a foil.

    Captions and foils are from VL-CheckList (`replace_att`, `replace_rel`) and ARO (`swap`). The
    protocol is `hard_positive`. For metric `original`, the foil has to score below the caption. For
    metric `augmented`, the foil has to score below the caption and the hard positive. Metric
    `brittleness` is how often the foil scores between the caption and the hard positive, so lower
    values are better. A tie is wrong in the first two metrics, and is not counted as brittle.

    Folder `data` contains the captions. Folder `swapped_data` contains the hard positives in the
    same order. Both folders also contain foils. If the two foils of a case differ, `augmented` and
    `brittleness` use the foil in `swapped_data`.

    Images are from Visual Genome. In `swap`, the images are cropped to boxes, as in ARO. The files
    of `swap` were not available. zoo reads them as the authors' script does, but this is untested.

    Examples:
        The caption, its hard positive from a second file, and their foil:

        >>> import json
        >>> from pathlib import Path
        >>> from zoo.benchmarks import HardPositives
        >>> for folder, caption in (("data", "a small dog"), ("swapped_data", "a little dog")):
        ...     Path(folder).mkdir()
        ...     entry = dict(image_path="5.jpg", true_caption=caption, false_caption="a large dog")
        ...     _ = Path(folder, "dogs.json").write_text(json.dumps([entry]))
        >>> HardPositives({"swap": "data/dogs.json"}, ["swap"]).read(Path()).cases[0].texts
        ('a small dog', 'a little dog', 'a large dog')
    """

    name = "hard_positives"
    licence = "none stated"
    citation = (
        "Kamath et al., The Hard Positive Truth about Vision-Language Compositionality, ECCV 2024, "
        "arXiv:2409.17958"
    )
    published = tuple(
        Subset(subset, (f"hard_positives/data/{file}",), None, INSTRUCTIONS)
        for subset, file in FILES.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each entry: the image, a caption, its hard positive and the foil."""
        positives = list(read_list(_positives_path(path), _HardPositivesEntry))
        entries = list(read_list(path, _HardPositivesEntry))
        if len(entries) != len(positives):
            raise ZooError(
                f"{_positives_path(path)} has {len(positives):,} entries and {path} has "
                f"{len(entries):,}, but both need the same number: download both again"
            )
        pairs = zip(entries, positives, strict=True)
        for i, ((place, entry), (positive_place, positive)) in enumerate(pairs):
            if entry.image_path != positive.image_path:
                raise ZooError(
                    f"{positive_place} is about image {positive.image_path}, but {place} is about "
                    f"{entry.image_path}: download both files again"
                )
            foils = dict.fromkeys((entry.false_caption, positive.false_caption))
            texts = (entry.true_caption, positive.true_caption, *foils)
            match = np.array([[True, True, *(False for _ in foils)]])
            yield Case((_image(entry, place),), texts, match, "hard_positive", subset, str(i))

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases, which come from a file of captions and a file of hard positives."""
        cases = list(self.cases(path, subset))
        notes = unanswerable_note(subset, cases)
        return Contents(cases, [path, _positives_path(path)], [], notes)


def _positives_path(path: Path) -> Path:
    positives_path = path.parent.parent / POSITIVES / path.name
    if not positives_path.is_file():
        raise ZooError(
            f"{path} needs the hard positives in {positives_path}, which does not exist: "
            "download it"
        )
    return positives_path


def _image(entry: _HardPositivesEntry, place: str) -> ImageRef:
    image = visual_genome_ref(entry.image_path, place)
    box = entry.bbox_x, entry.bbox_y, entry.bbox_w, entry.bbox_h
    if None in box:
        return image
    left, top, width, height = (int(n) for n in box if n is not None)
    return replace(image, crop=(left, top, width, height))
