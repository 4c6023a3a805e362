"""What'sUp (Kamath et al. 2023): the position of an object, to another one or in the image."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta, Struct

from zoo.benchmarks.annotations import unanswerable_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import coco_ref, visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text, read_list

INSTRUCTIONS = download_command("whatsup")
SETS = "sets"
OPTIONS = 4
# prepositions in an image's file name, in pairs of opposites
PREPOSITIONS = {"A": ("left", "right", "on", "under"), "B": ("left", "right", "in-front", "behind")}


class _Source(NamedTuple):
    file: str
    n: int
    published: float
    options: int


SOURCES = {
    "A": _Source("controlled_images_dataset.json", 412, 30.6, OPTIONS),
    "B": _Source("controlled_clevr_dataset.json", 408, 30.9, OPTIONS),
    "COCO-one": _Source("coco_qa_one_obj.json", 2247, 43.3, 2),
    "COCO-two": _Source("coco_qa_two_obj.json", 440, 50.7, 2),
    "VG-one": _Source("vg_qa_one_obj.json", 1160, 46.3, 2),
    "VG-two": _Source("vg_qa_two_obj.json", 291, 47.1, 2),
}


class _ControlledEntry(Struct):
    image_path: Text
    caption_options: Annotated[list[Text], Meta(min_length=OPTIONS)]

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(self.caption_options[:OPTIONS])


class WhatsUp(PublishedBenchmark):
    """What'sUp: texts that differ in a preposition, such as left and right, or on and under.

    In `A` and `B`, each image has to choose its caption among four texts. In the subsets of COCO
    and VG (Visual Genome), each image has to choose between two texts. The protocol is `i2t`. The
    authors list the right text first and take an argmax, so a tie is right. Some published values
    are below chance.

    In `A sets` and `B sets`, a case has four images of the same two objects in four positions. Each
    image has four texts, and chooses only among these (protocol `pairs_and_set`). Metric `set`
    requires that all four images choose their captions. Metric `pair` requires this for two images
    with opposite positions: left and right, or on and under (in `B`, in front and behind).

    If two objects have fewer than four images in the file, these images are left out. A note counts
    the images that are left out. Another note counts the sets in which the four images do not have
    the same texts.

    Examples:
        An entry of COCO with two objects:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import WhatsUp
        >>> _ = Path("two.json").write_text('[[7, "A dog left of a cat", "A dog right of a cat"]]')
        >>> [case] = WhatsUp({"COCO-two": "two.json"}, subsets=["COCO-two"]).read(Path()).cases
        >>> str(case.images[0]), case.texts
        ('coco:7', ('A dog left of a cat', 'A dog right of a cat'))
    """

    name = "whatsup"
    licence = "MIT"
    citation = (
        "Kamath et al., What's 'up' with vision-language models?, EMNLP 2023, arXiv:2310.19785"
    )
    published = (
        *(
            Subset(
                name,
                (f"whatsup/{source.file}",),
                source.n,
                INSTRUCTIONS,
                chance={"i2t": 100 / source.options},
                published={"i2t": source.published},
            )
            for name, source in SOURCES.items()
        ),
        *(
            Subset(
                f"{name} {SETS}",
                (f"whatsup/{SOURCES[name].file}",),
                SOURCES[name].n // OPTIONS,
                INSTRUCTIONS,
                chance={"pair": 100 / OPTIONS**2, "set": 100 / OPTIONS**4},
            )
            for name in PREPOSITIONS
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns the cases of a subset; the right text comes first and wins a tie."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset, with notes on sets and options that are left out."""
        name, _, sets = subset.partition(" ")
        if name not in PREPOSITIONS:
            cases = list(_two_option_cases(path, subset))
            return Contents(cases, [path], [], unanswerable_note(subset, cases))
        entries = list(read_list(path, _ControlledEntry))
        if sets:
            return _set_contents(entries, path, subset)
        cases = list(_four_option_cases(entries, path, subset))
        notes = unanswerable_note(subset, cases)
        n_more = sum(len(entry.caption_options) > OPTIONS for _, entry in entries)
        if n_more:
            notes[f"{subset} options"] = (
                f"{n_more:,} images with more than four options: the first four are used"
            )
        return Contents(cases, [path], [], notes)


def _two_option_cases(path: Path, subset: str) -> Iterator[Case]:
    match = np.array([[True, False]])
    for i, (place, (number, *texts)) in enumerate(read_list(path, tuple[int | str, Text, Text])):
        image = (
            coco_ref(f"{number:0>12}.jpg", place)
            if subset.startswith("COCO")
            else visual_genome_ref(f"{number}.jpg", place)
        )
        yield Case((image,), tuple(texts), match, "i2t", subset, str(i), right_listed_first=True)


def _four_option_cases(
    entries: Iterable[tuple[str, _ControlledEntry]], path: Path, subset: str
) -> Iterator[Case]:
    match = np.arange(OPTIONS)[None] == 0
    for _, entry in entries:
        image, name = _image(entry, path, subset), PurePosixPath(entry.image_path).stem
        yield Case((image,), entry.options, match, "i2t", subset, name, right_listed_first=True)


def _set_contents(
    entries: Iterable[tuple[str, _ControlledEntry]], path: Path, subset: str
) -> Contents:
    prepositions = PREPOSITIONS[subset.partition(" ")[0]]
    by_objects: dict[str, dict[str, _ControlledEntry]] = defaultdict(dict)
    for place, entry in entries:
        objects, preposition = _object_pair_and_preposition(entry, place, prepositions)
        by_objects[objects][preposition] = entry
    match = np.kron(np.eye(OPTIONS, dtype=int), np.arange(OPTIONS)[None] == 0).astype(bool)
    cases, n_incomplete, n_other = [], 0, 0
    for objects, images in by_objects.items():
        if len(images) < OPTIONS:
            n_incomplete += len(images)
            continue
        set_entries = [images[preposition] for preposition in prepositions]
        n_other += len({frozenset(entry.options) for entry in set_entries}) > 1
        cases.append(
            Case(
                images=tuple(_image(entry, path, subset) for entry in set_entries),
                texts=tuple(chain.from_iterable(entry.options for entry in set_entries)),
                match=match,
                protocol="pairs_and_set",
                subset=subset,
                id=objects,
                right_listed_first=True,
            )
        )
    counts = {
        "incomplete": (n_incomplete, "images of objects that have fewer than four images"),
        "captions": (n_other, "sets whose images have different options"),
    }
    notes = {
        f"{subset} {kind}": f"{n:,} {description}" for kind, (n, description) in counts.items() if n
    }
    return Contents(cases, [path], [], notes)


def _object_pair_and_preposition(
    entry: _ControlledEntry, place: str, prepositions: tuple[str, ...]
) -> tuple[str, str]:
    """Returns the two objects of an image and its preposition, from its file name."""
    first_object, *middle_words, second_object = PurePosixPath(entry.image_path).stem.split("_")
    if not middle_words or middle_words[0] not in prepositions:
        raise ZooError(
            f"{place}: {entry.image_path!r} does not have a preposition "
            f"({', '.join(prepositions)}) "
            "between two objects: download the file again"
        )
    return f"{first_object}_{second_object}", middle_words[0]


def _image(entry: _ControlledEntry, path: Path, subset: str) -> ImageRef:
    folder = "controlled_images" if subset.startswith("A") else "controlled_clevr"
    return ImageRef("published", str(path.parent / folder / PurePosixPath(entry.image_path).name))
