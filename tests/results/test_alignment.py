"""Runs side by side.

Which questions are the same, what counts as right, and do the runs differ?
"""

import numpy as np
import pyarrow as pa
import pytest

import zoo
from tests.support.compared import Counting, outcomes, results, rows_under
from zoo.benchmarks.base import Case
from zoo.errors import ZooError
from zoo.results.comparison.alignment import AlignedRuns, align_runs, largest_score_difference
from zoo.results.comparison.outcome_differences import (
    AS_KEPT,
    outcome_differences,
    select_counted,
)
from zoo.results.comparison.paired_tests import compare_pair
from zoo.results.metrics import MacroAverage, Rules
from zoo.results.outcomes import SCHEMA, OutcomeRow, outcome_rows, outcome_table
from zoo.results.presets.preset import preset_of
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import paired_test
from zoo.sources.sample import ImageRef

OFFICIAL, STRICT = preset_of("official").rules, preset_of("strict").rules


def asked(
    name: str,
    scores: list[float],
    texts: tuple[str, ...] = ("a", "b"),
    image: str = "",
    scored: bool = True,
) -> list[OutcomeRow]:
    """The outcome of a case whose first text is right, by scripts that let it win ties."""
    match = np.array([[True] + [False] * (len(texts) - 1)])
    ref = ImageRef("coco", image or name)
    case = Case((ref,), texts, match, "i2t", "order", name, right_listed_first=True)
    asked = case.judge(np.array([scores], dtype=np.float32)) if scored else case.queries()
    return list(outcome_rows(BenchmarkRun("aro"), case, asked, frozenset()))


def run(*cases: list[OutcomeRow]) -> pa.Table:
    return outcome_table(row for case in cases for row in case)


def gallery(n: int, right: bool) -> pa.Table:
    match = np.eye(n, dtype=bool)
    images = tuple(ImageRef("coco", str(i + 1)) for i in range(n))
    texts = tuple(f"text {i}" for i in range(n))
    case = Case(images, texts, match, "retrieval", "gallery", "all")
    scores = (match if right else ~match).astype(np.float32)
    return outcome_table(
        outcome_rows(BenchmarkRun("retrieval"), case, case.judge(scores), frozenset())
    )


def found_in(
    runs: AlignedRuns, rules: Rules = AS_KEPT
) -> tuple[list[float], int, tuple[int, int] | None, float]:
    """Values of both runs, number of questions, right in each alone, and p of the only metric."""
    (row,) = rows_under(rules, runs.tables)
    test = compare_pair(row, *row.values)
    return row.totals.tolist(), row.n, test.right_only, test.p


def test_outcomes_are_counted_under_the_rules_that_are_asked_for() -> None:
    """A tie is right officially and wrong strictly.

    The runs differ in it by one of the rules alone.
    """
    ties = run(*(asked(str(i), [1.0, 1.0]) for i in range(8)))
    right = run(*(asked(str(i), [2.0, 1.0]) for i in range(8)))
    runs = align_runs([ties, right])
    official, strict = found_in(runs, OFFICIAL), found_in(runs, STRICT)
    assert official == ([1.0, 1.0], 8, (0, 0), 1.0)
    assert strict[:3] == ([0.0, 1.0], 8, (0, 8))
    assert strict[3] == pytest.approx(2 / 2**8 / 2)
    assert outcome_differences(*runs.tables, OFFICIAL) == []
    assert len(outcome_differences(*runs.tables, STRICT)) == 8


def test_options_equal_to_the_right_text_are_dropped_from_both_runs_and_from_margins() -> None:
    identity = ("a", "a", "b")
    alone = ("a", "a")
    first = run(asked("1", [3.0, 3.0, 1.0], identity), asked("2", [1.0, 1.0], alone))
    second = run(asked("1", [3.0, 3.0, 3.5], identity), asked("2", [1.0, 1.0], alone))
    runs = align_runs([first, second])
    assert found_in(runs, STRICT)[1:3] == (1, (1, 0))
    (difference,) = outcome_differences(*runs.tables, STRICT)
    assert (difference.first_margin, difference.second_margin) == (2.0, -0.5)


def test_runs_are_cut_to_the_questions_of_all_whatever_their_names() -> None:
    """Rows of a file move by one and one has another text.

    What a name says is then not what was asked.
    """
    first = run(*(asked(str(i), [2.0, 1.0], ("a", f"foil {i}"), image=str(i)) for i in range(6)))
    second = run(
        asked("0", [1.0, 2.0], ("a", "another foil"), image="0"),
        *(asked(str(i + 1), [2.0, 1.0], ("a", f"foil {i}"), image=str(i)) for i in range(1, 6)),
    )
    runs = align_runs([first, second])
    assert found_in(runs)[1:3] == (5, (0, 0))
    assert runs.left_out_counts == {(BenchmarkRun("aro"), "order"): (1, 1)}
    third = run(*(asked(str(i), [1.0, 2.0], ("a", f"foil {i}"), image=str(i)) for i in (4, 2, 9)))
    runs = align_runs([first, second, third])
    assert [[case.as_py() for case in table["case"]] for table in runs.tables] == [
        ["2", "4"],
        ["3", "5"],
        ["2", "4"],
    ]
    assert runs.left_out_counts == {(BenchmarkRun("aro"), "order"): (4, 4, 1)}


def test_galleries_that_lack_different_images_are_not_compared() -> None:
    whole, other = gallery(4, True), gallery(3, True)
    with pytest.raises(ZooError, match="clip has no case in common with base: none of its 18"):
        align_runs([whole, other], ["base", "clip"])
    pairs = run(asked("1", [2.0, 1.0]))
    runs = align_runs([pa.concat_tables([whole, pairs]), pa.concat_tables([other, pairs])])
    assert [str(row.name) for row in rows_under(AS_KEPT, runs.tables)] == ["aro/order/i2t"]
    assert runs.left_out_counts == {(BenchmarkRun("retrieval"), "gallery"): (24, 18)}
    assert largest_score_difference(*align_runs([whole, gallery(4, False)]).tables) == 1.0


def test_what_one_run_did_not_score_is_left_out_of_all_and_counted() -> None:
    first = run(asked("1", [2.0, 1.0]), asked("2", [2.0, 1.0]), asked("3", [2.0, 1.0]))
    second = run(
        asked("1", [2.0, 1.0]), asked("2", [0.0, 0.0], scored=False), asked("3", [2.0, 1.0])
    )
    third = run(asked("1", [0.0, 0.0], scored=False), *(asked(n, [1.0, 2.0]) for n in "23"))
    runs = align_runs([first, second, third])
    assert outcome_differences(*runs.tables[:2]) == []
    (row,) = rows_under(AS_KEPT, runs.tables)
    assert (row.n, row.n_total, row.totals.tolist()) == (1, 3, [1.0, 1.0, 0.0])
    assert largest_score_difference(*runs.tables[:2]) == 0.0
    assert runs.left_out_counts == {}
    assert runs.unscored_counts == {(BenchmarkRun("aro"), "order"): (0, 1, 1)}


def test_questions_that_come_twice_are_paired_in_their_order() -> None:
    first = run(asked("1", [1.0, 2.0], image="x"), asked("2", [2.0, 1.0], image="x"))
    second = run(asked("5", [2.0, 1.0], image="x"), asked("6", [2.0, 1.0], image="x"))
    runs = align_runs([first, second])
    assert [d.case for d in outcome_differences(*runs.tables)] == ["1"]
    assert found_in(runs)[1] == 2


def test_images_asked_more_than_once_are_exchanged_as_a_whole() -> None:
    image = np.repeat(np.arange(6), 3)
    first_right = np.array([1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1], dtype=bool)
    made = [
        run(
            *(
                asked(str(i), [2.0, 1.0] if r else [1.0, 2.0], ("a", f"{i}"), image=str(image[i]))
                for i, r in enumerate(right)
            )
        )
        for right in (first_right, np.zeros(18, dtype=bool))
    ]
    (row,) = rows_under(AS_KEPT, align_runs(made).tables)
    assert (row.n, row.n_images) == (18, 6)
    p = compare_pair(row, *row.values).p
    assert p == pytest.approx(paired_test(first_right, np.zeros(18), image))
    assert p > 10 * paired_test(first_right, np.zeros(18), np.arange(18))


def test_a_macro_average_and_pooled_subsets_count_the_outcomes_of_their_metric() -> None:
    parts = [
        outcomes([True, False] * 2, subset=subset, groups=["x", "x", "y", "y"])
        for subset in ("swap_att", "swap_obj")
    ]
    swaps = pa.concat_tables(parts)
    column = SCHEMA.get_field_index("bucket")
    buckets = pa.array(["definitely_seen"] * 6 + ["definitely_unseen"] * 2, pa.string())
    cases = swaps.set_column(column, SCHEMA.field(column), buckets)
    macros = {("sugarcrepe", "swap_obj"): MacroAverage(metric="i2t")}
    preset = Counting(Rules(official_ties=True, drop_identical=False, macros=macros))
    lines = {
        str(line.name): line
        for line in zoo.compare(
            {name: results(cases) for name in "ab"}, presets=[preset], resamples=10
        ).lines
    }
    by_name = {
        name: select_counted(cases, [line], [preset]).tolist() for name, line in lines.items()
    }
    assert by_name["sugarcrepe/swap_att/i2t"] == [True] * 4 + [False] * 4
    assert by_name["sugarcrepe/swap_obj/macro"] == [False] * 4 + [True] * 4
    assert by_name["sugarcrepe/swap_obj/i2t, seen"] == [False] * 4 + [True, True, False, False]
    assert by_name["sugarcrepe/*/i2t, seen"] == [True] * 6 + [False] * 2
    chosen = [lines["sugarcrepe/swap_obj/macro"], lines["sugarcrepe/*/i2t, seen"]]
    assert select_counted(cases, chosen, [preset]).all()
