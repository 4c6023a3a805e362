"""What every parity test does: a loss and its gradients against a formula's."""

from collections.abc import Callable

import torch
from torch import Tensor

from tests.objectives.loops import cosine_score
from tests.support.helpers import SHAPES, Case, attached, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.objectives.base import Loss, Objective
from zoo.scores import Scores


def assert_same(ours: Tensor, formula: Tensor, leaves: list[Tensor]) -> None:
    """Values and gradients within 1e-9, relative."""
    torch.testing.assert_close(ours, formula, rtol=1e-9, atol=1e-12)
    ours_grads = torch.autograd.grad(ours, leaves, allow_unused=True, materialize_grads=True)
    zero = sum(leaf.sum() * 0 for leaf in leaves)
    grads = torch.autograd.grad(formula + zero, leaves, allow_unused=True, materialize_grads=True)
    for leaf, a, b in zip(leaves, ours_grads, grads, strict=True):
        scale = max(float(b.abs().max()), 1e-3)
        torch.testing.assert_close(
            a / scale,
            b / scale,
            rtol=1e-9,
            atol=1e-9,
            msg=lambda m, leaf=leaf: f"{tuple(leaf.shape)}: {m}",
        )


def loss_of(
    objective: Objective,
    head: Cosine,
    case: Case,
    images: Encoded,
    texts: Encoded,
    masks: tuple[bool, bool] = (False, False),
) -> Loss:
    batch = case.batch(images, texts)
    objective.attach(SHAPES, head, trains=True)
    objective.double()
    return objective(batch, Scores(head, batch, *masks))


def check(
    objective: Objective,
    case: Case,
    formula: Callable[[Callable[[int, int], Tensor]], Tensor],
    seed: int = 0,
    masks: tuple[bool, bool] = (False, False),
) -> None:
    """Compares an objective over the cosine with `formula(score)`, and its parts with its total.

    `masks` are those of the same image and of the same text.
    """
    head = attached(Cosine(scale=3.0))
    images, texts = (
        random_pooled(seed, len(case.captions)),
        random_pooled(seed + 1000, case.n_texts),
    )
    loss = loss_of(objective, head, case, Encoded(images), Encoded(texts), masks)
    torch.testing.assert_close(sum(loss.parts.values()), loss.total)
    assert_same(
        loss.total,
        formula(cosine_score(images, texts, head.log_scale)),
        [images, texts, head.log_scale],
    )
