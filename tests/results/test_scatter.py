"""Two metrics against each other: a mark per run, a line through the points of a merge."""

import pyarrow as pa
import pytest

import zoo
from tests.support.compared import brittle_outcomes, outcomes, results
from zoo.results.comparison.comparison import Comparison
from zoo.results.comparison.scatter import (
    ScatterPoint,
    axis_label,
    draw_scatter,
    published_points,
    scatter_points,
)
from zoo.results.display_names import METHODS
from zoo.results.drawing import COLOURS
from zoo.results.report import Results

X, Y = "sugarcrepe/swap_att/i2t", "sugarcrepe/swap_obj/i2t"


def run(x: int, y: int, seed: int | None = None) -> Results:
    """A run that is right in x of 10 and y of 20 cases."""
    parts = [
        outcomes([i < right for i in range(n)], subset=subset)
        for right, n, subset in ((x, 10, "swap_att"), (y, 20, "swap_obj"))
    ]
    model = {"recipe": {"lr": 1}, "seed": seed}
    return results(pa.concat_tables(parts), model if seed is not None else None)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    runs = {
        "CLIP": run(5, 10),
        "fsc_clip/alpha_1": run(9, 4),
        "fsc_clip/alpha_0.5": run(8, 8),
        "fsc_clip/alpha_0": run(5, 10),
        "other": run(7, 7),
    }
    return zoo.compare(runs, resamples=20)


def test_runs_that_differ_in_alpha_are_one_method_in_the_order_of_alpha(
    comparison: Comparison,
) -> None:
    points = scatter_points(comparison.lines, X, Y)
    assert points == {
        "CLIP": [ScatterPoint(50, 50)],
        "fsc_clip": [
            ScatterPoint(50, 50, alpha=0),
            ScatterPoint(80, 40, alpha=0.5),
            ScatterPoint(90, 20, alpha=1),
        ],
        "other": [ScatterPoint(70, 35)],
    }


def test_an_axis_says_where_lower_is_better(comparison: Comparison) -> None:
    assert axis_label(comparison.lines, X) == X
    runs = {name: results(brittle_outcomes([True, False])) for name in "ab"}
    name = "hard_positives/swap/brittleness"
    label = axis_label(zoo.compare(runs, resamples=20).lines, name)
    assert label == f"{name} (lower is better)"


def test_a_tuned_model_and_its_interpolations_are_two_methods() -> None:
    runs = {"fsc": run(9, 4), "fsc/alpha_0": run(5, 10), "alpha_1": run(8, 8)}
    points = scatter_points(zoo.compare(runs, resamples=20).lines, X, Y)
    assert {method: [point.alpha for point in found] for method, found in points.items()} == {
        "fsc": [None],
        "fsc, merged": [0],
        "merged": [1],
    }


def test_each_method_has_one_colour_and_a_line_through_its_points(
    comparison: Comparison,
) -> None:
    figure = draw_scatter(scatter_points(comparison.lines, X, Y), {}, X, Y)
    (axes,) = figure.axes
    lines = {
        line.get_color(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.lines
        if len(line.get_xdata()) > 1
    }
    assert lines == {COLOURS[METHODS.index("FSC-CLIP")]: ([50, 80, 90], [50, 40, 20])}
    assert (axes.get_xlabel(), axes.get_ylabel()) == (f"{X}, %", f"{Y}, %")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "CLIP",
        "fsc_clip, alpha 0 (small) to 1",
        "other",
    ]


def test_a_group_of_seeds_has_a_bar_of_its_deviation() -> None:
    runs = {"a_0": run(6, 8, 0), "a_1": run(8, 12, 1), "b_0": run(1, 2, 0)}
    groups = {"a": ["a_0", "a_1"], "b": ["b_0"]}
    lines = zoo.compare(runs, group=groups, resamples=20).lines
    (a,), (b,) = scatter_points(lines, X, Y).values()
    assert (a.x, a.y) == (70, 50)
    assert a.x_deviation == pytest.approx(200**0.5)
    assert a.y_deviation == pytest.approx(200**0.5)
    assert (b.x_deviation, b.y_deviation) == (None, None)
    values = {value.run: value for value in lines[0].values}
    ranges = [(values[name].lowest, values[name].highest) for name in ("a", "b")]
    assert ranges == [pytest.approx((60, 80)), pytest.approx((10, 10))]


def test_published_models_with_both_metrics_are_hollow_marks() -> None:
    runs = {"one": run(5, 10), "other": run(7, 7)}
    comparison = zoo.compare(runs, ["openai/ViT-B-32"], resamples=20)
    points = published_points(comparison.lines, X, Y)
    (published,) = points.values()
    for name, value in ((X, published.x), (Y, published.y)):
        (line,) = (line for line in comparison.lines if str(line.name) == name)
        assert value in [figure.value for figure in line.published]
    drawn = draw_scatter(scatter_points(comparison.lines, X, Y), points, X, Y)
    mark = next(line for line in drawn.axes[0].lines if line.get_markerfacecolor() == "#ffffff")
    assert (list(mark.get_xdata()), list(mark.get_ydata())) == ([published.x], [published.y])
