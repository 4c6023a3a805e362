"""SuperCLIP's classification as loops, and its counts from step to step."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, average, cosine_score
from tests.objectives.parity import assert_same
from tests.support.helpers import (
    SHAPES,
    VOCABULARY,
    Case,
    attached,
    random_case,
    random_pooled,
    random_tokens,
)
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.objectives.super_clip import PATCHES, SuperCLIP
from zoo.scores import Scores


def tokens_of(case: Case) -> list[set[int] | None]:
    """Returns the token ids of each row's caption, None for filling."""
    assert case.bank is not None
    return [
        set(case.bank.ids[t][: case.bank.lengths[t]].tolist()) if t >= 0 else None
        for t in case.captions.tolist()
    ]


def classification(
    case: Case, patches: Tensor, objective: SuperCLIP, shares: list[float], steps: int
) -> Tensor:
    """Moves the counts, and returns L_class as loops over tokens."""
    assert objective.words is not None
    captions = tokens_of(case)
    real = [i for i, tokens in enumerate(captions) if tokens is not None]
    for v in range(VOCABULARY):
        shares[v] += sum(v in (captions[i] or ()) for i in real) / len(real)
    weights = [math.log((steps + 1 / len(real)) / (s + 1 / len(real))) for s in shares]
    losses = []
    for i in real:
        mean = sum(patches[i]) / patches.shape[1]
        log_p = objective.words(mean).log_softmax(0)
        own = [v for v in range(VOCABULARY) if v in (captions[i] or ())]
        whole = sum(weights[v] for v in own)
        losses.append(-sum(weights[v] / whole * log_p[v] for v in own))
    return average(losses)


def built() -> SuperCLIP:
    torch.manual_seed(0)
    objective = SuperCLIP(lambda_class=0.5)
    objective.attach(SHAPES, attached(Cosine()), trains=True)
    return objective.double()


@pytest.mark.parametrize("seed", range(3))
def test_super_clip_equals_its_formula_step_by_step(seed: int) -> None:
    objective, head, shares = built(), attached(Cosine(scale=3.0)), [0.0] * VOCABULARY
    for step in range(2):
        case = random_case(seed + 10 * step)
        images, texts = random_pooled(seed, 6), random_pooled(seed + 1000, case.n_texts)
        patches, mask = random_tokens(seed, 6, PATCHES, image=True)
        batch = case.batch(Encoded(images, {PATCHES: patches}, {PATCHES: mask}), Encoded(texts))
        loss = objective(batch, Scores(head, batch))
        expected = Formulas(case, cosine_score(images, texts, head.log_scale)).clip()
        told = classification(case, patches, objective, shares, step + 1)
        leaves = [images, texts, patches, head.log_scale, *objective.words.parameters()]  # type: ignore[union-attr]
        assert_same(loss.total, expected + 0.5 * told, leaves)
    assert objective.token_shares.tolist() == pytest.approx(shares)
    assert objective.steps == 2


def test_the_classifiers_initial_weights_have_one_over_the_root_of_the_width_as_deviation() -> None:
    torch.manual_seed(0)
    objective = SuperCLIP()
    objective.attach(replace(SHAPES, image_width=100, vocabulary=500), attached(Cosine()), True)
    linear = objective.words[1]  # type: ignore[index]
    assert linear.weight.std().item() == pytest.approx(0.1, rel=0.02)
    assert not linear.bias.any()


def test_counts_rest_in_validation() -> None:
    objective, case = built().eval(), random_case(0)
    patches, mask = random_tokens(0, 6, PATCHES, image=True)
    images = Encoded(random_pooled(0, 6), {PATCHES: patches}, {PATCHES: mask})
    batch = case.batch(images, Encoded(random_pooled(1, case.n_texts)))
    loss = objective(batch, Scores(attached(Cosine()), batch))
    assert loss.parts["classification"] == 0  # no word was counted, so that none weighs anything
    assert objective.steps == 0
    assert not objective.token_shares.any()


def test_a_token_that_every_caption_has_weighs_nothing() -> None:
    objective, case = built(), random_case(0, filling=0)
    assert case.bank is not None
    case.bank.lengths.fill_(2)
    case.bank.ids[:, 0] = 4
    case.bank.ids[:, 1] = torch.arange(case.n_texts) % 4
    patches, mask = random_tokens(0, 6, PATCHES, image=True)
    images = Encoded(random_pooled(0, 6), {PATCHES: patches}, {PATCHES: mask})
    batch = case.batch(images, Encoded(random_pooled(1, case.n_texts)))
    objective(batch, Scores(attached(Cosine()), batch)).total.backward()
    bias = objective.words[1].bias.grad  # type: ignore[index]
    assert bias[4] > 0  # pushed down as any token that is not to be told
    assert min(bias[:4]) < 0


def test_texts_without_token_ids_are_refused() -> None:
    objective, case = built(), random_case(0)
    case.bank = None
    patches, mask = random_tokens(0, 6, PATCHES, image=True)
    images = Encoded(random_pooled(0, 6), {PATCHES: patches}, {PATCHES: mask})
    batch = case.batch(images, Encoded(random_pooled(1, case.n_texts)))
    with pytest.raises(ZooError, match=r"only has encoded texts: set data\.features to null"):
        objective(batch, Scores(attached(Cosine()), batch))
