"""DeGLA's terms as loops."""

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, average, cosine, cosine_score, surprise, zero
from tests.objectives.parity import assert_same
from tests.support.helpers import Case, attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.objectives.degla import DeGLA
from zoo.scores import Scores


def apart(a: Tensor, b: Tensor) -> Tensor:
    """Returns the squared distance of two vectors at unit length."""
    return sum(((x - y) ** 2 for x, y in zip(a / a.norm(), b / b.norm(), strict=True)), zero())


def own_negatives(case: Case, i: int) -> list[int]:
    return [n for n in case.negatives[i].tolist() if n >= 0]


def masked_negatives(case: Case, i: int) -> list[int]:
    """Returns a row's candidates under a mask of diagonals that is repeated K times."""
    rows, kinds = case.negatives.shape
    row_by_row = [n for row in case.negatives.tolist() for n in row]
    diagonals = [[column == row for column in range(rows)] * kinds for row in range(rows)]
    return [n for n, kept in zip(row_by_row, diagonals[i], strict=True) if kept and n >= 0]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("public_code", [False, True])
def test_degla_equals_its_formula(seed: int, public_code: bool) -> None:
    case, head = random_case(seed), attached(Cosine(scale=3.0))
    images, texts, taught_images, taught_texts = (
        random_pooled(seed + 100 * k, n) for k, n in enumerate((6, case.n_texts, 6, case.n_texts))
    )
    batch = case.batch(Encoded(images), Encoded(texts))
    batch = batch.with_teacher(Encoded(taught_images), Encoded(taught_texts))
    objective = DeGLA(0.3, 0.7, 0.05, text_scale=4.0, public_code=public_code)
    loss = objective(batch, Scores(head, batch))
    torch.testing.assert_close(sum(loss.parts.values()), loss.total)

    score = cosine_score(images, texts, head.log_scale)
    by_image, by_text, moved = [], [], zero()
    for i, t in enumerate(case.captions.tolist()):
        own = own_negatives(case, i)
        if t < 0:
            continue
        by_image.append(surprise(score(i, t), [score(i, n) for n in (t, *own)]))
        right = 4 * cosine(texts[t], taught_texts[t])
        wrong = masked_negatives(case, i) if public_code else own
        by_text.append(surprise(right, [right, *(4 * cosine(texts[t], texts[n]) for n in wrong)]))
        moved = moved + apart(images[i], taught_images[i])
        moved = moved + sum(apart(texts[n], taught_texts[n]) for n in (t, *own))
    expected = Formulas(case, score).negclip() + 0.3 * average(by_image) + 0.7 * average(by_text)
    leaves = [images, texts, taught_texts, head.log_scale]
    assert_same(loss.total, expected + 0.05 * moved, leaves)


def test_4_of_the_1024_negatives_of_the_public_code_are_a_rows_own() -> None:
    """The page on DeGLA has this count, for the 256 rows and 4 negatives of the public script."""
    case = random_case(0, rows=256, negatives=4, missing=0.0, filling=0)
    case.captions, case.n_texts = torch.arange(1024, 1280), 1280
    case.negatives = torch.arange(1024).reshape(256, 4)
    batch = case.batch(Encoded(random_pooled(0, 256)), Encoded(random_pooled(1, 1280)))
    scores = Scores(attached(Cosine()), batch)
    taken = DeGLA(public_code=True).public_negative_cosines(batch, scores).logits
    captions, negatives = (scores.text_vectors(t) for t in (batch.captions, batch.negatives))
    own = (captions[:, None] * negatives).sum(-1)
    assert taken.shape == own.shape
    assert int(((taken[:, :, None] - own[:, None, :]).abs() < 1e-12).sum()) == 4


def test_a_batch_without_a_teacher_is_told() -> None:
    case = random_case(0)
    batch = case.batch(Encoded(random_pooled(0, 6)), Encoded(random_pooled(1, case.n_texts)))
    with pytest.raises(ValueError, match="no teacher: set `teacher`"):
        DeGLA()(batch, Scores(attached(Cosine()), batch))
