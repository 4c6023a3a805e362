import math
from collections.abc import Callable

import pytest
import torch

from tests.objectives.loops import Formulas, average, cosine_score, zero
from tests.objectives.parity import assert_same, loss_of
from tests.support.helpers import attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.objectives.base import Objective
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.fsc_clip import FSCCLIP
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


@pytest.mark.parametrize("foils", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_cs_clip_of_sigmoids_equals_its_formula(seed: int, foils: bool) -> None:
    case = random_case(seed, units=2)
    head = attached(Cosine(scale=3.0, bias=-2.0))
    images, texts = random_pooled(seed, len(case.captions)), random_pooled(9, case.n_texts)
    objective = CSCLIP(lambda_u=0.7, foils=foils, pairs="sigmoid")
    ours = loss_of(objective, head, case, Encoded(images), Encoded(texts)).total

    cosine = cosine_score(images, texts, head.log_scale)

    def cell(i: int, text: int, z: int) -> torch.Tensor:
        return -torch.log(1 / (1 + torch.exp(-z * (cosine(i, text) + head.bias))))

    def rows(own: list[int], others: Callable[[int], list[int]]) -> torch.Tensor:
        real = [i for i, text in enumerate(own) if text >= 0]
        return average(
            [
                sum((cell(i, own[j], 1 if i == j else -1) for j in real), start=zero())
                + sum((cell(i, text, -1) for text in others(i)), start=zero())
                for i in real
            ]
        )

    negatives = [t for row in case.negatives.tolist() for t in row if t >= 0]
    expected = rows(case.captions.tolist(), lambda _: negatives)
    for units, wrong in zip(case.units.T.tolist(), case.foils.T.tolist(), strict=True):
        own_foils = [[t] if foils and t >= 0 else [] for t in wrong]
        expected = expected + 0.7 / 2 * rows(units, own_foils.__getitem__)
    assert_same(ours, expected, [images, texts, head.log_scale, head.bias])


def test_fsc_clip_of_sigmoids_has_siglips_loss_and_its_own_hard_negatives() -> None:
    case = random_case(1)
    sides = (Encoded(random_pooled(0, len(case.captions))), Encoded(random_pooled(1, case.n_texts)))
    head, unbiased = attached(Cosine(scale=3.0, bias=-2.0)), attached(Cosine(scale=3.0))
    found = loss_of(FSCCLIP(lambda_l=0, pairs="sigmoid"), head, case, *sides).parts
    torch.testing.assert_close(found["clip"], loss_of(SigLIP(), head, case, *sides).total)
    plain = loss_of(FSCCLIP(lambda_l=0), unbiased, case, *sides).parts
    torch.testing.assert_close(found["global_negatives"], plain["global_negatives"])


@pytest.mark.parametrize("objective", [CSCLIP(pairs="sigmoid"), FSCCLIP(pairs="sigmoid")])
def test_sigmoids_need_a_bias(objective: Objective) -> None:
    assert objective.needs.bias
    assert not type(objective)().needs.bias
