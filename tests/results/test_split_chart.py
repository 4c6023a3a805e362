"""Accuracy by split: a panel per metric, a line per run, a ribbon over seeds."""

import numpy as np
import pyarrow as pa
import pytest

import zoo
from tests.cli.test_compare import split
from tests.support.compared import outcomes, results
from zoo.errors import ZooError
from zoo.results.comparison.split_chart import draw_split_accuracies, split_panels
from zoo.results.drawing import run_styles

NAME = "sugarcrepe/swap_att/i2t"


def test_a_metric_has_a_panel_with_the_mean_and_the_range_over_seeds_on_each_split() -> None:
    # right in the first n of 40 cases, of which the first 20 are seen and the last 20 unseen
    runs = {
        name: results(split(outcomes([i < right for i in range(40)])))
        for name, right in {"a_0": 20, "a_1": 30, "b_0": 10}.items()
    }
    lines = zoo.compare(runs, group={"a": ["a_0", "a_1"], "b": ["b_0"]}, resamples=20).lines
    panels = split_panels(lines)
    assert {title: list(by_split) for title, by_split in panels.items()} == {
        NAME: ["full", "seen", "unseen"]
    }
    figure = draw_split_accuracies(panels)
    (axes,) = figure.axes
    shown = [list(line.get_ydata()) for line in axes.lines]
    assert shown == [pytest.approx([62.5, 100, 25]), pytest.approx([25, 50, 0])]
    assert [line.get_color() for line in axes.lines] == [run_styles("ab")[run][0] for run in "ab"]
    ribbon, flat = (collection.get_paths()[0].vertices[:, 1] for collection in axes.collections)
    assert set(np.round(ribbon, 6)) == {50, 75, 100, 0}  # full 50 to 75, seen 100, unseen 0 to 50
    assert set(np.round(flat, 6)) == {25, 50, 0}
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "full\n40",
        "seen\n20",
        "unseen\n20",
    ]


def test_subsets_that_are_splits_by_construction_are_one_panel() -> None:
    parts = [
        outcomes([i < right for i in range(10)], subset=subset)
        for subset, right in (("seen", 9), ("partial", 7), ("unseen", 4))
    ]
    runs = {name: results(pa.concat_tables(parts)) for name in ("one", "two")}
    panels = split_panels(zoo.compare(runs, resamples=20).lines)
    assert {
        title: {name: line.values[0].value for name, line in by_split.items()}
        for title, by_split in panels.items()
    } == {"sugarcrepe/i2t": {"seen": 90, "partial": 70, "unseen": 40}}


def test_runs_without_splits_are_refused() -> None:
    runs = {name: results(outcomes([True, False])) for name in ("one", "two")}
    with pytest.raises(ZooError, match="no familiarity split"):
        split_panels(zoo.compare(runs, resamples=20).lines)
