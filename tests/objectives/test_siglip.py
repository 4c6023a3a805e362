import math

import pytest
import torch

from tests.objectives.loops import Formulas, cosine_score, zero
from tests.objectives.parity import assert_same, loss_of
from tests.support.helpers import attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.objectives.siglip import SigLIP


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("masks", [(False, False), (True, False), (False, True)])
def test_siglip_equals_its_formula(seed: int, masks: tuple[bool, bool]) -> None:
    case = random_case(seed)
    head = attached(Cosine(scale=3.0, bias=-2.0))
    images, texts = (
        random_pooled(seed, len(case.captions)),
        random_pooled(seed + 1000, case.n_texts),
    )
    ours = loss_of(SigLIP(), head, case, Encoded(images), Encoded(texts), masks).total

    cosine = cosine_score(images, texts, head.log_scale)
    formulas, captions, total = Formulas(case, cosine, *masks), case.captions.tolist(), zero()
    for i in formulas.real:
        for j in (j for j in formulas.real if formulas.stands_against(i, j, captions)):
            z = 1 if i == j else -1
            total = total - torch.log(
                1 / (1 + torch.exp(z * (-cosine(i, captions[j]) - head.bias)))
            )
    assert_same(ours, total / len(formulas.real), [images, texts, head.log_scale, head.bias])


def test_one_pair_worked_by_hand() -> None:
    case = random_case(0, rows=1, filling=0)
    same = torch.ones(3, 2, dtype=torch.float64)
    loss = loss_of(
        SigLIP(), attached(Cosine(scale=2.0, bias=-1.0)), case, Encoded(same[:1]), Encoded(same)
    )
    assert loss.total.item() == pytest.approx(math.log(1 + math.exp(-1)), rel=1e-12)


def test_a_head_without_a_bias_is_refused() -> None:
    case = random_case(0)
    assert SigLIP().needs.bias
    with pytest.raises(ZooError, match="bias"):
        loss_of(
            SigLIP(),
            attached(Cosine()),
            case,
            Encoded(random_pooled(0, 6)),
            Encoded(random_pooled(1, case.n_texts)),
        )
