"""Short-lists: a head orders a gallery as loops over each query's own candidates do."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.fakes import (
    ByHand,
    FakeBackbone,
    TokenHead,
    cases,
    cosine,
    drawn_images,
    evaluation,
    measured,
    recalled,
)
from zoo.benchmarks.base import Case
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.evaluation.shortlist import short_lists, tiles
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal


class Dear(Cosine):
    """Pooled vectors, and pairs that are said to cost much."""

    @property
    def reranks(self) -> bool:
        return True


def gallery(folder: Path, n: int) -> Case:
    return next(case for case in cases(drawn_images(folder, n)) if case.protocol == "retrieval")


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 40),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 10_000),
)
def test_tiles_hold_every_pair_once_and_every_image_once(
    n: int, m: int, images_at_once: int, texts_at_once: int, seed: int
) -> None:
    generator = np.random.default_rng(seed)
    lists = short_lists(
        generator.normal(size=(n, 3)).astype(np.float32),
        generator.normal(size=(m, 3)).astype(np.float32),
        10,
    )
    images, texts = generator.permutation(100)[:n], generator.permutation(100)[:m]  # rows of a plan
    i, j = lists.pair_rows
    pairs, brought = [], []
    for run in tiles(lists, images, texts, images_at_once, texts_at_once):
        assert 0 < len(run[0].images) <= images_at_once
        assert not any(tile.images for tile in run[1:])
        brought += run[0].images
        for tile in run:
            assert len(tile.texts) <= texts_at_once
            assert np.array_equal(np.array(run[0].images)[tile.image_index], images[i[tile.pairs]])
            assert np.array_equal(np.array(tile.texts)[tile.text_index], texts[j[tile.pairs]])
            pairs += tile.pairs.tolist()
    assert sorted(pairs) == list(range(len(lists.pairs)))
    assert sorted(brought) == sorted(images.tolist())


@pytest.mark.parametrize("head", [TokenHead(), Dear()], ids=["tokens", "pooled"])
def test_the_engine_orders_short_lists_as_loops_do(tmp_path: Path, head: Head) -> None:
    case = gallery(tmp_path, 25)
    backbone = FakeBackbone()
    engine = evaluation(tmp_path, [case], shortlist=10, window_bytes=4000)
    found = measured(engine, backbone, head)
    by_hand = ByHand(FakeBackbone(), head)
    pictures = [engine.finder.load(image) for image in case.images]
    scores = by_hand.score(pictures, list(case.texts))
    cosines = ByHand(FakeBackbone(), cosine()).score(pictures, list(case.texts))
    rows = {(row["metric"], row["query"]): row["right"] for row in found.cases.to_pylist()}
    for depth in (1, 5, 10):
        for q in range(len(case.images)):
            assert rows[f"i2t_r@{depth}", q] == recalled(
                cosines[q], scores[q], case.match[q], 10, depth
            )
        for q in range(len(case.texts)):
            assert rows[f"t2i_r@{depth}", q] == recalled(
                cosines[:, q], scores[:, q], case.match[:, q], 10, depth
            )
    assert (
        found.header["scoring"]["retrieval"]
        == f"the 10 best by cosine of pooled vectors, ordered by {type(head).__name__}"
    )


def test_each_image_is_encoded_once_for_its_vector_and_once_for_its_tokens(
    tmp_path: Path,
) -> None:
    backbone = FakeBackbone()
    measured(evaluation(tmp_path, [gallery(tmp_path, 25)], shortlist=10), backbone, TokenHead())
    assert backbone.images_seen == 2 * 25


def test_a_gallery_cut_short_is_left_unscored(tmp_path: Path) -> None:
    engine, backbone, head = (
        evaluation(tmp_path, cases(drawn_images(tmp_path, 7))),
        FakeBackbone(),
        TokenHead(),
    )
    engine.start(backbone, head, {})  # type: ignore[arg-type]
    for loader in engine.build_loaders(backbone, head):  # type: ignore[arg-type]
        engine.step(backbone, head, next(iter(loader)))  # type: ignore[arg-type]
    found = engine.finish(backbone, head, {})  # type: ignore[arg-type]
    assert all(f.n == 0 for f in found.metrics if f.subset == "gallery")


def test_a_score_that_is_no_number_is_an_error(tmp_path: Path) -> None:
    class Broken(TokenHead):
        def pairs(self, *given: torch.Tensor) -> torch.Tensor:
            return super().pairs(*given) * torch.nan

    with pytest.raises(ZooError, match="in_memory/gallery has a score that is not a finite"):
        measured(evaluation(tmp_path, [gallery(tmp_path, 3)]), FakeBackbone(), Broken())


def test_a_image_that_breaks_is_named(tmp_path: Path) -> None:
    engine, backbone, head = (
        evaluation(tmp_path, [gallery(tmp_path, 4)]),
        FakeBackbone(),
        TokenHead(),
    )
    engine.start(backbone, head, {})  # type: ignore[arg-type]
    for loader in engine.build_loaders(backbone, head):  # type: ignore[arg-type]
        for portion in loader:
            engine.step(backbone, head, portion)  # type: ignore[arg-type]
    (tmp_path / "pictures" / "2.png").write_bytes(b"no picture")
    with pytest.raises(ZooError, match=r"2\.png"):
        engine.finish(backbone, head, {})  # type: ignore[arg-type]


def test_a_list_too_short_for_recall_at_10_is_refused() -> None:
    with pytest.raises(
        ZooError, match=r"Evaluation\(shortlist=9\): give a whole number from 10 up"
    ):
        Evaluation(["sugarcrepe"], shortlist=9)


def test_a_transformer_over_pairs_reranks_whatever_it_reads() -> None:
    assert all(
        CrossModal(granularity=granularity, width=8).reranks for granularity in ("local", "global")
    )  # type: ignore[arg-type]
    assert not Cosine().reranks
