"""Rows of cases that were scored and of others, and which options say what the right text says."""

from dataclasses import asdict

import numpy as np
import pytest

from zoo.benchmarks.base import Case
from zoo.results.outcomes import mark_identical_answers, outcome_rows
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef

RIGHT = "a smiling baseball player with a catcher's gear, on"


@pytest.mark.parametrize(
    ("option", "same"),
    [
        (RIGHT, True),
        ("a smiling baseball player with a catcher 's gear , on", True),
        ("a smiling baseball player with a catcher's gear on", False),
        ("a smiling base ball player with a catcher's gear, on", False),
        ("a smiling catcher player with a baseball's gear, on", False),
    ],
)
def test_an_option_is_the_right_text_but_for_blanks_before_marks(option: str, same: bool) -> None:
    for right, wrong in ((RIGHT, option), (option, RIGHT)):
        case = Case(
            (ImageRef("file", "a.png"),),
            (right, wrong),
            np.array([[True, False]]),
            "i2t",
            "COCO-Order",
            "1#0",
        )
        (query,) = case.queries()
        assert mark_identical_answers(case, query) == [False, same]


MATCHES = {
    "i2t": np.array([[True, False, False], [False, True, False]]),
    "t2i": np.array([[True], [False]]),
    "group": np.eye(2, dtype=bool),
    "half_truth": np.array([[True, False, True]]),
    "retrieval": np.repeat(np.eye(3, dtype=bool), 2, axis=1),
}


@pytest.mark.parametrize("protocol", MATCHES)
def test_a_case_that_was_not_scored_has_the_rows_of_one_that_was_and_no_answers(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    match = MATCHES[protocol]
    n, m = match.shape
    images = tuple(ImageRef("file", f"{i}.png") for i in range(n))
    case = Case(images, tuple("abcdef"[:m]), match, protocol, "subset", "0")
    scores = np.random.default_rng(0).normal(size=match.shape).astype(np.float32)
    judged = [
        asdict(row)
        for row in outcome_rows(BenchmarkRun("any"), case, case.judge(scores), frozenset())
    ]
    monkeypatch.setattr(type(case.resolved_protocol), "judge", None)
    left = [
        asdict(row) for row in outcome_rows(BenchmarkRun("any"), case, case.queries(), frozenset())
    ]
    assert len(left) > 0
    assert all(row["right"] is not None and row["scores"] for row in judged)
    answers = dict.fromkeys(("scores", "right", "tie", "wrong_image", "wrong_text"))
    assert left == [{**row, **answers} for row in judged]


def test_a_gallery_keeps_the_wrong_answer_that_scores_highest() -> None:
    match = np.eye(3, dtype=bool)
    scores = np.array([[1, 5, 6], [2, 9, 2], [7, 0, 8]], dtype=np.float32)
    images = tuple(ImageRef("file", f"{i}.png") for i in range(3))
    case = Case(images, ("a", "b", "c"), match, "retrieval", "subset", "0")
    found = outcome_rows(BenchmarkRun("any"), case, case.judge(scores), frozenset())
    kept = {(row.metric, row.query): (row.wrong_image, row.wrong_text) for row in found}
    assert [kept["i2t_r@1", q] for q in range(3)] == [(None, "c"), (None, "a"), (None, "a")]
    assert [kept["t2i_r@1", q] for q in range(3)] == [
        ("file:2.png", None),
        ("file:0.png", None),
        ("file:0.png", None),
    ]
    assert kept["t2i_r@10", 1] == kept["t2i_r@1", 1]
