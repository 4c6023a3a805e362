"""Outcomes as a table: one row an outcome, null where a case was not scored. What metrics are made of, and what `cases.parquet` holds."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zoo.benchmarks.base import Case
from zoo.results.protocols import Outcome, above_all
from zoo.sources.images import identity

_BLANKS = re.compile(r"\s+(?=[^\w\s])")


@dataclass(frozen=True)
class Row:
    """One outcome with its place.

    right, tie, scores: as in Outcome; None where the case was not scored. correct_first: whether the official script counts a tie as
    right. match: which of the scores are right. identical: which wrong texts are the same words as the right one (image to text alone).
    options, right_options: of a retrieval, how many answers there were and how many of them are right. images: the identities of the
    images it is about; trained: which of them the model was trained on. texts: those it is about, in the order of `scores` where
    those are of one text each; of a retrieval the query's own alone, and not the gallery's. question: the `fingerprint` of its case.
    """

    benchmark: str
    subset: str
    case: str
    group: str | None
    protocol: str
    query: int
    metric: str
    scores: list[float] | None
    match: list[bool] | None
    identical: list[bool] | None
    right: bool | None
    tie: bool | None
    correct_first: bool
    options: int | None
    right_options: int | None
    images: list[str]
    trained: list[bool]
    texts: list[str]
    question: str


SCHEMA = pa.schema(
    [
        ("benchmark", pa.string()),
        ("subset", pa.string()),
        ("case", pa.string()),
        ("group", pa.string()),
        ("protocol", pa.string()),
        ("query", pa.int64()),
        ("metric", pa.string()),
        ("scores", pa.list_(pa.float32())),
        ("match", pa.list_(pa.bool_())),
        ("identical", pa.list_(pa.bool_())),
        ("right", pa.bool_()),
        ("tie", pa.bool_()),
        ("correct_first", pa.bool_()),
        ("options", pa.int64()),
        ("right_options", pa.int64()),
        ("images", pa.list_(pa.string())),
        ("trained", pa.list_(pa.bool_())),
        ("texts", pa.list_(pa.string())),
        ("question", pa.string()),
    ]
)


def rows(
    benchmark: str,
    case: Case,
    outcomes: Iterable[Outcome],
    trained: frozenset[str],
    scored: bool = True,
) -> Iterator[Row]:
    """trained: identities of the images that the model was trained on. Yields the rows of a case; one that is not scored brings the
    outcomes of any scores."""
    images, question = [identity(image) for image in case.images], fingerprint(case)
    for outcome in outcomes:
        about = [images[i] for i in outcome.images]
        yield Row(
            benchmark=benchmark,
            subset=case.subset,
            case=case.id,
            group=case.group,
            protocol=case.protocol,
            query=outcome.query,
            metric=outcome.metric,
            scores=outcome.scores.tolist() if scored else None,
            match=outcome.match.tolist(),
            identical=identical(case, outcome.query) if outcome.metric == "i2t" else None,
            right=outcome.right if scored else None,
            tie=outcome.tie if scored else None,
            correct_first=case.correct_first,
            options=outcome.options,
            right_options=outcome.right_options,
            images=about,
            trained=[image in trained for image in about],
            texts=[case.texts[j] for j in outcome.texts],
            question=question,
        )


def fingerprint(case: Case) -> str:
    """Returns a hash of what a case asks: its images and crops, its texts, and which match.

    Two runs asked the same where it is equal, whatever the case is called; a gallery that lacks an image asks something else.
    """
    images = [(identity(image), image.crop) for image in case.images]
    asked = json.dumps([case.protocol, images, case.texts]).encode()
    return hashlib.blake2b(asked + np.packbits(case.match).tobytes(), digest_size=12).hexdigest()


def identical(case: Case, image: int) -> list[bool]:
    """Tells which wrong texts of a case say a right text of that image, blanks before marks apart.

    Args:
        case: the case; ARO's order sets have permutations that leave the caption as it is, some with its commas and apostrophes set off.
        image: the row of the image.

    Returns:
        A truth value for each text.
    """
    texts = [_BLANKS.sub("", text) for text in case.texts]
    right = {text for text, match in zip(texts, case.match[image], strict=True) if match}
    return [
        text in right and not match for text, match in zip(texts, case.match[image], strict=True)
    ]


def table(rows: Iterable[Row]) -> pa.Table:
    """Returns the rows as a table of SCHEMA."""
    columns: dict[str, list[object]] = {field.name: [] for field in fields(Row)}
    for row in rows:
        for name, column in columns.items():
            column.append(getattr(row, name))
    return pa.table(columns, schema=SCHEMA)


@dataclass(frozen=True)
class Judged:
    """The outcomes of one metric under one preset: [q] each. row: of the table. scored: false where a case was not. tie: by `>` wrong and
    by `>=` right. options: how many answers there were to choose from; right_options: how many of them are right, 0 where that is not
    kept."""

    row: NDArray[np.int64]
    right: NDArray[np.bool_]
    tie: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    options: NDArray[np.int64]
    right_options: NDArray[np.int64]
    group: NDArray[np.object_]
    images: list[list[str]]
    trained: list[list[bool]]

    @property
    def image(self) -> NDArray[np.str_]:
        """[q] by which outcomes are told to be about the same image, or the same set of images."""
        return np.array(["|".join(images) for images in self.images], dtype=np.str_)

    def where(self, keep: NDArray[np.bool_]) -> "Judged":
        """Returns the outcomes for which `keep` is true."""
        index = np.flatnonzero(keep)
        return Judged(
            self.row[keep],
            self.right[keep],
            self.tie[keep],
            self.scored[keep],
            self.options[keep],
            self.right_options[keep],
            self.group[keep],
            [self.images[i] for i in index],
            [self.trained[i] for i in index],
        )


def judged(part: pa.Table, official_ties: bool, drop_identical: bool) -> Judged:
    """part: rows of one metric. official_ties: a tie is right where the official script lists the right answer first, else it is wrong.
    drop_identical: wrong texts equal to the right one are no options; a query that has no other wrong option is left out."""
    scored = ~np.asarray(part["right"].is_null())
    right = np.array(part["right"].fill_null(False), dtype=bool)
    tie = np.array(part["tie"].fill_null(False), dtype=bool)
    options = np.array(
        pc.coalesce(
            part["options"], pc.list_value_length(part["match"]).cast(pa.int64())
        ).to_numpy()
    )
    right_options = np.array(part["right_options"].fill_null(0), dtype=np.int64)
    keep = np.ones(len(right), dtype=bool)
    if drop_identical:
        for q, same in enumerate(part["identical"].to_pylist()):
            if same is None or not any(same):
                continue
            others = ~np.array(same)
            match = np.array(part["match"][q].as_py())[others]
            options[q], keep[q] = others.sum(), not match.all()
            if keep[q] and scored[q]:
                right[q], tie[q] = above_all(
                    np.array(part["scores"][q].as_py(), np.float32)[others], match
                )
    counted = right | (tie & np.asarray(part["correct_first"])) if official_ties else right
    group = np.array(part["group"].to_pylist(), dtype=object)
    images, trained = part["images"].to_pylist(), part["trained"].to_pylist()
    row = np.arange(len(right))
    every = Judged(row, counted, tie, scored, options, right_options, group, images, trained)
    return every.where(keep)
