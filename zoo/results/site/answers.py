"""The answers of each run to every query that any run scored, grouped by metric."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.familiarity.buckets import BUCKETS, EXCLUDED
from zoo.results.comparison.alignment import rows_by_query
from zoo.results.header import SCALE
from zoo.results.metrics import MetricKey, Rules, group_rows_by_metric
from zoo.results.outcomes import judge_outcomes
from zoo.results.report import Results

UNSCORED = -1
MAX_OPTIONS = 8  # options that are shown per case; a zero-shot case has a thousand
WRONG_COLUMNS = ("wrong_text", "wrong_image")
CASE_COLUMNS = ("case", "images", "texts", "match")
ANSWER_COLUMNS = (*CASE_COLUMNS, "scores", *WRONG_COLUMNS)


@dataclass(frozen=True)
class MetricAnswerRange:
    """The answers that one metric counts.

    Attributes:
        key: Benchmark, subset and metric.
        start: Index of its first answer.
        n: Number of its answers.
        graded: Whether answers have grades, so that the metric is not the share of right ones.
    """

    key: MetricKey
    start: int
    n: int
    graded: bool


@dataclass(frozen=True)
class QueryAnswers:
    """One query with the answers of all runs.

    Attributes:
        case: Id of the case.
        images: Identities of its images.
        texts: Its texts.
        match: Which of the scores are right.
        scores: The scores of each run; None for a run that did not score it.
        best_wrong: The highest wrong answer of each run in a gallery: its text and the identity of
            its image, one of which is None. None for a run that recorded neither.
    """

    case: str
    images: list[str]
    texts: list[str]
    match: list[bool]
    scores: list[list[float] | None]
    best_wrong: list[tuple[str | None, str | None] | None]


@dataclass(frozen=True)
class ReportAnswers:
    """The answers of runs to all queries that any of them scored, sorted by metric.

    Attributes:
        metric_ranges: The metrics.
        right: Whether each run is right, `[runs, n]`: 1, 0, or UNSCORED.
        margin: The worst right score minus the best wrong one, `[runs, n]`, before the head's
            scale; NaN where there is none.
        split: The split of familiarity of each query, None where it has none.
        leak: Whether each run records that its model has seen an image of each query, as in
            `zoo.results.leaks`, `[runs, n]`; None where it is not recorded.
        rows: Rows of each run's outcomes, `[runs, n]`; UNSCORED where it has none.
    """

    metric_ranges: tuple[MetricAnswerRange, ...]
    right: NDArray[np.int8]
    margin: NDArray[np.float64]
    split: list[str | None]
    leak: list[list[str | None]]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.right.shape[1])

    def read(self, results: Sequence[Results], start: int, stop: int) -> Iterator[QueryAnswers]:
        """Yields a range of queries, with scores before the head's scale.

        Args:
            results: The runs.
            start: Index of the first query.
            stop: Index after the last query.
        """
        run_rows = self.rows[:, start:stop]
        scales = [_head_scale(run) for run in results]
        tables = [
            run.cases.select(ANSWER_COLUMNS).take(np.maximum(rows, 0)).to_pylist()
            for run, rows in zip(results, run_rows, strict=True)
        ]
        for i in range(stop - start):
            runs_with_case = [run for run in range(len(results)) if run_rows[run, i] >= 0]
            first_record = tables[runs_with_case[0]][i]
            scores: list[list[float] | None] = [None] * len(results)
            wrong: list[tuple[str | None, str | None] | None] = [None] * len(results)
            for run in runs_with_case:
                record = tables[run][i]
                if record["scores"] is not None:
                    scores[run] = [score / scales[run] for score in record["scores"]]
                text, image = (record[name] for name in WRONG_COLUMNS)
                wrong[run] = None if text is None and image is None else (text, image)
            case, images, texts, match = (first_record[name] for name in CASE_COLUMNS)
            yield _limit_options(QueryAnswers(case, images, texts, match, scores, wrong))


def collect_answers(results: Sequence[Results], rules: Rules) -> ReportAnswers:
    """Returns the answers of runs, with the answers to the same query side by side.

    The queries of a metric are sorted by the first run's margin, the lowest first.

    Args:
        results: The runs.
        rules: What counts as right.
    """
    rows_by_run = [rows_by_query(run.cases) for run in results]
    keys = list(dict.fromkeys(key for rows in rows_by_run for key in rows))
    rows = np.array(
        [[run_rows.get(key, UNSCORED) for key in keys] for run_rows in rows_by_run], np.int64
    )
    judged_runs = [_judge_run(run, rules) for run in results]
    right, margin = (
        np.stack(
            [np.where(run_rows >= 0, values[run_rows], missing) for run_rows, values in numbers]
        )
        for numbers, missing in (
            (zip(rows, (right for right, _, _ in judged_runs), strict=True), UNSCORED),
            (zip(rows, (margin for _, margin, _ in judged_runs), strict=True), np.nan),
        )
    )
    # the metric of a query is the first element of the third part of its key
    names = [(run, subset, str(rest[0])) for run, subset, rest in keys]
    order = _metric_positions(results[0])
    position = np.array([order.setdefault(name, len(order)) for name in names])
    worst = np.where(right[0] == UNSCORED, np.inf, np.nan_to_num(margin[0], nan=-np.inf))
    selected = np.lexsort((worst, position))
    selected = selected[(right[:, selected] != UNSCORED).any(0)]
    rows = rows[:, selected]
    graded = {key for _, _, graded_keys in judged_runs for key in graded_keys}
    return ReportAnswers(
        tuple(_metric_answer_ranges([names[i] for i in selected], graded)),
        right[:, selected].astype(np.int8),
        margin[:, selected],
        _query_splits(results, rows),
        [_query_leaks(run, run_rows) for run, run_rows in zip(results, rows, strict=True)],
        rows,
    )


def _judge_run(
    run: Results, rules: Rules
) -> tuple[NDArray[np.int64], NDArray[np.float64], set[MetricKey]]:
    """Returns whether each outcome of a run is right, its margin, and which metrics are graded."""
    right, graded = np.full(len(run.cases), UNSCORED), set[MetricKey]()
    for key, rows in group_rows_by_metric(run.cases).items():
        outcome = judge_outcomes(run.cases.take(rows), rules.official_ties, rules.drop_identical)
        scored = outcome.select(outcome.scored)
        right[rows[scored.row]] = scored.right
        if (scored.value != scored.right).any():
            graded.add(key)
    margin = np.array([_margin(row, rules.drop_identical) for row in _score_records(run.cases)])
    return right, margin / _head_scale(run), graded


def _score_records(cases: pa.Table) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = cases.select(["scores", "match", "identical"]).to_pylist()
    return records


def _margin(row: Mapping[str, Any], drop_identical: bool) -> float:
    """Returns the margin of an outcome; minus infinity where a right answer was not scored."""
    if row["scores"] is None or row["match"] is None:
        return float("nan")
    is_identical = (
        row["identical"] if drop_identical and row["identical"] else [False] * len(row["match"])
    )
    pairs = list(zip(row["scores"], row["match"], is_identical, strict=True))
    right = [score for score, match, _ in pairs if match]
    wrong = [score for score, match, dropped in pairs if not (match or dropped)]
    return min(right) - max(wrong) if right and wrong else float("nan")


def _head_scale(run: Results) -> float:
    return float(run.header["scoring"].get(SCALE) or 1.0)


def _metric_positions(run: Results) -> dict[MetricKey, int]:
    """Returns the position of each metric in the report."""
    return {
        key: i for i, key in enumerate(dict.fromkeys(metric.metric_key for metric in run.metrics))
    }


def _metric_answer_ranges(
    keys: Sequence[MetricKey], graded: Container[MetricKey]
) -> Iterator[MetricAnswerRange]:
    start = 0
    for i, key in enumerate(keys):
        if i + 1 == len(keys) or keys[i + 1] != key:
            yield MetricAnswerRange(key, start, i + 1 - start, key in graded)
            start = i + 1


def _query_splits(results: Sequence[Results], rows: NDArray[np.int64]) -> list[str | None]:
    """Returns the split of each query, from the first run that records it."""
    split_names = {**BUCKETS, EXCLUDED: EXCLUDED}
    splits: list[str | None] = [None] * rows.shape[1]
    for run, run_rows in zip(results, rows, strict=True):
        buckets = run.cases["bucket"].to_pylist()
        splits = [
            split or (split_names.get(buckets[row]) if row >= 0 else None)
            for split, row in zip(splits, run_rows, strict=True)
        ]
    return splits


def _query_leaks(run: Results, rows: NDArray[np.int64]) -> list[str | None]:
    leaks = run.cases["leak"].to_pylist()
    return [leaks[row] if row >= 0 else None for row in rows]


def _limit_options(answer: QueryAnswers) -> QueryAnswers:
    """Returns a query with only the right options and those that the runs score highest."""
    if len(answer.match) <= MAX_OPTIONS:
        return answer
    ranked = [np.argsort([-score for score in scores]) for scores in answer.scores if scores]
    interleaved = [int(i) for column in zip(*ranked, strict=True) for i in column]
    right = [i for i, match in enumerate(answer.match) if match]
    options = sorted(list(dict.fromkeys([*right, *interleaved]))[:MAX_OPTIONS])
    texts = answer.texts
    return replace(
        answer,
        texts=(
            [texts[i] for i in options] if len(texts) == len(answer.match) else texts[:MAX_OPTIONS]
        ),
        match=[answer.match[i] for i in options],
        scores=[scores and [scores[i] for i in options] for scores in answer.scores],
    )
