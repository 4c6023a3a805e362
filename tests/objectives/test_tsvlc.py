"""TSVLC's terms as loops."""

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, Score, average, cosine, cosine_score, surprise, zero
from tests.objectives.parity import assert_same, check, loss_of
from tests.support.helpers import SHAPES, Case, attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.heads.linear import Linear
from zoo.needs import Needs
from zoo.objectives.tsvlc import TSVLC


def own_negatives(case: Case, score: Score) -> Tensor:
    losses = []
    for i, t in enumerate(case.captions.tolist()):
        negatives = [n for n in case.negatives[i].tolist() if n >= 0]
        if t >= 0 and negatives:
            losses.append(surprise(score(i, t), [score(i, n) for n in (t, *negatives)]))
    return average(losses)


def positives(case: Case, score: Score, texts: Tensor, scale: Tensor | float) -> Tensor:
    assert case.positives is not None
    total = zero()
    for column in case.positives.T.tolist():
        rows = [i for i, p in enumerate(column) if p >= 0]
        of_images, of_captions = [], []
        for i in rows:
            cosines = [
                scale * cosine(texts[case.captions[i]], texts[column[j]]) for j in (i, *rows)
            ]
            of_captions.append(surprise(cosines[0], cosines[1:]))
            found = [score(i, column[j]) for j in rows]
            of_images.append(surprise(score(i, column[i]), found))
        total = total + (average(of_images) + average(of_captions)) / 2
    return total / case.positives.shape[1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("head", [Cosine, Linear])
def test_tsvlc_equals_its_formula(seed: int, head: type[Cosine]) -> None:
    case, built = random_case(seed), attached(head(scale=3.0))
    images, texts = random_pooled(seed, 6), random_pooled(seed + 1000, case.n_texts)
    loss = loss_of(TSVLC(0.7, 0.4), built, case, Encoded(images), Encoded(texts))
    score = cosine_score(images, texts, built.log_scale)
    scale = built.log_scale.exp() if built.scales_cosine else SHAPES.scale
    expected = (
        Formulas(case, score).negclip()
        + 0.7 * own_negatives(case, score)
        + 0.4 * positives(case, score, texts, scale)
    )
    torch.testing.assert_close(sum(loss.parts.values()), loss.total)
    assert_same(loss.total, expected, [images, texts, built.log_scale])


@pytest.mark.parametrize("seed", range(3))
def test_without_global_negatives_the_global_loss_is_clips(seed: int) -> None:
    case = random_case(seed, negatives=1 + seed)
    check(
        TSVLC(global_negatives=False),
        case,
        lambda score: Formulas(case, score).clip() + own_negatives(case, score),
        seed,
    )


def test_terms_of_weight_0_need_no_data() -> None:
    assert TSVLC().needs == Needs(negatives=True)
    assert TSVLC(lambda_pos=1.0).needs == Needs(negatives=True, positives=True, pooled_texts=True)
    assert TSVLC(lambda_neg=0.0, global_negatives=False).needs == Needs()


def test_a_batch_without_negatives_and_positives_leaves_clips_loss() -> None:
    case, head = random_case(0), attached(Cosine(scale=3.0))
    assert case.positives is not None
    case.negatives.fill_(-1)
    case.positives.fill_(-1)
    images, texts = random_pooled(0, 6), random_pooled(1000, case.n_texts)
    loss = loss_of(TSVLC(lambda_pos=1.0), head, case, Encoded(images), Encoded(texts))
    expected = Formulas(case, cosine_score(images, texts, head.log_scale)).clip()
    assert_same(loss.total, expected, [images, texts, head.log_scale])
