from zoo.scenes.world.graph import INVERSES, LINKS, WorldGraph, WorldObject, interval_overlap
from zoo.scenes.world.kinds import KINDS
from zoo.scenes.world.layout import attachable_kinds, is_clear, sample_graph

GRAPHS = [sample_graph("test 0", index) for index in range(60)]


def made_object(kind="ball", x=0.5, y=0.9, scale=0.4, **changes):
    return WorldObject(
        **{
            "kind": kind, "color": "red", "pattern": None, "size": None, "count": 1, "x": x, "y": y,
            "scale": scale, "flipped": False, **changes,
        }
    )  # fmt: skip


def test_a_graph_depends_only_on_key_and_index_and_survives_json():
    assert sample_graph("test 0", 7) == GRAPHS[7]
    assert sample_graph("test 1", 7) != GRAPHS[7]
    assert WorldGraph.from_dict(GRAPHS[7].to_dict()) == GRAPHS[7]


def test_scenes_have_two_to_five_objects_of_all_numbers_and_links():
    assert {len(graph.objects) for graph in GRAPHS} == {2, 3, 4, 5}
    assert {o.link for graph in GRAPHS for o in graph.objects} == {None, *LINKS}


def test_all_objects_are_in_the_image_and_in_clear_relations():
    assert all(map(is_clear, GRAPHS))


def test_colours_patterns_and_links_are_possible_for_the_kind():
    for graph in GRAPHS:
        for o in graph.objects:
            assert o.color in KINDS[o.kind].colors
            assert o.pattern is None or o.pattern in KINDS[o.kind].patterns
            if o.host is not None:
                assert o.kind in attachable_kinds(graph.objects[o.host].kind, o.link)


def test_left_of_holds_where_the_middle_is_further_left_and_the_objects_hardly_overlap():
    graph = WorldGraph("0", 0, "park", (made_object(x=0.3), made_object(x=0.7)))
    assert graph.holds(0, "to the left of", 1)
    assert graph.holds(1, "to the right of", 0)
    assert not graph.holds(1, "to the left of", 0)
    overlapping = WorldGraph("0", 0, "park", (made_object(x=0.5), made_object(x=0.55)))
    assert not overlapping.holds(0, "to the left of", 1)


def test_behind_holds_for_what_stands_further_up_and_is_aligned():
    graph = WorldGraph("0", 0, "park", (made_object(y=0.7), made_object(y=0.9)))
    assert graph.holds(0, "behind", 1)
    assert graph.holds(1, "in front of", 0)
    apart = WorldGraph("0", 0, "park", (made_object(x=0.2, y=0.7), made_object(x=0.8, y=0.9)))
    assert not apart.holds(0, "behind", 1)


def test_overlap_is_the_share_of_the_narrower_object():
    # a ball is 0.34 units wide: 0.136 at 0.4; the middles are half a width apart
    assert abs(interval_overlap(made_object(x=0.5), made_object(x=0.568)) - 0.5) < 1e-9


def test_what_holds_may_hold_and_its_inverse_may_not():
    for graph in GRAPHS:
        for subject, predicate, object in graph.relations():
            assert graph.may_hold(subject, predicate, object)
            if predicate in INVERSES:
                assert not graph.may_hold(subject, INVERSES[predicate], object)
                assert graph.holds(object, INVERSES[predicate], subject)
