"""What an objective has to give, whoever wrote it."""

from typing import Any

import pytest
import torch

from tests.support.helpers import attached, random_case, random_pooled
from zoo.batch import Batch, Encoded
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.objectives.base import Loss, Objective, loss_of
from zoo.scores import Scores

ONE = torch.tensor(1.0)


class Given(Objective):
    """Gives what it was made of."""

    def __init__(self, answer: Any = None) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        return self.answer  # type: ignore[no-any-return]


def asked(answer: Any) -> Loss:
    case = random_case(0)
    batch = case.batch(Encoded(random_pooled(0, 6)), Encoded(random_pooled(1, case.n_texts)))
    return loss_of(Given(answer), batch, Scores(attached(Cosine()), batch))


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ONE, r"returned a Tensor: return a Loss of zoo\.objectives, Loss\(total, "),
        (None, "returned a NoneType: return a Loss"),
        (Loss(torch.ones(6), {}), r"returned a Loss whose total is \(6,\), not a scalar"),
        (Loss(1.0, {}), "returned a Loss whose total is float, not a scalar tensor"),
        (Loss(ONE, {"pull": torch.ones(6, 1)}), r"returned a Loss whose pull is \(6, 1\)"),
    ],
)
def test_an_answer_that_is_no_loss_is_told_with_its_mend(answer: Any, told: str) -> None:
    with pytest.raises(ZooError, match=rf"^Given\.forward {told}"):
        asked(answer)


def test_a_loss_is_handed_on_as_it_is() -> None:
    loss = Loss(ONE, {"pull": ONE})
    assert asked(loss) is loss
