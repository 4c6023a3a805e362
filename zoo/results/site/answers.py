"""Answers: what each run made of every question that one of them scored, metric by metric."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.familiarity.buckets import BUCKETS, EXCLUDED
from zoo.results.comparison.common import rows_by_question
from zoo.results.metrics import Place, Rules, places
from zoo.results.outcomes import judge_outcomes
from zoo.results.report import SCALE, Results

UNSCORED = -1
MOST = 8  # options that a case is shown with; a zero-shot case has a thousand
WRONG = ("wrong_text", "wrong_image")
ABOUT = ("case", "images", "texts", "match")
CONTENTS = (*ABOUT, "scores", *WRONG)


@dataclass(frozen=True)
class AnswerGroup:
    """The answers that one metric counts.

    Attributes:
        place: Benchmark, subset and metric.
        start: Where its answers begin.
        n: How many these are.
        graded: Whether answers are good in part, so that the metric is no share of right ones.
    """

    place: Place
    start: int
    n: int
    graded: bool


@dataclass(frozen=True)
class Answer:
    """One question with what each run made of it.

    Attributes:
        case: Id of the case.
        images: Identities of the images that it is about.
        texts: Texts that it is about.
        match: Which of the scores are right.
        scores: The scores of each run; None of a run that did not score it.
        wrong: What each run has as the highest wrong answer of a gallery: its text, and the
            identity of its image, of which one is None. None of a run that keeps neither.
    """

    case: str
    images: list[str]
    texts: list[str]
    match: list[bool]
    scores: list[list[float] | None]
    wrong: list[tuple[str | None, str | None] | None]


@dataclass(frozen=True)
class Answers:
    """What runs made of all questions that one of them scored, those of one metric together.

    Attributes:
        parts: The metrics.
        right: Whether each run is right, `[runs, n]`: 1, 0, or UNSCORED.
        margin: The worst right score less the best wrong one, `[runs, n]`, before the head's scale;
            not a number where there is none.
        split: The split of familiarity of each question, None where it has none.
        leak: Whether each run says that its model has seen an image of each question, as in
            `zoo.results.leaks`, `[runs, n]`; None where it does not say.
        rows: Rows of each run's outcomes, `[runs, n]`; UNSCORED where it has none.
    """

    parts: tuple[AnswerGroup, ...]
    right: NDArray[np.int8]
    margin: NDArray[np.float64]
    split: list[str | None]
    leak: list[list[str | None]]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.right.shape[1])

    def read(self, results: Sequence[Results], start: int, stop: int) -> Iterator[Answer]:
        """Yields the questions from one number to another, with scores before the head's scale.

        Args:
            results: The runs.
            start: Number of the first.
            stop: Number after the last.
        """
        asked = self.rows[:, start:stop]
        scales = [_scale(run) for run in results]
        tables = [
            run.cases.select(CONTENTS).take(np.maximum(own, 0)).to_pylist()
            for run, own in zip(results, asked, strict=True)
        ]
        for i in range(stop - start):
            has = [run for run in range(len(results)) if asked[run, i] >= 0]
            first = tables[has[0]][i]
            scores: list[list[float] | None] = [None] * len(results)
            wrong: list[tuple[str | None, str | None] | None] = [None] * len(results)
            for run in has:
                own = tables[run][i]
                if own["scores"] is not None:
                    scores[run] = [score / scales[run] for score in own["scores"]]
                text, image = (own[name] for name in WRONG)
                wrong[run] = None if text is None and image is None else (text, image)
            case, images, texts, match = (first[name] for name in ABOUT)
            yield _select_options(Answer(case, images, texts, match, scores, wrong))


def answers(results: Sequence[Results], rules: Rules) -> Answers:
    """Judges the questions of runs, and lays those together that are the same.

    Of one metric those stand first that the first run has most wrong.

    Args:
        results: The runs.
        rules: What counts as right.
    """
    asked = rows_by_question([run.cases for run in results])
    keys = list(dict.fromkeys(key for rows in asked for key in rows))
    rows = np.array([[own.get(key, UNSCORED) for key in keys] for own in asked], np.int64)
    found = [_judge_run(run, rules) for run in results]
    right, margin = (
        np.stack([np.where(own >= 0, of_run[own], nothing) for own, of_run in numbers])
        for numbers, nothing in (
            (zip(rows, (right for right, _, _ in found), strict=True), UNSCORED),
            (zip(rows, (margin for _, margin, _ in found), strict=True), np.nan),
        )
    )
    # the metric of a question is the first word of the third part of its key
    named = [(run, subset, str(rest[0])) for run, subset, rest in keys]
    order = _order(results[0])
    place = np.array([order.setdefault(name, len(order)) for name in named])
    worst = np.where(right[0] == UNSCORED, np.inf, np.nan_to_num(margin[0], nan=-np.inf))
    chosen = np.lexsort((worst, place))
    chosen = chosen[(right[:, chosen] != UNSCORED).any(0)]
    rows = rows[:, chosen]
    split = _split(results, rows)
    graded = {place for _, _, places in found for place in places}
    return Answers(
        tuple(_parts([named[i] for i in chosen], graded)),
        right[:, chosen].astype(np.int8),
        margin[:, chosen],
        split,
        [_leak(run, own) for run, own in zip(results, rows, strict=True)],
        rows,
    )


def _judge_run(
    run: Results, rules: Rules
) -> tuple[NDArray[np.int64], NDArray[np.float64], set[Place]]:
    """Returns whether each outcome of a run is right, its margin, and which metrics are graded."""
    right, graded = np.full(len(run.cases), UNSCORED), set[Place]()
    for place, rows in places(run.cases).items():
        outcome = judge_outcomes(run.cases.take(rows), rules.official_ties, rules.drop_identical)
        scored = outcome.select(outcome.scored)
        right[rows[scored.row]] = scored.right
        if (scored.value != scored.right).any():
            graded.add(place)
    margin = np.array([_margin(row, rules.drop_identical) for row in _scored_texts(run.cases)])
    return right, margin / _scale(run), graded


def _scored_texts(cases: pa.Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cases.select(["scores", "match", "identical"]).to_pylist()
    return found


def _margin(row: Mapping[str, Any], drop_identical: bool) -> float:
    """Returns the margin of an outcome; minus infinity where a right answer was not scored."""
    if row["scores"] is None or row["match"] is None:
        return float("nan")
    same = row["identical"] if drop_identical and row["identical"] else [False] * len(row["match"])
    pairs = list(zip(row["scores"], row["match"], same, strict=True))
    right = [score for score, match, _ in pairs if match]
    wrong = [score for score, match, dropped in pairs if not (match or dropped)]
    return min(right) - max(wrong) if right and wrong else float("nan")


def _scale(run: Results) -> float:
    return float(run.header["scoring"].get(SCALE) or 1.0)


def _order(run: Results) -> dict[Place, int]:
    """Returns where each metric stands in the report."""
    found: dict[Place, int] = {}
    for metric in run.metrics:
        found.setdefault((metric.benchmark_run, metric.subset, metric.metric), len(found))
    return found


def _parts(places: Sequence[Place], graded: Container[Place]) -> Iterator[AnswerGroup]:
    start = 0
    for i, place in enumerate(places):
        if i + 1 == len(places) or places[i + 1] != place:
            yield AnswerGroup(place, start, i + 1 - start, place in graded)
            start = i + 1


def _split(results: Sequence[Results], rows: NDArray[np.int64]) -> list[str | None]:
    """Returns the split of each question, as the first run that has it tells it."""
    known = {**BUCKETS, EXCLUDED: EXCLUDED}
    found: list[str | None] = [None] * rows.shape[1]
    for run, own in zip(results, rows, strict=True):
        buckets = run.cases["bucket"].to_pylist()
        found = [
            told or (known.get(buckets[row]) if row >= 0 else None)
            for told, row in zip(found, own, strict=True)
        ]
    return found


def _leak(run: Results, rows: NDArray[np.int64]) -> list[str | None]:
    told = run.cases["leak"].to_pylist()
    return [told[row] if row >= 0 else None for row in rows]


def _select_options(answer: Answer) -> Answer:
    """Returns a question with the right options and those that runs score highest."""
    if len(answer.match) <= MOST:
        return answer
    ranked = [np.argsort([-score for score in scores]) for scores in answer.scores if scores]
    mixed = [int(i) for at in zip(*ranked, strict=True) for i in at]
    right = [i for i, match in enumerate(answer.match) if match]
    kept = sorted(list(dict.fromkeys([*right, *mixed]))[:MOST])
    texts = answer.texts
    return replace(
        answer,
        texts=[texts[i] for i in kept] if len(texts) == len(answer.match) else texts[:MOST],
        match=[answer.match[i] for i in kept],
        scores=[scores and [scores[i] for i in kept] for scores in answer.scores],
    )
