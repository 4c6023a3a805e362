import pytest
import torch

from tests.support.helpers import Case, attached, random_case, random_pooled, random_tokens
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.heads.max_sim import MaxSim
from zoo.scores import Block, Columns, Scores


class Counting(Cosine):
    blocks = 0

    def block(self, images: Encoded, texts: Encoded) -> torch.Tensor:
        self.blocks += 1
        return super().block(images, texts)


def scores_of(
    case: Case, head: Cosine | None = None, hashes: torch.Tensor | None = None, **masks: bool
) -> Scores:
    head = attached(head or Cosine())
    images, texts = (
        Encoded(random_pooled(0, len(case.captions))),
        Encoded(random_pooled(1, case.n_texts)),
    )
    return Scores(head, case.batch(images, texts, hashes), **masks)


def two_rows_of_one_image() -> Case:
    return Case(
        captions=torch.tensor([0, 1, 0, -1]),
        negatives=torch.tensor([[2, -1], [-1, -1], [3, 2], [-1, -1]]),
        units=torch.tensor([[1], [-1], [2], [-1]]),
        foils=torch.tensor([[-1], [-1], [3], [-1]]),
        image_ids=torch.tensor([7, 7, 8, 0]),
        n_texts=4,
    )


def test_an_encoded_batch_is_demanded() -> None:
    case = random_case(0)
    with pytest.raises(TypeError, match="encoded"):
        Scores(
            attached(Cosine()),
            case.batch(torch.zeros(6, 3, 2, 2), Encoded(random_pooled(0, case.n_texts))),
        )  # type: ignore[arg-type]


def test_a_block_is_made_once() -> None:
    case = random_case(0)
    head = Counting()
    scores = scores_of(case, head)
    scores.images_against(case.captions)
    scores.texts_against_images(case.captions)
    scores.images_against(case.captions)
    assert head.blocks == 1
    for column in case.units.T:
        scores.images_against(column)
    assert head.blocks == 3


def test_blocks_of_other_rows_are_told_apart_though_they_begin_at_one_place_in_memory() -> None:
    case = random_case(0)
    for several in (case.negatives, case.units):
        first = several[:, :1]
        asked = [several, first, first[:, 0], several.reshape(-1)[: len(several)]]
        assert len({rows.data_ptr() for rows in asked}) == 1
        remembering = scores_of(case)
        for rows in asked:
            found, expected = (
                scores.images_against(rows, true=False) for scores in (remembering, scores_of(case))
            )
            torch.testing.assert_close(found.logits, expected.logits)


def test_texts_that_are_not_true_have_no_match_and_are_never_masked() -> None:
    """The same rows, asked for as true texts and as others."""
    case = two_rows_of_one_image()
    scores = scores_of(case, mask_same_image=True, mask_same_text=True)
    true, others = (scores.images_against(case.captions, true=true) for true in (True, False))
    assert true.match is not None
    assert others.match is None
    assert others.candidate.tolist() == [[True, True, True, False]] * 4
    assert true.candidate[0].tolist() == [True, False, False, False]


def test_missing_texts_and_filling_are_no_candidates() -> None:
    case = two_rows_of_one_image()
    scores = scores_of(case)
    assert (
        scores.images_against(case.captions).candidate.tolist() == [[True, True, True, False]] * 4
    )
    assert scores.images_against(case.negatives, true=False).candidate[0].tolist() == [
        True,
        False,
        False,
        False,
        True,
        True,
        False,
        False,
    ]
    assert scores.own_texts(case.captions).candidate.tolist() == [[True], [True], [True], [False]]
    assert scores.own_texts(case.foils).candidate.tolist() == [[False], [False], [True], [False]]
    assert (
        scores.texts_against_images(case.units[:, 0]).candidate.tolist()
        == [[True, True, True, False]] * 4
    )


def test_own_scores_are_each_images_with_its_texts() -> None:
    case = two_rows_of_one_image()
    scores = scores_of(case)
    everything = scores.images_against(torch.arange(4)).logits
    own = scores.own_texts(case.negatives)
    for i, row in enumerate(case.negatives.tolist()):
        for k, text in enumerate(row):
            if text >= 0:
                assert own.logits[i, k].item() == pytest.approx(everything[i, text].item())


def test_masks_drop_true_texts_alone_and_never_the_own() -> None:
    case = two_rows_of_one_image()
    same_image = scores_of(case, mask_same_image=True)
    assert same_image.images_against(case.captions).candidate[:3, :3].tolist() == [
        [True, False, True],
        [False, True, True],
        [True, True, True],
    ]
    same_text = scores_of(case, mask_same_text=True)
    assert same_text.images_against(case.captions).candidate[0].tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert same_text.images_against(case.negatives, true=False).candidate[0].sum() == 3
    both = scores_of(case, mask_same_image=True, mask_same_text=True)
    assert both.texts_against_images(case.captions).candidate[0].tolist() == [
        True,
        False,
        False,
        False,
    ]


def test_same_words_are_known_by_their_hash() -> None:
    case = two_rows_of_one_image()
    scores = scores_of(case, hashes=torch.tensor([5, 5, 6, 7]), mask_same_text=True)
    assert scores.images_against(case.captions).candidate[1].tolist() == [False, True, False, False]


def test_an_image_of_ones_own_image_is_masked_though_its_unit_is_missing() -> None:
    case = two_rows_of_one_image()
    block = scores_of(case, mask_same_image=True).texts_against_images(case.units[:, 0])
    assert block.candidate[0].tolist() == [True, False, True, False]


def test_an_image_whose_unit_is_missing_has_the_words_of_none() -> None:
    case = two_rows_of_one_image()
    case.units[:, 0] = torch.tensor([0, -1, 0, -1])
    block = scores_of(case, mask_same_text=True).texts_against_images(case.units[:, 0])
    assert block.candidate[0].tolist() == [True, True, False, False]


def test_false_negatives_are_found_among_other_columns() -> None:
    """Three rows are real: 6 ordered pairs. Rows 0 and 1 have one image, 0 and 2 one caption."""

    def pairs(scores: Scores) -> dict[str, int]:
        masks, is_other = scores.false_negatives()
        assert int(is_other.sum()) == 6
        return {name: int((mask & is_other).sum()) for name, mask in masks.items()}

    assert pairs(scores_of(two_rows_of_one_image())) == {"same_image": 2, "same_text": 2}
    alike = two_rows_of_one_image()
    alike.captions[1] = 0
    assert pairs(scores_of(alike)) == {"same_image": 2, "same_text": 6}


def test_the_mean_is_over_what_is_valid() -> None:
    scores = scores_of(random_case(0))
    values = torch.tensor([1.0, torch.inf, 5.0], requires_grad=True)
    mean = scores.mean(values, torch.tensor([True, False, True]))
    mean.backward()
    assert mean.item() == 3
    assert values.grad.tolist() == [0.5, 0, 0.5]
    nothing = scores.mean(values, torch.zeros(3, dtype=torch.bool))
    assert nothing.item() == 0
    assert nothing.requires_grad


def test_a_block_counts_a_tie_as_wrong() -> None:
    logits = torch.tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 3.0], [0.0, 2.0, 1.0]])
    candidate = torch.tensor([[True, True, True], [True, True, False], [True, True, True]])
    block = Block(logits, torch.tensor([0, 1, 1]), candidate)
    assert block.correct().tolist() == [False, True, True]


def test_rows_that_are_not_valid_cost_nothing_and_break_no_gradient() -> None:
    logits = torch.zeros(2, 2, requires_grad=True)
    block = Block(logits, torch.tensor([0, 1]), torch.tensor([[True, True], [False, False]]))
    loss = block.cross_entropy(torch.tensor([True, False]))
    loss.sum().backward()
    assert loss[1] == 0
    assert logits.grad[1].tolist() == [0, 0]
    assert logits.grad[0].tolist() == [-0.5, 0.5]


def test_own_scores_have_no_match_to_be_right_about() -> None:
    case = random_case(0)
    block = scores_of(case).own_texts(case.captions)
    with pytest.raises(ValueError, match="matches"):
        block.cross_entropy(case.captions >= 0)
    with pytest.raises(ValueError, match="matches"):
        block.correct()


def test_image_tokens_never_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    head, case, sent = attached(MaxSim()), random_case(0), []
    monkeypatch.setattr("zoo.support.distributed.gather", lambda x: (sent.append(x.shape), x)[1])
    (image_key,), (text_key,) = head.needs.image_keys, head.needs.text_keys
    patches, words = (
        random_tokens(0, 6, image_key, image=True),
        random_tokens(1, case.n_texts, text_key, image=False),
    )
    images = Encoded(random_pooled(0, 6), {image_key: patches[0]}, {image_key: patches[1]})
    texts = Encoded(random_pooled(1, case.n_texts), {text_key: words[0]}, {text_key: words[1]})
    scores = Scores(head, case.batch(images, texts))
    scores.texts_against_images(case.captions)
    scores.images_against(case.negatives, true=False)
    assert (6, *words[0].shape[1:]) in sent
    assert not [shape for shape in sent if tuple(shape[1:]) == tuple(patches[0].shape[1:])]


def with_tokens(case: Case, **settings: bool) -> Scores:
    """Returns scores through MaxSim, in fp32, of a case with negative images."""
    head = attached(MaxSim())
    (image_key,), (text_key,) = head.needs.image_keys, head.needs.text_keys
    items = []
    sides = ((2 * len(case.captions), image_key), (case.n_texts, text_key))
    for side, (n, key) in enumerate(sides):
        tokens, mask = random_tokens(side, n, key, image=side == 0)
        pooled = random_pooled(side, n).float()
        items.append(Encoded(pooled, {key: tokens.float()}, {key: mask}))
    return Scores(head, case.batch(*items), **settings)


def test_texts_travel_once_in_whatever_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    case, sent = random_case(0), []
    monkeypatch.setattr("zoo.support.distributed.gather", lambda x: (sent.append(x.ndim), x)[1])
    scores = with_tokens(case)
    turned, others = scores.swap_negative_images()
    for of, batch in ((scores, scores.batch), (others, turned)):
        of.images_against(batch.captions)
        of.images_against(batch.captions, true=False)
        of.images_against(batch.negatives, true=False)
        of.text_columns(batch.negatives)
    assert sent.count(3) == 2  # tokens of captions and of negatives
    there = turned.captions >= 0
    found = others.text_columns(turned.captions)
    assert torch.equal(found.exists, there)
    wanted = scores.head.prepare_texts(others.texts.rows(turned.captions[there]))
    assert torch.equal(found.items.pooled[there], wanted.pooled)


def test_tokens_travel_in_bf16_where_asked_and_pooled_vectors_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case, sent = random_case(0), []

    def both(x: torch.Tensor) -> torch.Tensor:
        sent.append((x.ndim, x.dtype))
        return torch.cat([x, x])

    whole = with_tokens(case).text_columns(case.captions).items
    monkeypatch.setattr("zoo.support.distributed.gather", both)
    monkeypatch.setattr("zoo.support.distributed.world_size", lambda: 2)
    monkeypatch.setattr("zoo.support.distributed.max_over_ranks", lambda value, device: value)
    scores = with_tokens(case, tokens_in_bf16=True)
    items = scores.text_columns(case.captions).items
    assert (3, torch.bfloat16) in sent
    assert (3, torch.float32) not in sent
    assert torch.equal(items.pooled, torch.cat([whole.pooled] * 2))
    (tokens,), (expected,) = items.tokens.values(), whole.tokens.values()
    assert tokens.dtype == torch.float32
    assert torch.equal(tokens, torch.cat([expected.bfloat16().float()] * 2))


def test_columns_are_those_of_the_blocks_and_can_be_asked_for_by_themselves() -> None:
    case = random_case(0)
    scores = scores_of(case)
    for rows in (case.captions, case.negatives):
        block = scores.images_against(rows, true=False)
        found = scores.images_against_columns(scores.text_columns(rows))
        assert torch.equal(found.logits, block.logits)
        assert torch.equal(found.candidate, block.candidate)
    block = scores.texts_against_images(case.captions)
    found = scores.texts_against_columns(case.captions, scores.image_columns())
    real = scores.rows
    torch.testing.assert_close(found.logits[real], block.logits[real])
    assert torch.equal(found.candidate, block.candidate)
    assert found.match is None


def test_what_another_batch_left_is_scored_as_a_loop_over_it_says() -> None:
    now, before = scores_of(random_case(0)), scores_of(random_case(1, rows=4))
    texts, images = before.text_columns(before.batch.negatives), before.image_columns()
    found = now.images_against_columns(texts).concatenate(now.images_against_columns(texts))
    rows = now.batch.captions
    of_texts = now.texts_against_columns(rows, images)
    unit = torch.nn.functional.normalize
    for i in range(len(rows)):
        image, text = unit(now.images.pooled[i], dim=0), unit(now.texts.pooled[rows[i]], dim=0)
        for j, row in enumerate(before.batch.negatives.flatten().tolist()):
            if row < 0:
                assert not found.candidate[i, j]
                continue
            other = unit(before.texts.pooled[row], dim=0)
            torch.testing.assert_close(found.logits[i, j], now.head.scale * (image @ other))
        for j in range(len(images.items)):
            other = unit(before.images.pooled[j], dim=0)
            if rows[i] >= 0:
                torch.testing.assert_close(of_texts.logits[i, j], now.head.scale * (text @ other))
    assert of_texts.candidate.tolist() == [before.rows.tolist()] * len(rows)


def test_columns_of_another_form_than_the_heads_are_refused() -> None:
    scores = scores_of(random_case(0))
    narrow = Columns(Encoded(torch.zeros(3, 4)), torch.ones(3, dtype=torch.bool))
    for asked, method in (
        (lambda: scores.images_against_columns(narrow), "text_columns"),
        (lambda: scores.texts_against_columns(scores.rows.long(), narrow), "image_columns"),
    ):
        with pytest.raises(
            ZooError,
            match=r"have vectors of 4 numbers and 0 sets of tokens, and Cosine prepares vectors of "
            rf"6 .*store all that scores\.{method} returns",
        ):
            asked()


class Transposed(Cosine):
    def block(self, images: Encoded, texts: Encoded) -> torch.Tensor:
        return super().block(images, texts).T


class Columned(Cosine):
    def pairs(
        self, images: Encoded, texts: Encoded, i: torch.Tensor, j: torch.Tensor
    ) -> torch.Tensor:
        return super().pairs(images, texts, i, j)[:, None]


class Bare(Cosine):
    def prepare_texts(self, texts: Encoded) -> Encoded:
        return texts.pooled  # type: ignore[return-value]


def test_a_head_that_gives_something_else_is_told_what_is_wanted() -> None:
    case = random_case(0, negatives=3)
    with pytest.raises(
        ZooError,
        match=r"Transposed\.block returned logits of shape \(18, 6\), not \(6, 18\)",
    ):
        scores_of(case, Transposed()).images_against(case.negatives, true=False)
    with pytest.raises(
        ZooError,
        match=r"Columned\.pairs returned logits of shape \(18, 1\), not \(18,\)",
    ):
        scores_of(case, Columned()).own_texts(case.negatives)
    with pytest.raises(
        ZooError, match=r"Bare\.prepare_texts returned a Tensor: return an Encoded of zoo\.batch"
    ):
        scores_of(case, Bare())
