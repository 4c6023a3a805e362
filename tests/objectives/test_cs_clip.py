"""CS-CLIP's mean over its units, where some or all rows lack one."""

import pytest
import torch

from tests.objectives.parity import loss_of
from tests.support.helpers import attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.objectives.cs_clip import CSCLIP


@pytest.mark.parametrize("n_units", [1, 2, 3])
def test_a_column_of_units_that_no_row_has_counts_in_the_mean_over_n_units(n_units: int) -> None:
    """Eq. 5 divides by N_u, the units that are drawn, and not by those that are there."""
    case = random_case(3, units=n_units)
    sides = (
        Encoded(random_pooled(1, len(case.captions))),
        Encoded(random_pooled(2, case.n_texts)),
    )
    objective, head = CSCLIP(lambda_u=0.5), attached(Cosine(scale=3.0))
    expected = loss_of(objective, head, case, *sides).parts["unit"]
    missing = torch.full((len(case.captions), 1), -1)
    case.units = torch.cat([case.units, missing], dim=1)
    case.foils = torch.cat([case.foils, missing], dim=1)
    found = loss_of(objective, head, case, *sides).parts["unit"]
    assert expected > 0
    torch.testing.assert_close(found, expected * n_units / (n_units + 1))


def test_no_row_with_a_unit_is_a_loss_of_nothing_with_a_graph() -> None:
    case = random_case(3, units=2)
    case.units.fill_(-1)
    case.foils.fill_(-1)
    images = random_pooled(1, len(case.captions))
    sides = (Encoded(images), Encoded(random_pooled(2, case.n_texts)))
    unit = loss_of(CSCLIP(), attached(Cosine(scale=3.0)), case, *sides).parts["unit"]
    unit.backward()
    assert unit == 0
    assert images.grad is not None
    assert not images.grad.any()
