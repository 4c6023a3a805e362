"""Drawings of a report: no two of its series look the same."""

from matplotlib.colors import to_hex

from zoo.results.drawing import COLOURS, METHODS, colour_and_marker, run_styles
from zoo.results.site.chart_drawing import Curve, Point, draw_bars, draw_lines

MANY = 20  # more than there are colours


def test_no_two_runs_of_many_look_the_same() -> None:
    assert len({colour_and_marker(i) for i in range(64)}) == 64
    (axes,) = draw_bars(["a"], {str(i): [Point(50.0)] for i in range(MANY)}, "%").axes
    drawn = [of[0] for of in axes.containers]
    assert len({(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in drawn}) == MANY
    (axes,) = draw_lines({str(i): Curve([0, 1], [0, 1]) for i in range(MANY)}, "x", "y").axes
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == MANY


def test_names_with_dollars_and_underscores_are_in_the_legend_as_they_are() -> None:
    names = [r"$\foo$", "_first"]
    figure = draw_bars(["a"], {name: [Point(50.0)] for name in names}, "%")
    figure.canvas.draw()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names


def test_a_method_has_one_colour_in_every_figure_and_no_other_run_has_it() -> None:
    alone, among = run_styles(["FSC-CLIP"]), run_styles(["mine", "fsc_clip", "CLIP", "his"])
    assert alone["FSC-CLIP"] == among["fsc_clip"]
    assert len(set(among.values())) == 4
    assert len(set(COLOURS)) == len(COLOURS) >= len(METHODS)
