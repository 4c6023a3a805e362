"""Pairs of scenes with one attribute exchanged."""

import numpy as np
import pytest
from PIL import Image

from zoo.benchmarks.scene_pairs import ScenePairs
from zoo.errors import ZooError
from zoo.scenes.cache import read_captions, render_collection
from zoo.scenes.graph import REST, has_fully_visible_objects
from zoo.scenes.pairs import KINDS, NUMBERS, PLURALS, ExchangedPairs


@pytest.fixture(scope="module")
def scenes():
    scenes = list(ExchangedPairs().scenes(120))
    return list(zip(scenes[::2], scenes[1::2], strict=True))


def descriptions(graph, kind: str) -> str:
    """Says what a scene shows, from its objects alone."""
    if kind != "quantity":
        return " and ".join(f"a {getattr(o, kind)} {o.shape}" for o in graph.objects)
    groups = dict.fromkeys(o.pair for o in graph.objects)
    counts = {pair: sum(o.pair == pair for o in graph.objects) for pair in groups}
    return " and ".join(f"{NUMBERS[counts[c, s]]} {c} {PLURALS.get(s, s + 's')}" for c, s in groups)


def test_either_caption_is_what_its_scene_shows_and_the_other_is_its_swap(scenes):
    for pair in scenes:
        captions = [scene.descriptions[0].record.caption for scene in pair]
        assert captions == [descriptions(scene.graph, scene.split) for scene in pair]
        assert captions[0] != captions[1]
        assert sorted(captions[0].split()) == sorted(captions[1].split())
        assert [scene.descriptions[0].attribute_swap for scene in pair] == captions[::-1]


def test_scenes_of_a_pair_differ_in_what_is_exchanged_alone(scenes):
    assert [pair[0].split for pair in scenes] == list(KINDS) * 30
    for one, other in scenes:
        changed = set()
        assert (one.graph.camera, one.graph.lamps, one.graph.seed) == (
            other.graph.camera,
            other.graph.lamps,
            other.graph.seed,
        )
        for a, b in zip(one.graph.objects, other.graph.objects, strict=True):
            changed |= {name for name, value in vars(a).items() if value != getattr(b, name)}
            assert a.position[:2] == b.position[:2]
            assert b.position[2] == REST[b.shape] * b.radius, "on the ground"
        allowed = {"size": {"radius", "position"}, "quantity": {"color", "shape", "position"}}
        assert changed - {one.split} <= allowed.get(one.split, set()), one.split
        assert has_fully_visible_objects(one.graph)
        assert has_fully_visible_objects(other.graph)


def test_segments_of_a_caption_are_its_entities(scenes):
    for one, _ in scenes:
        record = one.descriptions[0].record
        assert [e.text for e in record.entities] == [
            phrase.removeprefix("a ") for phrase in record.caption.split(" and ")
        ]


@pytest.fixture(scope="module")
def folder(renderer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs") / "scene_pairs"
    assert render_collection(folder, 4, ExchangedPairs(size=32), samples=4, workers=0) == 8
    return folder


def test_images_of_a_pair_are_equal_but_for_the_objects_that_changed(folder):
    for index in (0, 1, 3):
        a, b = (
            np.asarray(Image.open(folder / f"images/{index:06d}{suffix}.png")).astype(int)
            for suffix in ("", "_swapped")
        )
        differ = np.abs(a - b).max(2) > 24
        assert 0.005 < differ.mean() < 0.4, "of the pixels"


def test_a_pair_is_a_case_of_two_images_and_two_captions(folder):
    cases = ScenePairs("scene_pairs").read(folder.parent).cases
    rows = {row.image_id: row for row in read_captions(folder)}
    assert [case.subset for case in cases] == list(KINDS)
    for case in cases:
        its = [rows[f"images/{image.key.rpartition('/')[2]}"] for image in case.images]
        assert case.texts == tuple(row.caption for row in its)
        assert case.match.tolist() == [[True, False], [False, True]]
        assert case.protocol == "group"
    [case] = ScenePairs("scene_pairs", ["size"]).read(folder.parent).cases
    assert case.subset == "size"


def test_half_a_pair_is_refused(folder, tmp_path):
    lines = (folder / "captions.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "captions.jsonl").write_text("".join([lines[0], *lines[2:]]))
    with pytest.raises(ZooError, match="is not followed by the image of"):
        ScenePairs(str(tmp_path)).read(tmp_path)
