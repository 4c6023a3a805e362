"""Pictures of the world show what their graphs say."""

from dataclasses import replace

import numpy as np
import pytest

from tests.scenes.world.test_layout import GRAPHS, made_object
from zoo.scenes.world.graph import WorldGraph
from zoo.scenes.world.kinds import COLORS, KINDS, PLACES
from zoo.scenes.world.painter import paint, paint_rows

ROWS = [paint_rows(graph, 112) for graph in GRAPHS]


def test_equal_graphs_give_equal_pixels_and_other_seeds_do_not():
    graph = GRAPHS[3]
    assert np.array_equal(paint(graph, 64), paint(graph, 64))
    assert not np.array_equal(paint(graph, 64), paint(replace(graph, seed=graph.seed + 1), 64))


@pytest.mark.parametrize("place", PLACES)
def test_every_place_can_be_painted(place):
    image = paint(WorldGraph("0", 5, place, ()), 32)
    assert image.shape == (32, 32, 3)
    assert image.dtype == np.uint8
    assert image.std() > 5


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_stays_near_its_box_and_shows_its_colour(kind):
    color = KINDS[kind].colors[0]
    graph = WorldGraph("0", 5, "park", (made_object(kind, scale=0.45, color=color),))
    rows, image = paint_rows(graph, 112), paint(graph, 112)
    ys, xs = np.nonzero(rows == 0)
    left, top, right, bottom = graph.objects[0].box
    assert left * 112 - 5 <= xs.min()
    assert xs.max() <= right * 112 + 5
    assert top * 112 - 14 <= ys.min()  # the handle of a basket
    assert ys.max() <= bottom * 112 + 3
    pixels = image[rows == 0].astype(float)
    near = np.abs(pixels - np.array(COLORS[color])).max(1) < 60
    assert near.mean() > 0.1


def test_every_object_is_visible():
    for graph, rows in zip(GRAPHS, ROWS, strict=True):
        for row in range(len(graph.objects)):
            assert (rows == row).sum() >= 20, (graph.id, row)


def middle(rows, row):
    ys, xs = np.nonzero(rows == row)
    return xs.mean() / 112, ys.mean() / 112


def test_pixels_obey_left_right_on_under_and_inside():
    for graph, rows in zip(GRAPHS, ROWS, strict=True):
        for subject, predicate, object in graph.relations():
            (ax, ay), (bx, by) = middle(rows, subject), middle(rows, object)
            if predicate == "to the left of":
                assert ax < bx, graph.id
            if predicate in ("on", "riding"):
                assert ay < by, graph.id
            if predicate == "under":
                assert ay > by - 0.02, graph.id
            if predicate == "inside":
                assert ay < by, graph.id
                assert abs(ax - bx) < 0.05, graph.id


def test_the_object_in_front_hides_the_one_behind():
    back = made_object("car", y=0.8, scale=0.4)
    front = made_object("ball", y=0.85, scale=0.4)
    rows = paint_rows(WorldGraph("0", 0, "street", (front, back)), 112)
    hidden = paint_rows(WorldGraph("0", 0, "street", (front,)), 112) == 0
    assert (rows[hidden] == 0).all()
    assert (rows == 1).any()


def test_a_group_has_as_many_separate_shapes_as_it_counts():
    graph = WorldGraph("0", 0, "park", (made_object(count=3, scale=0.5),))
    line = paint_rows(graph, 112)[int((0.9 - 0.17 * 0.5) * 112)]
    starts = np.flatnonzero(np.diff(np.concatenate([[-1], line])) == 1)
    assert len(starts) == 3
