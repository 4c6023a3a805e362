"""FLAIR's loss as loops over pairs."""

import math

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, average, cosine_score
from tests.objectives.parity import assert_same, loss_of
from tests.support.helpers import attached, random_case, random_pooled, random_tokens
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.text_conditioned_pooling import PATCHES, TextConditionedPooling
from zoo.objectives.flair import FLAIR
from zoo.objectives.siglip import SigLIP


def penalty(logit: Tensor, true: bool) -> Tensor:
    return torch.log(1 + torch.exp(-logit if true else logit))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("masks", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize(
    ("kind", "arguments"), [(Cosine, {}), (TextConditionedPooling, {"attention_heads": 2})]
)
def test_the_loss_equals_its_formula(
    seed: int, masks: tuple[bool, bool], kind: type[Head], arguments: dict[str, int]
) -> None:
    case, head = random_case(seed), attached(kind(scale=3.0, bias=-2.0, **arguments))
    assert case.positives is not None
    images, texts = random_pooled(seed, 6), random_pooled(seed + 1000, case.n_texts)
    patches, mask = random_tokens(seed, 6, PATCHES, image=True)
    encoded = Encoded(images, {PATCHES: patches}, {PATCHES: mask})
    ours = loss_of(FLAIR(), head, case, encoded, Encoded(texts), masks)

    block = head.block(head.prepare_images(encoded), head.prepare_texts(Encoded(texts)))
    pooled_cosine = cosine_score(images, texts, head.log_scale)
    formulas, captions = Formulas(case, pooled_cosine, *masks), case.captions.tolist()
    own = {
        i: [captions[i], *(t for t in case.positives[i].tolist() if t >= 0)] for i in formulas.real
    }
    conditioned, pooled = [], []
    for i in formulas.real:
        for j in (j for j in formulas.real if formulas.stands_against(i, j, captions)):
            conditioned += [
                penalty(block[i, t], i == j) for t in (own[j] if i == j else own[j][:1])
            ]
            pooled += [penalty(pooled_cosine(i, t) + head.bias, i == j) for t in own[j]]
    n, (tcs, mps) = len(formulas.real), (average(losses) for losses in (conditioned, pooled))
    torch.testing.assert_close(ours.parts["text_conditioned"], n * tcs / 2)
    assert_same(ours.total, n * (tcs + mps) / 2, [images, texts, *head.parameters()])


def test_one_image_with_two_captions_worked_by_hand() -> None:
    """Of scale 2 and bias -1 the caption of cosine 1 has logit 1, that of cosine 0 has -1."""
    case = random_case(0, rows=1, filling=0)
    case.captions, case.positives = torch.tensor([0]), torch.tensor([[1]])
    head = attached(Cosine(scale=2.0, bias=-1.0))
    image, texts = (torch.eye(6, dtype=torch.float64)[:n] for n in (1, 3))
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(1))) / 2
    for objective in (FLAIR(), FLAIR(multi_positive=False)):
        loss = loss_of(objective, head, case, Encoded(image), Encoded(texts))
        assert loss.total.item() == pytest.approx(expected, rel=1e-12)


def test_one_caption_per_image_gives_the_sigmoid_loss() -> None:
    case = random_case(0)
    case.positives = case.captions.new_empty(6, 0)
    head = attached(Cosine(scale=2.0, bias=-1.0))
    images, texts = Encoded(random_pooled(0, 6)), Encoded(random_pooled(1, case.n_texts))
    ours, siglip = (loss_of(o, head, case, images, texts).total for o in (FLAIR(), SigLIP()))
    torch.testing.assert_close(ours, siglip)


def test_without_the_second_term_pooled_image_vectors_are_not_needed() -> None:
    assert FLAIR().needs.pooled
    assert not FLAIR(multi_positive=False).needs.pooled
    assert FLAIR().needs.positives
    assert FLAIR().needs.bias


def test_a_head_without_a_bias_is_refused() -> None:
    case = random_case(0)
    images, texts = Encoded(random_pooled(0, 6)), Encoded(random_pooled(1, case.n_texts))
    with pytest.raises(ZooError, match="FLAIR needs a head with a bias"):
        loss_of(FLAIR(), attached(Cosine()), case, images, texts)
