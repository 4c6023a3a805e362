"""Outcomes as a table with one row for each outcome.

Metrics are made of this table, and `cases.parquet` holds it.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zoo.benchmarks.base import Case
from zoo.benchmarks.protocols.base import (
    Outcome,
    Protocol,
    Query,
    above_all,
    protocol_name,
    protocol_of,
)
from zoo.errors import ZooError
from zoo.results.runs import BenchmarkRun
from zoo.sources.images import identity

AT_ONCE = 10_000  # rows
_BLANKS = re.compile(r"\s+(?=[^\w\s])")


@dataclass(frozen=True)
class OutcomeRow:
    """One outcome with its place.

    Attributes:
        benchmark: Name of the benchmark.
        run: What tells this run of it from another, as in `BenchmarkRun`.
        subset: Name of the subset.
        case: Id of the case.
        group: What a macro average is taken over, None where there is none.
        protocol: The case's protocol, as `written` names it.
        query: OutcomeRow or column that asks, as in `Query`.
        metric: Name of the metric that the outcome counts towards.
        scores: Scores that were compared, as in `Outcome`. None where the case was not scored.
        match: Which of the scores are right.
        identical: Which wrong texts have the same words as the right one. None where the
            protocol does not drop such.
        right: Whether the answer is right by the strict rule. None where the case was not scored.
        tie: Whether `>=` would make a wrong answer right. None where the case was not scored.
        value: How good a graded answer is, from 0 to 1. None elsewhere.
        correct_first: Whether the official script counts a tie as right.
        options: Number of answers of a recall, None elsewhere.
        right_options: Number of right answers of a recall, None elsewhere.
        images: Identities of the images that the outcome is about.
        trained: Which of these images the model was trained on.
        texts: Texts that the outcome is about, in the order of `scores` where each score is of one
            text; those that ask come first. Of a recall they are the query's own, without the rest
            of the gallery.
        question: The `fingerprint` of the case.
        bucket: How familiar its bindings are from training captions, as in `familiarity.buckets`.
            None where that was not asked.
        leak: Whether the model has seen an image that it is about, as in `leaks`. None where that
            was not asked, and where it is about no image.
        wrong_image: Identity of the wrong image that scores highest, of a text that asks a gallery.
        wrong_text: The wrong text that scores highest, of an image that asks a gallery.
    """

    benchmark: str
    run: str
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
    value: float | None
    correct_first: bool
    options: int | None
    right_options: int | None
    images: list[str]
    trained: list[bool]
    texts: list[str]
    question: str
    bucket: str | None = None
    leak: str | None = None
    wrong_image: str | None = None
    wrong_text: str | None = None


SCHEMA = pa.schema(
    [
        ("benchmark", pa.string()),
        ("run", pa.string()),
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
        ("value", pa.float64()),
        ("correct_first", pa.bool_()),
        ("options", pa.int64()),
        ("right_options", pa.int64()),
        ("images", pa.list_(pa.string())),
        ("trained", pa.list_(pa.bool_())),
        ("texts", pa.list_(pa.string())),
        ("question", pa.string()),
        ("bucket", pa.string()),
        ("leak", pa.string()),
        ("wrong_image", pa.string()),
        ("wrong_text", pa.string()),
    ]
)


def rows(
    run: BenchmarkRun,
    case: Case,
    asked: Iterable[Query],
    trained: frozenset[str],
) -> Iterator[OutcomeRow]:
    """Yields the rows of a case.

    Args:
        run: The benchmark, as it was asked for.
        case: The case.
        asked: Its outcomes, or its queries where the case was not scored.
        trained: Identities of the images that the model was trained on.
    """
    images, question = [identity(image) for image in case.images], fingerprint(case)
    protocol, drops_identical = protocol_name(case.judged_by), case.judged_by.drops_identical
    for query in asked:
        outcome = query if isinstance(query, Outcome) else None
        about = [images[i] for i in query.images]
        yield OutcomeRow(
            benchmark=run.benchmark,
            run=run.run,
            subset=case.subset,
            case=case.id,
            group=case.group if query.group is None else query.group,
            protocol=protocol,
            query=query.query,
            metric=query.metric,
            scores=None if outcome is None else outcome.scores.tolist(),
            match=query.match.tolist(),
            identical=identical(case, query) if drops_identical else None,
            right=None if outcome is None else outcome.right,
            tie=None if outcome is None else outcome.tie,
            value=None if outcome is None else outcome.value,
            correct_first=case.counts_tie(query),
            options=query.options,
            right_options=query.right_options,
            images=about,
            trained=[image in trained for image in about],
            texts=[*case.asking, *(case.texts[j] for j in query.texts)],
            question=question,
            wrong_image=None if outcome is None else _at(images, outcome.wrong_image),
            wrong_text=None if outcome is None else _at(case.texts, outcome.wrong_text),
        )


def _at(names: Sequence[str], place: int | None) -> str | None:
    return None if place is None else names[place]


def fingerprint(case: Case) -> str:
    """Returns a hash of what a case asks: its images and crops, its texts, and which match.

    Two runs with equal hashes asked the same, whatever the case is called. A gallery that lacks an
    image asks something else.
    """
    images = [(identity(image), image.crop) for image in case.images]
    texts = [case.texts, *(more for more in (case.asking, case.prompts) if more)]
    asked = json.dumps([protocol_name(case.judged_by), images, *texts]).encode()
    return hashlib.blake2b(asked + np.packbits(case.match).tobytes(), digest_size=12).hexdigest()


def identical(case: Case, query: Query) -> list[bool]:
    """Tells which wrong scores of a query are of a text that says the same as a right one.

    Blanks before punctuation marks do not count. ARO's order sets have permutations that leave the
    caption as it is, some with its commas and apostrophes set off.

    Args:
        case: The case.
        query: What it asks about the texts of one image, or of texts that ask.

    Returns:
        A truth value for each score. Where texts ask, a foil that says what one of them says leaves
        nothing to be told, so that each of its scores is meant.
    """
    texts = list(case.texts)
    if _BLANKS.search("\n".join(texts)):
        texts = [_BLANKS.sub("", text) for text in texts]
    matches = case.match[query.query].tolist()
    right = {text for text, match in zip(texts, matches, strict=True) if match}
    if case.asking:
        right |= {_BLANKS.sub("", text) for text in case.asking}
        same = any(text in right for text, match in zip(texts, matches, strict=True) if not match)
        return [same and not match for match in query.match.tolist()]
    return [text in right and not match for text, match in zip(texts, matches, strict=True)]


def table(rows: Iterable[OutcomeRow]) -> pa.Table:
    """Returns the rows as a table of SCHEMA."""
    left, batches = map(attrgetter(*SCHEMA.names), rows), []
    while some := list(islice(left, AT_ONCE)):
        columns = [list(column) for column in zip(*some, strict=True)]
        batches.append(pa.table(columns, schema=SCHEMA))
    return pa.concat_tables(batches or [SCHEMA.empty_table()]).combine_chunks()


@dataclass(frozen=True)
class Judged:
    """The outcomes of one metric, counted by one set of rules; all arrays are `[q]`.

    Attributes:
        row: OutcomeRow numbers in the table.
        right: Whether the answer is right.
        value: How good the answer is: 1 or 0, or between where answers are graded.
        tie: Whether the answer is wrong by `>` and right by `>=`.
        scored: Whether the case was scored.
        options: Number of answers to choose from.
        right_options: Number of right answers among them, 0 where it is not kept.
        group: What a macro average is taken over.
        protocol: Protocol, as `written` names it.
        images: Identities of the images that each outcome is about.
        trained: Which of these images the model was trained on.
    """

    row: NDArray[np.int64]
    right: NDArray[np.bool_]
    value: NDArray[np.float64]
    tie: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    options: NDArray[np.int64]
    right_options: NDArray[np.int64]
    group: NDArray[np.object_]
    protocol: NDArray[np.object_]
    images: list[list[str]]
    trained: list[list[bool]]

    def image(self, metric: str) -> NDArray[np.str_]:
        """Labels that are equal for outcomes about the same image or set of images, `[q]`.

        Outcomes about no image have a label each, which no other metric has.

        Args:
            metric: What tells the metric from others.
        """
        labels = [
            "|".join(images) or f"{metric}#{row}"
            for images, row in zip(self.images, self.row, strict=True)
        ]
        return np.array(labels, dtype=np.str_)

    def select(self, keep: NDArray[np.bool_]) -> "Judged":
        """Returns the outcomes for which `keep` is true."""
        index = np.flatnonzero(keep)
        return Judged(
            self.row[keep],
            self.right[keep],
            self.value[keep],
            self.tie[keep],
            self.scored[keep],
            self.options[keep],
            self.right_options[keep],
            self.group[keep],
            self.protocol[keep],
            [self.images[i] for i in index],
            [self.trained[i] for i in index],
        )


def judge_outcomes(part: pa.Table, official_ties: bool, drop_identical: bool) -> Judged:
    """Counts the outcomes of one metric.

    Args:
        part: Rows of one metric, a table of SCHEMA.
        official_ties: Whether a tie is right where the official script lists the right answer
            first. Otherwise every tie is wrong.
        drop_identical: Whether wrong texts equal to the right one are no options. A query that has
            no other wrong option is then left out.
    """
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
    group, protocol = (
        np.array(part[name].to_pylist(), dtype=object) for name in ("group", "protocol")
    )
    for text in set(protocol):
        _judge_together(part, text, scored & (protocol == text), right, tie)
    counted = right | (tie & np.asarray(part["correct_first"])) if official_ties else right
    value = np.array(pc.coalesce(part["value"], pa.array(counted.astype(np.float64))))
    images, trained = part["images"].to_pylist(), part["trained"].to_pylist()
    row = np.arange(len(right))
    counts = counted, value, tie, scored, options, right_options
    return Judged(row, *counts, group, protocol, images, trained).select(keep)


def protocol_here(text: str) -> Protocol:
    """Returns the protocol that judged cases, as `written` names it.

    Raises:
        ZooError: Its class cannot be imported.
    """
    try:
        return protocol_of(text)
    except ZooError as error:
        raise ZooError(
            f"cases were judged by a protocol that is not here ({error}); "
            "run zoo where its module can be imported"
        ) from error


def _judge_together(
    part: pa.Table,
    text: str,
    asked: NDArray[np.bool_],
    right: NDArray[np.bool_],
    tie: NDArray[np.bool_],
) -> None:
    """Puts in what a protocol says of the answers of a subset together, where it does."""
    protocol = protocol_here(text)
    if type(protocol).judge_subset is Protocol.judge_subset or not asked.any():
        return
    answers = part.filter(pa.array(asked))
    found = protocol.judge_subset(
        answers["metric"][0].as_py(),
        [np.array(scores, np.float32) for scores in answers["scores"].to_pylist()],
        [np.array(match, bool) for match in answers["match"].to_pylist()],
    )
    if found is not None:
        right[asked], tie[asked] = found, False
