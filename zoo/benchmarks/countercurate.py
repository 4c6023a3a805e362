"""CounterCurate (Zhang et al. 2024): positions in Flickr30k, and counts in Visual Genome.

The formats and rules are those of `benchmark/CLIP_test_position.py`,
`benchmark/prep_count_benchmark.py` and `benchmark/CLIP_test_counting.py` in
github.com/HanSolo9682/CounterCurate at fccfc4e.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import numpy as np
from msgspec import Struct

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.csv_rows import read_csv
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import flickr_ref, visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import DOWNLOAD_AGAIN, Text, read_object

HUB = HubDataset(
    "HanSolo9682/Flickr30k-Counterfactuals", "200f5965d7c1e894dcd64887dbf8d58c80f549b9"
)
POSITIONS = {"left_right": "test_left_right_.csv", "up_down": "test_up_down_.csv"}
COUNTING = "counting"
IMAGES = "train_data"  # the folder of images in the authors' archive and in their paths
CHANCE = {"i2t": 50.0}
POSITION_INSTRUCTIONS = (
    f"{download_command('countercurate')}; ask for Flickr30k's images at "
    "shannon.cs.illinois.edu/DenotationGraph, put them into DATA_ROOT/flickr30k, and run the "
    "authors' datasets/prepare_training_data.py (github.com/HanSolo9682/CounterCurate), which "
    "writes the mirrored images into train_data/left_right/neg"
)
COUNTING_INSTRUCTIONS = (
    f"{download_command('countercurate:counting')}; the images are Visual Genome's"
)


class _PositionRow(Struct):
    captions: Text
    images: Text
    neg_captions: Text
    neg_images: Text


class _Question(Struct):
    id: int | Text
    obj_type: Text
    ans: int | Text


class CounterCurate(PublishedBenchmark):
    """CounterCurate: left and right, above and below, and how many.

    A case of `left_right` and `up_down` has a photograph of Flickr30k, a counterfactual image
    (mirrored, or made by GLIGEN), and a caption for each; the published accuracy is over both
    images. A case of `counting` has a photograph of Visual Genome, with the right number of objects
    and the next higher one in a sentence. Protocol `i2t`; a tie is wrong. Counterfactual images are
    in `countercurate/train_data`; photographs are read from Flickr30k.

    As in the authors' code, `counting` leaves out images with two questions about one kind of
    object. The right number is always the lower one, so a rule that reads only the texts has 100 %.
    The authors split rows, not photographs, into training and test data. Flickr30k-Counting and
    Flickr30k-Attributes have no published test. The authors' values are for OpenCLIP's ViT-B/32.

    Examples:
        An image is left out if two of its questions are about the same kind of object:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import CounterCurate
        >>> _ = Path("looktwice.json").write_text('''{"7": [
        ... {"id": "7", "obj_type": "dogs", "ans": "2"}], "8": [
        ... {"id": "8", "obj_type": "cups", "ans": "1"}, {"id": "8", "obj_type": "cups", "ans": "3"}
        ... ]}''')
        >>> [case] = CounterCurate({"counting": "looktwice.json"}, ["counting"]).read(Path()).cases
        >>> case.texts
        ('there are 2 dogs in the image.', 'there are 3 dogs in the image.')
    """

    name = "countercurate"
    licence = "a Creative Commons licence without a stated version; counting: none stated"
    citation = (
        "Zhang et al., CounterCurate: Enhancing Physical and Semantic Visio-Linguistic "
        "Compositional Reasoning via Counterfactual Examples, Findings of ACL 2024, "
        "arXiv:2402.13254"
    )
    hub = HUB
    published = (
        *(
            Subset(
                subset,
                (f"countercurate/clip_sample_data/{file}", f"countercurate/{file}"),
                None,
                POSITION_INSTRUCTIONS,
                chance=CHANCE,
            )
            for subset, file in POSITIONS.items()
        ),
        Subset(
            COUNTING,
            ("countercurate/looktwiceqa_dataset.json",),
            None,
            COUNTING_INSTRUCTIONS,
            chance=CHANCE,
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each pair of images, or for each question about a number."""
        if subset == COUNTING:
            yield from _counting_cases(path)
            return
        match = np.eye(2, dtype=bool)
        for i, (place, row) in enumerate(read_csv(path, _PositionRow, separator="\t")):
            images = tuple(_image(text, place) for text in (row.images, row.neg_images))
            yield Case(images, (row.captions, row.neg_captions), match, "i2t", subset, str(i))


def _image(text: str, place: str) -> ImageRef:
    """Returns the image of a path that ends in train_data/SUBSET/pos/NAME, or neg/NAME."""
    folders = PurePosixPath(text).parts
    if IMAGES not in folders:
        raise ZooError(f"{place}: the path {text!r} has no folder {IMAGES}: {DOWNLOAD_AGAIN}")
    inner = folders[len(folders) - folders[::-1].index(IMAGES) :]
    if inner[-2:-1] == ("pos",):  # a copy of Flickr30k's image
        return flickr_ref(inner[-1])
    return ImageRef("published", PurePosixPath("countercurate", IMAGES, *inner).as_posix())


def _counting_cases(path: Path) -> Iterator[Case]:
    match = np.array([[True, False]])
    for image, questions in _questions_by_image(read_object(path, list[_Question])).items():
        for place, question in questions:
            kind, count = question.obj_type, str(question.ans)
            if not count.strip().isdecimal():
                raise ZooError(
                    f"{place}: field 'ans' is {count!r}, not a whole number: {DOWNLOAD_AGAIN}"
                )
            texts = tuple(
                f"there are {number} {kind} in the image." for number in (count, int(count) + 1)
            )
            reference = visual_genome_ref(f"{image}.jpg", place)
            yield Case((reference,), texts, match, "i2t", COUNTING, f"{image} {kind}")


def _questions_by_image(
    entries: Iterable[tuple[str, str, list[_Question]]],
) -> dict[str, list[tuple[str, _Question]]]:
    """Returns the questions of each image, without images with two questions about one kind."""
    questions_by_image: dict[str, list[tuple[str, _Question]]] = {}
    for place, _, questions in entries:
        for question in questions:
            questions_by_image.setdefault(str(question.id), []).append((place, question))
    return {
        image: questions
        for image, questions in questions_by_image.items()
        if len({question.obj_type for _, question in questions}) == len(questions)
    }
