"""CE-CLIP's loss as loops, and its thresholds from step to step."""

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, Score, average, cosine, cosine_score, surprise
from tests.objectives.parity import assert_same, loss_of
from tests.support.helpers import SHAPES, Case, attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.heads.linear import Linear
from zoo.objectives.ce_clip import CECLIP, MOST_KINDS


def sides(seed: int, case: Case) -> tuple[Tensor, Tensor]:
    return random_pooled(seed, len(case.captions)), random_pooled(seed + 1000, case.n_texts)


def intra_modal(case: Case, texts: Tensor, score: Score, scale: Tensor | float) -> Tensor:
    negatives = [n for n in case.negatives.flatten().tolist() if n >= 0]
    losses = []
    for i, t in enumerate(case.captions.tolist()):
        if t >= 0:
            own = score(i, t)
            others = [scale * cosine(texts[t], texts[n]) for n in negatives]
            losses.append(surprise(own, [own, *others]))
    return average(losses)


def ranking(case: Case, score: Score, thresholds: list[float]) -> Tensor:
    cells = []
    for i, t in enumerate(case.captions.tolist()):
        for theta, n in zip(thresholds, case.negatives[i].tolist(), strict=True):
            if t >= 0:
                missing = torch.zeros((), dtype=torch.float64)
                cells.append(
                    (theta + score(i, n) - score(i, t)).clamp(min=0) if n >= 0 else missing
                )
    return average(cells)


def gaps(case: Case, score: Score) -> list[float]:
    """Returns for each kind by how much captions score above its negatives on average."""
    rows = [i for i, t in enumerate(case.captions.tolist()) if t >= 0]
    right = average([score(i, int(case.captions[i])) for i in rows])
    return [
        (right - average([score(i, n) for i, n in enumerate(kind) if n >= 0])).item()
        for kind in case.negatives.T.tolist()
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("hard", [True, False])
def test_ce_clip_equals_its_formula_step_by_step(seed: int, hard: bool) -> None:
    case, head = random_case(seed, negatives=3), attached(Cosine(scale=3.0))
    images, texts = sides(seed, case)
    objective = CECLIP(lambda_imc=0.3, lambda_cmr=0.7, theta_max=1.5, global_negatives=hard)
    thresholds = [0.0] * 3
    for _ in range(2):
        score = cosine_score(images, texts, head.log_scale)
        formulas = Formulas(case, score)
        expected = formulas.negclip() if hard else formulas.clip()
        expected = expected + 0.3 * intra_modal(case, texts, score, head.log_scale.exp())
        expected = expected + 0.7 * ranking(case, score, thresholds)
        loss = loss_of(objective, head, case, Encoded(images), Encoded(texts))
        torch.testing.assert_close(sum(loss.parts.values()), loss.total)
        assert_same(loss.total, expected, [images, texts, head.log_scale])
        thresholds = [min(max(gap, 0.0), 1.5) for gap in gaps(case, score)]
        assert objective.thresholds[:3].tolist() == pytest.approx(thresholds)


def test_a_head_of_mapped_vectors_leaves_captions_at_the_backbones_scale() -> None:
    case, head = random_case(1), attached(Linear(scale=3.0))
    images, texts = sides(1, case)
    loss = loss_of(CECLIP(lambda_cmr=0.0), head, case, Encoded(images), Encoded(texts))
    score = cosine_score(images, texts, head.log_scale)  # the map starts as the identity
    assert_same(
        loss.parts["intra_modal"] / 0.2,
        intra_modal(case, texts, score, SHAPES.scale),
        [images, texts, head.log_scale],
    )


def test_a_bias_of_the_head_changes_nothing() -> None:
    case = random_case(2)
    images, texts = (Encoded(side) for side in sides(2, case))
    plain, biased = (
        loss_of(CECLIP(), attached(Cosine(scale=3.0, bias=bias)), case, images, texts).total
        for bias in (None, -10.0)
    )
    torch.testing.assert_close(plain, biased)


def test_thresholds_rest_in_validation_and_where_a_kind_is_missing() -> None:
    case, head = random_case(0, negatives=2), attached(Cosine(scale=3.0))
    case.negatives[:, 1] = -1
    images, texts = (Encoded(side) for side in sides(0, case))
    objective = CECLIP(theta_max=100.0).eval()
    objective.thresholds.fill_(0.25)
    loss_of(objective, head, case, images, texts)
    assert objective.thresholds.tolist() == [0.25] * MOST_KINDS
    loss_of(objective.train(), head, case, images, texts)
    assert objective.thresholds[0] != 0.25
    assert objective.thresholds[1:].tolist() == [0.25] * (MOST_KINDS - 1)


def test_more_kinds_than_thresholds_are_refused() -> None:
    case = random_case(0, negatives=MOST_KINDS + 1)
    images, texts = (Encoded(side) for side in sides(0, case))
    with pytest.raises(
        ZooError, match=r"at most 16 generators of negatives, and the data has 17: list fewer"
    ):
        loss_of(CECLIP(), attached(Cosine()), case, images, texts)
