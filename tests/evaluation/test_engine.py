"""The engine against a loop over cases, on one process and on two.

Images are missing, broken or trained on.
"""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from tests.evaluation.fakes import (
    SHAPES,
    ByHand,
    FakeBackbone,
    InMemory,
    TokenHead,
    cases,
    cosine,
    drawn_images,
    evaluation,
    measured,
)
from tests.support.parallel import group, on_ranks
from zoo.backbones.backbone import Backbone
from zoo.backbones.preparation import normalize_pixels
from zoo.batch import Encoded
from zoo.benchmarks.base import Case
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.linear import Linear
from zoo.pixels.decoding import decode_image
from zoo.results.comparison.alignment import align_runs, largest_score_difference
from zoo.results.comparison.outcome_differences import outcome_differences
from zoo.results.reader import read_results
from zoo.results.report import Results
from zoo.sources.sample import ImageRef


def place(results: Results) -> list[tuple[object, ...]]:
    return [
        (f.benchmark, f.subset, f.metric, f.value, f.n, f.n_total, f.ties, f.images)
        for f in results.metrics
    ]


def assert_same(first: Results, second: Results) -> None:
    assert largest_score_difference(*align_runs([first.cases, second.cases]).tables) < 1e-5
    assert outcome_differences(*align_runs([first.cases, second.cases]).tables) == []
    assert sorted(map(str, place(first))) == sorted(map(str, place(second)))


@pytest.mark.parametrize("head", [cosine(), TokenHead()], ids=["pooled", "tokens"])
def test_the_engine_finds_what_a_loop_over_cases_finds(tmp_path: Path, head: Head) -> None:
    made = cases(drawn_images(tmp_path, 7))
    found = measured(evaluation(tmp_path, made, window_bytes=4000), FakeBackbone(), head)
    by_hand = evaluation(tmp_path, made).run_plain_model(ByHand(FakeBackbone(), head))
    assert_same(found, by_hand)
    values = {f.value for f in found.metrics}
    assert len(values) > 3, "outcomes vary"


def test_each_image_and_text_is_encoded_once(tmp_path: Path) -> None:
    made, backbone = cases(drawn_images(tmp_path, 7)), FakeBackbone()
    measured(evaluation(tmp_path, made), backbone, cosine())
    assert backbone.images_seen == 7
    assert backbone.texts_seen == len({text for case in made for text in case.texts})


def test_it_runs_again_and_again(tmp_path: Path) -> None:
    engine, backbone = evaluation(tmp_path, cases(drawn_images(tmp_path, 5))), FakeBackbone()
    first = measured(engine, backbone, cosine())
    engine.start(backbone, cosine(), {})  # type: ignore[arg-type]
    engine.step(backbone, cosine(), next(iter(engine.build_loaders(backbone, cosine())[0])))  # type: ignore[arg-type]  a sanity check, say
    assert_same(first, measured(engine, backbone, cosine()))


def test_a_case_whose_image_is_missing_is_counted_and_not_scored(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 4)
    (tmp_path / "pictures" / "1.png").unlink()
    made = [
        Case((image,), ("ab", "cd"), np.array([[True, False]]), "i2t", "pairs", str(i))
        for i, image in enumerate(images)
    ]
    found = measured(evaluation(tmp_path, made), FakeBackbone(), cosine())
    metric = found.metrics[0]
    assert (metric.n, metric.n_total, metric.images, metric.images_total) == (3, 4, 3, 4)
    row = next(row for row in found.cases.to_pylist() if row["case"] == "1")
    assert row["right"] is None
    assert row["scores"] is None
    assert row["images"] == ["file:pictures/1.png"]


def test_a_retrieval_is_over_the_images_that_are_there(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 6)
    whole = next(case for case in cases(images) if case.protocol == "retrieval")
    (tmp_path / "pictures" / "2.png").unlink()
    found = {
        f.metric: f
        for f in measured(evaluation(tmp_path, [whole]), FakeBackbone(), cosine()).metrics
    }
    assert (found["i2t_r@1"].n, found["i2t_r@1"].n_total) == (5, 6)
    assert (found["t2i_r@5"].n, found["t2i_r@5"].n_total) == (10, 12)
    assert found["t2i_r@5"].value == 100.0, "five images are left"


def test_images_that_were_trained_on_are_counted_whatever_their_crop(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 3)
    cropped = [ImageRef(image.source, image.key, (0, 0, 4, 4)) for image in images]
    made = [
        Case((image,), ("ab", "cd"), np.array([[True, False]]), "i2t", "pairs", str(i))
        for i, image in enumerate([*images, *cropped])
    ]
    found = measured(
        evaluation(tmp_path, made, trained_images=["file:pictures/0.png", "file:pictures/9.png"]),
        FakeBackbone(),
        cosine(),
    )
    metric = found.metrics[0]
    assert (metric.n, metric.images, metric.trained_on) == (6, 3, 1)


def test_a_image_named_in_four_ways_is_one_and_was_trained_on_once(tmp_path: Path) -> None:
    (picture,) = drawn_images(tmp_path, 1)
    (tmp_path / "val2017").mkdir()
    file = tmp_path / "val2017" / "000000000724.jpg"
    Image.open(tmp_path / picture.key).save(file)
    Image.open(tmp_path / picture.key).save(tmp_path / "000000000724.jpg")
    names = (
        ImageRef("coco", "724"),
        ImageRef("file", str(file)),
        ImageRef("file", "val2017/000000000724.jpg"),
        ImageRef("file", str(tmp_path / "000000000724.jpg")),
    )
    made = [
        Case((image,), ("ab", "cd"), np.array([[True, False]]), "i2t", "pairs", str(i))
        for i, image in enumerate(names)
    ]
    for trained in ("coco:724", f"file:{file}"):
        (metric,) = measured(
            evaluation(tmp_path, made, trained_images=[trained]), FakeBackbone(), cosine()
        ).metrics
        assert (metric.n, metric.images, metric.images_total, metric.trained_on) == (
            4,
            1,
            1,
            1,
        )


def test_nothing_to_score_is_an_error_before_any_model_work(tmp_path: Path) -> None:
    missing = [
        Case(
            (ImageRef("coco", "17"),), ("ab", "cd"), np.array([[True, False]]), "i2t", "pairs", "0"
        )
    ]
    with pytest.raises(
        ZooError, match=r"nothing can be scored: 1 cases were read.*coco:17, of in_memory/pairs"
    ):
        evaluation(tmp_path, missing).prepare()


def test_a_malformed_case_is_named(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 1)
    bad = [Case((images[0],), ("ab", "cd"), np.array([[False, False]]), "i2t", "pairs", "k9")]
    with pytest.raises(ZooError, match="case k9 of in_memory/pairs has an image without a right"):
        evaluation(tmp_path, bad).prepare()


def test_a_broken_image_is_named_also_from_a_worker(tmp_path: Path) -> None:
    images = drawn_images(tmp_path, 4)
    path = tmp_path / "pictures" / "2.png"
    path.write_bytes(path.read_bytes()[:60])
    made = [
        Case((image,), ("ab", "cd"), np.array([[True, False]]), "i2t", "pairs", str(i))
        for i, image in enumerate(images)
    ]
    engine = Evaluation([InMemory(made)], str(tmp_path), workers=1)
    with pytest.raises(ZooError, match=r"2\.png") as caught:
        measured(engine, FakeBackbone(), cosine())
    assert "Traceback" not in str(caught.value)


def test_scores_that_are_no_numbers_are_an_error_and_not_wrong_answers(tmp_path: Path) -> None:
    backbone = FakeBackbone()
    backbone.image.weight.data.fill_(float("nan"))
    with pytest.raises(ZooError, match="in_memory/pairs has a score that is not a finite"):
        measured(evaluation(tmp_path, cases(drawn_images(tmp_path, 3))), backbone, cosine())


class Columned(Cosine):
    """Pairs as a column, where a row of them is wanted."""

    def pairs(
        self, images: Encoded, texts: Encoded, i: torch.Tensor, j: torch.Tensor
    ) -> torch.Tensor:
        return super().pairs(images, texts, i, j)[:, None]


class Transposed(Cosine):
    """Texts against images, where images against texts are wanted."""

    def block(self, images: Encoded, texts: Encoded) -> torch.Tensor:
        return super().block(images, texts).T


class Bare(Cosine):
    """Vectors, where encoded items are wanted."""

    def prepare_images(self, images: Encoded) -> Encoded:
        return images.pooled  # type: ignore[return-value]


class BareTokens(TokenHead):
    """Vectors, where encoded items are wanted."""

    def prepare_texts(self, texts: Encoded) -> Encoded:
        return texts.pooled  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (Columned(), r"Columned\.pairs returned logits of shape \(\d+, 1\), not \(\d+,\)"),
        (Transposed(), r"Transposed\.block returned logits of shape .*return images against texts"),
        (Bare(), r"Bare\.prepare_images returned a Tensor: return an Encoded"),
        (BareTokens(), r"BareTokens\.prepare_texts returned a Tensor: return an Encoded"),
    ],
)
def test_a_head_that_breaks_its_contract_is_told_so(tmp_path: Path, head: Head, told: str) -> None:
    head.attach(SHAPES)
    with pytest.raises(ZooError, match=told):
        measured(evaluation(tmp_path, cases(drawn_images(tmp_path, 5))), FakeBackbone(), head)


def test_a_run_cut_short_leaves_its_cases_unscored_and_says_so(tmp_path: Path) -> None:
    engine, backbone, head = (
        evaluation(tmp_path, cases(drawn_images(tmp_path, 7))),
        FakeBackbone(),
        cosine(),
    )
    engine.start(backbone, head, {})  # type: ignore[arg-type]
    for loader in engine.build_loaders(backbone, head):  # type: ignore[arg-type]
        engine.step(backbone, head, next(iter(loader)))  # type: ignore[arg-type]
    found = engine.finish(backbone, head, {})  # type: ignore[arg-type]
    assert found.header["scoring"]["cases not reached, the run was cut short"] > 0
    assert all(f.n < f.n_total for f in found.metrics)


def test_a_model_whose_scores_have_another_shape_is_told_the_right_one(tmp_path: Path) -> None:
    class Flat:
        def score(self, images: list[object], texts: list[str]) -> np.ndarray:
            return np.zeros(len(texts))

    with pytest.raises(
        ZooError,
        match=r"Flat returned scores of shape \(2,\) for 1 images and 2 texts: return shape \(1, 2",
    ):
        evaluation(tmp_path, cases(drawn_images(tmp_path, 3))).run_plain_model(Flat())


def test_half_precision_towers_are_scored_in_fp32_and_said_to_be_half(tmp_path: Path) -> None:
    class Half(FakeBackbone):
        def encode_images(self, images, keys=frozenset()):  # type: ignore[no-untyped-def]
            return super().encode_images(images, keys).map(lambda t: t.bfloat16())

    found = measured(evaluation(tmp_path, cases(drawn_images(tmp_path, 5))), Half(), cosine())
    assert (found.header["scoring"]["towers"], found.header["scoring"]["pairs"]) == (
        "bfloat16",
        "float32",
    )
    scores = np.array(
        [s for row in found.cases.to_pylist() for s in row["scores"]], dtype=np.float32
    )
    assert (scores != torch.from_numpy(scores).bfloat16().float().numpy()).any()


def test_results_say_which_weights_were_measured(tmp_path: Path) -> None:
    engine, backbone = evaluation(tmp_path, cases(drawn_images(tmp_path, 3))), FakeBackbone()
    first = measured(engine, backbone, cosine()).header["model"]
    backbone.image.weight.data += 1
    second = measured(engine, backbone, cosine()).header["model"]
    assert first["name"] == "fake"
    assert first["weights_sha256"] != second["weights_sha256"]


def test_the_first_data_root_that_has_a_part_wins(tmp_path: Path) -> None:
    from zoo.benchmarks.roots import read_benchmark as read_benchmark
    from zoo.benchmarks.sugarcrepe import SugarCrepe

    for root, subset, caption in (
        ("a", "add_att", "first"),
        ("b", "add_att", "second"),
        ("b", "swap_obj", "other"),
    ):
        path = tmp_path / root / "sugarcrepe" / f"{subset}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f'{{"0": {{"filename": "000000000001.jpg", "caption": '
            f'"{caption}", "negative_caption": "no"}}}}',
            encoding="utf-8",
        )
    reading = read_benchmark(SugarCrepe(), [tmp_path / "a", tmp_path / "b"])
    assert {(case.subset, case.texts[0]) for case in reading.cases} == {
        ("add_att", "first"),
        ("swap_obj", "other"),
    }
    assert len(reading.missing_subsets) == 5


def two_ranks(rank: int, folder: str, n: int, tokens: bool) -> None:
    root = Path(folder)
    images = [ImageRef("file", f"pictures/{i}.png") for i in range(n)]
    engine = evaluation(root, cases(images), out=str(root / "two"), window_bytes=4000, shortlist=10)
    head = TokenHead() if tokens else cosine()
    with group(rank, 2, root):
        results = measured(engine, FakeBackbone(), head)
        assert (
            results.cases.num_rows == read_results(root / "two").cases.num_rows
        )  # every rank has them


@pytest.mark.parametrize(("n", "tokens"), [(7, False), (2, False), (5, True), (25, True)])
def test_two_processes_find_what_one_does(tmp_path: Path, n: int, tokens: bool) -> None:
    made = cases(drawn_images(tmp_path, n))
    one = measured(
        evaluation(tmp_path, made, window_bytes=4000, shortlist=10),
        FakeBackbone(),
        TokenHead() if tokens else cosine(),
    )
    on_ranks(2, two_ranks, str(tmp_path), n, tokens)
    assert_same(one, read_results(tmp_path / "two"))
    assert pq.read_table(tmp_path / "two" / "cases.parquet").num_rows == one.cases.num_rows


def test_a_rank_without_items_gets_filling_that_counts_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.evaluation import batches

    made = [
        Case(
            (drawn_images(tmp_path, 1)[0],),
            ("ab", "cd"),
            np.array([[True, False]]),
            "i2t",
            "pairs",
            "0",
        )
    ]
    engine, backbone, head = evaluation(tmp_path, made), FakeBackbone(), cosine()
    monkeypatch.setattr(batches, "world_size", lambda: 4)
    monkeypatch.setattr(batches, "rank", lambda: 3)
    engine.start(backbone, head, {})  # type: ignore[arg-type]
    loaders = engine.build_loaders(backbone, head)  # type: ignore[arg-type]
    assert [len(loader) for loader in loaders] == [1, 1], "Lightning refuses an empty loader"
    for loader in loaders:
        for portion in loader:
            engine.step(backbone, head, portion)  # type: ignore[arg-type]
    assert (backbone.images_seen, backbone.texts_seen) == (1, 1)
    found = engine.finish(backbone, head, {})  # type: ignore[arg-type]
    assert found.header["scoring"]["cases not reached, the run was cut short"] == 1


def test_vectors_are_mapped_in_fp32_whatever_the_towers_ran_in(tmp_path: Path) -> None:
    """The module finishes under the autocast of its steps, where short-lists are encoded."""
    engine, backbone, head = (
        evaluation(tmp_path, cases(drawn_images(tmp_path, 5))),
        FakeBackbone(),
        Linear(),
    )
    head.attach(FakeBackbone.shapes)
    torch.nn.init.normal_(head.text_map.weight)
    found = []
    for half in (False, True):
        engine.start(backbone, head, {})  # type: ignore[arg-type]
        for loader in engine.build_loaders(backbone, head):  # type: ignore[arg-type]
            for portion in loader:
                engine.step(backbone, head, portion)  # type: ignore[arg-type]
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            found.append(engine.finish(backbone, head, {}).cases)  # type: ignore[arg-type]
    assert largest_score_difference(*align_runs(found).tables) == 0.0


def test_images_stay_uint8_until_they_are_encoded_to_exactly_the_same_numbers(
    tmp_path: Path,
) -> None:
    backbone, head = Backbone("zoo-tiny"), Cosine()
    head.attach(backbone.shapes)
    images = drawn_images(tmp_path, 4)
    engine = evaluation(tmp_path, cases(images))
    loader, *_ = engine.build_loaders(backbone, head)
    batch = next(iter(loader))
    assert batch.pixels.dtype == torch.uint8
    plan_images = [engine.plan.images[row] for row in batch.image_rows.tolist()]
    expected = torch.stack(
        [backbone.eval_transform(decode_image(engine.finder, ref, "pil")) for ref in plan_images]
    )
    found = normalize_pixels(batch.pixels, backbone.model.visual.preprocess_cfg)
    assert torch.equal(found, expected)
