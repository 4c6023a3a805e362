"""Words and patches: what a score was made of."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from tests.publishing.test_export import save
from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import weights_hash
from zoo.checkpoints.load import load_model_of_results
from zoo.errors import ZooError
from zoo.evaluation.patch_words import patch_word_function
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.max_sim import MaxSim
from zoo.heads.structure_guided import StructureGuided
from zoo.module import ZooModule

TEXTS = ["a red square", "the blue circles"]


def drawn() -> Image.Image:
    image = Image.new("RGB", (120, 80), "navy")
    image.paste("red", (0, 0, 60, 80))
    return image


def model(head: Head) -> zoo.Model:
    torch.manual_seed(0)
    return zoo.Model(ZooModule(Backbone("zoo-tiny"), head=head), "cpu")


def test_the_best_of_each_word_make_the_score() -> None:
    of = model(MaxSim(scale=1.0))
    found = of.patch_words(drawn(), TEXTS)
    scores = of.score(drawn(), TEXTS)[0]
    assert found[0].words == ("a", "red", "square", "<end_of_text>")
    for one, score in zip(found, scores, strict=True):
        assert one.similarity.shape == (len(one.words), 8, 8)
        best = [max(float(cosine) for cosine in cosines.flat) for cosines in one.similarity]
        assert sum(best) / len(best) == pytest.approx(float(score), abs=1e-6)


def test_patches_lie_where_they_are_in_the_image() -> None:
    """A patch is asked about by its own vector: rows follow one another as in the image."""
    of = model(MaxSim())
    image = np.zeros((64, 64, 3), np.uint8)
    image[8:16, 40:48] = 255  # row 1, column 5 of 8 by 8
    plain = np.zeros((64, 64, 3), np.uint8)
    (lit,), (dark,) = (of.patch_words(one, "a square") for one in (image, plain))
    change = np.abs(lit.similarity - dark.similarity).sum(0)
    assert np.unravel_index(change.argmax(), change.shape) == (1, 5)


def test_the_image_is_that_which_the_model_sees() -> None:
    (found,) = model(MaxSim()).patch_words(drawn(), "a square")
    assert found.image.size == (64, 64)
    # the middle of a wide image: the edge between red and navy stays in the middle
    pixels = np.asarray(found.image).astype(int)
    assert np.abs(pixels[32, 8] - (255, 0, 0)).max() <= 1
    assert np.abs(pixels[32, 56] - (0, 0, 128)).max() <= 1


def test_words_of_a_head_that_reads_both_look_at_the_patches_of_the_grid() -> None:
    of = model(CrossModal(width=32, ffn=64, layers=1, attention_heads=2))
    for one, words in zip(of.patch_words(drawn(), TEXTS), (5, 4), strict=True):
        assert one.measure == "attention"
        assert one.similarity.shape == (len(one.words), 8, 8)
        assert len(one.words) >= words
        assert (one.similarity > 0).all()
        assert (one.similarity.sum((1, 2)) < 0.5).all()  # the rest is of itself and other words


@pytest.mark.parametrize("head", [Cosine, StructureGuided])
def test_another_head_has_none(head: type[Head]) -> None:
    of = model(head())
    assert patch_word_function(of.module) is None
    with pytest.raises(ZooError, match=f"{head.__name__} does not score words against patches"):
        of.patch_words(drawn(), TEXTS)


def test_the_model_that_was_measured_is_loaded_with_the_head_that_measured_it(
    tmp_path: Path,
) -> None:
    module = ZooModule(Backbone("zoo-tiny"))
    saved = save(module, tmp_path / "last.ckpt")
    with_head = ZooModule(module.backbone, head=MaxSim()).eval()
    with_head.head.load_state_dict(module.head.state_dict())
    recipe = with_head.recipe()
    recipe["backbone"]["init_args"]["pretrained"] = None
    said = {"checkpoint": str(saved), "recipe": recipe, "weights_sha256": hash_of(with_head)}
    loaded = load_model_of_results(said)
    assert type(loaded.head) is MaxSim
    (one,), (other,) = (zoo.Model(m, "cpu").patch_words(drawn(), "a") for m in (loaded, with_head))
    np.testing.assert_array_equal(one.similarity, other.similarity)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights_sha256": "0"}, "have changed since they were measured: measure them again"),
        ({"checkpoint": "gone.ckpt"}, "gone.ckpt"),
        ({"checkpoint": None, "recipe": None, "model": "lab.Scorer"}, "Scorer is not a zoo model"),
        ({"checkpoint": None}, "the weights of the recipe in these results have changed"),
    ],
)
def test_a_model_that_cannot_be_had_is_a_sentence(
    change: dict[str, str | None], says: str, tmp_path: Path
) -> None:
    module = ZooModule(Backbone("zoo-tiny"), head=MaxSim())
    saved = save(module, tmp_path / "last.ckpt")
    said = {
        "checkpoint": str(saved),
        "recipe": module.recipe(),
        "weights_sha256": hash_of(module),
    }
    load_model_of_results(said)
    with pytest.raises(ZooError, match=says):
        load_model_of_results(said | change)


def hash_of(module: ZooModule) -> str:
    return weights_hash(module.backbone, module.head)
