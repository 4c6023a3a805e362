"""What the study of rendered scenes trains on."""

import importlib
import sys
from pathlib import Path
from random import Random

import pytest
import torch

from tests.scenes.test_captions import true
from zoo.batch import MISSING
from zoo.scenes.cache import read_lines
from zoo.scenes.graph import SceneGraph
from zoo.sources.readers.scenes import Scenes
from zoo.units.sampler import UnitSampler

SCRIPTS = Path(__file__).parents[2] / "benchmarks" / "studies"


@pytest.fixture
def data(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("scenes_data")
    sys.modules.pop("scenes_data", None)


def test_foils_and_swaps_inside_sentences_are_false_and_leave_the_rest_of_the_sentence(
    data, rendered
):
    sampler = UnitSampler(str(rendered / "units.jsonl"))
    graphs = {
        f"images/{row['id']}.png": SceneGraph.from_dict(row)
        for row in read_lines(rendered, "scenes.jsonl")
    }
    rng, seen = Random(0), 0
    for sample in Scenes(str(rendered)).read():
        record = sampler.records()[sample.caption_id]
        made = [data.in_sentence(record, *pair) for pair in sampler.draw_units(record, rng) if pair]
        for text in [*made, data.swapped(sample, record, rng)]:
            if text is not None:
                seen += 1
                assert not true(graphs[sample.image_id], text), (sample.caption, text)
                assert text.split()[0] == sample.caption.split()[0]
    assert seen > 500


def test_a_batch_is_a_function_of_seed_and_step_and_its_rows_point_at_their_texts(data, rendered):
    from zoo.backbones.backbone import Backbone

    texts = data.Texts(Backbone("zoo-scenes"))
    train = [
        row["image_id"] for row in read_lines(rendered, "captions.jsonl") if row["split"] == "train"
    ]
    pictures = data.read_pictures(rendered, list(dict.fromkeys(train)))
    steps = data.Steps(rendered, pictures, texts, batch=8, seed=3, negatives=3, units=True)
    batch, again = steps[5], steps[5]
    assert torch.equal(batch.images, again.images)
    assert torch.equal(batch.texts.ids, again.texts.ids)
    assert not torch.equal(batch.samples, steps[6].samples)
    assert batch.samples.unique().numel() == 8
    assert batch.negatives.shape == (8, 3)
    assert batch.units.shape == batch.foils.shape == (8, 2)
    assert all(
        (rows != MISSING).float().mean() > 0.8
        for rows in (batch.negatives, batch.units, batch.foils)
    )
    bare = data.Steps(rendered, pictures, texts, batch=8, seed=3, negatives=0, units=False)[5]
    assert torch.equal(bare.samples, batch.samples), "arms see the same images"
    assert torch.equal(bare.texts.ids[bare.captions], batch.texts.ids[batch.captions]), (
        "and the same captions"
    )


def test_the_cut_vocabulary_encodes_texts_as_the_whole_one(data):
    from zoo.backbones.backbone import Backbone
    from zoo.batch import TextBank

    backbone = Backbone("zoo-scenes").eval()
    captions = ["a cyan cylinder is to the right of a brown cube", "red sphere"]
    with torch.no_grad():
        whole = backbone.encode_texts(TextBank(*backbone.tokenizer(captions))).pooled
        cut = backbone.encode_texts(data.Texts(backbone).bank(captions)).pooled
    assert torch.allclose(whole, cut, atol=1e-6)
    with pytest.raises(ValueError, match="not in WORDS"):
        data.Texts(Backbone("zoo-scenes")).bank(["a red teapot"])
