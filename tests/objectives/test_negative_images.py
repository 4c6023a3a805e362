"""Losses with negative images, CoN-CLIP's and TripletCLIP's, as loops."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Score, average, cosine_score, surprise
from tests.objectives.parity import assert_same, loss_of
from tests.support.helpers import Case, attached, random_case, random_pooled
from zoo.batch import Encoded
from zoo.heads.cosine import Cosine
from zoo.objectives.con_clip import CoNCLIP
from zoo.objectives.triplet_clip import TripletCLIP
from zoo.scores import Scores

Pairs = list[tuple[int, int]]  # an image with its text


def pairs(case: Case) -> tuple[Pairs, Pairs]:
    """Returns images with captions, and negative images with the negatives that they show."""
    assert case.negative_images is not None
    captions = case.captions.tolist()
    real = [(i, t) for i, t in enumerate(captions) if t >= 0]
    turned = [
        (v, n)
        for v, n in zip(case.negative_images.tolist(), case.negatives[:, 0].tolist(), strict=True)
        if v >= 0 and n >= 0
    ]
    return real, turned


def over_texts(score: Score, asked: Pairs, further: list[int]) -> Tensor:
    texts = [t for _, t in asked] + further
    return average([surprise(score(i, t), [score(i, u) for u in texts]) for i, t in asked])


def over_images(score: Score, asked: Pairs, further: list[int]) -> Tensor:
    images = [i for i, _ in asked] + further
    return average([surprise(score(i, t), [score(j, t) for j in images]) for i, t in asked])


def con_clip(case: Case, score: Score) -> Tensor:
    real, turned = pairs(case)
    negatives = [n for n in case.negatives.flatten().tolist() if n >= 0]
    first = over_texts(score, real, negatives)
    second = over_images(score, real, [v for v, _ in turned])
    third = over_texts(score, turned, [t for _, t in real])
    return (first + second + third) / 3


def triplet_clip(case: Case, score: Score) -> Tensor:
    real, turned = pairs(case)
    negatives = [n for n in case.negatives.flatten().tolist() if n >= 0]
    one = over_texts(score, real, negatives) + over_images(score, real, [])
    other = over_texts(score, turned, [t for _, t in real]) + over_images(score, turned, [])
    return (one + other) / 2


@pytest.mark.parametrize(
    ("seed", "which"),
    list(product(range(3), [(CoNCLIP, con_clip), (TripletCLIP, triplet_clip)])),
)
def test_a_loss_with_negative_images_equals_its_formula(seed: int, which: tuple) -> None:
    objective, formula = which
    case, head = random_case(seed), attached(Cosine(scale=3.0))
    images, texts = random_pooled(seed, 12), random_pooled(seed + 1000, case.n_texts)
    loss = loss_of(objective(), head, case, Encoded(images), Encoded(texts))
    expected = formula(case, cosine_score(images, texts, head.log_scale))
    assert_same(loss.total, expected, [images, texts, head.log_scale])


def test_negative_images_of_one_image_s_rows_stay_candidates() -> None:
    case, rows = random_case(0), torch.arange(6)
    case = replace(case, captions=rows, negatives=rows[:, None] + 6, image_ids=rows * 0)
    case = replace(case, negative_images=torch.tensor([6, 7, 8, 9, 10, -1]), n_texts=12)
    batch = case.batch(Encoded(random_pooled(0, 12)), Encoded(random_pooled(1, 12)))
    scores = Scores(attached(Cosine()), batch, mask_same_image=True)
    assert torch.equal(scores.images_against(batch.captions).candidate, torch.eye(6).bool())
    turned, others = scores.swap_negative_images()
    there = torch.tensor([True] * 5 + [False]).expand(6, 6)
    assert torch.equal(others.images_against(turned.captions).candidate, there)
    assert torch.equal(others.texts_against_images(batch.captions).candidate, there)


def test_negatives_with_the_same_words_are_no_candidates_where_those_are_masked() -> None:
    case, rows = random_case(0), torch.arange(6)
    negatives = torch.tensor([6, 7, 6, 9, 10, 11])
    case = replace(case, captions=rows, negatives=negatives[:, None], image_ids=rows, n_texts=12)
    case = replace(case, negative_images=rows + 6)
    batch = case.batch(Encoded(random_pooled(0, 12)), Encoded(random_pooled(1, 12)))
    for masked in (False, True):
        scores = Scores(attached(Cosine()), batch, mask_same_text=masked)
        turned, others = scores.swap_negative_images()
        expected = torch.ones(6, 6, dtype=torch.bool)
        expected[0, 2] = expected[2, 0] = not masked
        assert torch.equal(others.images_against(turned.captions).candidate, expected)
        assert torch.equal(others.texts_against_images(turned.captions).candidate, expected)


@pytest.mark.parametrize("objective", [CoNCLIP, TripletCLIP])
def test_rows_without_negative_images_give_no_term_and_finite_gradients(
    objective: type[CoNCLIP | TripletCLIP],
) -> None:
    case = random_case(0)
    assert case.negative_images is not None
    case.negative_images.fill_(-1)
    images = random_pooled(0, 6)
    texts = Encoded(random_pooled(1, case.n_texts))
    loss = loss_of(objective(), attached(Cosine()), case, Encoded(images), texts)
    loss.total.backward()
    assert loss.parts["negative" if objective is TripletCLIP else "negative_image"] == 0
    assert images.grad is not None
    assert images.grad.isfinite().all()
