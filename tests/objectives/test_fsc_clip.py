import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from tests.objectives.loops import Formulas, average, cosine_score, zero
from tests.objectives.parity import assert_same
from tests.support.helpers import SHAPES, Case, attached, random_case, random_pooled, random_tokens
from zoo.batch import Encoded, TokenKey
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.heads.max_sim import MaxSim
from zoo.objectives.base import Loss
from zoo.objectives.fsc_clip import (
    FSCCLIP,
    Weights,
    attention_weights,
    bound_rounding_difference,
    smoothed_focal_losses,
)
from zoo.scores import Scores
from zoo.support.configurable import to_config

KEY = TokenKey()


class Tokens:
    """Random encoded sides of a case, image 1 with a patch fewer than the others.

    With `constant`, all patches of image 0 are equal.
    """

    def __init__(self, case: Case, seed: int, constant: bool = False) -> None:
        self.case, self.head = case, attached(Cosine(scale=3.0))
        self.images, self.texts = (
            random_pooled(seed, len(case.captions)),
            random_pooled(seed + 1, case.n_texts),
        )
        self.patches, self.patch_mask = random_tokens(seed + 2, len(case.captions), KEY, image=True)
        self.patch_mask[1, -1] = False
        self.words, self.word_mask = random_tokens(seed + 3, case.n_texts, KEY, image=False)
        self.word_mask[case.captions[0]] = (
            torch.arange(self.word_mask.shape[1]) < 2
        )  # a caption of one token behind the start
        if constant:
            self.patches.data[0] = torch.ones_like(self.patches[0])
        self.leaves = [self.images, self.texts, self.patches, self.words, self.head.log_scale]

    def loss(self, objective: FSCCLIP) -> Loss:
        batch = self.case.batch(*self.sides())
        return objective(batch, Scores(self.head, batch))

    def local(self, objective: FSCCLIP, dtype: torch.dtype = torch.float64) -> Tensor:
        images, texts = (
            side.map(lambda t: t.to(dtype) if t.is_floating_point() else t) for side in self.sides()
        )
        return objective.local_logits(
            self.case.captions[:, None], SimpleNamespace(head=self.head, images=images, texts=texts)
        )  # type: ignore[arg-type]

    def sides(self) -> tuple[Encoded, Encoded]:
        images = Encoded(self.images, {KEY: self.patches}, {KEY: self.patch_mask})
        return images, Encoded(self.texts, {KEY: self.words}, {KEY: self.word_mask})


def dot(x: Tensor, y: Tensor) -> Tensor:
    return sum((a * b for a, b in zip(x, y, strict=True)), start=zero())


def map_weights(similarities: list[Tensor], kind: str) -> list[Tensor]:
    """Eq. 6 and appendix B.1, with the sum of Eq. 7 divided out."""
    low, high, n = min(similarities), max(similarities), len(similarities)
    if kind == "softmax":
        a = [s.exp() for s in similarities]
    elif low == high:
        a = [zero() + 1] * n
    else:
        a = [(s - low) / (high - low) for s in similarities]
        a = [zero() if kind == "minmax_sparse" and x < 1 / n else x for x in a]
    return [x / sum(a) for x in a]


def local_score(given: Tokens, i: int, t: int, objective: FSCCLIP) -> Tensor:
    """S_l of Eq. 8, or the mean over tokens in place of its sum."""
    values = []
    for w in range(0 if objective.start_token else 1, given.words.shape[1]):
        if given.word_mask[t, w]:
            word, patches = given.words[t, w], given.patches[i][given.patch_mask[i]]
            similarities = [dot(word, p) for p in patches]
            a = map_weights(
                [s.detach() if objective.detach_map else s for s in similarities], objective.weights
            )
            aligned = [
                sum(x * p[d] for x, p in zip(a, patches, strict=True)) for d in range(len(word))
            ]
            aligned = torch.stack(aligned)
            cosine = dot(aligned, word) / dot(aligned, aligned).sqrt() / dot(word, word).sqrt()
            scale = (
                given.head.log_scale.exp()
                if objective.local_scale is None
                else objective.local_scale
            )
            values.append((cosine * scale).exp())
    return sum(values) if objective.pooling == "sum" else average(values)


def focal(scores: list[Tensor], gamma: float, beta: float) -> Tensor:
    """Eqs. 9 and 10 of S of the caption and of its negatives."""
    total = zero()
    for k, score in enumerate(scores):
        p = score / sum(scores)
        y = (1 - beta) * (k == 0) + beta / len(scores)
        total = total - (1 - p) ** gamma * y * p.log()
    return total


def formula(given: Tokens, objective: FSCCLIP) -> Tensor:
    """Eq. 11."""
    cosine = cosine_score(given.images, given.texts, given.head.log_scale)
    formulas, terms = Formulas(given.case, cosine), {"global": [], "local": []}
    for i in formulas.real:
        negatives = [t for t in given.case.negatives[i].tolist() if t >= 0]
        texts = [int(given.case.captions[i]), *negatives]
        if negatives or objective.mean_over == "all":
            terms["global"].append(
                focal([cosine(i, t).exp() for t in texts], objective.gamma, objective.beta)
            )
            terms["local"].append(
                focal(
                    [local_score(given, i, t, objective) for t in texts],
                    objective.gamma,
                    objective.beta,
                )
            )
    clip = formulas.clip()
    return (
        clip
        + objective.lambda_g * average(terms["global"])
        + objective.lambda_l * average(terms["local"])
    )


@pytest.mark.parametrize(
    ("weights", "detach"),
    list(itertools.product(["minmax", "minmax_sparse", "softmax"], [True, False])),
)
@pytest.mark.parametrize("constant", [False, True])
def test_fsc_clip_equals_equation_11(weights: str, detach: bool, constant: bool) -> None:
    given = Tokens(random_case(2, rows=4), seed=7, constant=constant)
    objective = FSCCLIP(weights=weights, detach_map=detach)  # type: ignore[arg-type]
    assert_same(given.loss(objective).total, formula(given, objective), given.leaves)


@pytest.mark.parametrize(
    "arguments",
    [
        {"gamma": 0.0},
        {"gamma": 0.5},
        {"beta": 0.0},
        {"rows": "all"},
        {"start_token": True},
        {"pooling": "mean"},
        {"lambda_g": 1.0},
        {"local_scale": 5.0},
    ],
    ids=str,
)
def test_every_option_equals_its_formula(arguments: dict[str, object]) -> None:
    given = Tokens(random_case(4, rows=4, missing=0.6), seed=11)
    objective = FSCCLIP(**arguments)  # type: ignore[arg-type]
    assert_same(given.loss(objective).total, formula(given, objective), given.leaves)


def test_a_detached_map_changes_the_gradient_and_not_the_value() -> None:
    given = Tokens(random_case(2), seed=3)
    kept, cut = (
        given.loss(FSCCLIP(detach_map=False)).total,
        given.loss(FSCCLIP(detach_map=True)).total,
    )
    assert kept.item() == pytest.approx(cut.item(), rel=1e-12)
    a, b = (torch.autograd.grad(x, given.patches)[0] for x in (kept, cut))
    assert not torch.allclose(a, b)


@pytest.mark.parametrize("negatives", [0, 2])
def test_no_negative_at_all_leaves_clip_with_a_graph_to_everything(negatives: int) -> None:
    given = Tokens(random_case(1, negatives=negatives, missing=1.0), seed=5)
    loss = given.loss(FSCCLIP())
    assert loss.total.item() == loss.parts["clip"].item()
    gradients = torch.autograd.grad(
        loss.total, given.leaves
    )  # raises where no graph leads to a leaf
    assert all(g.isfinite().all() for g in gradients)


def test_a_row_without_a_caption_has_no_term_whatever_its_negatives() -> None:
    given = Tokens(random_case(4, rows=4), seed=11)
    assert given.case.captions[-1] < 0
    expected = given.loss(FSCCLIP()).total.item()
    given.case.negatives[-1] = 0
    assert given.loss(FSCCLIP()).total.item() == pytest.approx(expected, rel=1e-12)


def test_terms_of_no_weight_ask_for_nothing() -> None:
    assert FSCCLIP().needs.image_keys == {KEY}
    assert FSCCLIP(lambda_l=0).needs.text_keys == frozenset()
    assert FSCCLIP(lambda_l=0).needs.negatives
    assert not FSCCLIP(lambda_l=0, lambda_g=0).needs.negatives


def test_a_missing_negative_is_no_logit_of_zero() -> None:
    logits = torch.tensor([[-3.0, -5.0, 0.0]], dtype=torch.float64)
    candidate = torch.tensor([[True, True, False]])
    loss = smoothed_focal_losses(logits, candidate, torch.tensor([True]), gamma=2.0, beta=0.0)
    p = 1 / (1 + math.exp(-2))
    assert loss.item() == pytest.approx((1 - p) ** 2 * -math.log(p), rel=1e-12)


def test_labels_are_smoothed_over_what_is_there() -> None:
    loss = smoothed_focal_losses(
        torch.zeros(1, 3),
        torch.tensor([[True, True, False]]),
        torch.tensor([True]),
        gamma=0.0,
        beta=0.02,
    )
    assert loss.item() == pytest.approx(math.log(2))  # labels 0.99 and 0.01 sum to 1


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_a_certain_prediction_keeps_gradients_finite(gamma: float) -> None:
    logits = torch.tensor([[500.0, -500.0]], requires_grad=True)
    smoothed_focal_losses(
        logits, torch.tensor([[True, True]]), torch.tensor([True]), gamma, beta=0.0
    ).sum().backward()
    assert logits.grad.isfinite().all()


def test_attention_worked_by_hand() -> None:
    similarity, mask = torch.tensor([[0.0, 1.0, 4.0, 9.0]]), torch.tensor([True, True, True, False])
    torch.testing.assert_close(
        attention_weights(similarity, mask, "minmax", 0.0), torch.tensor([[0.0, 0.2, 0.8, 0.0]])
    )
    torch.testing.assert_close(
        attention_weights(similarity, mask, "minmax_sparse", 0.0),
        torch.tensor([[0.0, 0.0, 1.0, 0.0]]),
    )
    torch.testing.assert_close(
        attention_weights(torch.ones(1, 4), mask, "minmax", 0.0),
        torch.tensor([[1.0, 1.0, 1.0, 0.0]]) / 3,
    )
    torch.testing.assert_close(
        attention_weights(similarity, mask, "minmax", 4.0), torch.tensor([[1.0, 1.0, 1.0, 0.0]]) / 3
    )


@pytest.mark.parametrize("padding", [-9.0, 9.0])
@pytest.mark.parametrize("kind", ["minmax", "minmax_sparse", "softmax"])
def test_a_patch_that_is_none_changes_no_weight_of_others(kind: Weights, padding: float) -> None:
    similarity = torch.tensor([[0.5, -1.0, 3.0]])
    alone = attention_weights(similarity, torch.tensor([True, True, True]), kind, 0.0)
    wider = torch.cat([similarity, torch.tensor([[padding]])], dim=1)
    found = attention_weights(wider, torch.tensor([True, True, True, False]), kind, 0.0)
    torch.testing.assert_close(found, torch.cat([alone, torch.zeros(1, 1)], dim=1))


@pytest.mark.parametrize("kind", ["minmax", "minmax_sparse"])
@pytest.mark.parametrize("width", [6, 63, 512, 1151])
def test_equal_patches_get_equal_weights_though_their_products_are_rounded(
    kind: Weights, width: int
) -> None:
    """Each product is summed in an order of its own, as kernels do at the edges of their blocks."""
    generator = torch.Generator().manual_seed(width)
    patches = torch.randn(2, 1, width, generator=generator).expand(-1, 49, -1).contiguous()
    words = 5 * torch.randn(2, 3, 77, width, generator=generator) + 1
    orders = torch.stack([torch.randperm(width, generator=generator) for _ in range(49)])
    products = words * patches[:, None, :1]
    similarity = torch.stack([products[..., order].sum(-1) for order in orders], dim=-1)
    assert (similarity.amax(-1) > similarity.amin(-1)).float().mean() > 0.5
    patches[:, -2:] *= 1000
    real = torch.arange(49).expand(2, -1) < 47
    found = attention_weights(
        similarity, real[:, None, None], kind, bound_rounding_difference(words, patches, real)
    )
    torch.testing.assert_close(found, (real / 47)[:, None, None].expand_as(found))


def test_a_map_that_varies_by_little_is_no_constant() -> None:
    generator = torch.Generator().manual_seed(0)
    patches = torch.randn(1, 1, 512, generator=generator).expand(-1, 49, -1).contiguous()
    words = torch.randn(1, 1, 9, 512, generator=generator)
    patches[:, 0] += 1e-2 * torch.randn(512, generator=generator)
    real = (torch.arange(49) < 47)[None]
    patches[:, 47:] *= 1e6  # what is no patch says nothing about rounding
    similarity = torch.einsum("bkwd,bpd->bkwp", words, patches)[..., :47]
    spread = similarity.amax(-1) - similarity.amin(-1)
    assert (spread > bound_rounding_difference(words, patches, real)[..., 0]).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beta", -0.1),
        ("beta", 1.1),
        ("gamma", -1.0),
        ("gamma", math.nan),
        ("lambda_g", -0.5),
        ("lambda_l", -0.2),
        ("local_scale", 0.0),
    ],
)
def test_numbers_out_of_range_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ZooError, match=rf"FSCCLIP\({name}={value}\): give a "):
        FSCCLIP(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("head", "expected"),
    [(Cosine(scale=3.0), 3.0), (MaxSim(scale=3.0), 3.0), (Linear(), 7.0), (CrossModal(), 7.0)],
)
def test_the_local_term_runs_at_the_temperature_of_cosines(head: Head, expected: float) -> None:
    """The scale of a map or of a transformer starts at 1.

    That of the towers' own vectors is 7.
    """
    given, objective = Tokens(random_case(4, rows=4), seed=11), FSCCLIP()
    given.head = attached(head)
    objective.attach(SHAPES, given.head, trains=True)
    torch.testing.assert_close(given.local(objective), given.local(FSCCLIP(local_scale=expected)))


def test_half_tokens_are_compared_in_fp32_also_under_autocast() -> None:
    given, objective = Tokens(random_case(2, rows=4), seed=7), FSCCLIP(local_scale=5.0)
    for tokens in (given.patches, given.words):
        tokens.data = tokens.data.bfloat16().double()
    with torch.autocast("cpu", torch.bfloat16):
        found = given.local(objective, torch.bfloat16)
    assert found.dtype is torch.float32
    torch.testing.assert_close(found.double(), given.local(objective), rtol=1e-5, atol=1e-5)


def test_the_local_term_asks_for_the_tokens_that_are_named() -> None:
    needs = FSCCLIP(layer=-2, project=False, cls_patch=True).needs
    assert needs.image_keys == {TokenKey(-2, project=False, prefix=True)}
    assert needs.text_keys == {TokenKey(-2, project=False)}


def test_a_checkpoint_records_the_scale_that_came_from_the_backbone() -> None:
    fixed, learned = FSCCLIP(), FSCCLIP()
    fixed.attach(SHAPES, attached(Linear()), trains=True)
    learned.attach(SHAPES, attached(Cosine()), trains=True)
    assert to_config(fixed)["init_args"]["local_scale"] == 7.0
    assert to_config(learned)["init_args"]["local_scale"] is None
    fixed.attach(SHAPES, attached(Cosine()), trains=True)
    assert to_config(fixed)["init_args"]["local_scale"] is None


def test_raw_tokens_of_two_widths_are_refused_when_the_model_is_built() -> None:
    head = attached(Cosine())
    with pytest.raises(
        ZooError, match="patches of width 5 with text tokens of width 3: set project to true, or"
    ):
        FSCCLIP(project=False).attach(SHAPES, head, trains=True)
    FSCCLIP(project=False).attach(replace(SHAPES, text_width=5), head, trains=True)
    FSCCLIP(project=False, lambda_l=0.0).attach(SHAPES, head, trains=True)


@pytest.mark.parametrize(
    ("objective", "head"),
    [
        (FSCCLIP(), Cosine(learn_scale=False)),
        (FSCCLIP(), Linear()),
        (FSCCLIP(local_scale=9.0), Cosine()),
    ],
)
def test_a_local_term_that_trains_nothing_is_refused_when_the_model_is_built(
    objective: FSCCLIP, head: Head
) -> None:
    with pytest.raises(
        ZooError,
        match=r"has no trained parameters: .* frozen .*Set lambda_l to 0, or train a tower",
    ):
        objective.attach(SHAPES, attached(head), trains=False)
    objective.attach(SHAPES, head, trains=True)
    FSCCLIP(lambda_l=0.0).attach(SHAPES, head, trains=False)
    FSCCLIP().attach(SHAPES, attached(Cosine()), trains=False)
