"""Metrics from outcomes: ties and identities by preset, macro averages, coverage.

All of it again from the table alone.
"""

import math

import numpy as np
import pytest
from scipy import stats

from zoo.benchmarks.base import Case
from zoo.results.metrics import MacroAverage, Metric, Reference, Rules, compute_metrics
from zoo.results.outcomes import OutcomeRow, outcome_rows, outcome_table
from zoo.results.presets.preset import preset_of
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import wilson
from zoo.sources.sample import ImageRef

OFFICIAL, STRICT = preset_of("official").rules, preset_of("strict").rules
NO_MACRO = Rules(official_ties=False, drop_identical=False, macros={})


def order_case(
    name: str,
    texts: tuple[str, ...],
    scores: list[float] | None,
    group: str | None = None,
    first: bool = True,
) -> list[OutcomeRow]:
    match = np.zeros((1, len(texts)), dtype=bool)
    match[0, 0 if first else 1] = True
    case = Case(
        (ImageRef("coco", name),),
        texts,
        match,
        "i2t",
        "COCO-Order",
        name,
        group,
        right_listed_first=first,
    )
    asked = case.queries() if scores is None else case.judge(np.array([scores], dtype=np.float32))
    return list(outcome_rows(BenchmarkRun("aro"), case, asked, frozenset()))


def only(rows_: list[OutcomeRow], rules: Rules) -> Metric:
    (found,) = compute_metrics(outcome_table(rows_), rules, {})
    return found


def test_an_identity_permutation_ties_and_is_right_officially_wrong_by_ties_and_gone_strictly() -> (
    None
):
    identity = order_case("1", ("a b", "a b", "b a"), [3.0, 3.0, 1.0])
    worse = order_case("2", ("a b", "b a", "a b"), [3.0, 4.0, 3.0])
    plain = order_case("3", ("a b", "b a", "c"), [3.0, 3.0, 1.0])
    everything = [*identity, *worse, *plain]
    assert only(everything, OFFICIAL).value == pytest.approx(200 / 3)
    assert only(everything, NO_MACRO).value == 0.0
    strict = only(everything, STRICT)
    assert strict.value == pytest.approx(100 / 3), (
        "the identity case is right once its identity is no option"
    )
    assert (strict.n, strict.ties) == (3, 1)


def test_chance_follows_the_options_that_are_left() -> None:
    both = [
        *order_case("1", ("a b", "a b", "b a"), [3.0, 3.0, 1.0]),
        *order_case("2", ("a b", "b a", "c"), [3.0, 2.0, 1.0]),
    ]
    assert only(both, OFFICIAL).chance == pytest.approx(100 / 3)
    assert only(both, STRICT).chance == pytest.approx(100 * (1 / 2 + 1 / 3) / 2)


def test_a_case_of_identities_alone_is_no_question_strictly_scored_or_not() -> None:
    alone = [
        *order_case("1", ("a", "a"), [1.0, 1.0]),
        *order_case("2", ("a", "a"), None),
        *order_case("3", ("a", "b"), [2.0, 1.0]),
    ]
    assert (only(alone, OFFICIAL).n, only(alone, OFFICIAL).n_total) == (2, 3)
    assert (only(alone, STRICT).n, only(alone, STRICT).n_total) == (1, 1)


def test_a_foil_that_is_one_of_the_captions_that_ask_is_no_question_strictly() -> None:
    made = []
    for foil, scores in {
        "a": [[3, 9], [9, 3]],
        "b": [[3, 3], [9, 9]],
        "c": [[3, 2], [9, 1]],
    }.items():
        asking, match = ("a", "b"), np.array([[True, False]] * 2)
        case = Case((), ("b", foil), match, "text_only", "swap_obj", foil, query_texts=asking)
        judged = case.judge(np.array(scores, dtype=np.float32))
        made += outcome_rows(BenchmarkRun("sugarcrepe_pp_text"), case, judged, frozenset())
    official, strict = only(made, OFFICIAL), only(made, STRICT)
    assert (official.n, official.value) == (3, pytest.approx(100 / 3))
    assert (strict.n, strict.n_total, strict.value) == (1, 1, 100.0)
    assert strict.chance == pytest.approx(100 / 3)


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
    rules = Rules(
        False, False, {("aro", "COCO-Order"): MacroAverage(excluded_groups=frozenset({"near"}))}
    )
    micro, macro = compute_metrics(
        outcome_table(made),
        rules,
        {(BenchmarkRun("aro"), "COCO-Order"): Reference(published={"macro": 59.9})},
    )
    assert (micro.metric, micro.value) == ("i2t", pytest.approx(400 / 6))
    assert (micro.n, micro.n_total) == (6, 7)
    assert (macro.metric, macro.value) == ("macro", pytest.approx(100 * (2 / 3 + 1) / 2))
    assert (macro.n, macro.n_total, macro.published, micro.published) == (5, 6, 59.9, None)
    big = Rules(False, False, {("aro", "*"): MacroAverage(min_cases=3)})
    assert list(compute_metrics(outcome_table(made), big, {}))[1].value == pytest.approx(200 / 3)


def test_where_nothing_was_scored_there_is_no_value() -> None:
    found = only(order_case("1", ("a", "b"), None), OFFICIAL)
    assert (found.value, found.low, found.n, found.n_total, found.coverage) == (
        None,
        None,
        0,
        1,
        0.0,
    )


def test_a_rate_has_wilsons_interval_on_its_cases_and_on_fewer_where_an_image_comes_twice() -> None:
    made = [
        row
        for i in range(20)
        for row in order_case(str(i), ("a", "b"), [1.0, 0.0] if i % 4 else [0.0, 1.0])
    ]
    found = only(made, OFFICIAL)
    assert (found.low, found.high) == pytest.approx(tuple(100 * end for end in wilson(15, 20)))
    assert found.interval == "Wilson"
    twice = only([*made, *order_case("0", ("a", "c"), [1.0, 0.0])], OFFICIAL)
    assert twice.interval == "Wilson on the effective number of images"


def winoground(scores: list[np.ndarray]) -> list[OutcomeRow]:
    made = []
    for k, given in enumerate(scores):
        case = Case(
            (ImageRef("file", f"{k}a"), ImageRef("file", f"{k}b")),
            ("x", "y"),
            np.eye(2, dtype=bool),
            "group",
            "w",
            str(k),
        )
        made += outcome_rows(
            BenchmarkRun("winoground"), case, case.judge(given.astype(np.float32)), frozenset()
        )
    return made


def test_a_group_score_of_zero_has_wilsons_interval_and_not_none_at_all() -> None:
    group = compute_metrics(
        outcome_table(winoground([np.ones((2, 2)) - np.eye(2)] * 10)), OFFICIAL, {}
    )
    for found in group:
        assert (found.value, found.low, found.interval) == (0.0, 0.0, "Wilson")
        assert found.high == pytest.approx(100 * wilson(0, 10)[1])
        assert found.images == 20


def test_an_average_over_groups_that_is_all_right_has_an_interval_by_its_effective_number() -> None:
    """Group `a` has three images, `b` one.

    Weights 1/6, 1/6, 1/6 and 1/2 are worth 3 images, by Student's quantile for four.
    """
    made = [row for i in range(3) for row in order_case(str(i), ("x", "y"), [2.0, 1.0], "a")]
    made += order_case("3", ("x", "y"), [2.0, 1.0], "b")
    _, macro = compute_metrics(
        outcome_table(made), Rules(False, False, {("aro", "*"): MacroAverage()}), {}
    )
    assert (macro.value, macro.high) == (100.0, pytest.approx(100.0))
    n = 3 / (stats.t.ppf(0.975, 3) / stats.norm.ppf(0.975)) ** 2
    assert macro.low == pytest.approx(100 * wilson(n, n)[0])
    assert "effective" in macro.interval


def test_a_published_value_stands_only_beside_a_metric_that_is_counted_as_it_was() -> None:
    known = {(BenchmarkRun("aro"), "COCO-Order"): Reference(published={"i2t": 47.6, "macro": 59.9})}
    identity = outcome_table(order_case("1", ("a b", "a b", "b a"), [3.0, 3.0, 1.0], "on"))
    official, strict = (
        Rules(True, False, {("aro", "*"): MacroAverage()}),
        Rules(False, True, {("aro", "*"): MacroAverage()}),
    )
    assert [f.published for f in compute_metrics(identity, official, known, official)] == [
        47.6,
        59.9,
    ]
    assert [f.published for f in compute_metrics(identity, strict, known, official)] == [None, None]
    plain = outcome_table(order_case("1", ("a b", "b a"), [3.0, 1.0], "on", first=True))
    plain = plain.set_column(plain.column_names.index("tie_is_right"), "tie_is_right", [[False]])
    assert [f.published for f in compute_metrics(plain, strict, known, official)] == [47.6, 59.9]
    others = Rules(True, False, {("aro", "*"): MacroAverage(min_cases=2)})
    assert [f.published for f in compute_metrics(identity, others, known, official)] == [47.6, None]


def retrieval(n: int, captions: int, there: int | None = None) -> list[OutcomeRow]:
    images = tuple(ImageRef("coco", str(i + 1)) for i in range(n))
    made: list[OutcomeRow] = []
    for part, scored in (
        (images[:there], True),
        (images[there:] if there is not None else (), False),
    ):
        match = np.repeat(np.eye(len(part), dtype=bool), captions, axis=1)
        texts = tuple(f"{image.key} {k}" for image in part for k in range(captions))
        case = Case(part, texts, match, "retrieval", "gallery", "all" if scored else "missing")
        asked = case.judge(match.astype(np.float32)) if scored else case.queries()
        made += outcome_rows(BenchmarkRun("retrieval"), case, asked, frozenset())
    return made


def test_chance_of_a_recall_is_that_of_a_draw_from_the_gallery_that_was_scored() -> None:
    found = {f.metric: f for f in compute_metrics(outcome_table(retrieval(4, 2)), OFFICIAL, {})}
    assert list(found) == [f"{side}_r@{k}" for side in ("i2t", "t2i") for k in (1, 5, 10)]
    for k in (1, 5, 10):
        for side, options, right in (("i2t", 8, 2), ("t2i", 4, 1)):
            expected = (
                1 - math.comb(options - right, k) / math.comb(options, k) if k <= options else 1.0
            )
            assert found[f"{side}_r@{k}"].chance == pytest.approx(100 * expected)


def test_a_recall_in_a_part_of_the_gallery_is_marked_and_has_no_published_value_beside() -> None:
    known = {(BenchmarkRun("retrieval"), "gallery"): Reference(6, {}, {"i2t_r@1": 50.12})}
    whole = next(iter(compute_metrics(outcome_table(retrieval(6, 1)), OFFICIAL, known)))
    assert (whole.partial_gallery, whole.gallery_size, whole.published) == (False, 6, 50.12)
    for made in (
        retrieval(6, 1, there=4),
        retrieval(4, 1),
    ):  # images missing; captions missing from the file
        part = next(iter(compute_metrics(outcome_table(made), OFFICIAL, known)))
        assert (part.partial_gallery, part.images, part.gallery_size, part.published) == (
            True,
            4,
            6,
            None,
        )


def test_metrics_come_in_the_order_of_the_outcomes() -> None:
    made = [*winoground([np.eye(2)] * 2), *order_case("1", ("a", "b"), [1.0, 0.0])]
    assert [f.metric for f in compute_metrics(outcome_table(made), NO_MACRO, {})] == [
        "text",
        "image",
        "group",
        "i2t",
    ]
