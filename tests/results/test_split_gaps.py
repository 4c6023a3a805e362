"""Gaps between splits: those of BindSplit's tables, from its published values."""

import pytest

from zoo.results.comparison.common_metrics import MetricName
from zoo.results.comparison.lines import ComparisonLine, RunValue
from zoo.results.comparison.split_gaps import SplitGap, compute_split_gaps
from zoo.results.published_values import published_values

BLOCK = [("seen", "partial"), ("seen", "unseen"), ("partial", "unseen")]
FAMILIARITY = [("full", "seen"), ("mixed", "seen"), ("seen", "unseen"), ("full", "unseen")]


def line(subset: str, metric: str, split: str, value: float, model: str) -> ComparisonLine:
    benchmark = "aro" if subset == "VG-Attribution" else "pug_spare"
    name = MetricName("official", benchmark, subset, metric, split)
    figures = tuple(f for f in published_values(model) if f.name == str(name))
    values = (RunValue("run", value, None, 1, value, value, True, False),)
    return ComparisonLine(name, 4, 4, 4, values, (), figures, ())


def rounded(gaps: list[SplitGap]) -> list[float]:
    return [round(gap.published[0], 1) for gap in gaps if gap.published[0] is not None]


def test_gaps_of_held_out_blocks_are_those_of_table_3() -> None:
    model = "bindsplit_labclip_openai"
    lines = [
        line(subset, "i2t_r@1", "", value, model)
        for subset, value in (("seen", 90.0), ("partial", 60.0), ("unseen", 70.0))
    ]
    gaps = compute_split_gaps(lines, [model])
    assert [gap.splits for gap in gaps] == BLOCK
    assert [gap.values for gap in gaps] == [(30.0,), (20.0,), (-10.0,)]
    assert {gap.metric for gap in gaps} == {"pug_spare/i2t_r@1"}
    assert rounded(gaps) == pytest.approx([31.5, 42.9, 11.4])


def test_gaps_of_familiarity_are_those_of_table_8() -> None:
    model = "bindsplit_ft_openai"
    shares = {"full": 72.0, "seen": 66.0, "mixed": 74.0, "unseen": 64.0}
    lines = [line("VG-Attribution", "i2t", split, n, model) for split, n in shares.items()]
    gaps = compute_split_gaps([line("VG-Attribution", "i2t", "", 72.0, model), *lines], [model])
    assert [gap.splits for gap in gaps] == FAMILIARITY
    assert [gap.values[0] for gap in gaps] == [6.0, 8.0, 2.0, 8.0]
    assert rounded(gaps) == pytest.approx([5.9, 7.6, 1.5, 7.4])


def test_recalls_of_images_have_no_gap_and_splits_that_are_missing_neither() -> None:
    model = "bindsplit_ft_openai"
    recalls = [line(subset, "t2i_r@1", "", 50.0, model) for subset in ("seen", "partial", "unseen")]
    assert compute_split_gaps(recalls) == []
    gaps = compute_split_gaps([line("VG-Attribution", "i2t", "full", 50.0, model)])
    assert gaps == []
