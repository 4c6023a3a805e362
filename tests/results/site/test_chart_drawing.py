"""Drawings of a report: no two of its series look the same."""

import re
from xml.etree import ElementTree

from matplotlib.colors import to_hex

from zoo.results.display_names import METHODS
from zoo.results.drawing import COLOURS, NEUTRAL, colour_and_marker, run_styles, svg
from zoo.results.site.chart_drawing import (
    MIN_LINE_POINTS,
    Curve,
    Point,
    draw_bars,
    draw_lines,
    draw_radar,
)

MANY = 20  # more than there are colours


def test_no_two_runs_of_many_look_the_same() -> None:
    assert len({colour_and_marker(i) for i in range(64)}) == 64
    (axes,) = draw_bars(["a"], {str(i): [Point(50.0)] for i in range(MANY)}, "%").axes
    drawn = [of[0] for of in axes.containers]
    assert len({(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in drawn}) == MANY
    many = range(MIN_LINE_POINTS)
    (axes,) = draw_lines({str(i): Curve(many, many) for i in range(MANY)}, "x", "y").axes
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == MANY


def test_names_with_dollars_and_underscores_are_in_the_legend_as_they_are() -> None:
    names = [r"$\foo$", "_first"]
    figure = draw_bars(["a"], {name: [Point(50.0)] for name in names}, "%")
    figure.canvas.draw()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names


def test_a_few_points_are_not_joined_and_a_reference_is_a_grey_line() -> None:
    few = {"run": Curve([1, 9], [2.0, 1.0]), "chance": Curve([1, 9], [3, 3], is_reference=True)}
    (axes,) = draw_lines(few, "step", "loss").axes
    lines = {line.get_label(): line for line in axes.lines}
    (legend,) = axes.figure.legends  # type: ignore[union-attr]
    run, chance = legend.legend_handles
    look = "None", run_styles(few)["run"][1]
    assert (run.get_linestyle(), run.get_marker()) == look  # type: ignore[union-attr]
    assert chance.get_color() == NEUTRAL  # type: ignore[union-attr]
    assert chance.get_linestyle() != "None"  # type: ignore[union-attr]
    assert len(lines) > 2


def test_the_mark_of_a_number_has_its_text_for_a_pointer_and_no_id() -> None:
    series = {"CLIP & co": [Point(61.25, 55.0, 67.02), Point(None), Point(3.0)]}
    for draw in (
        lambda: draw_bars(["a", "b", "c"], series, "%"),
        lambda: draw_radar("abc", series),
    ):
        element = svg(draw())
        titles = re.findall(r"<title>(.*?)</title>", element)
        assert "CLIP &amp; co, a: 61.3 % (95 % interval 55.0 to 67.0)" in titles
        assert "CLIP &amp; co, c: 3.0 %" in titles
        assert "hover:" not in element
        ElementTree.fromstring(element)
    curves = {"loss": Curve([2, 4], [1.5, 1.25])}
    assert re.findall(r"<title>(.*?)</title>", svg(draw_lines(curves, "step", "nats"))) == [
        "loss, step 2: 1.5",
        "loss, step 4: 1.25",
    ]


def test_a_method_has_one_colour_in_every_figure_and_no_other_run_has_it() -> None:
    alone, among = run_styles(["FSC-CLIP"]), run_styles(["mine", "fsc_clip", "CLIP", "his"])
    assert alone["FSC-CLIP"] == among["fsc_clip"]
    assert len(set(among.values())) == 4
    assert len(set(COLOURS)) == len(COLOURS) >= len(METHODS)
