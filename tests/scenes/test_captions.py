import re
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.scenes.captions import ObjectPhrase, describe_scene, false_phrases
from zoo.scenes.graph import COLORS, OPPOSITE, SHAPES, Camera, SceneGraph, SceneObject, sample_scene

SCENES = st.builds(
    lambda index, layout: sample_scene(0, index, *layout),
    st.integers(0, 10**6),
    st.sampled_from([(48, (2, 2)), (64, (4, 4)), (224, (2, 4))]),
)


def standing(*objects: tuple[str, str, float]) -> SceneGraph:
    """Returns objects of a colour and shape, from left to right and front to back."""
    made = tuple(
        SceneObject(shape, "large", 0.7, "rubber", color, (x, x, 0.7), 0.0)
        for color, shape, x in objects
    )
    return SceneGraph(
        "000000",
        1,
        made,
        Camera((0.0, -10.0, 10.0), (0.0, 0.0, 0.0), 40.0),
        ((0.0, 0.0, 9.0),) * 3,
        ("color",),
    )


def true(graph: SceneGraph, text: str) -> bool:
    """Judges a text word by word, by no means that the captions are made with."""
    text = text.removeprefix("there is ").removeprefix("there are ").removeprefix("a scene with ")
    predicate = next((p for p in (*OPPOSITE, "and") if f" {p} " in text), None)
    if predicate is None:
        return any(fits(o, text) for o in graph.objects)
    left, right = re.split(f" (?:is )?{predicate} ", text)
    return any(
        fits(graph.objects[i], left)
        and fits(graph.objects[j], right)
        and (predicate == "and" or (i, predicate, j) in set(graph.relations()))
        for i, j in permutations(range(len(graph.objects)), 2)
    )


def fits(object: SceneObject, words: str) -> bool:
    return all(
        word in (object.shape, object.color, object.size, object.material)
        for word in words.split()
        if word != "a"
    )


@settings(max_examples=60, deadline=None)
@given(SCENES)
def test_captions_and_units_are_true_and_foils_and_swaps_are_false(graph):
    described = describe_scene(graph, "images/000000.png")
    assert len(described) == 5
    for d in described:
        assert true(graph, d.record.caption)
        assert d.attribute_swap is None or not true(graph, d.attribute_swap)
        for unit in (*d.record.entities, *d.record.relations):
            assert true(graph, unit.text)
            assert not any(true(graph, foil.text) for foil in unit.foils)


@settings(max_examples=60, deadline=None)
@given(SCENES)
def test_foils_are_minimal_edits_that_say_what_was_edited(graph):
    for d in describe_scene(graph, "images/000000.png"):
        for entity in d.record.entities:
            for foil in entity.foils:
                (changed,) = [
                    (a, b)
                    for a, b in zip(entity.text.split(), foil.text.split(), strict=True)
                    if a != b
                ]
                assert (changed[0] in SHAPES) == (foil.edit == "object_change")
                assert foil.edit in ("object_change", "attribute_change")
        for relation in d.record.relations:
            for foil in relation.foils:
                before, after = (
                    {"subject": r.subject, "predicate": r.predicate, "object": r.object}
                    for r in (relation, foil)
                )
                differing = {part for part in before if before[part] != after[part]}
                if foil.edit == "argument_swap":
                    assert (after["subject"], after["object"]) == (
                        before["object"],
                        before["subject"],
                    )
                else:
                    assert differing == {foil.component}
                if foil.edit == "predicate_change":
                    assert foil.predicate == OPPOSITE[relation.predicate]
                if foil.edit == "argument_change":
                    assert (
                        before[foil.component].split()[-1] != after[foil.component].split()[-1]
                    ) == (foil.part == "head")


def test_two_objects_give_every_half_truth_condition():
    described = describe_scene(
        standing(("red", "cube", 0.0), ("blue", "sphere", 2.0)), "images/000000.png"
    )
    kinds = {
        (f.edit, f.component, f.part)
        for d in described
        for r in d.record.relations
        for f in r.foils
    }
    assert kinds == {
        ("predicate_change", "predicate", None),
        ("argument_swap", None, None),
        ("argument_change", "subject", "head"),
        ("argument_change", "object", "head"),
        ("argument_change", "subject", "attribute"),
        ("argument_change", "object", "attribute"),
    }
    assert {f.edit for d in described for e in d.record.entities for f in e.foils} == {
        "object_change",
        "attribute_change",
    }
    assert sum(not d.record.relations for d in described) == 1, "one conjunction"


def test_swapped_colours_are_false_of_two_unlike_shapes_and_not_of_two_like_ones_in_a_conjunction():
    unlike = describe_scene(standing(("red", "cube", 0.0), ("blue", "sphere", 2.0)), "i")
    assert all(d.attribute_swap for d in unlike)
    assert {"blue cube", "red sphere"} <= {
        p for d in unlike for p in re.findall(r"\w+ (?:cube|sphere)", d.attribute_swap or "")
    }
    alike = describe_scene(standing(("red", "cube", 0.0), ("blue", "cube", 2.0)), "i")
    assert [d.attribute_swap is None for d in alike] == [not d.record.relations for d in alike]
    same_colour = describe_scene(standing(("red", "cube", 0.0), ("red", "sphere", 2.0)), "i")
    assert all(d.attribute_swap is None for d in same_colour)


def test_a_twin_that_is_true_of_another_object_is_no_foil():
    graph = standing(("red", "cube", 0.0), ("red", "sphere", 2.0))
    assert [str(twin) for twin in false_phrases(graph, ObjectPhrase("cube", "red"), "head")] == [
        "red cylinder"
    ]
    crowded = standing(*((color, "cube", float(i)) for i, color in enumerate(COLORS)))
    assert false_phrases(crowded, ObjectPhrase("cube", "red"), "attribute") == []


@pytest.mark.parametrize("index", range(10))
def test_no_foil_and_no_swap_names_a_pair_to_be_avoided(index):
    held_out = frozenset(
        {("red", shape) for shape in SHAPES} | {("gray", "cube"), ("blue", "sphere")}
    )
    graph = sample_scene(0, index, 48, (2, 2), excluded=held_out)
    for d in describe_scene(graph, "i", held_out):
        units = (*d.record.entities, *d.record.relations)
        texts = [
            d.record.caption,
            d.attribute_swap or "",
            *(f.text for u in units for f in u.foils),
        ]
        assert not any(f"{color} {shape}" in text for color, shape in held_out for text in texts)


def test_material_is_named_on_spheres_and_size_where_it_can_be_told():
    texts = [
        e.text
        for i in range(20)
        for d in describe_scene(sample_scene(0, i, 224), "i")
        for e in d.record.entities
    ]
    assert all(
        re.fullmatch(r"(large|small) \w+ ((rubber|metal) sphere|cube|cylinder)", text)
        for text in texts
    )
    assert all(
        len(e.text.split()) == 2
        for d in describe_scene(sample_scene(0, 0, 48), "i")
        for e in d.record.entities
    )
