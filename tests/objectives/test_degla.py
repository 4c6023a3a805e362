"""DeGLA's terms as loops."""

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, average, cosine, cosine_score, surprise, zero
from tests.objectives.parity import assert_same
from tests.support.helpers import attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.objectives.degla import DeGLA
from zoo.scores import Scores


def apart(a: Tensor, b: Tensor) -> Tensor:
    """Returns the squared distance of two vectors at unit length."""
    return sum(((x - y) ** 2 for x, y in zip(a / a.norm(), b / b.norm(), strict=True)), zero())


@pytest.mark.parametrize("seed", range(3))
def test_degla_equals_its_formula(seed: int) -> None:
    case, head = random_case(seed), attached(Cosine(scale=3.0))
    images, texts, taught_images, taught_texts = (
        random_pooled(seed + 100 * k, n) for k, n in enumerate((6, case.n_texts, 6, case.n_texts))
    )
    batch = case.batch(Encoded(images), Encoded(texts))
    batch = batch.with_teacher(Encoded(taught_images), Encoded(taught_texts))
    loss = DeGLA(0.3, 0.7, 0.05, text_scale=4.0)(batch, Scores(head, batch))
    torch.testing.assert_close(sum(loss.parts.values()), loss.total)

    score = cosine_score(images, texts, head.log_scale)
    by_image, by_text, moved = [], [], zero()
    for i, t in enumerate(case.captions.tolist()):
        own = [n for n in case.negatives[i].tolist() if n >= 0]
        if t < 0:
            continue
        by_image.append(surprise(score(i, t), [score(i, n) for n in (t, *own)]))
        right = 4 * cosine(texts[t], taught_texts[t])
        by_text.append(surprise(right, [right, *(4 * cosine(texts[t], texts[n]) for n in own)]))
        moved = moved + apart(images[i], taught_images[i])
        moved = moved + sum(apart(texts[n], taught_texts[n]) for n in (t, *own))
    expected = Formulas(case, score).negclip() + 0.3 * average(by_image) + 0.7 * average(by_text)
    leaves = [images, texts, taught_texts, head.log_scale]
    assert_same(loss.total, expected + 0.05 * moved, leaves)


def test_a_batch_without_a_teacher_is_told() -> None:
    case = random_case(0)
    batch = case.batch(Encoded(random_pooled(0, 6)), Encoded(random_pooled(1, case.n_texts)))
    with pytest.raises(ValueError, match="no teacher: state one in Needs"):
        DeGLA()(batch, Scores(attached(Cosine()), batch))
