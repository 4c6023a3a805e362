"""TIC's term as loops."""

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, average, cosine, cosine_score
from tests.objectives.parity import assert_same, loss_of
from tests.support.helpers import Case, attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.objectives.tic import TIC


def between_captions(case: Case, texts: Tensor, hardest: int, most_alike: float) -> Tensor:
    captions = [t for t in case.captions.tolist() if t >= 0]
    losses = []
    for i, t in enumerate(captions):
        others = [cosine(texts[t], texts[u]) for j, u in enumerate(captions) if j != i]
        kept = sorted((c for c in others if float(c) <= most_alike), key=float, reverse=True)
        if kept:
            losses.append(torch.log(sum(c.exp() for c in kept[:hardest])))
    return average(losses)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("hardest", "most_alike"), [(10, 0.95), (2, 0.4)])
def test_tic_equals_its_formula(seed: int, hardest: int, most_alike: float) -> None:
    case, head = random_case(seed, rows=8), attached(Cosine(scale=3.0))
    images, texts = random_pooled(seed, 8), random_pooled(seed + 1000, case.n_texts)
    loss = loss_of(TIC(0.5, hardest, most_alike), head, case, Encoded(images), Encoded(texts))
    clip = Formulas(case, cosine_score(images, texts, head.log_scale)).clip()
    expected = clip + 0.5 * between_captions(case, texts, hardest, most_alike)
    assert_same(loss.total, expected, [images, texts, head.log_scale])


def test_captions_that_all_say_the_same_leave_clip_alone() -> None:
    case = random_case(0)
    texts = torch.ones(case.n_texts, 6, dtype=torch.float64, requires_grad=True)
    loss = loss_of(TIC(), attached(Cosine()), case, Encoded(random_pooled(0, 6)), Encoded(texts))
    loss.total.backward()
    assert loss.parts["between_captions"] == 0
    assert texts.grad is not None
    assert texts.grad.isfinite().all()
