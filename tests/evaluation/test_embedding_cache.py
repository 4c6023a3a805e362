"""Vectors that are kept between runs: what is encoded again, and that no score differs."""

import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import zoo
from tests.evaluation.fakes import (
    SHAPES,
    FakeBackbone,
    TokenHead,
    cases,
    cosine,
    drawn_images,
    evaluation,
)
from tests.support.parallel import group, on_ranks
from zoo.backbones import fingerprint
from zoo.backbones.backbone import Backbone
from zoo.backbones.fingerprint import computation_dependencies
from zoo.backbones.settings import TextInput
from zoo.backbones.tokenizer import Tokenizer
from zoo.benchmarks.base import Case
from zoo.embeddings.store import EmbeddingStore
from zoo.errors import ZooError
from zoo.evaluation import EmbeddingCache
from zoo.evaluation.engine import Evaluation
from zoo.evaluation.stored_embeddings import StoredVectors, open_stored_vectors
from zoo.heads import Cosine
from zoo.results.comparison.alignment import align_runs, largest_score_difference
from zoo.results.comparison.outcome_differences import outcome_differences
from zoo.results.report import Results
from zoo.sources.sample import ImageRef


def kept(folder: Path, model: str = "a model") -> StoredVectors:
    return StoredVectors(EmbeddingStore(folder / "kept", 1 << 30), {"weights": model})


def measured(engine: Evaluation, backbone: FakeBackbone, vectors: StoredVectors | None) -> Results:
    """Runs the engine as Lightning would, loaders first."""
    head = cosine()
    head.attach(SHAPES)
    parts: tuple[Any, Any] = backbone, head
    loaders = engine.build_loaders(*parts, vectors)
    engine.start(*parts, {})
    for loader in loaders:
        for portion in loader:
            engine.step(*parts, portion)
    return engine.finish(*parts, {"name": "fake"})


def seen(backbone: FakeBackbone) -> tuple[int, int]:
    counts = backbone.images_seen, backbone.texts_seen
    backbone.images_seen = backbone.texts_seen = 0
    return counts


def assert_equal(first: Results, second: Results) -> None:
    assert first.cases.equals(second.cases), "scores are equal to the last bit"
    assert first.metrics == second.metrics


def assert_alike(first: Results, second: Results) -> None:
    """Other batches change last digits and no outcome."""
    tables = align_runs([first.cases, second.cases]).tables
    assert largest_score_difference(*tables) < 1e-5
    assert outcome_differences(*tables) == []


def test_a_second_run_encodes_nothing_and_scores_the_same_to_the_last_bit(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 7)), FakeBackbone()
    without = measured(evaluation(tmp_path, made), backbone, None)
    once = seen(backbone)
    first = measured(evaluation(tmp_path, made), backbone, kept(tmp_path))
    assert seen(backbone) == once
    second = measured(evaluation(tmp_path, made), backbone, kept(tmp_path))
    assert seen(backbone) == (0, 1), "one text fills a loader, which may not be empty"
    assert_equal(without, first)
    assert_equal(first, second)
    assert second.header["scoring"]["cached_vectors"] == {
        "folder": str(tmp_path / "kept"),
        "images": 7,
        "texts": once[1],
    }
    assert "cached_vectors" not in without.header["scoring"]


def test_a_further_benchmark_encodes_what_is_new_alone(tmp_path: Path) -> None:
    images, backbone = drawn_images(tmp_path, 7), FakeBackbone()
    few = cases(images[:5], retrieval=False)
    measured(evaluation(tmp_path, few), backbone, kept(tmp_path))
    seen(backbone)
    more = [
        Case(
            (image,), ("quite new", "so is this"), np.array([[True, False]]), "i2t", "more", str(i)
        )
        for i, image in enumerate(images)
    ]
    found = measured(evaluation(tmp_path, [*few, *more]), backbone, kept(tmp_path))
    assert seen(backbone) == (2, 2)
    assert_alike(measured(evaluation(tmp_path, [*few, *more]), backbone, None), found)


def test_an_image_that_changed_under_its_path_is_encoded_again(tmp_path: Path) -> None:
    images, backbone = drawn_images(tmp_path, 4), FakeBackbone()
    made = cases(images, retrieval=False)
    measured(evaluation(tmp_path, made), backbone, kept(tmp_path))
    seen(backbone)
    path = tmp_path / images[2].key
    before = path.stat()
    Image.fromarray(np.full((8, 8, 3), 99, np.uint8)).save(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    found = measured(evaluation(tmp_path, made), backbone, kept(tmp_path))
    assert seen(backbone)[0] == 1
    assert_alike(measured(evaluation(tmp_path, made), backbone, None), found)


def test_an_image_that_changes_while_it_is_measured_is_not_kept(tmp_path: Path) -> None:
    images, backbone = drawn_images(tmp_path, 3), FakeBackbone()
    engine, head, vectors = evaluation(tmp_path, cases(images)), cosine(), kept(tmp_path)
    head.attach(SHAPES)
    parts: tuple[Any, Any] = backbone, head
    of_images, _ = engine.build_loaders(*parts, vectors)
    engine.start(*parts, {})
    portion = next(iter(of_images))
    (tmp_path / images[1].key).write_bytes((tmp_path / images[0].key).read_bytes())
    engine.step(*parts, portion)
    vectors.flush()
    assert vectors.store.summarize().entries == 2


def test_other_weights_read_none_of_these_vectors(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 4)), FakeBackbone()
    measured(evaluation(tmp_path, made), backbone, kept(tmp_path))
    once = seen(backbone)
    measured(evaluation(tmp_path, made), backbone, kept(tmp_path, "another model"))
    assert seen(backbone) == once


def test_a_crop_and_another_decoding_are_other_images(tmp_path: Path) -> None:
    (image,), backbone = drawn_images(tmp_path, 1), FakeBackbone()
    crops = [replace(image, crop=(0, 0, side, side)) for side in (2, 3)]

    def made(some: list[ImageRef]) -> list[Case]:
        match = np.array([[True, False]])
        return [Case((ref,), ("ab", "cd"), match, "i2t", "pairs", str(ref)) for ref in some]

    measured(evaluation(tmp_path, made([image])), backbone, kept(tmp_path))
    seen(backbone)
    measured(evaluation(tmp_path, made([image, *crops])), backbone, kept(tmp_path))
    assert seen(backbone)[0] == 2
    engine = evaluation(tmp_path, made([image]), upright=True)
    measured(engine, backbone, kept(tmp_path))
    assert seen(backbone)[0] == 1


def test_copies_of_an_image_and_texts_of_the_same_ids_are_encoded_once_and_tie(
    tmp_path: Path,
) -> None:
    first, second = drawn_images(tmp_path, 2)
    (tmp_path / second.key).write_bytes((tmp_path / first.key).read_bytes())
    long = "as long as the context, " + "and"
    texts = long[: SHAPES.context] + " one tail", long[: SHAPES.context] + " another"
    two = Case((first, second), texts, np.eye(2, dtype=bool), "group", "g", "0")
    backbone = FakeBackbone()
    found = measured(evaluation(tmp_path, [two]), backbone, kept(tmp_path))
    assert seen(backbone) == (1, 1)
    assert len(set(found.cases["scores"].to_pylist()[0])) == 1
    assert found.metrics[0].ties == 1


def test_a_damaged_store_is_said_and_everything_is_encoded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made, backbone = cases(drawn_images(tmp_path, 4)), FakeBackbone()
    vectors = kept(tmp_path)
    first = measured(evaluation(tmp_path, made), backbone, vectors)
    once = seen(backbone)
    files = sorted(vectors.store.folder.glob("*/*.safetensors"))
    for file in files:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with caplog.at_level(logging.WARNING):
        assert_equal(first, measured(evaluation(tmp_path, made), backbone, kept(tmp_path)))
    assert seen(backbone) == once
    assert caplog.text.count("was damaged") == len(files) == 2
    measured(evaluation(tmp_path, made), backbone, kept(tmp_path))
    assert seen(backbone) == (0, 1), "it was kept anew"


def test_a_store_that_cannot_be_used_is_said_once_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made, backbone = cases(drawn_images(tmp_path, 4)), FakeBackbone()
    (tmp_path / "kept").write_text("a file, where a folder is wanted")
    without = measured(evaluation(tmp_path, made), backbone, None)
    with caplog.at_level(logging.WARNING):
        assert_equal(without, measured(evaluation(tmp_path, made), backbone, kept(tmp_path)))
    assert caplog.text.count("vectors are not cached") == 1


def test_a_broken_image_is_named_as_without_a_cache(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 2)
    (tmp_path / images[1].key).write_bytes(b"no image")
    with pytest.raises(ZooError, match="is damaged or not an image"):
        measured(evaluation(tmp_path, cases(images)), FakeBackbone(), kept(tmp_path))


def on_two_ranks(rank: int, folder: str) -> None:
    with group(rank, 2, Path(folder)):
        root = Path(folder)
        made = cases([ImageRef("file", f"pictures/{i}.png") for i in range(5)])
        backbone = FakeBackbone()
        first = measured(evaluation(root, made), backbone, kept(root))
        once = seen(backbone)
        second = measured(evaluation(root, made), backbone, kept(root))
        assert seen(backbone) == (0, 1)
        assert sum(once) < 5 + len({text for case in made for text in case.texts})
        if rank == 0:
            assert_equal(first, second)
            (root / "rows").write_text(str(second.cases.num_rows))


@pytest.mark.slow
def test_two_ranks_share_what_is_kept(tmp_path: Path) -> None:
    made = cases(drawn_images(tmp_path, 5))
    on_ranks(2, on_two_ranks, str(tmp_path))
    backbone = FakeBackbone()
    one = measured(evaluation(tmp_path, made), backbone, kept(tmp_path))
    assert seen(backbone) == (0, 1), "one rank reads what two kept"
    assert (tmp_path / "rows").read_text() == str(one.cases.num_rows)


def test_heads_that_read_tokens_keep_nothing(tmp_path: Path) -> None:
    backbone: Any = FakeBackbone()
    assert (
        open_stored_vectors(EmbeddingCache(str(tmp_path)), backbone, TokenHead(), "32-true") is None
    )


def test_all_that_a_vector_depends_on_tells_models_apart() -> None:
    def told(change: str = "", precision: str = "32-true", **given: Any) -> str:
        torch.manual_seed(0)
        backbone = Backbone("zoo-tiny", **given)
        if change:
            with torch.no_grad():
                weight: Any = dict(backbone.named_parameters())[change]
                weight.view(-1)[0] = torch.nextafter(weight.view(-1)[0], torch.tensor(9.0))
        return str(computation_dependencies(backbone, precision))

    every = [
        told(),
        told("model.visual.proj"),
        told("model.text_projection"),
        told(precision="bf16-mixed"),
        told(activation="quickgelu"),
        told(preprocess={"interpolation": "bilinear"}),
        told(text=TextInput(context_length=12)),
    ]
    assert len(set(every)) == len(every)
    assert told() == every[0]


def test_a_backbone_of_other_code_is_another_model() -> None:
    class Other(Backbone):
        pass

    torch.manual_seed(0)
    first = Backbone("zoo-tiny")
    second = Other("zoo-tiny")
    second.load_state_dict(first.state_dict())
    assert computation_dependencies(first, "32-true") != computation_dependencies(second, "32-true")


def test_the_vectors_of_a_model_with_hooks_are_not_kept() -> None:
    backbone = Backbone("zoo-tiny")
    hook = backbone.model.visual.register_forward_hook(lambda _m, _i, vectors: -vectors)
    assert computation_dependencies(backbone, "32-true") is None
    hook.remove()
    assert computation_dependencies(backbone, "32-true") is not None


def test_classes_of_one_file_and_their_own_arguments_are_other_models() -> None:
    class Other(Backbone):
        def __init__(self, layer: int) -> None:
            super().__init__("zoo-tiny")
            self.layer = layer

    class Another(Other):
        pass

    models = [Other(1), Other(2), Another(1)]
    for model in models[1:]:
        model.load_state_dict(models[0].state_dict())
    told = [str(computation_dependencies(model, "32-true")) for model in models]
    assert len(set(told)) == 3


def test_a_backbone_that_stands_in_no_file_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Like a notebook's: its module has no file."""
    monkeypatch.setitem(sys.modules, "notebook", ModuleType("notebook"))
    kind: Any = type("Own", (Backbone,), {"__module__": "notebook"})
    assert (
        open_stored_vectors(EmbeddingCache(str(tmp_path)), kind("zoo-tiny"), Cosine(), "32-true")
        is None
    )
    assert "vectors are not cached: Own is not defined in a file" in caplog.text


def test_a_model_of_zoo_is_measured_from_kept_vectors_and_reads_weights_and_texts_once(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = zoo.load("zoo-tiny", device="cpu")
    cache, pairs = EmbeddingCache(str(tmp_path)), f"pairs:{made_root / 'pairs.csv'}"
    without = zoo.evaluate(model, pairs, made_root)
    first = zoo.evaluate(model, pairs, made_root, cache=cache)
    assert cache.store is not None
    entries = cache.store.summarize().entries
    asked: list[str] = []
    weights: list[str] = []
    real, whole = Tokenizer.__call__, fingerprint.full_tensor

    def tokenized(self: Tokenizer, texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        asked.extend(texts)
        return real(self, texts)

    def read(tensor: Tensor) -> Tensor:
        weights.append("read")
        return whole(tensor)

    with monkeypatch.context() as patch:
        patch.setattr(Tokenizer, "__call__", tokenized)
        patch.setattr(fingerprint, "full_tensor", read)
        second = zoo.evaluate(model, pairs, made_root, cache=cache)
    texts = second.header["scoring"]["texts"]
    assert len(asked) == texts, "but for those that a loader's process encodes"
    module = model.module
    assert len(weights) == len(module.backbone.state_dict()) + len(module.head.state_dict())
    assert second.header["model"]["weights_sha256"] == without.header["model"]["weights_sha256"]
    assert_equal(first, second)
    assert [f.header["scoring"]["cached_vectors"]["images"] for f in (first, second)] == [0, 12]
    with torch.no_grad():
        module.backbone.model.visual.proj[0] += 1
    third = zoo.evaluate(model, pairs, made_root, cache=cache)
    assert third.header["scoring"]["cached_vectors"]["images"] == 0
    assert cache.store.summarize().entries == 2 * entries
