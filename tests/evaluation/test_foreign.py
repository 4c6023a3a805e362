"""Models of other libraries are measured as zoo's own are."""

from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import CLIPConfig, CLIPModel

import zoo
from tests.publishing.test_export import save
from zoo.backbones.backbone import Backbone
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.publishing.export import export
from zoo.results.report import Results


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as a checkpoint, and exported both ways; images have a mean of their own."""
    folder = tmp_path_factory.mktemp("foreign")
    torch.manual_seed(5)
    module = ZooModule(Backbone("zoo-tiny", preprocess={"mean": (0.5, 0.4, 0.3)}))
    saved = save(module, folder / "last.ckpt")
    export(saved, folder / "open_clip")
    export(saved, folder / "hf", "hf")
    return folder


def of_open_clip(folder: Path) -> Any:
    return open_clip.create_model(f"local-dir:{folder / 'open_clip'}")


def of_hugging_face(folder: Path) -> Any:
    return CLIPModel.from_pretrained(folder / "hf")


def scores(results: Results) -> NDArray[np.float64]:
    return np.array(results.cases["scores"].to_pylist())


@pytest.fixture(scope="module")
def pairs(made_root: Path) -> str:
    return f"pairs:{made_root / 'pairs.csv'}"


@pytest.fixture(scope="module")
def ours(folder: Path, pairs: str, made_root: Path) -> NDArray[np.float64]:
    return scores(zoo.evaluate(zoo.load(folder / "last.ckpt"), [pairs], made_root))


@pytest.mark.parametrize("make", [of_open_clip, of_hugging_face])
def test_they_score_as_the_same_weights_do_here_and_keep_their_mode(
    make: Any, folder: Path, pairs: str, made_root: Path, ours: NDArray[np.float64]
) -> None:
    model = make(folder).train()
    model.logit_scale.requires_grad_(False)
    results = zoo.evaluate(model, pairs, made_root)
    np.testing.assert_allclose(scores(results), ours, atol=1e-4)
    assert results.header["model"]["model"].endswith(type(model).__name__)
    assert all(part.training for part in model.modules())


def test_a_path_and_a_function_are_measured(
    folder: Path, pairs: str, made_root: Path, ours: NDArray[np.float64]
) -> None:
    np.testing.assert_array_equal(
        scores(zoo.evaluate(str(folder / "last.ckpt"), pairs, made_root)), ours
    )
    model = zoo.load(folder / "open_clip")

    def with_a_graph(images: list[Any], texts: list[str]) -> torch.Tensor:
        return torch.tensor(model.score(images, texts), requires_grad=True)

    results = zoo.evaluate(with_a_graph, pairs, made_root)
    np.testing.assert_allclose(scores(results), ours, atol=1e-4)
    assert results.header["model"]["model"].endswith("with_a_graph")


def test_a_gallery_is_scored_in_parts_as_at_once(folder: Path) -> None:
    from tests.support.made import draw
    from zoo.evaluation.foreign import scorer

    model, _ = scorer(of_open_clip(folder))
    images = [draw("red", "square", "blue", "circle"), draw("blue", "circle", "red", "square")]
    texts = [f"a red square above {n} blue circles" for n in range(300)]
    whole = model.score(images, texts)
    assert whole.shape == (2, 300)
    np.testing.assert_allclose([model.score([i], texts)[0] for i in images], whole, atol=1e-5)
    other = model.score(images, texts[:2])
    np.testing.assert_allclose(other, whole[:, :2], atol=1e-5)


def test_a_clip_read_from_nowhere_is_prepared_as_openais_and_says_so(
    folder: Path, pairs: str, made_root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    torch.manual_seed(5)
    saved = save(ZooModule(Backbone("zoo-tiny")), tmp_path / "last.ckpt")
    export(saved, tmp_path / "hf", "hf")
    model: Any = CLIPModel.from_pretrained(tmp_path / "hf")
    model.name_or_path = ""
    results = zoo.evaluate(model, pairs, made_root)
    expected = zoo.evaluate(zoo.load(saved), pairs, made_root)
    np.testing.assert_allclose(scores(results), scores(expected), atol=1e-4)
    assert "the CLIPModel was not loaded from a file" in caplog.text


def without_its_processor(folder: Path) -> Any:
    model: Any = of_hugging_face(folder)
    model.name_or_path = "/nowhere/at-all"
    return model


def of_few_ids(folder: Path) -> Any:
    text = {"vocab_size": 99, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    vision = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "image_size": 32}
    heads = {"num_attention_heads": 2}
    return CLIPModel(CLIPConfig(text_config=text | heads, vision_config=vision | heads))


def of_another_tokenizer(folder: Path) -> Any:
    model = of_open_clip(folder)
    model.vocab_size = 32000
    return model


def without_preparation(folder: Path) -> Any:
    model = of_open_clip(folder)
    del model.visual.preprocess_cfg
    return model


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (without_its_processor, r"the processor of /nowhere/at-all.* cannot be loaded"),
        (of_few_ids, "a CLIPModel of 99 token ids that was not loaded from a file"),
        (of_another_tokenizer, "a CLIP does not bring its tokenizer, and with 32000 ids"),
        (without_preparation, "a CLIP does not say how its images are prepared"),
        (lambda _: nn.Linear(1, 1), "a Linear cannot be measured"),
        (lambda _: zoo.Model, "Model is a class: give one of its objects"),
        (lambda _: None, "a NoneType cannot be measured"),
        (lambda _: 3, "a int cannot be measured"),
        (lambda _: "no.ckpt", r"no\.ckpt is not there"),
        (lambda _: lambda images, texts: "x", "gave no scores but a str"),
        (lambda _: lambda images, texts: [[1.0], [2.0, 3.0]], "gave no scores but a list"),
        (lambda _: lambda images, texts: [1.0, 2.0], r"gave scores of shape \(2,\) for 1 images"),
        (lambda _: lambda images, texts: [[float("nan")] * 2], "a score that is not a number"),
    ],
)
def test_what_cannot_be_measured_is_told(
    make: Any, says: str, folder: Path, pairs: str, made_root: Path
) -> None:
    with pytest.raises(ZooError, match=says):
        zoo.evaluate(make(folder), pairs, made_root)
