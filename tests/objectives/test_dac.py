"""DAC's terms as loops."""

import math

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, Score, average, cosine_score, zero
from tests.objectives.parity import assert_same, check, loss_of
from tests.objectives.test_tsvlc import own_negatives
from tests.support.helpers import Case, attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.needs import Needs
from zoo.objectives.dac import DAC


def bags(case: Case, score: Score, mask_same_image: bool = False) -> tuple[Tensor, Tensor]:
    """Returns L_bag and L_foils."""
    units, foils = (
        [[t for t in row if t >= 0] for row in r.tolist()] for r in (case.units, case.foils)
    )
    real = [i for i, t in enumerate(case.captions.tolist()) if t >= 0]
    of_bags, of_foils = [], []
    for i in (i for i in real if units[i]):
        own = sum((score(i, u).exp() for u in units[i]), start=zero())
        total = zero()
        for j in real:
            if i == j or not mask_same_image or case.image_ids[i] != case.image_ids[j]:
                total = total + sum((score(i, u).exp() for u in units[j]), start=zero())
                total = total + sum((score(j, u).exp() for u in units[i]), start=zero())
        of_bags.append(-torch.log(own / total))
        if foils[i]:
            wrong = sum((score(i, f).exp() for f in foils[i]), start=zero())
            of_foils.append(-torch.log(own / (own + wrong)))
    return average(of_bags), average(of_foils)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("global_negatives", [False, True])
def test_dac_equals_its_formula(seed: int, global_negatives: bool) -> None:
    case = random_case(seed, units=1 + seed)

    def formula(score: Score) -> Tensor:
        formulas, (bag, foils) = Formulas(case, score), bags(case, score)
        contrast = formulas.negclip() if global_negatives else formulas.clip()
        return contrast + 0.7 * own_negatives(case, score) + 0.4 * bag + 0.3 * foils

    check(DAC(0.7, 0.4, 0.3, global_negatives), case, formula, seed)


@pytest.mark.parametrize("seed", range(3))
def test_bags_of_other_rows_of_the_image_are_masked(seed: int) -> None:
    case = random_case(seed, units=3, missing=0.0)

    def formula(score: Score) -> Tensor:
        clip = Formulas(case, score, mask_same_image=True).clip()
        return clip + bags(case, score, mask_same_image=True)[0]

    objective = DAC(lambda_neg=0.0, lambda_foils=0.0, global_negatives=False)
    check(objective, case, formula, seed, (True, False))


def test_one_text_of_a_bag_that_suits_the_image_is_enough() -> None:
    case = random_case(0, rows=2, units=2, missing=0.0, filling=0)
    case.units, case.foils = torch.tensor([[0, 1], [2, 3]]), torch.full((2, 2), -1)
    images = Encoded(torch.eye(6).double()[:2])
    # of each image one text is right, and the other is of neither
    texts = Encoded(torch.eye(6).double()[[0, 3, 1, 4, 5, 5]])
    loss = loss_of(DAC(), attached(Cosine(scale=math.log(2))), case, images, texts)
    own, both_sums = 2 + 1, 2 * (2 + 1) + 2 * (1 + 1)
    assert loss.parts["bag"].item() == pytest.approx(math.log(both_sums / own))
    assert loss.parts["foils"] == 0


def test_terms_of_weight_0_need_no_data() -> None:
    assert DAC().needs == Needs(negatives=True, units=True)
    assert DAC(lambda_bag=0.0, lambda_foils=0.0).needs == Needs(negatives=True)
    assert DAC(lambda_neg=0.0, global_negatives=False).needs == Needs(units=True)


def test_a_batch_without_negatives_and_units_leaves_clips_loss() -> None:
    case, head = random_case(0), attached(Cosine(scale=3.0))
    for texts in (case.negatives, case.units, case.foils):
        texts.fill_(-1)
    images, texts = random_pooled(0, 6), random_pooled(1000, case.n_texts)
    loss = loss_of(DAC(), head, case, Encoded(images), Encoded(texts))
    expected = Formulas(case, cosine_score(images, texts, head.log_scale)).clip()
    assert_same(loss.total, expected, [images, texts, head.log_scale])
