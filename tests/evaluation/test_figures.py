"""Figures from outcomes: ties and identities by preset, macro averages, coverage; all of it again from the table alone."""

import numpy as np
import pytest

from zoo.benchmarks.base import Case
from zoo.datamodules.sample import ImageRef
from zoo.evaluation.averages import preset_named
from zoo.evaluation.figures import Figure, Macro, Reference, Rules, figures
from zoo.evaluation.outcomes import Row, rows, table
from zoo.evaluation.protocols import judge

OFFICIAL, STRICT = preset_named("official").rules, preset_named("strict").rules
NO_MACRO = Rules(official_ties=False, drop_identical=False, macros={})


def order_case(name: str, texts: tuple[str, ...], scores: list[float] | None, group: str | None = None, first: bool = True) -> list[Row]:
    match = np.zeros((1, len(texts)), dtype=bool)
    match[0, 0 if first else 1] = True
    case = Case((ImageRef("coco", name),), texts, match, "i2t", "COCO-Order", name, group, correct_first=first)
    given = np.array([scores if scores is not None else [0.0] * len(texts)], dtype=np.float32)
    return list(rows("aro", case, judge(case, given), frozenset(), scored=scores is not None))


def only(rows_: list[Row], rules: Rules) -> Figure:
    (found,) = figures(table(rows_), rules, {})
    return found


def test_an_identity_permutation_ties_and_is_right_officially_wrong_by_ties_and_gone_strictly() -> None:
    identity = order_case("1", ("a b", "a b", "b a"), [3.0, 3.0, 1.0])
    worse = order_case("2", ("a b", "b a", "a b"), [3.0, 4.0, 3.0])
    plain = order_case("3", ("a b", "b a", "c"), [3.0, 3.0, 1.0])
    everything = [*identity, *worse, *plain]
    assert only(everything, OFFICIAL).value == pytest.approx(200 / 3)
    assert only(everything, NO_MACRO).value == 0.0
    strict = only(everything, STRICT)
    assert strict.value == pytest.approx(100 / 3), "the identity case is right once its identity is no option"
    assert (strict.n, strict.ties) == (3, 1)


def test_chance_follows_the_options_that_are_left() -> None:
    both = [*order_case("1", ("a b", "a b", "b a"), [3.0, 3.0, 1.0]), *order_case("2", ("a b", "b a", "c"), [3.0, 2.0, 1.0])]
    assert only(both, OFFICIAL).chance == pytest.approx(100 / 3)
    assert only(both, STRICT).chance == pytest.approx(100 * (1 / 2 + 1 / 3) / 2)


def test_a_case_of_identities_alone_is_no_question_strictly_scored_or_not() -> None:
    alone = [*order_case("1", ("a", "a"), [1.0, 1.0]), *order_case("2", ("a", "a"), None), *order_case("3", ("a", "b"), [2.0, 1.0])]
    assert (only(alone, OFFICIAL).n, only(alone, OFFICIAL).of) == (2, 3)
    assert (only(alone, STRICT).n, only(alone, STRICT).of) == (1, 1)


def test_a_tie_is_wrong_officially_where_the_script_lists_the_right_answer_last() -> None:
    tied = order_case("1", ("b a", "a b"), [3.0, 3.0], first=False)
    assert only(tied, OFFICIAL).value == 0.0
    assert only(tied, OFFICIAL).ties == 1


def test_a_macro_average_leaves_out_relations_and_small_groups() -> None:
    made = []
    for name, group, right in [
        ("1", "on", True),
        ("2", "on", False),
        ("3", "on", True),
        ("4", "in", True),
        ("5", "in", True),
        ("6", "near", False),
    ]:
        made += order_case(name, ("x", "y"), [2.0, 1.0] if right else [1.0, 2.0], group)
    made += order_case("7", ("x", "y"), None, "under")
    rules = Rules(False, False, {("aro", "COCO-Order"): Macro(without=frozenset({"near"}))})
    micro, macro = figures(table(made), rules, {("aro", "COCO-Order", "macro"): Reference(published=59.9)})
    assert (micro.figure, micro.value, micro.n, micro.of) == ("i2t", pytest.approx(400 / 6), 6, 7)
    assert (macro.figure, macro.value) == ("macro", pytest.approx(100 * (2 / 3 + 1) / 2))
    assert (macro.n, macro.of, macro.published, micro.published) == (5, 6, 59.9, None)
    big = Rules(False, False, {("aro", "*"): Macro(at_least=3)})
    assert figures(table(made), big, {})[1].value == pytest.approx(200 / 3)


def test_where_nothing_was_scored_there_is_no_value() -> None:
    found = only(order_case("1", ("a", "b"), None), OFFICIAL)
    assert (found.value, found.low, found.n, found.of, found.coverage) == (None, None, 0, 1, 0.0)


def test_intervals_are_wilson_for_rates_and_by_photograph_for_groups() -> None:
    from zoo.evaluation.statistics import wilson

    made = [row for i in range(20) for row in order_case(str(i), ("a", "b"), [1.0, 0.0] if i % 4 else [0.0, 1.0])]
    found = only(made, OFFICIAL)
    assert (found.low, found.high) == pytest.approx(tuple(100 * end for end in wilson(15, 20)))
    assert found.interval == "Wilson"
    case = Case((ImageRef("file", "a"), ImageRef("file", "b")), ("x", "y"), np.eye(2, dtype=bool), "group", "w", "1")
    group = figures(table(rows("winoground", case, judge(case, np.eye(2, dtype=np.float32)), frozenset())), OFFICIAL, {})
    assert {f.figure: f.interval for f in group} == dict.fromkeys(("text", "image", "group"), "bootstrap by photograph")
    assert group[0].photographs == 2
