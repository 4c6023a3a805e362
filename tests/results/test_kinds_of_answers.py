"""Answers that are no plain right or wrong: graded ones, and those of a subset judged together."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import zoo
from tests.support.compared import Counting, outcomes, results, rows_under
from zoo.benchmarks import Case, Outcome, Protocol, Query
from zoo.benchmarks.protocols.roc_auc import RocAuc
from zoo.errors import ZooError
from zoo.results import Rules
from zoo.results.averages import Mean, Member
from zoo.results.comparison.alignment import align_runs
from zoo.results.comparison.paired_tests import compare_pair
from zoo.results.metrics import Metric, compute_metrics
from zoo.results.outcomes import OutcomeRow, outcome_rows, outcome_table
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef

PLAIN = Rules(official_ties=False, drop_identical=False)
Scores = NDArray[np.float32]
Match = NDArray[np.bool_]


class AveragePrecision(Protocol):
    """The average precision of a text's right images among all of its case's."""

    name = "ap"

    def queries(self, match: Match) -> list[Query]:
        n = len(match)
        return [Query("ap", 0, match[:, 0], tuple(range(n)), (0,))]

    def judge(self, match: Match, scores: Scores) -> list[Outcome]:
        right = match[np.argsort(-scores[:, 0], kind="stable"), 0]
        precision = float((right.cumsum() / np.arange(1, len(right) + 1))[right].mean())
        (query,) = self.queries(match)
        return [query.to_outcome(scores[:, 0], precision == 1, False, precision)]


class BestThreshold(Protocol):
    """Does a text fit an image? It does above the threshold that is right most often."""

    name = "best_threshold"

    def queries(self, match: Match) -> list[Query]:
        return [Query("fits", 0, match[0], (0,), (0,))]

    def judge(self, match: Match, scores: Scores) -> list[Outcome]:
        return [query.to_outcome(scores[0], False, False) for query in self.queries(match)]

    def judge_subset(
        self, metric: str, scores: Sequence[Scores], match: Sequence[Match]
    ) -> NDArray[np.bool_]:
        found, true = np.concatenate(list(scores)), np.concatenate(list(match))
        return max(((found >= cut) == true for cut in found), key=lambda right: int(right.sum()))


def case(protocol: Protocol, match: list[bool], scores: list[float] | None, name: str) -> Case:
    images = tuple(ImageRef("coco", f"{name}{i}") for i in range(len(match)))
    return Case(images, ("a dog",), np.array(match)[:, None], protocol, "all", name)


def kept(
    protocol: Protocol, asked: dict[str, tuple[list[bool], list[float] | None]]
) -> list[OutcomeRow]:
    found: list[OutcomeRow] = []
    for name, (match, scores) in asked.items():
        made = case(protocol, match, scores, name)
        answers = (
            made.queries() if scores is None else made.judge(np.array(scores, np.float32)[:, None])
        )
        found += outcome_rows(BenchmarkRun("made"), made, answers, frozenset())
    return found


def only(found: list[OutcomeRow]) -> Metric:
    (metric,) = compute_metrics(outcome_table(found), PLAIN, {})
    return metric


def test_a_graded_metric_is_the_mean_of_its_grades_with_an_interval_that_says_it_is_wide() -> None:
    asked = {
        "a": ([True, False, True, False], [0.9, 0.8, 0.7, 0.6]),  # (1 + 2 / 3) / 2
        "b": ([False, True], [0.9, 0.8]),  # 1 / 2
        "c": ([True, False], [0.9, 0.8]),  # 1
        "d": ([True, False], None),
    }
    metric = only(kept(AveragePrecision(), asked))
    assert metric.value == pytest.approx(100 * (5 / 6 + 1 / 2 + 1) / 3)
    assert (metric.n, metric.n_total) == (3, 4)
    assert metric.low is not None
    assert metric.high is not None
    assert metric.low < metric.value < metric.high
    assert metric.interval.endswith("at least as wide as graded answers need")


def test_answers_of_a_subset_are_judged_together_and_unscored_ones_stay_out() -> None:
    asked = {
        "a": ([True], [5.0]),
        "b": ([True], [2.0]),
        "c": ([False], [3.0]),
        "d": ([False], [1.0]),
        "e": ([True], [4.0]),
        "f": ([True], None),
    }
    metric = only(kept(BestThreshold(), asked))  # from 2 or from 4 up, four of five are right
    assert metric.value == pytest.approx(80)
    assert (metric.n, metric.n_total) == (5, 6)
    assert metric.interval == "Wilson"


def test_two_runs_of_graded_answers_are_compared_by_their_grades() -> None:
    match = [True, False, False]
    better, worse = [0.9, 0.8, 0.7], [0.7, 0.8, 0.9]
    names = [f"{i}" for i in range(8)]
    first = outcome_table(kept(AveragePrecision(), dict.fromkeys(names, (match, better))))
    second = outcome_table(
        kept(AveragePrecision(), {name: (match, worse if name < "6" else better) for name in names})
    )
    (row,) = rows_under(PLAIN, align_runs([first, second]).tables)
    assert row.totals.tolist() == pytest.approx([1, (6 / 3 + 2) / 8])
    test = compare_pair(row, *row.values)
    assert test.difference == pytest.approx((6 / 3 + 2) / 8 - 1)
    assert test.right_only is None
    assert test.p == pytest.approx(2 * 0.5**6 / 2, abs=0.003)  # McNemar's mid-p of six against none


def test_what_has_no_interval_is_named_and_left_out_of_a_comparison() -> None:
    match = np.repeat(np.eye(2, dtype=bool), 4, axis=0)
    images = tuple(ImageRef("coco", f"{100 + i}") for i in range(8))
    asked = Case(images, ("a cat", "a dog"), match, RocAuc(), "all", "0")
    ranked = [
        outcome_table(outcome_rows(BenchmarkRun("ranked"), asked, asked.judge(scores), frozenset()))
        for scores in np.random.default_rng(0).random((2, 8, 2), np.float32)
    ]
    plain = [outcomes([i < right for i in range(8)]) for right in (3, 6)]
    both = Mean("both", (Member("sugarcrepe", "swap_att"), Member("ranked", "all", "roc_auc")))
    runs = {
        name: results(pa.concat_tables(of))
        for name, *of in zip(("first", "second"), plain, ranked, strict=True)
    }
    compared = zoo.compare(runs, presets=[Counting(PLAIN, [both])], resamples=100)
    assert [str(line.name) for line in compared.lines] == ["sugarcrepe/swap_att/i2t"]
    (note,) = (note for note in compared.notes if "ranked/all/roc_auc" in note)
    assert note.startswith("not compared, and left out of averages")
    alone = {name: results(of) for name, of in zip(runs, ranked, strict=True)}
    with pytest.raises(
        ZooError, match=r"only have ranked/all/roc_auc in common, for which no interval is known"
    ):
        zoo.compare(alone, presets=[Counting(PLAIN, [both])])


def test_texts_that_ask_count_by_themselves_in_a_mean_of_two_metrics() -> None:
    match, found = np.array([[True, False]] * 2), list[OutcomeRow]()
    for subset in ("first", "second"):
        for i in range(8):
            asked = Case((), ("b", "c"), match, "text_only", subset, f"{i}", query_texts=("a", "d"))
            judged = asked.judge(np.full((2, 2), [float(i < 6), 0.5], np.float32))
            found += outcome_rows(BenchmarkRun("texts"), asked, judged, frozenset())
    mean = Mean("both", tuple(Member("texts", subset, "t2t") for subset in ("first", "second")))
    first, second, both = rows_under(PLAIN, [outcome_table(found)] * 2, [mean])
    assert (first.n_images, second.n_images, both.n_images) == (8, 8, 16)
