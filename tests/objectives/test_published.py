"""CLIP, NegCLIP and CS-CLIP against their papers' formulas."""

import itertools
import math

import pytest
import torch

from tests.objectives.loops import Formulas
from tests.objectives.parity import check, loss_of
from tests.support.helpers import Case, attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.negclip import NegCLIP

MASKS = list(itertools.product([False, True], repeat=2))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("masks", MASKS)
def test_clip_equals_equation_9(seed: int, masks: tuple[bool, bool]) -> None:
    case = random_case(seed)
    check(CLIP(), case, lambda score: Formulas(case, score, *masks).clip(), seed, masks)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("masks", MASKS)
def test_negclip_equals_equation_11(seed: int, masks: tuple[bool, bool]) -> None:
    case = random_case(seed, negatives=1 + seed)
    check(NegCLIP(), case, lambda score: Formulas(case, score, *masks).negclip(), seed, masks)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("masks", MASKS)
def test_cs_clip_equals_equation_6(seed: int, masks: tuple[bool, bool]) -> None:
    case = random_case(seed, units=1 + seed)

    def formula(score):
        formulas = Formulas(case, score, *masks)
        return formulas.negclip() + 0.5 * formulas.unit()

    check(CSCLIP(), case, formula, seed, masks)


@pytest.mark.parametrize(("g", "u", "f"), list(itertools.product([False, True], repeat=3)))
def test_every_signal_of_cs_clips_table_4_switches_its_own_term(g: bool, u: bool, f: bool) -> None:
    case = random_case(5)

    def formula(score):
        formulas = Formulas(case, score)
        sentence = formulas.negclip() if g else formulas.clip()
        return sentence + 0.3 * formulas.unit(foils=f) if u else sentence

    check(CSCLIP(lambda_u=0.3, global_negatives=g, units=u, foils=f), case, formula)


def test_what_an_ablation_leaves_out_is_not_asked_for() -> None:
    assert CSCLIP().needs.negatives
    assert CSCLIP().needs.units
    assert not CSCLIP(global_negatives=False).needs.negatives
    assert not CSCLIP(units=False).needs.units


@pytest.mark.parametrize("objective", [NegCLIP(), CSCLIP()])
def test_a_batch_without_negatives_or_units_is_clips(objective: Objective) -> None:
    case = random_case(1, missing=1.0)
    check(objective, case, lambda score: Formulas(case, score).clip())


@pytest.mark.parametrize("objective", [NegCLIP(), CSCLIP()])
def test_no_column_for_negatives_or_units_at_all_is_clips(objective: Objective) -> None:
    case = random_case(1, negatives=0, units=0)
    check(objective, case, lambda score: Formulas(case, score).clip())


@pytest.mark.parametrize("objective", [CLIP(), NegCLIP(), CSCLIP()])
@pytest.mark.parametrize("n_texts", [0, 4])
def test_a_batch_of_filling_alone_gives_zero_with_a_graph(
    objective: Objective, n_texts: int
) -> None:
    case = random_case(0, rows=3, filling=3)
    case.n_texts = n_texts
    head, images, texts = attached(Cosine()), random_pooled(0, 3), random_pooled(1, n_texts)
    total = loss_of(objective, head, case, Encoded(images), Encoded(texts)).total
    gradients = torch.autograd.grad(
        total, [images, texts, head.log_scale]
    )  # raises where no graph leads there
    assert total.item() == 0
    assert all((g == 0).all() for g in gradients)


def by_hand(negative: int = 2, unit: int = 0, foil: int = 2) -> tuple[Case, Encoded, Encoded]:
    """Images (1, 0), (0, 1), captions equal to them, one further text (-1, 0).

    Logits are 2, 0 and -2.
    """
    case = Case(
        captions=torch.tensor([0, 1]),
        negatives=torch.tensor([[negative], [-1]]),
        units=torch.tensor([[unit], [-1]]),
        foils=torch.tensor([[foil], [-1]]),
        image_ids=torch.tensor([0, 1]),
        n_texts=3,
    )
    vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    return case, Encoded(5 * vectors[:2]), Encoded(3 * vectors)


LOG = math.log
CLIP_BY_HAND = LOG(1 + math.exp(-2))  # each direction: -log e^2 / (e^2 + e^0) = 0.1269
# image 0 has e^2 over e^2 + e^0 + e^-2; image 1 has e^2 over e^2 + e^0 + e^0, since the negative
# stands against it too
NEGCLIP_BY_HAND = (
    (LOG(1 + math.exp(-2) + math.exp(-4)) + LOG(1 + 2 * math.exp(-2))) / 2 + CLIP_BY_HAND
) / 2
# one unit, of image 0: against its foil alone, e^2 over e^2 + e^-2; back, against both images
UNIT_BY_HAND = (LOG(1 + math.exp(-4)) + CLIP_BY_HAND) / 2


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (CLIP(), CLIP_BY_HAND),
        (NegCLIP(), NEGCLIP_BY_HAND),
        (CSCLIP(lambda_u=0.5), NEGCLIP_BY_HAND + 0.5 * UNIT_BY_HAND),
    ],
)
def test_losses_worked_by_hand(objective: Objective, expected: float) -> None:
    head = attached(Cosine(scale=2.0))
    assert loss_of(objective, head, *by_hand()).total.item() == pytest.approx(expected, rel=1e-12)


def test_a_missing_unit_of_another_row_keeps_its_image_as_a_column() -> None:
    case, images, texts = by_hand()
    loss = loss_of(
        CSCLIP(lambda_u=1.0, foils=False, global_negatives=False),
        attached(Cosine(scale=2.0)),
        case,
        images,
        texts,
    )
    assert loss.parts["unit"].item() == pytest.approx(
        CLIP_BY_HAND / 2, rel=1e-12
    )  # Eq. 3 has one column, Eq. 4 two


def test_a_masked_image_is_no_column_for_a_unit_even_where_its_own_is_missing() -> None:
    case, images, texts = by_hand()
    case.image_ids = torch.tensor([4, 4])
    objective = CSCLIP(lambda_u=1.0, foils=False, global_negatives=False)
    assert loss_of(
        objective, attached(Cosine(scale=2.0)), case, images, texts, (True, False)
    ).total.item() == pytest.approx(0, abs=1e-12)


def test_an_extreme_temperature_stays_finite_in_fp32() -> None:
    head = attached(Cosine(scale=100.0)).float()
    case, images, texts = by_hand(negative=0)
    images = Encoded(images.pooled.float().requires_grad_())
    loss = loss_of(CSCLIP(), head, case, images, texts.map(torch.Tensor.float)).total
    (gradient,) = torch.autograd.grad(loss, images.pooled)
    assert loss.isfinite()
    assert gradient.isfinite().all()


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_a_weight_of_units_that_is_none_is_refused(weight: float) -> None:
    with pytest.raises(ZooError, match=rf"CSCLIP\(lambda_u={weight}\): give a number from 0 up"):
        CSCLIP(lambda_u=weight)
