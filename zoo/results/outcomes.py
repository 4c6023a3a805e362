"""The table of outcomes: one row per outcome.

Metrics are computed from this table, and `cases.parquet` stores it.
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
    protocol_name,
    resolve_protocol,
    right_above_wrong,
)
from zoo.errors import ZooError
from zoo.results.runs import BenchmarkRun
from zoo.sources.images import image_identity

ROWS_PER_BATCH = 10_000
_SPACE_BEFORE_PUNCTUATION = re.compile(r"\s+(?=[^\w\s])")


@dataclass(frozen=True)
class OutcomeRow:
    """One outcome with its benchmark, subset and case.

    Attributes:
        benchmark: Name of the benchmark.
        run: Identifies the run of the benchmark, as in `BenchmarkRun`.
        subset: Name of the subset.
        case: Id of the case.
        group: Group for macro averages, None if there is none.
        protocol: The protocol of the case, as `protocol_name` returns it.
        query: Row or column of the query, as in `Query`.
        metric: Name of the metric that the outcome counts towards.
        scores: Scores that were compared, as in `Outcome`. None if the case was not scored.
        match: Which of the scores belong to right answers.
        identical: Which wrong texts have the same words as the right one. None if the protocol does
            not drop them.
        right: Whether the answer is right under the strict rule. None if the case was not scored.
        tie: Whether `>=` would make a wrong answer right. None if the case was not scored.
        value: Grade of a graded answer, from 0 to 1; otherwise None.
        tie_is_right: Whether the official script counts a tie as right.
        options: Number of candidate answers of a recall, otherwise None.
        right_options: Number of right answers of a recall, otherwise None.
        images: Identities of the images that the outcome is about.
        trained: Which of these images the model was trained on.
        texts: Texts that the outcome is about, in the order of `scores` if each score belongs to a
            text; query texts come first. For a recall, only the texts of the query, without the
            rest of the gallery.
        fingerprint: A hash of the content of the case (`case_fingerprint`).
        bucket: Familiarity of its bindings in training captions, as in `familiarity.buckets`. None
            if not requested.
        leak: Whether the model has seen one of its images, as in `leaks`. None if not requested, or
            if it is about no image.
        wrong_image: Identity of the highest-scoring wrong image, for a text query to a gallery.
        wrong_text: The highest-scoring wrong text, for an image query to a gallery.
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
    tie_is_right: bool
    options: int | None
    right_options: int | None
    images: list[str]
    trained: list[bool]
    texts: list[str]
    fingerprint: str
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
        ("tie_is_right", pa.bool_()),
        ("options", pa.int64()),
        ("right_options", pa.int64()),
        ("images", pa.list_(pa.string())),
        ("trained", pa.list_(pa.bool_())),
        ("texts", pa.list_(pa.string())),
        ("fingerprint", pa.string()),
        ("bucket", pa.string()),
        ("leak", pa.string()),
        ("wrong_image", pa.string()),
        ("wrong_text", pa.string()),
    ]
)


def outcome_rows(
    run: BenchmarkRun,
    case: Case,
    queries: Iterable[Query],
    trained_images: frozenset[str],
) -> Iterator[OutcomeRow]:
    """Yields the rows of a case.

    Args:
        run: The benchmark run.
        case: The case.
        queries: Its outcomes, or its queries if the case was not scored.
        trained_images: Identities of the images that the model was trained on.
    """
    images = [image_identity(image) for image in case.images]
    fingerprint = case_fingerprint(case)
    protocol, drops_identical = (
        protocol_name(case.resolved_protocol),
        case.resolved_protocol.drops_identical,
    )
    for query in queries:
        outcome = query if isinstance(query, Outcome) else None
        image_ids = [images[i] for i in query.images]
        yield OutcomeRow(
            benchmark=run.benchmark,
            run=run.run,
            subset=case.subset,
            case=case.id,
            group=case.group if query.group is None else query.group,
            protocol=protocol,
            query=query.index,
            metric=query.metric,
            scores=None if outcome is None else outcome.scores.tolist(),
            match=query.match.tolist(),
            identical=mark_identical_answers(case, query) if drops_identical else None,
            right=None if outcome is None else outcome.right,
            tie=None if outcome is None else outcome.tie,
            value=None if outcome is None else outcome.value,
            tie_is_right=case.tie_is_right(query),
            options=query.options,
            right_options=query.right_options,
            images=image_ids,
            trained=[image in trained_images for image in image_ids],
            texts=[*case.query_texts, *(case.texts[j] for j in query.texts)],
            fingerprint=fingerprint,
            wrong_image=None if outcome is None else _item_or_none(images, outcome.wrong_image),
            wrong_text=None if outcome is None else _item_or_none(case.texts, outcome.wrong_text),
        )


def _item_or_none(names: Sequence[str], index: int | None) -> str | None:
    return None if index is None else names[index]


def case_fingerprint(case: Case) -> str:
    """Returns a hash of the content of a case: images and crops, texts, and which of them match.

    Cases with equal hashes are the same in two runs, whatever their ids. A gallery without one of
    its images has a different hash.
    """
    images = [(image_identity(image), image.crop) for image in case.images]
    texts = [case.texts, *filter(None, (case.query_texts, case.prompts))]
    content = json.dumps([protocol_name(case.resolved_protocol), images, *texts]).encode()
    return hashlib.blake2b(content + np.packbits(case.match).tobytes(), digest_size=12).hexdigest()


def mark_identical_answers(case: Case, query: Query) -> list[bool]:
    """Returns which wrong answers of a query have the same text as a right answer.

    Whitespace before punctuation is ignored. Some permutations in the order sets of ARO equal the
    caption, or differ only in whitespace around commas and apostrophes.

    Args:
        case: The case.
        query: The query about the texts of one image, or about query texts.

    Returns:
        One boolean per score. With query texts, a foil that equals one of them makes the whole
        query undecidable, so that every wrong score is marked.
    """
    texts = list(case.texts)
    if _SPACE_BEFORE_PUNCTUATION.search("\n".join(texts)):
        texts = [_SPACE_BEFORE_PUNCTUATION.sub("", text) for text in texts]
    matches = case.match[query.index].tolist()
    right = {text for text, match in zip(texts, matches, strict=True) if match}
    if case.query_texts:
        right |= {_SPACE_BEFORE_PUNCTUATION.sub("", text) for text in case.query_texts}
        has_duplicate = any(
            text in right for text, match in zip(texts, matches, strict=True) if not match
        )
        return [has_duplicate and not match for match in query.match.tolist()]
    return [text in right and not match for text, match in zip(texts, matches, strict=True)]


def outcome_table(rows: Iterable[OutcomeRow]) -> pa.Table:
    """Returns the rows as a table of SCHEMA."""
    tuples, batches = map(attrgetter(*SCHEMA.names), rows), []
    while batch := list(islice(tuples, ROWS_PER_BATCH)):
        columns = [list(column) for column in zip(*batch, strict=True)]
        batches.append(pa.table(columns, schema=SCHEMA))
    return pa.concat_tables(batches or [SCHEMA.empty_table()]).combine_chunks()


@dataclass(frozen=True)
class JudgedOutcomes:
    """The outcomes of one metric under one set of rules; all arrays are `[q]`.

    Attributes:
        row: Row numbers in the table.
        right: Whether the answer is right.
        value: 1 for a right and 0 for a wrong answer, or between for graded answers.
        tie: Whether the answer is wrong by `>` and right by `>=`.
        scored: Whether the case was scored.
        options: Number of answers to choose from.
        right_options: Number of right answers among them, 0 if not recorded.
        group: Group for macro averages.
        protocol: Protocol, as `protocol_name` returns it.
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

    def image_labels(self, metric: str) -> NDArray[np.str_]:
        """Returns labels that are equal for outcomes about the same image or images, `[q]`.

        An outcome without an image gets a unique label.

        Args:
            metric: Unique name of the metric.
        """
        labels = [
            "|".join(images) or f"{metric}#{row}"
            for images, row in zip(self.images, self.row, strict=True)
        ]
        return np.array(labels, dtype=np.str_)

    def lower_is_better(self, metric: str) -> bool:
        """Returns whether lower values of the metric of the outcomes are better.

        Args:
            metric: Name of the metric, as the protocol has it.
        """
        return any(metric in import_protocol(name).lower_is_better for name in set(self.protocol))

    def select(self, keep: NDArray[np.bool_]) -> "JudgedOutcomes":
        """Returns the outcomes for which `keep` is true."""
        index = np.flatnonzero(keep)
        return JudgedOutcomes(
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


def judge_outcomes(part: pa.Table, official_ties: bool, drop_identical: bool) -> JudgedOutcomes:
    """Judges the outcomes of one metric.

    Args:
        part: Rows of one metric, a table of SCHEMA.
        official_ties: Whether a tie is right if the official script lists the right answer first.
            Otherwise every tie is wrong.
        drop_identical: Whether to drop wrong texts that equal the right one. A query without any
            other wrong option is then omitted.
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
        for q, duplicates in enumerate(part["identical"].to_pylist()):
            if duplicates is None or not any(duplicates):
                continue
            distinct = ~np.array(duplicates)
            match = np.array(part["match"][q].as_py())[distinct]
            options[q], keep[q] = distinct.sum(), not match.all()
            if keep[q] and scored[q]:
                right[q], tie[q] = right_above_wrong(
                    np.array(part["scores"][q].as_py(), np.float32)[distinct], match
                )
    group, protocol = (
        np.array(part[name].to_pylist(), dtype=object) for name in ("group", "protocol")
    )
    for protocol_used in set(protocol):
        _apply_joint_judgement(
            part, protocol_used, scored & (protocol == protocol_used), right, tie
        )
    is_right = right | (tie & np.asarray(part["tie_is_right"])) if official_ties else right
    value = np.array(pc.coalesce(part["value"], pa.array(is_right.astype(np.float64))))
    images, trained = part["images"].to_pylist(), part["trained"].to_pylist()
    row = np.arange(len(right))
    counts = is_right, value, tie, scored, options, right_options
    return JudgedOutcomes(row, *counts, group, protocol, images, trained).select(keep)


def import_protocol(text: str) -> Protocol:
    """Returns the protocol that judged cases, as `protocol_name` returns it.

    Raises:
        ZooError: Its class cannot be imported.
    """
    try:
        return resolve_protocol(text)
    except ZooError as error:
        raise ZooError(
            f"cannot import the protocol that judged the cases ({error}). "
            "Run zoo in an environment where its module can be imported"
        ) from error


def _apply_joint_judgement(
    part: pa.Table,
    protocol: str,
    mask: NDArray[np.bool_],
    right: NDArray[np.bool_],
    tie: NDArray[np.bool_],
) -> None:
    """Updates right and tie in place if the protocol judges all answers of a subset jointly."""
    judge = import_protocol(protocol)
    if type(judge).judge_subset is Protocol.judge_subset or not mask.any():
        return
    answers = part.filter(pa.array(mask))
    judgement = judge.judge_subset(
        answers["metric"][0].as_py(),
        [np.array(scores, np.float32) for scores in answers["scores"].to_pylist()],
        [np.array(match, bool) for match in answers["match"].to_pylist()],
    )
    if judgement is not None:
        right[mask], tie[mask] = judgement, False
