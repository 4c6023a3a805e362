import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.support.helpers import SHAPES, WIDTH, attached
from zoo.batch import Encoded, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.heads.max_sim import MaxSim
from zoo.support.gpu import EXACT, fp32_precisions
from zoo.training.trainer import ZooTrainer


def test_the_score_is_the_scaled_cosine() -> None:
    head = attached(Cosine(scale=3.0))
    images = head.prepare_images(
        Encoded(torch.tensor([[3.0, 4.0, 0, 0, 0, 0]], dtype=torch.float64))
    )
    texts = head.prepare_texts(Encoded(torch.eye(WIDTH, dtype=torch.float64)[:2] * 9))
    torch.testing.assert_close(
        head.block(images, texts), torch.tensor([[1.8, 2.4]], dtype=torch.float64)
    )
    torch.testing.assert_close(
        head.pairs(images, texts, torch.tensor([0]), torch.tensor([1])),
        torch.tensor([2.4], dtype=torch.float64),
    )


def test_pairs_are_entries_of_the_block() -> None:
    head = attached(Cosine())
    images, texts = (
        head.prepare_images(Encoded(torch.randn(4, WIDTH))),
        head.prepare_texts(Encoded(torch.randn(5, WIDTH))),
    )
    i, j = torch.tensor([3, 0, 2]), torch.tensor([1, 4, 4])
    torch.testing.assert_close(head.pairs(images, texts, i, j), head.block(images, texts)[i, j])


def test_half_types_are_scored_in_fp32_also_under_autocast() -> None:
    head = attached(Cosine()).float()
    x, y = torch.randn(4, WIDTH).bfloat16(), torch.randn(5, WIDTH).bfloat16()
    exact = head.block(
        head.prepare_images(Encoded(x.float())), head.prepare_texts(Encoded(y.float()))
    )
    with torch.autocast("cpu", torch.bfloat16):
        images, texts = head.prepare_images(Encoded(x)), head.prepare_texts(Encoded(y))
        block = head.block(images, texts)
    assert block.dtype is torch.float32
    torch.testing.assert_close(block, exact)


def test_scores_are_left_out_of_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    head = attached(Cosine())
    plain = head.logits
    monkeypatch.setattr(
        head, "logits", lambda x: (asked.append(fp32_precisions()["products"]), plain(x))[1]
    )
    items = Encoded(torch.randn(3, WIDTH))
    before = torch.get_float32_matmul_precision()
    ZooTrainer(tf32=True, logger=False, accelerator="cpu")
    try:
        assert torch.get_float32_matmul_precision() == "high"
        head.block(items, items)
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)
    assert asked == [EXACT]


@pytest.mark.skipif(
    not hasattr(torch.backends.cuda.matmul, "fp32_precision"), reason="torch has no other API"
)
def test_scores_are_left_out_of_tf32_that_the_api_of_torch_2_9_allows() -> None:
    backend: Any = torch.backends.cuda.matmul
    items, before = Encoded(torch.randn(3, WIDTH)), backend.fp32_precision
    try:
        backend.fp32_precision = "tf32"
        attached(Cosine()).block(items, items)
        assert fp32_precisions()["products"] == "tf32"
    finally:
        backend.fp32_precision = before


@pytest.mark.skipif(
    not hasattr(torch.backends.cuda.matmul, "fp32_precision"), reason="torch has no other API"
)
def test_after_a_score_products_follow_the_precision_of_all_backends_as_before() -> None:
    backends: Any = torch.backends
    items, before = Encoded(torch.randn(3, WIDTH)), backends.cuda.matmul.fp32_precision
    shared = backends.fp32_precision
    try:
        backends.cuda.matmul.fp32_precision, backends.fp32_precision = "none", "tf32"
        attached(Cosine()).block(items, items)
        assert fp32_precisions()["products"] == "tf32"
        backends.fp32_precision = "ieee"
        assert fp32_precisions()["products"] == "ieee"
    finally:
        backends.fp32_precision, backends.cuda.matmul.fp32_precision = shared, before


def test_scale_and_bias_start_from_the_backbone_or_from_the_arguments() -> None:
    shapes = TowerShapes(WIDTH, 5, 3, 4, 1, 7, scale=10.0, bias=-10.0)
    published, chosen = Cosine(), Cosine(scale=2.0, bias=-1.0)
    published.attach(shapes)
    chosen.attach(SHAPES)
    assert published.logits(torch.tensor(0.5)).item() == pytest.approx(-5.0)
    assert chosen.logits(torch.tensor(0.5)).item() == pytest.approx(0.0)
    assert attached(Cosine()).bias is None


def test_the_scale_is_clamped_from_above_only() -> None:
    head = attached(Cosine(max_scale=100.0))
    head.log_scale.data.fill_(math.log(500.0))
    head.clamp_scale()
    assert head.scale.item() == pytest.approx(100.0)
    head.log_scale.data.fill_(math.log(3.0))
    head.clamp_scale()
    assert head.scale.item() == pytest.approx(3.0)


NO_SCALES = [
    ({"scale": 0.0}, r"Linear\(scale=0.0\): give a number above 0"),
    ({"scale": -1.0}, r"Linear\(scale=-1.0\)"),
    ({"scale": math.nan}, r"Linear\(scale=nan\)"),
    ({"scale": math.inf, "max_scale": math.inf}, r"Linear\(scale=inf\)"),
    ({"max_scale": 0.0}, r"Linear\(max_scale=0.0\): give a number above 0"),
    ({"max_scale": -2.0}, r"Linear\(max_scale=-2.0\)"),
    ({"scale": 101.0}, r"Linear\(scale=101.0\) starts above max_scale=100.0"),
]


@pytest.mark.parametrize(("arguments", "message"), NO_SCALES, ids=str)
def test_a_scale_out_of_range_is_refused_by_class_and_argument(
    arguments: dict[str, float], message: str
) -> None:
    with pytest.raises(ZooError, match=message):
        Linear(**arguments)  # type: ignore[arg-type]


def test_a_scale_may_start_at_its_bound_and_have_none() -> None:
    assert attached(Cosine(scale=100.0)).scale.item() == pytest.approx(100.0)
    unbound = attached(Cosine(scale=300.0, max_scale=math.inf))
    unbound.clamp_scale()
    assert unbound.scale.item() == pytest.approx(300.0)


def test_an_inherited_scale_above_the_bound_is_kept_and_becomes_the_bound() -> None:
    head = Cosine(max_scale=100.0)
    head.attach(replace(SHAPES, scale=117.3))
    head.clamp_scale()
    assert head.scale.item() == pytest.approx(117.3)
    head.log_scale.data.fill_(math.log(200.0))
    head.clamp_scale()
    assert head.scale.item() == pytest.approx(117.3)


def test_a_scale_that_is_not_learned_takes_no_gradient_and_is_not_clamped() -> None:
    head = attached(Cosine(scale=150.0, learn_scale=False))
    assert not head.log_scale.requires_grad
    head.log_scale.data.fill_(math.log(160.0))
    head.clamp_scale()
    assert head.scale.item() == pytest.approx(160.0)


@pytest.mark.parametrize(
    ("head", "expected"), [(Cosine, True), (MaxSim, True), (Linear, False), (CrossModal, False)]
)
def test_the_scale_stands_for_the_backbones_where_its_own_vectors_are_compared(
    head: type[Head], expected: bool
) -> None:
    assert (
        head.scales_cosine is head().scales_cosine is expected
    )  # asked of the class where a checkpoint is read


def test_a_head_that_says_nothing_does_not_speak_for_the_backbones_scale() -> None:
    assert Head.scales_cosine is False
