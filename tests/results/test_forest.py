"""The forest plot: a row for each number under its benchmark, full marks where q is small."""

from pathlib import Path

import pytest
from matplotlib.lines import Line2D

import zoo
from tests.support.compared import brittle_outcomes, outcomes, results
from zoo.errors import ZooError
from zoo.results.comparison.comparison import Comparison, render_forest
from zoo.results.comparison.lines import summarise_differences
from zoo.results.drawing import FORMATS, figure_format, run_styles


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """One run that is far ahead of the first, and one that is hardly."""
    rates = {"base": 50, "far": 90, "hardly": 52}
    runs = {name: results(outcomes([i < n for i in range(100)])) for name, n in rates.items()}
    return zoo.compare(runs, presets=["official", "capabilities"], resamples=500)


def test_a_row_has_each_run_with_its_interval(comparison: Comparison) -> None:
    (axes,) = comparison.figure().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "sugarcrepe",
        "swap_att, i2t",
        "averages",
        "Attribute Binding",
        "Binding",
    ]
    shown = [line for line in axes.lines if isinstance(line, Line2D) and line.get_zorder() == 2]
    tests = [
        t
        for run in ("far", "hardly")
        for line in comparison.lines
        for t in line.tests
        if (t.first, t.second) == ("base", run)
    ]
    assert [list(line.get_xdata()) for line in shown] == [[t.low, t.high] for t in tests]
    assert "points vs base" in axes.get_xlabel()


def test_a_mark_is_hollow_where_the_difference_is_not_significant(comparison: Comparison) -> None:
    (axes,) = comparison.figure().axes
    marks = {
        round(float(line.get_xdata()[0])): line for line in axes.lines if line.get_zorder() == 3
    }
    assert marks[40].get_markerfacecolor() == marks[40].get_markeredgecolor()
    assert marks[2].get_markerfacecolor() == "#ffffff"


def test_a_run_has_the_colour_of_its_place_also_where_one_before_it_is_not_tested() -> None:
    runs = {
        name: results(outcomes([i < n for i in range(100)]))
        for name, n in {"base": 50, "start": 10, "far": 90}.items()
    }
    comparison = zoo.compare(runs, resamples=50, excluded_from_tests=["start"])
    (axes,) = comparison.figure().axes
    marks = {line.get_markeredgecolor() for line in axes.lines if line.get_zorder() == 3}
    assert marks == {run_styles(runs)["far"][0]}


@pytest.mark.parametrize("kind", FORMATS)
def test_a_picture_is_the_same_each_time(kind: str, comparison: Comparison) -> None:
    once = render_forest(comparison, kind)
    assert once == render_forest(comparison, kind)
    assert once.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])
    assert figure_format(Path(f"a.{kind.upper()}")) == kind


def test_another_kind_of_picture_is_refused() -> None:
    for name in ("a.jpg", "a"):
        with pytest.raises(ZooError, match=r"ends in \.png, \.svg or \.pdf"):
            figure_format(Path(name))


def test_a_row_says_where_lower_is_better() -> None:
    runs = {
        name: results(brittle_outcomes([i < n for i in range(9)]))
        for name, n in (("a", 4), ("b", 2))
    }
    (axes,) = zoo.compare(runs, resamples=50).figure().axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels == ["hard_positives", "swap, brittleness (lower is better)"]


def test_a_name_with_dollars_is_no_formula() -> None:
    runs = {name: results(outcomes([i < 5 for i in range(10)])) for name in ("5$", r"$\foo$")}
    assert r"$\foo$" in render_forest(zoo.compare(runs, resamples=50), "svg").decode()


def test_one_sentence_per_run_says_on_how_many_metrics_it_differs(comparison: Comparison) -> None:
    assert summarise_differences(comparison.lines) == [
        "far is significantly better than base (q ≤ 0.05) on 1 of 1 metrics, and worse on 0",
        "hardly does not differ significantly from base (q ≤ 0.05) on any of 1 metrics",
    ]


def test_the_sentences_name_runs_with_equal_answers_and_metrics_with_few_queries() -> None:
    counts = {"base": 20, "copy": 20, "other": 21, "its copy": 21}
    runs = {name: results(outcomes([i < n for i in range(40)])) for name, n in counts.items()}
    assert summarise_differences(zoo.compare(runs, resamples=50).lines) == [
        "copy has the same correct answers as base in all metrics",
        "other does not differ significantly from base (q ≤ 0.05) on any of 1 metrics",
        "its copy has the same correct answers as other in all metrics",
        "1 of 1 metrics has fewer than 100 queries, so that only large differences are "
        "significant there",
    ]
