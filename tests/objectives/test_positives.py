"""Losses with further positives, READ-CLIP's and CLIC's, as loops."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, Score, average, cosine, cosine_score, surprise, zero
from tests.objectives.parity import assert_same, loss_of
from tests.support.helpers import SHAPES, Case, attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.heads.linear import Linear
from zoo.objectives.clic import CLIC
from zoo.objectives.read_clip import READCLIP
from zoo.scores import Scores


def alignment(case: Case, texts: Tensor, scale: Tensor | float) -> Tensor:
    assert case.positives is not None
    real = [(i, t) for i, t in enumerate(case.captions.tolist()) if t >= 0]
    total = zero()
    for column in case.positives.T.tolist():
        losses = []
        for i, t in real:
            if column[i] >= 0:
                found = [scale * cosine(texts[column[i]], texts[u]) for _, u in real]
                losses.append(surprise(scale * cosine(texts[column[i]], texts[t]), found))
        total = total + average(losses)
    return total / case.positives.shape[1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("head", [Cosine, Linear])
def test_read_clip_equals_its_formula(seed: int, head: type[Cosine]) -> None:
    case, built = random_case(seed), attached(head(scale=3.0))
    images, texts = random_pooled(seed, 6), random_pooled(seed + 1000, case.n_texts)
    loss = loss_of(READCLIP(0.7), built, case, Encoded(images), Encoded(texts))
    formulas = Formulas(case, cosine_score(images, texts, built.log_scale))
    scale = built.log_scale.exp() if built.scales_cosine else SHAPES.scale
    expected = formulas.negclip() + 0.7 * alignment(case, texts, scale)
    assert_same(loss.total, expected, [images, texts, built.log_scale])


def clic(case: Case, texts: Tensor, score: Score) -> tuple[Tensor, Tensor, Tensor]:
    """Returns Eqs. 4, 5 and 6."""
    assert case.positives is not None
    formulas, contrast, separate = Formulas(case, score), zero(), zero()
    columns = [case.captions.tolist(), *case.positives.T.tolist()]
    for column in columns:
        contrast = contrast + formulas.image_to_text(column, lambda i: [])
        contrast = contrast + formulas.text_to_image(column)
        losses = []
        for i, t in enumerate(column):
            if t >= 0:
                own = [n for n in case.negatives[i].tolist() if n >= 0]
                losses.append(surprise(score(i, t), [score(i, n) for n in (t, *own)]))
        separate = separate + average(losses)
    apart = []
    for t, p in zip(*columns[:2], strict=True):
        if t >= 0 and p >= 0:
            a, b = texts[t] / texts[t].norm(), texts[p] / texts[p].norm()
            apart.append(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)))
    return contrast / (2 * len(columns)), separate / len(columns), average(apart)


@pytest.mark.parametrize("seed", range(3))
def test_clic_equals_its_formula(seed: int) -> None:
    case, head = random_case(seed), attached(Cosine(scale=3.0))
    assert case.positives is not None
    case.positives[0, 0] = 0  # the first text of the bank is a text as any other
    images, texts = random_pooled(seed, 6), random_pooled(seed + 1000, case.n_texts)
    loss = loss_of(CLIC(0.3, 0.6, 0.9), head, case, Encoded(images), Encoded(texts))
    contrast, separate, apart = clic(case, texts, cosine_score(images, texts, head.log_scale))
    expected = 0.3 * contrast + 0.6 * separate + 0.9 * apart
    torch.testing.assert_close(sum(loss.parts.values()), loss.total)
    assert_same(loss.total, expected, [images, texts, head.log_scale])


def test_clic_of_single_images_is_clips_loss_whatever_the_weights() -> None:
    case, head = random_case(0), attached(Cosine(scale=3.0))
    images, texts = random_pooled(0, 6), random_pooled(1000, case.n_texts)
    batch = replace(case.batch(Encoded(images), Encoded(texts)), single=True)
    loss = CLIC(0.3, 0.6, 0.9)(batch, Scores(head, batch))
    assert loss.parts == {"contrast": loss.total, "own_negatives": 0, "invariance": 0}
    expected = Formulas(case, cosine_score(images, texts, head.log_scale)).clip()
    assert_same(loss.total, expected, [images, texts, head.log_scale])


@pytest.mark.parametrize("objective", [READCLIP, CLIC])
def test_a_batch_without_any_positive_has_finite_gradients(
    objective: type[READCLIP | CLIC],
) -> None:
    case = random_case(0)
    assert case.positives is not None
    case.positives.fill_(-1)
    texts = random_pooled(1, case.n_texts)
    loss = loss_of(
        objective(), attached(Cosine()), case, Encoded(random_pooled(0, 6)), Encoded(texts)
    )
    loss.total.backward()
    assert texts.grad is not None
    assert texts.grad.isfinite().all()
