"""The grid: no text of training names what is held out, whoever makes the text."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from zoo.benchmarks.scene_grid import SceneGrid
from zoo.errors import ZooError
from zoo.negatives.aro import AROShuffle
from zoo.negatives.base import NegativeGenerator
from zoo.negatives.bigram_shuffle import BigramShuffle
from zoo.negatives.entity_foil import EntityFoilInPlace
from zoo.negatives.mixture import SwapOrFoil
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.scenes import blocks
from zoo.scenes.cache import read_captions, read_lines, render_collection
from zoo.scenes.graph import SceneGraph
from zoo.scenes.grid import BindingGrid, all_captions
from zoo.scenes.related import RelatedScenes
from zoo.sources.readers.scenes import Scenes
from zoo.units.sampler import UnitSampler

N = 500
OF_SWAPPED_WORDS = [NegCLIPSwap(), BigramShuffle(), AROShuffle(), SwapOrFoil(), EntityFoilInPlace()]


@pytest.fixture(scope="module")
def grid() -> BindingGrid:
    return BindingGrid()


@pytest.fixture(scope="module", params=["train", "val", "seen"])
def descriptions(request, grid):
    """The descriptions of a split."""
    return [d for s in grid.scenes(N) if s.split == request.param for d in s.descriptions]


def names(text: str, grid: BindingGrid) -> list[str]:
    """Returns what a text names of the block, wherever the words come one after the other."""
    return [f"{c} {s}" for c, s in grid.held_out if re.search(rf"\b{c} {s}s?\b", text)]


def written(descriptions) -> Iterator[str]:
    for description in descriptions:
        yield description.record.caption
        yield description.attribute_swap
        for entity in description.record.entities:
            yield entity.text
            yield from (foil.text for foil in entity.foils)


def test_no_caption_swap_unit_or_foil_names_what_is_held_out(descriptions, grid):
    found = list(written(descriptions))
    assert len(found) > 300
    assert not [text for text in found if names(text, grid)]


@pytest.mark.parametrize("generator", OF_SWAPPED_WORDS, ids=lambda g: g.name)
def test_no_negative_of_swapped_words_or_foils_names_what_is_held_out(
    descriptions, grid, generator: NegativeGenerator
):
    made = [
        generator.negative(d.record.caption, Random(f"{k} {d.record.caption_id}"), d.record)
        for d in descriptions
        for k in range(5)
    ]
    assert sum(text is not None for text in made) > len(made) / 2
    assert not [text for text in made if text and names(text, grid)]


def test_taken_literally_the_hold_out_lets_swaps_of_seen_captions_have_a_binding_of_it(grid):
    literal = [c for c in all_captions().values() if not grid.held_out.intersection(c)]
    leaking = [c for c in literal if grid.held_out.intersection(blocks.swap_attributes(c))]
    assert (len(literal), len(leaking)) == (2_290, 450)
    used = {c for split in ("train", "val", "seen") for c in grid.captions[split]}
    assert used.isdisjoint(leaking)


def test_what_is_asked_is_in_no_training_text(grid):
    trained = {
        text
        for s in grid.scenes(N)
        if s.split in ("train", "val")
        for text in written(s.descriptions)
    }
    for scene in grid.scenes(N):
        if scene.split in blocks.SPLITS:
            assert trained.isdisjoint(d.record.caption for d in scene.descriptions)


@pytest.mark.slow
def test_scenes_show_what_they_say_in_both_orders_and_by_splits_shares(grid):
    splits: Counter[str] = Counter()
    for scene in grid.scenes(N):
        splits[scene.split] += 1
        shown = [o.pair for o in scene.graph.objects]
        captions = [all_captions()[d.record.caption] for d in scene.descriptions]
        assert captions == [tuple(shown), tuple(reversed(shown))]
        for description, caption in zip(scene.descriptions, captions, strict=True):
            assert all_captions()[description.attribute_swap] == blocks.swap_attributes(caption)
            phrases = [f"{color} {shape}" for color, shape in caption]
            assert [entity.text for entity in description.record.entities] == phrases
            assert not {f.text for e in description.record.entities for f in e.foils} & {*phrases}
        held = sum(pair in grid.held_out for pair in shown)
        assert held == {"partial": 1, "unseen": 2}.get(scene.split, 0)
    assert splits == {"train": 300, "val": 20, "seen": 60, "partial": 60, "unseen": 60}


def test_a_scene_stays_as_more_are_asked_for_and_changes_with_seed_and_block(grid):
    assert list(grid.scenes(40))[:30] == list(BindingGrid().scenes(30))
    first = next(grid.scenes(1)).graph
    assert next(BindingGrid(seed=1).scenes(1)).graph != first
    assert BindingGrid(block_seed=1).held_out != grid.held_out


@pytest.fixture(scope="module")
def folder(renderer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid") / "scene_grid"
    assert render_collection(folder, 25, BindingGrid(size=16), samples=1, workers=0) == 25
    return folder


def test_a_folder_is_a_source_with_its_splits_and_units(folder):
    samples = Scenes(str(folder), "train").read()
    assert len(samples) == 2 * 15
    records = UnitSampler(str(folder / "units.train.jsonl")).records()
    assert {s.caption_id for s in samples} == set(records)
    assert all(s.negatives for s in samples)
    graphs = [SceneGraph.from_dict(row) for row in read_lines(folder, "scenes.jsonl")]
    assert graphs == [scene.graph for scene in BindingGrid(size=16).scenes(25)]


def test_an_image_stands_against_a_swap_and_among_all_captions(folder):
    contents = SceneGrid("scene_grid").read(folder.parent)
    rows = {row.caption_id: row for row in read_captions(folder)}
    for subset in blocks.SPLITS:
        *swaps, gallery = [case for case in contents.cases if case.subset == subset]
        assert len(swaps) == 3 * 2
        for case in swaps:
            assert case.texts == (rows[case.id].caption, rows[case.id].attribute_swap)
            assert (case.protocol, case.match.tolist()) == ("i2t", [[True, False]])
        assert gallery.protocol == "retrieval"
        assert gallery.match.shape == (3, 3_136)
        for image, right in zip(gallery.images, gallery.match, strict=True):
            its = {r.caption for r in rows.values() if image.key.endswith(r.image_id)}
            assert {gallery.texts[j] for j in right.nonzero()[0]} == its
            assert len(its) == 2


def test_chance_among_all_captions_is_two_in_all_of_them(folder):
    gallery = SceneGrid("scene_grid").read(folder.parent).cases[-1]
    query = next(q for q in gallery.queries() if q.metric == "i2t_r@1")
    assert (query.options, query.right_options) == (3_136, 2)


def test_another_folder_of_scenes_is_refused(rendered):
    with pytest.raises(ZooError, match="a folder written by `zoo scenes grid`"):
        SceneGrid(str(rendered)).read(rendered.parent)


@pytest.mark.usefixtures("renderer")
def test_a_folder_is_not_filled_with_another_kind(folder):
    with pytest.raises(ZooError, match="was rendered with n_objects None"):
        render_collection(folder, 25, RelatedScenes(0, 16, (2, 2)), samples=1, workers=0)
    with pytest.raises(ZooError, match="was rendered with held_out"):
        render_collection(folder, 25, BindingGrid(size=16, block_seed=1), samples=1, workers=0)


def test_places_leave_objects_whole_and_apart(grid):
    for scene in grid.scenes(50):
        (x, y, near), (u, v, far) = (
            scene.graph.camera.project_with_scale(o.position) for o in scene.graph.objects
        )
        radius = min(o.radius for o in scene.graph.objects)
        assert max(abs(x), abs(y), abs(u), abs(v)) < 0.94
        assert math.dist((x, y), (u, v)) >= radius * (near + far)
