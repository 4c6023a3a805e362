"""What the studies of bindings train on and ask."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from tests.scenes.test_captions import true
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.optim import Optimization
from zoo.scenes.cache import read_captions, read_lines, render_collection
from zoo.scenes.graph import SceneGraph
from zoo.scenes.grid import BindingGrid, all_captions

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "studies"


@pytest.fixture(scope="module")
def module():
    """Imports a script of the studies."""
    before = set(sys.modules)

    def imported(name: str) -> ModuleType:
        return importlib.import_module(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield imported
    for name in set(sys.modules) - before:
        if str(SCRIPTS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(scope="module")
def folder(renderer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid")
    render_collection(folder, 50, BindingGrid(size=48), samples=1, workers=0)
    return folder


@pytest.fixture(scope="module")
def tower(module, folder, tmp_path_factory):
    """A tower that took one step, and its file."""
    training = module("bindings_training").GridTraining(folder, "CLIP", 8, 0, 7, 1, 1e-3)
    file = tmp_path_factory.mktemp("tower") / "tower.pt"
    training.run(file)
    return training, file


def words_of(training, step: int) -> list[list[int]]:
    batch = training.batches[step]
    return [sorted(row[row > 0].tolist()) for row in batch.texts.ids[batch.captions]]


def test_shuffled_captions_have_the_same_words_and_other_arms_the_same_images(module, folder):
    shared = module("bindings_training")
    given = (folder, "CLIP", 12, 0, 7, 4, 1e-3)
    plain, spoilt = shared.GridTraining(*given), shared.GridTraining(*given, share=1.0)
    assert torch.equal(plain.batches[2].samples, spoilt.batches[2].samples)
    assert words_of(plain, 2) == words_of(spoilt, 2)
    changed = 0
    for one, other in zip(plain.batches[2].texts.ids, spoilt.batches[2].texts.ids, strict=True):
        changed += not torch.equal(one, other)
    assert changed > 8


def test_stored_features_give_the_loss_of_encoding_anew(module, folder, tower):
    shared, (_, tower_file) = module("bindings_training"), tower
    made = {
        name: shared.FrozenHead(folder, tower_file, head, 6, 0, 2, Optimization(lr=1e-3))
        for name, head in {
            "LabCLIP": Linear(),
            "TF-Local": CrossModal("local", layers=1, width=16, ffn=16, attention_heads=2),
        }.items()
    }
    for name, training in made.items():
        module_ = training.module.eval()
        stored, encoded = training.batches[1], training.batches.steps[1]
        losses = []
        for batch in (stored, encoded):
            with torch.no_grad():
                losses.append(float(module_.objective(*module_.score(batch)).total))
        assert losses[0] == pytest.approx(losses[1], abs=1e-5), name
        assert encoded.negatives.shape == (6, 3)


def test_a_head_learns_and_its_tower_stays(module, folder, tower, tmp_path):
    training = module("bindings_training").FrozenHead(
        folder, tower[1], Linear(), 8, 0, 3, Optimization(lr=1e-2)
    )
    before = {name: p.clone() for name, p in training.module.named_parameters()}
    training.run(tmp_path / "head.pt")
    changed = {n for n, p in training.module.named_parameters() if not torch.equal(p, before[n])}
    assert "head.text_map.weight" in changed
    assert not [name for name in changed if name.startswith("backbone.")]


def test_all_swaps_are_asked_in_one_subset_and_no_more_scenes_than_wanted(module, folder):
    shared = module("bindings_training")
    cases = shared.SomeOfGrid(str(folder), 2, whole=True).read(folder).cases
    assert len(cases) == 3 * 2 * 2
    assert {(case.subset, case.protocol) for case in cases} == {("all", "i2t")}
    some = shared.SomeOfGrid(str(folder), 2).read(folder).cases
    assert [len(case.images) for case in some if case.protocol == "retrieval"] == [2, 2, 2]


def test_pairs_are_asked_of_a_trained_tower_by_every_head_and_their_passes_counted(
    module, tower, tmp_path
):
    shared, study = module("bindings_training"), module("views_of_pairs")
    training, tower_file = tower
    render_collection(tmp_path / "pairs", 8, study.ExchangedPairs(size=48), samples=1, workers=0)
    heads = study.heads(tmp_path / "pairs" / "units.color.jsonl")
    asked = {name: study.ask(tower_file, heads[name], tmp_path / "pairs") for name in heads}
    assert [asked[name]["passes a pair"] for name in heads] == [2, 2, 2 * 86, 2 * 270]
    assert {run["scores"]["group"]["n"] for run in asked.values()} == {2}
    own = shared.measure(
        training.module.eval(), study.ScenePairs(str(tmp_path / "pairs"), ["color"])
    )
    assert asked["cosine"]["scores"]["group"]["value"] == own.value("scene_pairs", "color", "group")
    runs = [{"seed": "seed0", "head": name} | run for name, run in asked.items()]
    table = study.write_report(runs, tmp_path / "out")
    assert [row.split(" |")[0] for row in table.splitlines()[-4:]] == [
        f"| {name}" for name in heads
    ]


def test_every_caption_that_a_negative_may_become_is_stored(module, folder):
    shared = module("bindings_training")
    assert set(all_captions()) < set(shared.SPOKEN)
    assert len(shared.SPOKEN) == 64 * 64


def test_captions_of_other_scenes_are_right_where_they_are_true(module, rendered):
    study = module("hard_negative_weight")
    graphs = {
        f"images/{row['id']}.png": SceneGraph.from_dict(row)
        for row in read_lines(rendered, "scenes.jsonl")
    }
    cases = study.TrueCaptions(str(rendered), 6).read(rendered).cases
    assert [case.subset for case in cases] == ["retrieval", "zero-shot"]
    own = {(row.image_id, row.caption) for row in read_captions(rendered)}
    for case in cases:
        assert len(case.images) == 6
        for image, right in zip(case.images, case.match, strict=True):
            graph = graphs["images/" + Path(image.key).name]
            for text, said in zip(case.texts, right, strict=True):
                if case.subset == "retrieval":
                    assert said == true(graph, text), (image.key, text)
                    assert said or ("images/" + Path(image.key).name, text) not in own
                else:
                    assert said == (text in {f"a {o.color} {o.shape}" for o in graph.objects})
