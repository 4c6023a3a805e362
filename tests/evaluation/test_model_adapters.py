"""Models of other libraries are measured as zoo's own are."""

import logging
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import open_clip
import pytest
import torch
from numpy.typing import NDArray
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image
from torch import Tensor, nn
from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

import zoo
from tests.evaluation.fakes import InMemory, cases, drawn_images, evaluation
from tests.publishing.test_export import save
from zoo.backbones.backbone import Backbone
from zoo.benchmarks.base import Case
from zoo.errors import ZooError
from zoo.evaluation import EmbeddingCache
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


class Thumbnails:
    """Two plain encoders that are no module: colours of a thumbnail, and letters of a text."""

    def preprocess(self, image: Image.Image) -> Tensor:
        return torch.tensor(np.array(image.resize((2, 2))), dtype=torch.float32).permute(2, 0, 1)

    def tokenizer(self, texts: list[str]) -> Tensor:
        return torch.tensor([[ord(letter) for letter in text[:12].ljust(12)] for text in texts])

    def encode_image(self, pixels: Tensor) -> Tensor:
        return pixels.flatten(1) - 100

    def encode_text(self, ids: Tensor) -> NDArray[np.float32]:
        return torch.sin(ids.float()).numpy()


class CountedClip(open_clip.CLIP):
    """A CLIP that counts what it encodes."""

    counts: ClassVar[Counter[str]] = Counter()

    def encode_image(self, image: Tensor, normalize: bool = False) -> Tensor:
        self.counts["images"] += len(image)
        return super().encode_image(image, normalize)

    def encode_text(self, text: Tensor, normalize: bool = False) -> Tensor:
        self.counts["texts"] += len(text)
        return super().encode_text(text, normalize)


def tiny_open_clip() -> Any:
    torch.manual_seed(3)
    towers = ({"image_size": 32, "patch_size": 16}, {"context_length": 16})
    small = {"width": 32, "layers": 1}
    CountedClip.counts.clear()
    model: Any = CountedClip(
        embed_dim=16,
        vision_cfg={**towers[0], **small, "head_width": 16},
        text_cfg={**towers[1], **small, "heads": 2},
    ).eval()
    model.visual.preprocess_cfg = {"size": (32, 32), "mean": (0.5, 0.4, 0.3), "std": (0.2,) * 3}
    return model


def tiny_hugging_face() -> Any:
    torch.manual_seed(4)
    small = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 2}
    text = {**small, **heads, "max_position_embeddings": 16, "eos_token_id": 49407}
    vision = {**small, **heads, "image_size": 32, "patch_size": 16}
    return CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=16)).eval()


def encode_open_clip(model: Any, images: list[Image.Image], texts: list[str]) -> Any:
    transform = image_transform_v2(PreprocessCfg(**model.visual.preprocess_cfg), is_train=False)
    ids = open_clip.SimpleTokenizer(context_length=16)(texts)
    return (
        model.encode_image(torch.stack([transform(image) for image in images])),
        model.encode_text(ids),
        model.logit_scale.exp(),
    )


def encode_hugging_face(model: Any, images: list[Image.Image], texts: list[str]) -> Any:
    size = {"crop_size": {"height": 32, "width": 32}, "size": {"shortest_edge": 32}}
    pixels = CLIPImageProcessor(**size)(images=images, return_tensors="pt")["pixel_values"]
    ids = open_clip.SimpleTokenizer(context_length=16)(texts)
    out = model(input_ids=ids, pixel_values=pixels)
    return out.image_embeds, out.text_embeds, model.logit_scale.exp()


def encode_thumbnails(model: Any, images: list[Image.Image], texts: list[str]) -> Any:
    pixels = torch.stack([model.preprocess(image) for image in images])
    return model.encode_image(pixels), torch.tensor(model.encode_text(model.tokenizer(texts))), 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("build", "encode"),
    [
        (tiny_open_clip, encode_open_clip),
        (tiny_hugging_face, encode_hugging_face),
        (Thumbnails, encode_thumbnails),
    ],
)
def test_the_scores_of_two_towers_are_those_of_a_loop_over_cases(
    build: Any, encode: Any, tmp_path: Path
) -> None:
    model = build()
    images = drawn_images(tmp_path, 8)
    loop = dict[tuple[str, str], NDArray[np.float32]]()
    for case in (made := cases(images)):
        opened = [Image.open(tmp_path / image.key).convert("RGB") for image in case.images]
        with torch.no_grad():
            *sides, scale = encode(model, opened, list(case.texts))
            left, right = (torch.nn.functional.normalize(side.float(), dim=-1) for side in sides)
            loop[case.subset, case.id] = (scale * left @ right.T).numpy()
    CountedClip.counts.clear()
    results = zoo.evaluate(model, InMemory(made), tmp_path)
    expected = evaluation(tmp_path, made).run_plain_model(FromLoop(made, loop))
    for name in ("subset", "case", "metric", "right"):
        assert results.cases[name].to_pylist() == expected.cases[name].to_pylist()
    both = zip(results.cases["scores"], expected.cases["scores"], strict=True)
    for found, by_loop in both:
        np.testing.assert_allclose(found.as_py(), by_loop.as_py(), rtol=1e-4, atol=1e-5)
    if build is tiny_open_clip:
        distinct = {text for case in made for text in case.texts}
        assert CountedClip.counts == {"images": len(images), "texts": len(distinct)}


class FromLoop:
    """Gives what the loop found, case by case."""

    def __init__(self, made: list[Case], found: dict[tuple[str, str], NDArray[np.float32]]) -> None:
        self.scores = (row for case in made for row in self.parts(found[case.subset, case.id]))

    def parts(self, scores: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        return [scores[start : start + 3] for start in range(0, len(scores), 3)]  # image_batch

    def score(self, images: list[Image.Image], texts: list[str]) -> NDArray[np.float32]:
        return next(self.scores)


def test_a_second_run_reads_kept_vectors_and_changed_weights_are_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model, made = tiny_open_clip(), cases(drawn_images(tmp_path, 4))
    cache = EmbeddingCache(str(tmp_path / "kept"))
    first = zoo.evaluate(model, InMemory(made), tmp_path, cache=cache)
    CountedClip.counts.clear()
    second = zoo.evaluate(model, InMemory(made), tmp_path, cache=cache)
    assert first.cases["scores"].to_pylist() == second.cases["scores"].to_pylist()
    # a loader is never empty: where there is nothing to encode it brings one item
    assert max(CountedClip.counts.values()) <= 1
    CountedClip.counts.clear()
    model.visual.transformer.resblocks[0].attn.num_heads = 1
    zoo.evaluate(model, InMemory(made), tmp_path, cache=cache)
    assert CountedClip.counts["images"] == 4
    model.encode_image = model.encode_image  # could be any function
    zoo.evaluate(model, InMemory(made), tmp_path, cache=cache)
    assert "changes of the code or the preprocessing of this CountedClip" in caplog.text


def test_a_zero_shot_set_is_measured_on_a_model_of_open_clip(folder: Path, tmp_path: Path) -> None:
    for number, image in enumerate(drawn_images(tmp_path, 6)):
        (tmp_path / "set" / "test" / f"class {number % 2}").mkdir(parents=True, exist_ok=True)
        file = tmp_path / image.key
        file.rename(tmp_path / "set" / "test" / f"class {number % 2}" / file.name)
    benchmark = f"zero_shot_folder:{tmp_path / 'set'}"
    found, ours = (
        zoo.evaluate(model, benchmark, tmp_path)
        for model in (of_open_clip(folder), zoo.load(folder / "last.ckpt"))
    )
    assert found.cases["right"].to_pylist() == ours.cases["right"].to_pylist()
    assert found.cases.num_rows >= 6


def test_progress_is_logged_by_cases_and_by_what_is_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("zoo.support.progress.LOG_INTERVAL", 0.0)
    caplog.set_level(logging.INFO)
    made = cases(drawn_images(tmp_path, 4), retrieval=False)
    zoo.evaluate(lambda images, texts: np.ones((len(images), len(texts))), InMemory(made), tmp_path)
    assert f"cases: {len(made)} of {len(made)} after" in caplog.text
    zoo.evaluate(Thumbnails(), InMemory(made), tmp_path)
    assert "encoding images: 4 of 4 after" in caplog.text
    assert "encoding texts: " in caplog.text


def test_a_clip_read_from_nowhere_is_prepared_as_openais_and_says_so(
    pairs: str, made_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = tiny_hugging_face()
    for row in zoo.evaluate(model, pairs, made_root).cases.to_pylist():
        with torch.no_grad():
            image = Image.open(row["images"][0].removeprefix("file:")).convert("RGB")
            *sides, scale = encode_hugging_face(model, [image], row["texts"])
        left, right = (torch.nn.functional.normalize(side, dim=-1) for side in sides)
        expected = (scale * left @ right.T).flatten()
        np.testing.assert_allclose(row["scores"], expected, rtol=1e-4, atol=1e-4)
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


def of_flat_vectors(folder: Path) -> Any:
    model: Any = Thumbnails()
    model.encode_image = lambda pixels: pixels
    return model


def of_lists_of_ids(folder: Path) -> Any:
    model: Any = Thumbnails()
    model.tokenizer = lambda texts: [[1, 2] for _ in texts]
    return model


def without_preparation(folder: Path) -> Any:
    model = of_open_clip(folder)
    del model.visual.preprocess_cfg
    return model


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (without_its_processor, r"the processor of /nowhere/at-all.* cannot be loaded"),
        (of_few_ids, "a CLIPModel with 99 token ids was not loaded from a file"),
        (of_another_tokenizer, "the tokenizer of a CLIP is unknown; with 32000 token ids"),
        (without_preparation, "the preprocessing of a CLIP is unknown"),
        (of_flat_vectors, r"Thumbnails returned shape \(\d+, 3, 2, 2\) for \d+ images"),
        (of_lists_of_ids, r"the tokenizer of a Thumbnails returned a list for \d+ texts"),
        (lambda _: nn.Linear(1, 1), "a Linear cannot be evaluated"),
        (lambda _: zoo.Model, "Model is a class: give an instance of it"),
        (lambda _: None, "a NoneType cannot be evaluated"),
        (lambda _: 3, "a int cannot be evaluated"),
        (lambda _: "no.ckpt", r"no\.ckpt does not exist"),
        (lambda _: lambda images, texts: "x", "returned a str, not scores"),
        (lambda _: lambda images, texts: [[1.0], [2.0, 3.0]], "returned a list, not scores"),
        (
            lambda _: lambda images, texts: [1.0, 2.0],
            r"returned scores of shape \(2,\) for 1 images",
        ),
        (lambda _: lambda images, texts: [[float("nan")] * 2], "a score that is not a finite"),
    ],
)
def test_what_cannot_be_measured_is_told(
    make: Any, says: str, folder: Path, pairs: str, made_root: Path
) -> None:
    with pytest.raises(ZooError, match=says):
        zoo.evaluate(make(folder), pairs, made_root)
