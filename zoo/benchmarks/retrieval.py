"""Retrieval: every image against every caption of a test split, in both directions."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from zoo.benchmarks.annotations import case_count_notes, find_annotation_file
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.benchmarks.blip_captions import read_blip_captions
from zoo.benchmarks.download_commands import download_command
from zoo.errors import ZooError, suggest_names
from zoo.negatives.aro import pre_caption
from zoo.sources.readers.base import Reader
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.remote_files import is_url
from zoo.sources.sample import ImageRef

Pair = tuple[ImageRef, str]
ASK_FOR_IMAGES = (
    "request the images at shannon.cs.illinois.edu/DenotationGraph and put them into DATA_ROOT"
)


def _recall_values(*values: float) -> dict[str, float]:
    """Returns the recalls of OpenAI's ViT-B/32 by metric, as measured by vl_compo.

    Args:
        *values: Text recall at 1, 5 and 10 and image recall at 1, 5 and 10, in per cent.
    """
    return dict(
        zip((f"{side}_r@{k}" for side in ("i2t", "t2i") for k in (1, 5, 10)), values, strict=True)
    )


SUBSETS = {
    subset.name: subset
    for subset in (
        Subset(
            "coco_karpathy",
            ("aro/coco_karpathy_test.json", "coco/dataset_coco.json", "dataset_coco.json"),
            5_000,
            download_command("retrieval:coco_karpathy"),
            published=_recall_values(50.12, 75.0, 83.54, 30.45, 55.97, 66.86),
        ),
        Subset(
            "flickr30k",
            (
                "aro/flickr30k_test.json",
                "flickr30k/dataset_flickr30k.json",
                "dataset_flickr30k.json",
            ),
            1_000,
            f"{download_command('retrieval:flickr30k')}; {ASK_FOR_IMAGES}/flickr30k",
            published=_recall_values(78.8, 94.9, 98.2, 58.76, 83.5, 90.04),
        ),
        Subset(
            "flickr8k",
            ("flickr8k/Flickr8k.token.txt",),
            1_000,
            f"{download_command('retrieval:flickr8k')}; {ASK_FOR_IMAGES}/flickr8k/images",
        ),
    )
}


class Retrieval(Benchmark):
    """Caption retrieval: recall at 1, 5 and 10, from image to text and from text to image.

    All images and captions of a test split form one gallery, with protocol `retrieval`. In the
    table, the number of cases is the number of images. All captions of an image are right for this
    image. Captions of other images are wrong, even if they have the same words. In a tie, the wrong
    answer ranks first. The published values are from vl_compo. The captions of COCO and Flickr30k
    are in folder `aro`, because benchmark `aro` uses them too.

    If some of the images are missing, the gallery is smaller, so recall is too high. In this case,
    the results report the missing images and show no published values. Most averages that include
    the recall are then not reported.

    The heads `MaxSim`, `CrossModal`, `TextConditionedPooling`, `ComCLIP` and `StructureGuided` are
    too slow to score all pairs. These heads only rank a short list of candidates: for each image,
    the 32 texts with the highest cosines, and for each text, the 32 images with the highest
    cosines. `--data.shortlist` sets another number than 32. A right answer that is not on the list
    counts as wrong.

    Args:
        source: The captions: coco_karpathy, flickr30k, flickr8k, the path of a caption file, or a
            class that reads captions (`zoo ls readers`). By default, the first three.
        pre_caption: Whether captions are cleaned before they are encoded, as in the code of BLIP
            and ARO: they are lower-cased, each of . ! " ( ) * # : ; ~ becomes a space, and only the
            first 30 words are kept. If captions are cleaned, the results show no published values.

    Examples:
        Images and captions of a table, ranked by scores that always prefer the first caption:

        >>> import numpy as np
        >>> from pathlib import Path
        >>> from zoo.benchmarks import Retrieval
        >>> _ = Path("captions.csv").write_text('''filepath,title
        ... 1.jpg,a cat
        ... 2.jpg,a dog''')
        >>> [case] = Retrieval("captions.csv").read(Path()).cases
        >>> [o.right for o in case.judge(np.array([[2.0, 1], [2, 1]])) if o.metric == "i2t_r@1"]
        [True, False]
    """

    name = "retrieval"
    licence = (
        "COCO's captions: CC BY 4.0; Flickr8k: only research and education; Flickr30k: not checked"
    )
    citation = (
        "Karpathy and Fei-Fei, Deep Visual-Semantic Alignments for Generating Image Descriptions, "
        "CVPR 2015, arXiv:1412.2306"
    )
    colon_argument = "source"

    def __init__(self, source: str | Reader | None = None, pre_caption: bool = False) -> None:
        if isinstance(source, str) and source not in SUBSETS:
            if not Path(source).exists() and not is_url(source):
                raise ZooError(
                    f"retrieval has no source {source!r}{suggest_names(source, SUBSETS)}: name one "
                    f"of {', '.join(SUBSETS)}, or the path of a caption file"
                )
            source = guess_reader(source)
        self.source, self.pre_caption = source, pre_caption

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen sources, one subset each."""
        if isinstance(self.source, Reader):
            instructions = "set the path of the captions in the reader"
            return (
                Subset(
                    type(self.source).__name__,
                    tuple(map(str, self.source.files)),
                    None,
                    instructions,
                ),
            )
        sources = SUBSETS.values() if self.source is None else (SUBSETS[self.source],)
        return tuple(replace(s, published={}) if self.pre_caption else s for s in sources)

    def read(self, root: Path) -> Contents:
        """Returns a case for each source whose captions exist."""
        if isinstance(self.source, Reader):
            pairs = _reader_pairs(self.source)
            case = gallery(self.subsets[0].name, self._clean(pairs))
            return Contents([case], list(self.source.files), [], self._cleaning_note())
        contents, counts = Contents([], [], []), []
        for subset in self.subsets:
            path = find_annotation_file(root, subset)
            if path is None:
                contents.missing_subsets.append(subset)
                continue
            pairs, files = (
                _flickr8k_pairs(path) if subset.name == "flickr8k" else (_test_pairs(path), [path])
            )
            case = gallery(subset.name, self._clean(pairs))
            counts.append((subset, len(case.images)))
            contents.cases.append(case)
            contents.files.extend(files)
        notes = case_count_notes(counts)
        contents.notes.update({key: f"{note} (images)" for key, note in notes.items()})
        contents.notes.update(self._cleaning_note())
        return contents

    def _clean(self, pairs: list[Pair]) -> list[Pair]:
        if not self.pre_caption:
            return pairs
        return [(image, pre_caption(caption)) for image, caption in pairs]

    def _cleaning_note(self) -> dict[str, str]:
        return {"captions": "cleaned by pre_caption"} if self.pre_caption else {}


def _reader_pairs(reader: Reader) -> list[Pair]:
    return [(sample.image, sample.caption) for sample in reader.read()]


def _flickr8k_pairs(path: Path) -> tuple[list[Pair], list[Path]]:
    names = path.with_name("Flickr_8k.testImages.txt")
    if not names.is_file():
        raise ZooError(
            f"{path.parent} has no {names.name}, which lists the test split: "
            "it is distributed with the captions"
        )
    return _reader_pairs(FlickrToken(path, names)), [path, names]


def _test_pairs(path: Path) -> list[Pair]:
    if path.name.startswith("dataset_"):
        return _reader_pairs(KarpathyJson(path, ("test",)))
    return [(record.image, text) for record in read_blip_captions(path) for text in record.captions]


def gallery(subset: str, pairs: list[Pair]) -> Case:
    """Returns a case in which only the given pairs are right, as in the published protocol.

    No other pair is right, even if two images have the same caption.
    """
    images = list(dict.fromkeys(image for image, _ in pairs))
    row = {image: i for i, image in enumerate(images)}
    match = np.zeros((len(images), len(pairs)), dtype=bool)
    for column, (image, _) in enumerate(pairs):
        match[row[image], column] = True
    return Case(tuple(images), tuple(text for _, text in pairs), match, "retrieval", subset, "all")
