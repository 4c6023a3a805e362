import json

import numpy as np
import pytest
from PIL import Image

import zoo
from zoo.benchmarks import ImageHalfTruth
from zoo.cli.scenes import main
from zoo.scenes.cache import render_collection
from zoo.scenes.world.graph import WorldGraph
from zoo.scenes.world.image_edits import ImageHalfTruths
from zoo.scenes.world.kinds import EDITS

N = 4 * len(EDITS)


@pytest.fixture(scope="module")
def scenes():
    return list(ImageHalfTruths().scenes(N))


@pytest.fixture(scope="module")
def pairs(scenes):
    """Pairs of graphs by kind of edit."""
    found = {edit: [] for edit in EDITS}
    for first, second in zip(scenes[::2], scenes[1::2], strict=True):
        found[first.split].append((first.graph, second.graph))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image_half_truths")
    collection = ImageHalfTruths(size=32)
    assert render_collection(folder, len(EDITS), collection, 1, workers=0) == 2 * len(EDITS)
    return folder


def changed_fields(first, second):
    """Returns the changed attributes of each changed object; what is held moves with the hand."""
    changes = []
    for a, b in zip(first.objects, second.objects, strict=True):
        fields = ("kind", "color", "pattern", "count", "link", *(() if a.link else ("x",)))
        changes.append([name for name in fields if getattr(a, name) != getattr(b, name)])
    return sorted(names for names in changes if names)


@pytest.mark.parametrize(
    ("edit", "allowed"),
    [
        ("object", [[["kind"]]]),
        ("attribute", [[["color"]], [["pattern"]]]),
        ("count", [[["count"]]]),
        ("swap_color", [[["color"], ["color"]]]),
        ("swap_position", [[["x"], ["x"]]]),
    ],
)
def test_an_edit_changes_nothing_but_its_detail(pairs, edit, allowed):
    for first, second in pairs[edit]:
        assert changed_fields(first, second) in allowed
        assert (first.seed, first.place) == (second.seed, second.place)


def test_a_changed_relation_moves_one_object_and_what_it_carries(pairs):
    for first, second in pairs["relation"]:
        moved = [
            k for k, (a, b) in enumerate(zip(first.objects, second.objects, strict=True)) if a != b
        ]
        assert moved
        assert all(o.host in moved for k, o in enumerate(first.objects) if k in moved[1:])


def test_the_second_scene_has_one_object_less_or_more(pairs):
    for edit, difference in (("missing", -1), ("extra", 1)):
        for first, second in pairs[edit]:
            assert len(second.objects) - len(first.objects) == difference
            shorter, longer = sorted((first, second), key=lambda graph: len(graph.objects))
            assert longer.objects[:-1] == shorter.objects
            assert longer.objects[-1].kind not in {o.kind for o in shorter.objects}


def test_a_text_names_what_only_its_scene_has(scenes):
    for first, second in zip(scenes[::2], scenes[1::2], strict=True):
        texts = [scene.descriptions[0].record.caption for scene in (first, second)]
        assert texts[0] != texts[1]
        if first.split == "missing":
            assert texts[0].startswith(f"{texts[1]} and ")
        if first.split == "extra":
            assert texts[1].startswith(f"{texts[0]} and ")
        if first.split.startswith("swap"):
            words = [sorted(text.replace("an ", "a ").split()) for text in texts]
            assert words[0] == words[1]


def test_pixels_differ_where_an_object_was_recoloured_and_nowhere_else(folder):
    rows = [json.loads(line) for line in (folder / "scenes.jsonl").open()]
    k = 2 * EDITS.index("attribute")
    graphs = [WorldGraph.from_dict(row) for row in rows[k : k + 2]]
    images = [
        np.asarray(Image.open(folder / f"images/{k // 2:06d}{suffix}.png"), int)
        for suffix in ("", "_swapped")
    ]
    [edited] = [a for a, b in zip(*(graph.objects for graph in graphs), strict=True) if a != b]
    left, top, right, bottom = (round(32 * side) for side in edited.box)
    different = (images[0] != images[1]).any(-1)
    assert different.any()
    different[max(top - 3, 0) : bottom + 3, max(left - 3, 0) : right + 3] = False
    assert not different.any()


def test_scores_that_ignore_the_texts_are_right_of_half_of_the_two_sided_queries(folder):
    def brightness(images, texts):
        values = np.array([np.asarray(image, float).mean() for image in images])
        return np.repeat(values[:, None], len(texts), 1)

    results = zoo.evaluate(brightness, ImageHalfTruth(str(folder)), folder)
    for edit in EDITS:
        if edit not in ("missing", "extra"):
            assert results.value("image_half_truth", edit, "t2i") == 50.0


def test_one_text_is_asked_about_an_object_that_is_missing_or_extra(folder):
    cases = ImageHalfTruth(str(folder)).read(folder).cases
    assert [case.subset for case in cases] == list(EDITS)
    assert [len(case.texts) for case in cases] == [2] * 6 + [1] * 2
    assert all(case.match[0, 0] and not case.match[1, 0] for case in cases)


def test_the_scenes_are_drawn_from_the_command_line(tmp_path):
    out = str(tmp_path / "scenes")
    command = ["image_half_truths", "--out", out, "--n", "2", "--size", "16", "--workers", "0"]
    assert main(command) == 0
    assert len(ImageHalfTruth(out, ["object"]).read(tmp_path).cases) == 1
