"""NegBench (Alhamoud et al. 2025): negation in multiple choice and in retrieval."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import position_note, unanswerable_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.csv_rows import parse_texts, read_csv
from zoo.benchmarks.protocols.by_kind import ByKind, VideoByKind
from zoo.benchmarks.protocols.video_recall import VideoRecall
from zoo.benchmarks.published import PublishedBenchmark
from zoo.benchmarks.retrieval import gallery
from zoo.errors import ZooError
from zoo.sources.images import coco_ref
from zoo.sources.sample import ImageRef
from zoo.sources.videos import frame_refs

INSTRUCTIONS = (
    "download the CSV files from Google Drive (links in github.com/m1k2zoo/negbench) into "
    "DATA_ROOT/negbench; put COCO's val2017 into DATA_ROOT/coco/val2017, VOC2007's images into "
    "DATA_ROOT/voc2007/JPEGImages, the synthetic images (folders positive and negative) into "
    "DATA_ROOT/negbench/synthetic, and MSR-VTT's videos into DATA_ROOT/msr_vtt"
)
ANSWERS = 4
KINDS = ("positive", "negative", "hybrid")
CHANCE = dict.fromkeys(("i2t", *KINDS), 25.0)
COCO, VOC, SYNTHETIC, MSR_VTT = "coco_mcq", "voc2007_mcq", "synthetic_mcq", "msr_vtt_mcq"
FRAMES = 4  # of a video, as in the authors' code
RETRIEVALS = {
    "coco_retrieval": "COCO_val_retrieval",
    "coco_negated_retrieval": "COCO_val_negated_retrieval_llama3.1_rephrased_affneg_true",
    "synthetic_retrieval_v1": "synthetic_retrieval_v1",
    "synthetic_retrieval_v2": "synthetic_retrieval_v2",
}
VIDEO_RETRIEVALS = {
    "msr_vtt_retrieval": "msr_vtt_retrieval",
    "msr_vtt_negated_retrieval": "msr_vtt_retrieval_rephrased_llama",
}
# remarks of the language model that wrote the texts, and quotation marks around its answers
CHATTER = re.compile(r'"|->|\bcaption|\brephras', re.IGNORECASE)


class _ChoiceRow(Struct, rename={"more": ""}):
    image_path: str
    correct_answer: str
    caption_0: str
    caption_1: str
    caption_2: str
    caption_3: str
    correct_answer_template: str
    more: str = ""


class _CaptionsRow(Struct):
    filepath: str
    captions: str


def _published_values(*values: float) -> dict[str, float]:
    return dict(zip(("i2t", *KINDS), values, strict=True))


def _video_files(name: str) -> tuple[str, ...]:
    return tuple(f"negbench/{folder}{name}.csv" for folder in ("", "videos/"))


class NegBench(PublishedBenchmark):
    """NegBench: multiple choice and retrieval with negated captions, for images and videos.

    Subsets with `mcq` in their name are multiple choice: which of four captions is true? The
    protocol is `by_kind`. An answer counts for metric `i2t`, and for a metric that is named after
    the kind of the right caption. A `positive` caption names objects in the image. A `negative`
    caption states that an object is missing. A `hybrid` caption does both. As in the authors' code,
    the first of equal scores wins. In `coco_mcq` and `voc2007_mcq`, the right caption is listed
    first. A model that gives equal scores to all captions therefore reaches 100 % with preset
    `official`.

    The other subsets are for retrieval (protocol `retrieval`). The authors report `t2i_r@1` and
    `t2i_r@5`. To measure the effect of negations, compare the recall of two subsets: one with
    negated captions, such as `coco_negated_retrieval`, and one without, such as `coco_retrieval`.

    The subsets of MSR-VTT have videos instead of images. Their protocols are therefore
    `video_by_kind` (multiple choice) and `video_retrieval`. zoo scores four frames per video,
    decoded by PyAV (`pip install av`). The code of CS-CLIP (Kargi et al., 2026) uses only the first
    frame. `video_retrieval` needs a head that computes one vector per image and one per text, such
    as `Cosine`. zoo does not read NegBench's subsets of X-rays.

    The published values are the authors'. Values that the authors published before March 2025 are
    not comparable, because the embeddings were not normalized.

    Examples:
        OpenAI's ViT-B/32 rarely chooses a true caption that negates, far below chance:

        >>> from zoo.benchmarks import NegBench
        >>> [subset] = NegBench(subsets=["coco_mcq"]).subsets
        >>> subset.published
        {'i2t': 39.3, 'positive': 69.1, 'negative': 6.8, 'hybrid': 39.3}
        >>> subset.chance["negative"]
        25.0
    """

    name = "negbench"
    licence = "MIT"
    citation = (
        "Alhamoud et al., Vision-Language Models Do Not Understand Negation, CVPR 2025, "
        "arXiv:2501.09425"
    )
    published = (
        Subset(
            COCO,
            ("negbench/COCO_val_mcq_llama3.1_rephrased.csv",),
            5_914,
            INSTRUCTIONS,
            chance=CHANCE,
            published=_published_values(39.3, 69.1, 6.8, 39.3),
        ),
        Subset(
            VOC,
            ("negbench/VOC2007_mcq_llama3.1_rephrased.csv",),
            5_031,
            INSTRUCTIONS,
            chance=CHANCE,
            published=_published_values(38.7, 82.6, 3.3, 59.0),
        ),
        Subset(
            SYNTHETIC,
            ("negbench/synthetic_mcq_llama3.1_rephrased.csv",),
            9_996,
            INSTRUCTIONS,
            chance=CHANCE,
        ),
        Subset(
            MSR_VTT,
            _video_files("msr_vtt_mcq_rephrased_llama"),
            None,
            INSTRUCTIONS,
            chance=CHANCE,
        ),
        *(
            Subset(name, (f"negbench/{file}.csv",), None, INSTRUCTIONS)
            for name, file in RETRIEVALS.items()
        ),
        *(
            Subset(name, _video_files(file), None, INSTRUCTIONS)
            for name, file in VIDEO_RETRIEVALS.items()
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each row, or one gallery of all images and captions."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases, with notes on remarks, answer positions and shifted columns."""
        if subset in RETRIEVALS:
            return Contents([gallery(subset, list(_image_text_pairs(path)))], [path], [])
        if subset in VIDEO_RETRIEVALS:
            return Contents([_video_gallery(subset, path)], [path], [])
        rows = list(read_csv(path, _ChoiceRow))
        cases = [_case(place, row, subset, str(i)) for i, (place, row) in enumerate(rows)]
        notes = (
            unanswerable_note(subset, cases)
            | _remark_note(subset, cases)
            | position_note(subset, cases)
        )
        shifted = [place for place, row in rows if row.more.strip()]
        if shifted:
            notes[f"{subset} shifted"] = (
                f"{len(shifted):,} with columns shifted by an unquoted comma (first: {shifted[0]})"
            )
        return Contents(cases, [path], [], notes)


def _texts(row: _ChoiceRow) -> tuple[str, ...]:
    return row.caption_0, row.caption_1, row.caption_2, row.caption_3


@cache
def _kind_protocol(template: str, is_video: bool) -> ByKind:
    protocol_class = VideoByKind if is_video else ByKind
    return protocol_class(template if template in KINDS else "")


def _case(place: str, row: _ChoiceRow, subset: str, number: str) -> Case:
    texts = _texts(row)
    answers = [str(k) for k in range(ANSWERS)]
    if row.correct_answer not in answers:
        raise ZooError(
            f"{place}: field 'correct_answer' is {row.correct_answer!r}, not one of "
            f"{', '.join(answers)}: download the file again"
        )
    is_video = subset == MSR_VTT
    images = _frames(row.image_path) if is_video else (_image(row.image_path, place),)
    match = np.array([[answer == row.correct_answer for answer in answers]] * len(images))
    protocol = _kind_protocol(row.correct_answer_template, is_video)
    return Case(images, texts, match, protocol, subset, number, argmax=True)


def _frames(text: str) -> tuple[ImageRef, ...]:
    """Returns the frames of a video at a path that has the folders of the author's machine."""
    return frame_refs(f"msr_vtt/{PurePosixPath(text).name}", FRAMES)


def _image(text: str, place: str) -> ImageRef:
    """Returns the image of a path that has the folders of the author's machine."""
    path = PurePosixPath(text)
    if path.parent.name == "JPEGImages":
        return ImageRef("published", f"voc2007/JPEGImages/{path.name}")
    if path.parent.name in ("positive", "negative"):
        return ImageRef("published", f"negbench/synthetic/{path.parent.name}/{path.name}")
    return coco_ref(path.name, place)


def _image_text_pairs(path: Path) -> Iterator[tuple[ImageRef, str]]:
    for place, row in read_csv(path, _CaptionsRow):
        image = _image(row.filepath, place)
        yield from ((image, text) for text in parse_texts(row.captions, "captions", place))


def _video_gallery(subset: str, path: Path) -> Case:
    """Returns a case with the frames of all videos, video by video, and their captions."""
    videos: dict[tuple[ImageRef, ...], list[str]] = {}
    for place, row in read_csv(path, _CaptionsRow):
        texts = parse_texts(row.captions, "captions", place)
        videos.setdefault(_frames(row.filepath), []).extend(texts)
    owners = [i for i, texts in enumerate(videos.values()) for _ in texts]
    match = np.repeat(np.arange(len(videos)), FRAMES)[:, None] == np.array(owners)
    images, captions = chain.from_iterable(videos), chain.from_iterable(videos.values())
    return Case(tuple(images), tuple(captions), match, VideoRecall(FRAMES), subset, "all")


def _remark_note(subset: str, cases: Iterable[Case]) -> dict[str, str]:
    n = sum(bool(CHATTER.search(text)) for case in cases for text in case.texts)
    if not n:
        return {}
    return {f"{subset} remarks": f"{n:,} texts with remarks or quotes of the language model"}
