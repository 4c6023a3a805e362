"""The engine with a head that reads views and segments, against loops over cases."""

import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor

import zoo
from tests.evaluation.fakes import cases, drawn_images, evaluation
from tests.evaluation.test_engine import assert_same
from tests.support.parallel import group, on_ranks
from zoo.api import Model
from zoo.backbones.backbone import Backbone
from zoo.batch import PIECES, Encoded, build_text_bank
from zoo.benchmarks.base import Case
from zoo.errors import ZooError
from zoo.evaluation.batches import encode_views
from zoo.evaluation.engine import Evaluation
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.structure_guided import StructureGuided
from zoo.module import ZooModule
from zoo.regions_and_phrases.base import Segments
from zoo.regions_and_phrases.crops import Grid, Overlap
from zoo.regions_and_phrases.phrases import Chunks, Coarse
from zoo.results.reader import read_results
from zoo.results.report import Results
from zoo.scenes.cache import render_scenes
from zoo.sources.sample import ImageRef
from zoo.units.reader import write_units
from zoo.units.record import Entity, UnitRecord


class Counting(Backbone):
    """Counts what its towers are given."""

    images_seen = texts_seen = 0

    def encode_images(self, images: Tensor, *keys: object) -> Encoded:
        self.images_seen += len(images)
        return super().encode_images(images, *keys)  # type: ignore[arg-type]


class Halves(Segments):
    """Long texts fall into two; others have no phrase."""

    def phrases(self, text: str) -> Iterable[str]:
        return [text[:6], text[6:]] if len(text) > 12 else []


def tower() -> Counting:
    torch.manual_seed(0)
    return Counting("zoo-tiny").eval()


def head() -> StructureGuided:
    return StructureGuided(Grid(sizes=[(224, 224), (112, 224), (56, 112)]), Halves())


def measured(engine: Evaluation, backbone: Backbone, scorer: Head) -> Results:
    scorer.attach(backbone.shapes)
    loaders = engine.build_loaders(backbone, scorer)
    engine.start(backbone, scorer, {})
    for loader in loaders:
        for portion in loader:
            engine.step(backbone, scorer, portion)
    return engine.finish(backbone, scorer, {"name": "tiny"})


class ByLoops:
    """The paper's steps, a crop and a segment at a time: PIL cuts the image, and PIL resizes."""

    def __init__(self, scorer: StructureGuided) -> None:
        self.backbone, self.scorer = tower(), scorer
        self.known: dict[str | bytes, Tensor] = {}

    @torch.no_grad()
    def score(self, images: list[Image.Image], texts: list[str]) -> np.ndarray:
        scores = np.zeros((len(images), len(texts)))
        for i, image in enumerate(images):
            crops = [self.vector(crop) for crop in self.crops(image)]
            for j, text in enumerate(texts):
                segments = [text] if len(text) <= 12 else [text[:6], text[6:], text]
                best = [max(float(c @ self.of(s)) for c in crops) for s in segments]
                scores[i, j] = self.backbone.shapes.scale * sum(best) / len(best)
        return scores

    def crops(self, image: Image.Image) -> Iterable[Image.Image]:
        """The crops, of an image that is a square as it is."""
        whole = image.resize((224, 224), Image.Resampling.BICUBIC)
        for left in (0,):
            yield whole.crop((left, 0, 224, 224))
        for left in (0, 112):
            yield whole.crop((left, 0, left + 112, 224))
        for top in (0, 112):
            for left in (0, 56, 112, 168):
                yield whole.crop((left, top, left + 56, top + 112))

    def vector(self, crop: Image.Image) -> Tensor:
        if crop.tobytes() not in self.known:
            self.known[crop.tobytes()] = self.encoded(crop)
        return self.known[crop.tobytes()]

    def encoded(self, crop: Image.Image) -> Tensor:
        pixels = np.asarray(crop.resize((64, 64), Image.Resampling.BICUBIC), np.float32) / 255
        settings = self.backbone.preprocess
        normed = (pixels - np.array(settings["mean"])) / np.array(settings["std"])
        images = torch.from_numpy(normed).float().permute(2, 0, 1)[None]
        return F.normalize(self.backbone.encode_images(images).pooled[0], dim=-1)

    def of(self, text: str) -> Tensor:
        if text not in self.known:
            bank, _ = build_text_bank(*self.backbone.tokenizer([text]))
            self.known[text] = F.normalize(self.backbone.encode_texts(bank).pooled[0], dim=-1)
        return self.known[text]


def smooth_images(folder: Path, n: int) -> list[ImageRef]:
    """Writes pictures without the hard edges at which resizing twice would round and clip."""
    images = drawn_images(folder, n)
    for image in images:
        small = Image.open(folder / image.key)
        soft = small.resize((96, 96), Image.Resampling.BILINEAR).point(lambda p: 60 + p // 2)
        soft.save(folder / image.key)
    return images


def test_the_engine_finds_what_the_papers_steps_find_in_loops(tmp_path: Path) -> None:
    made = cases(smooth_images(tmp_path, 3))
    found = measured(evaluation(tmp_path, made), tower(), head())
    by_hand = evaluation(tmp_path, made).run_plain_model(ByLoops(head()))
    assert found.cases.num_rows == by_hand.cases.num_rows > 3 * 4
    for case, other in zip(found.cases.to_pylist(), by_hand.cases.to_pylist(), strict=True):
        # PIL rounds pixels to 1/255 where tensors are not
        np.testing.assert_allclose(case["scores"], other["scores"], atol=0.02)
    values = [s for row in found.cases.to_pylist() for s in row["scores"]]
    assert np.std(values) > 0.1, "scores differ by more than what is allowed"


def test_views_of_an_image_are_encoded_once_in_windows_that_are_bounded(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 6)
    made = [
        Case((image,), texts, np.array([[True, False]]), "i2t", "pairs", f"{i} {k}")
        for i, image in enumerate(images)
        for k, texts in enumerate([("a dog on a hill", "a hill"), ("a cat", "a cat on a hill")])
    ]
    backbone, scorer = tower(), head()
    whole = measured(evaluation(tmp_path, made), tower(), scorer)
    # an image of 11 views: 4 * (11 * 128 + 3 * 224 * 224) bytes, two of them in a window
    found = measured(evaluation(tmp_path, made, window_bytes=1_300_000), backbone, scorer)
    scoring = found.header["scoring"]
    assert (scoring["windows"], scoring["images encoded twice"]) == (3, 0)
    assert backbone.images_seen == scoring["pieces"]["image passes"] == 6 * 11
    assert_same(found, whole)


def test_a_retrieval_orders_short_lists_of_whole_images_by_views_and_segments(
    tmp_path: Path,
) -> None:
    made = [case for case in cases(drawn_images(tmp_path, 12)) if case.is_gallery]
    backbone = tower()
    found = measured(evaluation(tmp_path, made, shortlist=10), backbone, head())
    assert backbone.images_seen == 12 * (1 + 11)
    assert found.header["scoring"]["pieces"]["image passes"] == 12 * (1 + 11)
    assert "ordered by StructureGuided" in str(found.header["scoring"])
    cosine = measured(evaluation(tmp_path, made, shortlist=10), tower(), Cosine())
    assert [f.value for f in found.metrics] != [f.value for f in cosine.metrics]


def two_ranks(rank: int, folder: str) -> None:
    root = Path(folder)
    images = [ImageRef("file", f"pictures/{i}.png") for i in range(3)]
    engine = evaluation(root, cases(images), out=str(root / "two"), window_bytes=1_300_000)
    with group(rank, 2, root):
        measured(engine, tower(), head())


def test_two_processes_find_what_one_does(tmp_path: Path) -> None:
    made = cases(drawn_images(tmp_path, 3))
    one = measured(evaluation(tmp_path, made, window_bytes=1_300_000), tower(), head())
    on_ranks(2, two_ranks, str(tmp_path))
    assert_same(one, read_results(tmp_path / "two"))


def test_the_cost_is_told_before_anything_is_encoded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    two = tuple(drawn_images(tmp_path, 2))
    texts = ("a red cube and a blue sphere", "a blue cube and a red sphere")
    made = [Case(two, texts, np.eye(2, dtype=bool), "group", "swaps", "0")]
    backbone, scorer = tower(), StructureGuided(Overlap(), Coarse())
    scorer.attach(backbone.shapes)
    with caplog.at_level(logging.INFO, logger="zoo"):
        evaluation(tmp_path, made).start(backbone, scorer, {})
    assert (
        "evaluating with StructureGuided needs 270 views per image, 540 image passes, 2 texts, "
        "6 segments, 0 texts without a phrase" in caplog.text
    )
    assert backbone.images_seen == 0


def test_a_text_without_known_units_stops_the_run_before_anything_is_encoded(
    tmp_path: Path,
) -> None:
    write_units([UnitRecord("0", "i", "a dog", (Entity("dog"),))], tmp_path / "units.jsonl")
    (image,) = drawn_images(tmp_path, 1)
    made = [Case((image,), ("a dog", "a cat"), np.array([[True, False]]), "i2t", "pairs", "0")]
    backbone, scorer = tower(), StructureGuided(Grid(), Coarse(str(tmp_path / "units.jsonl")))
    with pytest.raises(ZooError, match=r"units.jsonl: units of 'a cat' are missing"):
        measured(evaluation(tmp_path, made), backbone, scorer)
    assert backbone.images_seen == 0


def test_views_of_several_images_are_those_of_each_however_many_are_encoded_at_once() -> None:
    backbone, images = tower(), torch.randn(3, 3, 224, 224)
    with torch.no_grad():
        together = encode_views(backbone, images, Grid(sizes=[(112, 112), (224, 224)]), 4)
        alone = encode_views(backbone, images[1:2], Grid(sizes=[(112, 112), (224, 224)]), 64)
    assert together.tokens[PIECES].shape[:2] == (3, 5)
    torch.testing.assert_close(
        together.tokens[PIECES][1], alone.tokens[PIECES][0], rtol=1e-4, atol=1e-5
    )


def test_from_python_scores_are_those_of_validate(tmp_path: Path) -> None:
    images = [tmp_path / image.key for image in drawn_images(tmp_path, 2)]
    texts = ["a dog on a green hill", "a cat"]
    torch.manual_seed(0)
    model = Model(ZooModule(Backbone("zoo-tiny"), head=head()), "cpu")
    made = [
        Case(
            tuple(ImageRef("file", str(image)) for image in images),
            tuple(texts),
            np.eye(2, dtype=bool),
            "group",
            "pairs",
            "0",
        )
    ]
    found = measured(evaluation(tmp_path, made), model.module.backbone.eval(), model.module.head)
    scores = model.score(images, texts)
    assert scores.shape == (2, 2)
    np.testing.assert_allclose(
        found.cases.to_pylist()[0]["scores"], scores.flatten(), rtol=1e-4, atol=1e-4
    )
    assert model.score([], texts).shape == (0, 2)


def test_sugarcrepe_of_real_images_is_measured(shared_data: Path) -> None:
    model = zoo.load("zoo-tiny", device="cpu")
    model.module.head = StructureGuided(Grid(sizes=[(224, 224), (112, 112)]), Chunks())
    model.module.head.attach(model.module.backbone.shapes)
    found = zoo.evaluate(model, "sugarcrepe:swap_att", data_root=shared_data)
    (metric,) = found.metrics
    assert metric.n == 34
    pieces = found.header["scoring"]["pieces"]
    assert pieces["views per image"] == 5
    assert pieces["image passes"] == 5 * metric.images
    assert pieces["segments"] > 2 * pieces["texts"]
    assert found.header["scoring"]["segments"]["maker"] == "Chunks"


def test_swaps_in_scenes_are_measured_with_three_segments_a_caption(
    renderer: None, tmp_path: Path
) -> None:
    render_scenes(tmp_path / "scenes", n=6, size=24, samples=2, workers=0)
    model = zoo.load("zoo-tiny", device="cpu")
    model.module.head = StructureGuided(Grid(sizes=[(224, 224), (112, 112)]), Coarse())
    model.module.head.attach(model.module.backbone.shapes)
    found = zoo.evaluate(model, "scene_swaps", data_root=tmp_path)
    pieces = found.header["scoring"]["pieces"]
    assert pieces["segments"] == 3 * pieces["texts"]
    assert pieces["texts without a phrase"] == 0
