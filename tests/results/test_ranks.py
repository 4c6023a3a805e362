"""Pairs of models on each split: McNemar's mid-p, adjusted; significant flips; the picture."""

import csv
import gzip
from io import BytesIO
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from scipy import stats

from tests.support.compared import brittle_outcomes
from zoo.benchmarks.base import Case
from zoo.familiarity.bindings import Binding
from zoo.familiarity.buckets import BUCKETS
from zoo.familiarity.table import BindingTable
from zoo.results.drawing import png
from zoo.results.familiarity import Familiarity, add_bucket_column
from zoo.results.outcomes import SCHEMA, OutcomeRow, outcome_rows, outcome_table
from zoo.results.ranks import (
    Flip,
    SplitTest,
    compute_split_tests,
    draw_ranks,
    find_flips,
    find_seed_flips,
)
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import mcnemar_mid_p, paired_test
from zoo.sources.sample import ImageRef

RUN = BenchmarkRun("aro")
PLACE = (RUN, "swap_att", "i2t")
# Right in the first model alone and in the second alone, and the two-sided mid-p, by scipy's
# binomial law alone: OpenAI's ViT-B/32 against BiVLC's fine-tuning of it on COCO.
BIVLC = {
    "text_score": (117, 320, 4.765990111460772e-23),
    "image_score": (174, 511, 1.7139387059067562e-39),
    "group_score": (160, 509, 1.911205006875387e-43),
}
SUGARCREPE = {
    "add/att": (28, 118, 1.480217725011457e-14),
    "add/obj": (50, 311, 2.0612597092578046e-47),
    "replace/att": (30, 81, 9.322584031886615e-07),
    "replace/obj": (28, 90, 5.8019739897429815e-09),
    "replace/rel": (121, 215, 2.5584091220809653e-07),
    "swap/att": (67, 114, 0.00046164440496473486),
    "swap/obj": (36, 40, 0.6487911623106455),
}


def golden(shared_data: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(shared_data / "golden" / name, "rt", newline="") as file:
        return list(csv.DictReader(file))


def alone(first: list[bool], second: list[bool]) -> tuple[int, int]:
    pairs = list(zip(first, second, strict=True))
    return pairs.count((True, False)), pairs.count((False, True))


@pytest.mark.parametrize("metric", BIVLC)
def test_published_answers_to_bivlc_have_the_mid_p_that_was_computed_by_hand(
    metric: str, shared_data: Path
) -> None:
    first, second = (
        [row[metric] == "True" for row in golden(shared_data, f"BiVLC_{model}.csv.gz")]
        for model in ("ViT-B-32", "CLIP_COCO")
    )
    assert alone(first, second) == BIVLC[metric][:2]
    assert mcnemar_mid_p(*alone(first, second)) == pytest.approx(BIVLC[metric][2], rel=1e-9)
    apart = paired_test(first, second, np.arange(len(first)))
    assert apart == pytest.approx(BIVLC[metric][2], rel=1e-6)


@pytest.mark.parametrize("subset", SUGARCREPE)
def test_published_answers_to_sugarcrepe_have_the_mid_p_that_was_computed_by_hand(
    subset: str, shared_data: Path
) -> None:
    first, second = (
        [
            row["correct"] == "1"
            for row in golden(shared_data, f"SUGARCREPE_CORRECT_{model}.csv.gz")
            if f"{row['type']}/{row['subtype']}" == subset
        ]
        for model in ("ViT-B-32", "CLIP_COCO")
    )
    assert alone(first, second) == SUGARCREPE[subset][:2]
    assert mcnemar_mid_p(*alone(first, second)) == pytest.approx(SUGARCREPE[subset][2], rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 0), (0, 4), (5, 5), (7, 2), (1, 30)])
def test_mid_p_counts_outcomes_further_apart_and_half_of_those_as_far_apart(
    first: int, second: int
) -> None:
    n, expected = first + second, 0.0
    for k in range(n + 1):
        share = 1.0 if abs(2 * k - n) > abs(first - second) else 0.5
        if abs(2 * k - n) >= abs(first - second):
            expected += share * stats.binom.pmf(k, n, 0.5)
    assert mcnemar_mid_p(first, second) == mcnemar_mid_p(second, first) == pytest.approx(expected)
    answers = np.array([True] * first + [False] * second)
    assert paired_test(answers, ~answers, np.arange(n)) == pytest.approx(expected)


def test_mid_p_is_1_where_no_question_distinguishes_the_models() -> None:
    assert mcnemar_mid_p(0, 0) == 1.0


def outcomes(right: list[bool], texts: list[tuple[str, str]] | None = None) -> pa.Table:
    match = np.array([[True, False]])
    found: list[OutcomeRow] = []
    for i, is_right in enumerate(right):
        pair = texts[i] if texts else (f"right {i}", f"wrong {i}")
        case = Case((ImageRef("coco", str(i)),), pair, match, "i2t", "swap_att", str(i))
        found += outcome_rows(
            RUN, case, case.judge(np.array([[is_right, 0.5]], np.float32)), frozenset()
        )
    return outcome_table(found)


def with_bucket_column(cases: pa.Table, names: list[str]) -> pa.Table:
    at = SCHEMA.get_field_index("bucket")
    return cases.set_column(at, SCHEMA.field(at), pa.array(names, pa.string()))


def test_published_answers_are_tested_on_each_split_as_loops_over_its_cases_do(
    shared_data: Path,
) -> None:
    read = [
        [
            row
            for row in golden(shared_data, f"SUGARCREPE_CORRECT_{model}.csv.gz")
            if (row["type"], row["subtype"]) == ("swap", "att")
        ]
        for model in ("ViT-B-32", "CLIP_COCO")
    ]
    texts = [(row["caption"], row["negative_caption"]) for row in read[0]]
    right = [[row["correct"] == "1" for row in of] for of in read]
    counts = {Binding("white", "shirt"): (1, 0), Binding("large", "building"): (0, 1)}
    counts |= {Binding(a, o): (1, 0) for a in ("red", "black", "white") for o in ("cat", "dog")}
    models = {name: outcomes(of, texts) for name, of in zip(("base", "tuned"), right, strict=True)}
    overlaps = Familiarity(BindingTable(counts, {})).overlaps(models["base"])
    models["base"] = add_bucket_column(models["base"], overlaps)
    buckets = models["base"]["bucket"].to_pylist()
    tests = {test.split: test for test in compute_split_tests(models)}
    assert set(tests) >= {"full", "mixed", "unseen"}
    assert tests["full"].right_only == SUGARCREPE["swap/att"][:2]
    assert tests["full"].p == pytest.approx(SUGARCREPE["swap/att"][2])
    for split in ("mixed", "unseen"):
        own = [
            i
            for i, name in enumerate(buckets)
            if BUCKETS.get(name) == split and name != "amb_close_only"
        ]
        first, second = ([of[i] for i in own] for of in right)
        b, c = alone(first, second)
        assert (tests[split].n, tests[split].right_only) == (len(own), (b, c))
        law = stats.binom(b + c, 0.5)
        expected = 2 * law.cdf(min(b, c)) - law.pmf(min(b, c))
        assert tests[split].p == pytest.approx(min(1.0, expected))
        assert tests[split].values == (sum(first) / len(own), sum(second) / len(own))


def made_models() -> dict[str, pa.Table]:
    """60 mixed cases and 14 seen ones: `taxed` leads on the former, `plain` on the latter."""
    buckets = ["amb_perfect_none"] * 60 + ["definitely_seen"] * 14
    right = {
        "taxed": [True] * 60 + [False] * 14,
        "plain": [False] * 60 + [True] * 14,
        "third": [True] * 58 + [False] * 2 + [True] * 14,
    }
    return {name: with_bucket_column(outcomes(of), buckets) for name, of in right.items()}


def test_p_values_are_adjusted_over_the_pairs_of_models_on_one_split() -> None:
    tests = compute_split_tests(made_models())
    assert len(tests) == 9  # three pairs on full, seen and mixed
    for split in ("full", "seen", "mixed"):
        own = [test for test in tests if test.split == split]
        assert [test.models for test in own] == list(combinations(made_models(), 2))
        ranked = sorted(test.p for test in own)
        for test in own:
            at_least = [
                p * len(own) / rank for rank, p in enumerate(ranked, start=1) if p >= test.p
            ]
            assert test.q == pytest.approx(min(1.0, *at_least))


def test_a_flip_is_significant_on_both_splits_and_of_opposite_sign() -> None:
    tests = compute_split_tests(made_models())
    seen = mcnemar_mid_p(0, 14)
    assert find_flips(tests) == [
        Flip(PLACE, ("full", "seen"), "taxed", "plain", max(seen, mcnemar_mid_p(60, 14))),
        Flip(PLACE, ("seen", "mixed"), "plain", "taxed", seen),
    ]
    insignificant = [test for test in tests if test.split != "seen"]
    assert find_flips(insignificant) == []


def test_a_flip_counts_over_seeds_only_where_all_of_them_agree() -> None:
    """The third seed has no lead on the seen cases; the published model is the same in all."""
    agreeing = compute_split_tests(made_models())
    level = dict(made_models())
    level["plain"] = with_bucket_column(
        outcomes([False] * 74), level["plain"]["bucket"].to_pylist()
    )
    seeds = [agreeing, agreeing, compute_split_tests(level)]
    by_seeds = {
        (found.flip.ahead, found.flip.splits): (found.n_significant, found.n_seeds)
        for found in find_seed_flips(seeds)
    }
    assert by_seeds == {("taxed", ("full", "seen")): (2, 3), ("plain", ("seen", "mixed")): (2, 3)}
    whole = find_seed_flips([agreeing, agreeing])
    assert [found.in_all_seeds for found in whole] == [True, True]
    assert [found.flip for found in whole] == find_flips(agreeing)


def test_models_that_are_level_share_the_first_of_all_ranks() -> None:
    level = SplitTest(PLACE, "full", ("one", "other"), 9, (0.5, 0.5), (2, 2), 1.0)
    (axes,) = draw_ranks([level]).axes
    assert axes.get_yticks().tolist() == [1, 2]
    assert axes.get_ylim() == (2.5, 0.5)
    assert [line.get_ydata().tolist() for line in axes.lines] == [[1], [1]]


def test_the_model_with_the_lower_value_is_ahead_where_lower_is_better() -> None:
    column = SCHEMA.get_field_index("bucket")
    seen = pa.array(["definitely_seen"] * 40, pa.string())
    cases = {
        name: brittle_outcomes([i < n for i in range(40)]).set_column(
            column, SCHEMA.field(column), seen
        )
        for name, n in (("brittle", 30), ("stable", 10))
    }
    tests = compute_split_tests(cases)
    assert [(test.right_only, test.lead) for test in tests] == [((20, 0), -20)] * 2
    (axes,) = draw_ranks(tests).axes
    assert {line.get_label(): list(line.get_ydata()) for line in axes.lines} == {
        "brittle": [2, 2],
        "stable": [1, 1],
    }
    assert axes.get_title() == "hard_positives/swap/brittleness (lower is better)"


def test_the_picture_shows_a_line_for_each_model() -> None:
    drawn = draw_ranks(compute_split_tests(made_models()))
    colours = {line.get_color() for line in drawn.axes[0].lines}
    assert len(colours) == len(made_models())
    assert Image.open(BytesIO(png(drawn))).width > 600
