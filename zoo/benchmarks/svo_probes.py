"""SVO-Probes (Hendricks and Nematzadeh 2021): a sentence, its image, and one of another triplet."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.benchmarks.tabled import read_csv
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text

HOW = (
    "`git clone https://github.com/google-deepmind/svo_probes` and copy its svo_probes.csv into "
    "DATA_ROOT/svo_probes; fetch the images from the links in its columns pos_url and neg_url, as "
    "DATA_ROOT/svo_probes/images/IMAGE_ID.jpg (many links are dead, and the authors may not share "
    "the images)"
)
PAIRS = "pairs"
# what differs: accuracy of OpenAI's ViT-B/32 as vl_compo measured it, over the 3,728, 13,523 and
# 4,911 rows whose images could still be had
PUBLISHED = {"subject": 84.1, "verb": 79.7, "object": 88.6}

Flag = Literal["True", "False", "TRUE", "FALSE", "true", "false"]


class _SVOProbesRow(Struct):
    sentence: Text
    pos_image_id: Text
    neg_image_id: Text
    subj_neg: Flag
    verb_neg: Flag
    obj_neg: Flag

    @property
    def differs(self) -> list[str]:
        flags = (self.subj_neg, self.verb_neg, self.obj_neg)
        return [kind for kind, flag in zip(PUBLISHED, flags, strict=True) if flag.lower() == "true"]


class SVOProbes(PublishedBenchmark):
    """SVO-Probes: a sentence and two images, one of another subject, verb or object.

    A case of the subsets subject, verb and object asks whether the sentence prefers its image, as
    dual encoders are measured. One of `subject pairs` and so on asks the published question: does
    the sentence match this image or not? Each pair of sentence and image is asked once there, if
    both images of a row that has it are found. Its group says whether it matches, since the
    published accuracy is the mean of those two.
    """

    name = "svo_probes"
    version = 2
    licence = "CC BY 4.0"
    citation = (
        "Hendricks and Nematzadeh, Probing Image-Language Transformers for Verb Understanding, "
        "Findings of ACL 2021, arXiv:2106.09141"
    )
    published = (
        *(
            Subset(
                kind,
                ("svo_probes/svo_probes.csv",),
                None,
                HOW,
                chance={"t2i": 50.0},
                published={"t2i": value},
            )
            for kind, value in PUBLISHED.items()
        ),
        *(
            Subset(
                f"{kind} {PAIRS}",
                ("svo_probes/svo_probes.csv",),
                None,
                HOW,
                chance={"binary": 50.0},
            )
            for kind in PUBLISHED
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns the cases of a subset."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset, and a note of the rows that are in none."""
        kind, _, pairs = subset.partition(" ")
        table = list(read_csv(path, _SVOProbesRow))
        wanted = [(place, row) for place, row in table if row.differs == [kind]]
        images = path.parent / "images"
        if pairs:
            return Contents(list(_each_pair(wanted, images, subset)), [path], [])
        cases = list(_rows(wanted, images, subset))
        notes = repeated_notes(subset, cases)
        several = sum(len(row.differs) != 1 for _, row in table)
        if several:
            notes["rows in no subset"] = f"{several:,} differ in nothing or in several things"
        return Contents(cases, [path], [], notes)


def _rows(rows: Iterable[tuple[str, _SVOProbesRow]], images: Path, subset: str) -> Iterator[Case]:
    for place, row in rows:
        both = _image(images, row.pos_image_id), _image(images, row.neg_image_id)
        match = np.array([[True], [False]])
        yield Case(both, (row.sentence,), match, "t2i", subset, place.rpartition(":")[2])


def _each_pair(
    rows: Iterable[tuple[str, _SVOProbesRow]], images: Path, subset: str
) -> Iterator[Case]:
    partners: dict[tuple[str, str, bool], set[str]] = {}  # the other images of a pair's rows
    for _, row in rows:
        right, wrong = row.pos_image_id, row.neg_image_id
        partners.setdefault((row.sentence, right, True), set()).add(wrong)
        partners.setdefault((row.sentence, wrong, False), set()).add(right)
    for (sentence, image, matches), others in sorted(partners.items()):
        said = "match" if matches else "no match"
        yield Case(
            images=(_image(images, image),),
            texts=(sentence,),
            match=np.array([[matches]]),
            protocol="binary",
            subset=subset,
            id=f"{image} {said} {sentence}",
            group=said,
            partners=tuple(_image(images, other) for other in sorted(others)),
        )


def _image(images: Path, number: str) -> ImageRef:
    return ImageRef("published", str(images / f"{number}.jpg"))


def repeated_notes(subset: str, cases: Iterable[Case]) -> dict[str, str]:
    """Returns notes of rows that stand twice, and of images that are right and wrong for a text.

    Args:
        subset: The name of the subset.
        cases: Its cases, of one text, the right image and the wrong one.
    """
    asked = [(case.texts[0], *case.images) for case in cases]
    again = len(asked) - len(set(asked))
    wrong = {(text, image) for text, _, image in asked}
    both = sum((text, image) in wrong for text, image, _ in asked)
    found = {
        "repeated": (again, "rows stand more than once"),
        "contradicted": (both, "rows whose right image is another row's wrong one"),
    }
    return {f"{subset} {what}": f"{n:,} {says}" for what, (n, says) in found.items() if n}
