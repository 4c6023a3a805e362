import json
import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.errors import ZooError
from zoo.scenes.graph import (
    MARGIN,
    OPPOSITE,
    PAIRS,
    Camera,
    SceneGraph,
    SceneObject,
    choose_framing,
    sample_scene,
)


def standing(*places: tuple[float, float]) -> SceneGraph:
    """Returns cubes at these places, seen from the south: right is +x, behind is +y."""
    objects = tuple(
        SceneObject("cube", "large", 0.7, "rubber", "red", (x, y, 0.56), 0.0) for x, y in places
    )
    lamps = ((0.0, 0.0, 9.0),) * 3
    return SceneGraph(
        "000000", 1, objects, Camera((0.0, -10.0, 10.0), (0.0, 0.0, 0.0), 40.0), lamps, ("color",)
    )


def test_the_camera_sees_its_target_in_the_middle_and_right_to_the_right():
    camera = Camera((0.0, -10.0, 0.0), (0.0, 0.0, 0.0), 90.0)
    assert camera.project_with_scale((0.0, 0.0, 0.0)) == pytest.approx(
        (0.0, 0.0, 0.1)
    )  # at distance 10, half the frame is 10 wide
    assert camera.project_with_scale((5.0, 0.0, 0.0)) == pytest.approx((0.5, 0.0, 0.1))
    assert camera.project_with_scale((0.0, 10.0, 5.0)) == pytest.approx((0.0, 0.25, 0.05))


def test_relations_follow_the_axes_of_the_view():
    graph = standing((-1.0, 0.0), (1.0, 2.0))
    assert graph.holds(0, "to the left of", 1)
    assert graph.holds(0, "in front of", 1)
    assert graph.holds(1, "to the right of", 0)
    assert graph.holds(1, "behind", 0)
    assert len(list(graph.relations())) == 4


def test_objects_abreast_are_neither_in_front_nor_behind():
    assert {predicate for _, predicate, _ in standing((-1.0, 0.0), (1.0, 0.1)).relations()} == {
        "to the left of",
        "to the right of",
    }


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**40),
    index=st.integers(0, 10**6),
    resolution=st.sampled_from([32, 48, 64, 128, 224]),
)
def test_drawn_scenes_are_whole_apart_and_unambiguous(seed, index, resolution):
    graph = sample_scene(seed, index, resolution)
    assert 2 <= len(graph.objects) <= 4
    assert len({(o.color, o.shape) for o in graph.objects}) == len(graph.objects)
    right, _, forward = graph.camera.axes
    seen = [graph.camera.project_with_scale(o.position) for o in graph.objects]
    for object, (x, y, enlargement) in zip(graph.objects, seen, strict=True):
        reach = object.radius * enlargement
        assert max(abs(x), abs(y)) + reach < 1
    for i, j in combinations(range(len(graph.objects)), 2):
        a, b = graph.objects[i], graph.objects[j]
        assert math.dist(seen[i][:2], seen[j][:2]) >= a.radius * seen[i][2] + b.radius * seen[j][2]
        along = sum(r * (p - q) for r, p, q in zip(right, a.position, b.position, strict=True))
        assert abs(along) >= MARGIN
        assert (along > 0) == (seen[i][0] > seen[j][0])
        away = sum(
            f * (p - q) for f, p, q in zip(forward[:2], a.position, b.position, strict=False)
        ) / math.hypot(*forward[:2])
        assert abs(away) >= MARGIN
        assert (away > 0) == (seen[i][1] > seen[j][1])  # what is behind is seen higher up


def test_a_scene_is_a_function_of_its_arguments():
    assert sample_scene(3, 7, 48) == sample_scene(3, 7, 48)
    assert sample_scene(3, 7, 48) != sample_scene(3, 8, 48)
    assert sample_scene(3, 7, 48) != sample_scene(4, 7, 48)


def test_every_relation_of_a_drawn_scene_has_its_opposite_from_the_other_side():
    graph = sample_scene(0, 0, 64, (4, 4))
    relations = set(graph.relations())
    assert len(relations) == 4 * 3 * 2
    assert all(
        (o, OPPOSITE[p], s) in relations and (s, OPPOSITE[p], o) not in relations
        for s, p, o in relations
    )


@settings(max_examples=30, deadline=None)
@given(
    index=st.integers(0, 10**6), held_out=st.sets(st.sampled_from(PAIRS), min_size=1, max_size=18)
)
def test_held_out_pairs_are_kept_out_or_brought_in(index, held_out):
    without = sample_scene(0, index, 48, (2, 3), excluded=frozenset(held_out))
    assert held_out.isdisjoint((o.color, o.shape) for o in without.objects)
    within = sample_scene(0, index, 48, (2, 3), required_any=frozenset(held_out))
    assert not held_out.isdisjoint((o.color, o.shape) for o in within.objects)


def test_small_pictures_have_objects_that_fill_them_and_name_colour_alone():
    for n in (2, 3, 4):
        graph = sample_scene(0, 0, 48, (n, n))
        share = (
            sum(
                math.pi * (o.radius * graph.camera.project_with_scale(o.position)[2]) ** 2
                for o in graph.objects
            )
            / 4
        )
        assert share > 0.12, "of the frame"
        assert graph.visible_attributes == ("color",)
        assert {(o.size, o.material) for o in graph.objects} == {("large", "rubber")}
    assert choose_framing(224, 3).visible_attributes == ("size", "color", "material")
    assert choose_framing(224, 3).camera.fov == 37.9


def test_a_graph_comes_back_from_json():
    graph = sample_scene(0, 1, 224)
    assert SceneGraph.from_dict(json.loads(json.dumps(graph.to_dict()))) == graph


def test_too_much_held_out_or_too_many_objects_are_errors():
    with pytest.raises(ZooError, match="held out"):
        sample_scene(0, 0, 48, (2, 2), excluded=frozenset(PAIRS[1:]))
    with pytest.raises(ZooError, match="could not place 20 objects at 224 pixels"):
        sample_scene(0, 0, 224, (20, 20))
