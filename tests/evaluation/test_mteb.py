"""An encoder for MTEB: the vectors of the model, in the order and form that MTEB's evaluators ask.

What is checked against MTEB itself needs its package, and is left out without it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import zoo
from zoo.errors import ZooError
from zoo.evaluation.mteb import MtebEncoder
from zoo.heads.linear import Linear

TASK: dict[str, Any] = {"task_metadata": None, "hf_split": "test", "hf_subset": "default"}
TEXTS = ["a cat", "two dogs", "a cat and a dog"]


@pytest.fixture(scope="module")
def model() -> zoo.Model:
    torch.manual_seed(0)
    return zoo.load("zoo-tiny")


@pytest.fixture(scope="module")
def images() -> list[Image.Image]:
    pixels = np.random.default_rng(0).integers(0, 255, (3, 20, 20, 3), dtype=np.uint8)
    return [Image.fromarray(array) for array in pixels]


def batches(**lists: list[Any]) -> Iterator[dict[str, list[Any]]]:
    """What a loader of MTEB gives: lists by modality, here two items and then one."""
    for part in (slice(0, 2), slice(2, 3)):
        yield {name: items[part] for name, items in lists.items()}


def test_batches_of_texts_and_of_images_become_the_models_vectors(
    model: zoo.Model, images: list[Image.Image]
) -> None:
    encoder = zoo.as_mteb(model)
    texts = encoder.encode(batches(text=TEXTS, id=["0", "1", "2"]), **TASK, batch_size=2)
    pictures = encoder.encode(batches(image=images), **TASK)
    np.testing.assert_allclose(texts, model.encode_texts(TEXTS), atol=1e-6)
    np.testing.assert_allclose(pictures, model.encode_images(images), atol=1e-6)
    both = encoder.encode(batches(text=TEXTS, image=images), **TASK)
    np.testing.assert_allclose(both, texts + pictures, atol=1e-6)


def test_similarities_are_cosines(model: zoo.Model) -> None:
    encoder = zoo.as_mteb(model)
    a, b = np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 5.0]])
    torch.testing.assert_close(
        encoder.similarity(a, b), torch.tensor([[0.6, 0.8], [0.0, 1.0]], dtype=torch.float32)
    )
    torch.testing.assert_close(encoder.similarity_pairwise(a, b), torch.tensor([0.6, 1.0]))
    assert encoder.similarity(a[0], b).shape == (1, 2)


def test_a_batch_of_neither_is_refused(model: zoo.Model) -> None:
    with pytest.raises(ZooError, match="a batch of MTEB has audio and neither text nor image"):
        zoo.as_mteb(model).encode([{"audio": [0]}], **TASK)


def test_a_head_that_does_not_score_by_cosine_is_refused(model: zoo.Model) -> None:
    mapped = SimpleNamespace(head=Linear(), backbone=model.module.backbone)
    other = zoo.Model.__new__(zoo.Model)
    other.module = mapped  # type: ignore[assignment]
    with pytest.raises(ZooError, match="by their cosine, and the head is Linear"):
        zoo.as_mteb(other)


def test_results_are_told_apart_by_the_hash_of_the_weights(
    model: zoo.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta = ModuleType("mteb.models.model_meta")
    meta.ModelMeta = SimpleNamespace(create_empty=lambda about: about)  # type: ignore[attr-defined]
    for name in ("mteb", "mteb.models"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, meta.__name__, meta)
    first = zoo.as_mteb(model).mteb_model_meta
    assert (first["name"], first["modalities"]) == ("zoo/zoo-tiny", ["image", "text"])
    other = zoo.load("zoo-tiny")
    torch.nn.init.zeros_(next(other.module.parameters()))
    second = zoo.as_mteb(other, "lab/mine").mteb_model_meta
    assert second["name"] == "lab/mine"
    assert first["revision"] != second["revision"]


def test_without_mteb_its_metadata_says_what_to_install(
    model: zoo.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(ZooError, match=r"mteb is not installed: pip install mteb"):
        _ = zoo.as_mteb(model).mteb_model_meta


def test_the_encoder_has_what_mtebs_protocol_asks(model: zoo.Model) -> None:
    protocols = pytest.importorskip("mteb.models.models_protocols", reason="mteb is not installed")
    assert isinstance(zoo.as_mteb(model), protocols.EncoderProtocol)


def test_a_path_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="does not exist"):
        zoo.as_mteb(tmp_path / "absent.ckpt")
    assert isinstance(zoo.as_mteb("zoo-tiny"), MtebEncoder)
