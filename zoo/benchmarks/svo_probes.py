"""SVO-Probes (Hendricks and Nematzadeh 2021): a sentence, its image, and a differing image."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from msgspec import Struct

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.csv_rows import read_csv
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text

INSTRUCTIONS = (
    f"{download_command('svo_probes')}; "
    "download the images from the links in columns pos_url and neg_url of svo_probes.csv, as "
    "DATA_ROOT/svo_probes/images/IMAGE_ID.jpg (many links are dead, and the authors are not "
    "allowed to share the images)"
)
PAIRS = "pairs"
# differing role: accuracy of OpenAI's ViT-B/32 as measured by vl_compo, on the 3,728, 13,523 and
# 4,911 rows whose images were still available
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
    def changed_roles(self) -> list[str]:
        flags = (self.subj_neg, self.verb_neg, self.obj_neg)
        return [kind for kind, flag in zip(PUBLISHED, flags, strict=True) if flag.lower() == "true"]


class SVOProbes(PublishedBenchmark):
    """SVO-Probes: a sentence, and two images that differ in subject, verb or object.

    The authors' table has one row per sentence and pair of images. In `subject`, `verb` and
    `object`, the sentence has to score higher with its image than with the other image (protocol
    `t2i`). This is the usual measure for dual encoders. A tie is wrong.

    The subsets with `pairs` in their name ask the authors' question: does the sentence match this
    image (protocol `binary`)? The authors' models answer yes or no. In zoo, the answer is yes if
    the score is above a threshold. zoo chooses the best threshold for the scores of the subset, so
    random scores reach slightly more than 50 %. A pair of sentence and image counts once, even if
    it occurs in several rows. The pair is scored only if at least one of these rows has both
    images. Metric `macro` is the authors': the mean of two accuracies, on matching pairs and on
    other pairs.

    In 2024, both images could still be downloaded for 22,162 rows: 3,728 (`subject`), 13,523
    (`verb`) and 4,911 (`object`). The published values are for these rows, so report the number of
    rows of which you have both images. If the images of a row differ in none or in several of
    subject, verb and object, the row is in no subset. A note counts such rows.

    Examples:
        A row is one case of `verb`, and two of `verb pairs`:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import SVOProbes
        >>> columns = "sentence,pos_image_id,neg_image_id,subj_neg,verb_neg,obj_neg"
        >>> _ = Path("svo.csv").write_text(f'''{columns}
        ... a girl sits on grass,1,2,False,True,False''')
        >>> files = {"verb": "svo.csv", "verb pairs": "svo.csv"}
        >>> [(case.subset, case.group) for case in SVOProbes(files, list(files)).read(Path()).cases]
        [('verb', None), ('verb pairs', 'match'), ('verb pairs', 'no match')]
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
                INSTRUCTIONS,
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
                INSTRUCTIONS,
                chance={"binary": 50.0},
            )
            for kind in PUBLISHED
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns the cases of a subset."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset, with a note on rows that are in no subset."""
        kind, _, pairs = subset.partition(" ")
        table = list(read_csv(path, _SVOProbesRow))
        selected_rows = [(place, row) for place, row in table if row.changed_roles == [kind]]
        images = path.parent / "images"
        if pairs:
            return Contents(list(_pair_cases(selected_rows, images, subset)), [path], [])
        cases = list(_row_cases(selected_rows, images, subset))
        notes = repetition_notes(subset, cases)
        several = sum(len(row.changed_roles) != 1 for _, row in table)
        if several:
            notes["rows in no subset"] = f"{several:,} differ in no role or in several roles"
        return Contents(cases, [path], [], notes)


def _row_cases(
    rows: Iterable[tuple[str, _SVOProbesRow]], images: Path, subset: str
) -> Iterator[Case]:
    for place, row in rows:
        images_of_row = _image(images, row.pos_image_id), _image(images, row.neg_image_id)
        match = np.array([[True], [False]])
        yield Case(images_of_row, (row.sentence,), match, "t2i", subset, place.rpartition(":")[2])


def _pair_cases(
    rows: Iterable[tuple[str, _SVOProbesRow]], images: Path, subset: str
) -> Iterator[Case]:
    partners: dict[tuple[str, str, bool], set[str]] = {}  # the other images of a pair's rows
    for _, row in rows:
        right, wrong = row.pos_image_id, row.neg_image_id
        partners.setdefault((row.sentence, right, True), set()).add(wrong)
        partners.setdefault((row.sentence, wrong, False), set()).add(right)
    for (sentence, image, matches), partner_ids in sorted(partners.items()):
        label = "match" if matches else "no match"
        yield Case(
            images=(_image(images, image),),
            texts=(sentence,),
            match=np.array([[matches]]),
            protocol="binary",
            subset=subset,
            id=f"{image} {label} {sentence}",
            group=label,
            partners=tuple(_image(images, partner_id) for partner_id in sorted(partner_ids)),
        )


def _image(images: Path, number: str) -> ImageRef:
    return ImageRef("published", str(images / f"{number}.jpg"))


def repetition_notes(subset: str, cases: Iterable[Case]) -> dict[str, str]:
    """Returns notes on repeated rows, and on images that are both right and wrong for a text.

    Args:
        subset: The name of the subset.
        cases: Its cases, each with one text, the right image and the wrong image.
    """
    rows = [(case.texts[0], *case.images) for case in cases]
    n_repeated = len(rows) - len(set(rows))
    wrong = {(text, image) for text, _, image in rows}
    n_contradicted = sum((text, image) in wrong for text, image, _ in rows)
    counts = {
        "repeated": (n_repeated, "rows occur more than once"),
        "contradicted": (
            n_contradicted,
            "rows whose right image is the wrong image of another row",
        ),
    }
    return {
        f"{subset} {kind}": f"{n:,} {description}" for kind, (n, description) in counts.items() if n
    }
