"""Each protocol against the official rule, written out as loops, on random scores full of ties."""

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from zoo.benchmarks.base import Case
from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, protocol_name, resolve_protocol
from zoo.benchmarks.protocols.by_kind import VideoByKind
from zoo.benchmarks.protocols.recall import Recall, ranks
from zoo.errors import ZooError
from zoo.results.outcomes import outcome_rows
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef


def case(match: np.ndarray, protocol: Protocol | str) -> Case:
    images = tuple(ImageRef("file", f"{i}.jpg") for i in range(match.shape[0]))
    return Case(
        images, tuple(f"text {j}" for j in range(match.shape[1])), match, protocol, "subset", "case"
    )


def tied_scores(n: int, m: int, trials: int = 300) -> Iterator[np.ndarray]:
    """Scores of few values, so that ties are common."""
    generator = np.random.default_rng(0)
    for _ in range(trials):
        yield generator.integers(0, 4, (n, m)).astype(np.float32)


def by_metric(outcomes: list[Outcome]) -> dict[str, Outcome]:
    assert len({o.metric for o in outcomes}) == len(outcomes)
    return {o.metric: o for o in outcomes}


def test_image_to_text_is_sugarcrepes_strict_comparison() -> None:
    for scores in tied_scores(1, 2):
        outcome = by_metric(case(np.array([[True, False]]), "i2t").judge(scores))["i2t"]
        assert outcome.right == (scores[0, 0] > scores[0, 1])
        assert outcome.tie == (scores[0, 0] == scores[0, 1])


def test_order_sets_are_right_where_argmax_takes_the_first_or_ties_count() -> None:
    for scores in tied_scores(1, 5):
        outcome = case(np.array([[True, False, False, False, False]]), "i2t").judge(scores)[0]
        assert (outcome.right or outcome.tie) == (np.argmax(scores[0]) == 0)
        assert outcome.right == (scores[0, 0] > max(scores[0, 1:]))


def test_visual_genome_sets_are_wrong_where_argmax_takes_the_false_caption_before() -> None:
    for scores in tied_scores(1, 2):
        outcome = case(np.array([[False, True]]), "i2t").judge(scores)[0]
        assert outcome.right == (np.argmax(scores[0]) == 1)


def test_argmax_takes_the_first_of_equals_wherever_the_answer_stands() -> None:
    for answer in range(4):
        asked = replace(case(np.arange(4)[None] == answer, "i2t"), argmax=True)
        for scores in tied_scores(1, 4):
            (outcome,) = asked.judge(scores)
            counted = outcome.right or (outcome.tie and asked.tie_is_right(outcome))
            best = 0
            for k in range(4):
                if scores[0, k] > scores[0, best]:
                    best = k
            assert counted == (best == answer)
            (row,) = outcome_rows(BenchmarkRun("b"), asked, [outcome], frozenset())
            assert (row.right or (row.tie and row.tie_is_right)) == counted


def test_text_to_image_compares_down_a_column() -> None:
    for scores in tied_scores(3, 1):
        outcome = by_metric(case(np.array([[False], [True], [False]]), "t2i").judge(scores))["t2i"]
        assert outcome.right == (scores[1, 0] > scores[0, 0] and scores[1, 0] > scores[2, 0])


def test_group_has_winogrounds_three_scores() -> None:
    """c0_i1 is the score of caption 0 with image 1, as in the authors' code."""
    for scores in tied_scores(2, 2):
        c0_i0, c1_i0, c0_i1, c1_i1 = scores.ravel()
        text = c0_i0 > c1_i0 and c1_i1 > c0_i1
        image = c0_i0 > c0_i1 and c1_i1 > c1_i0
        found = by_metric(case(np.eye(2, dtype=bool), "group").judge(scores))
        assert (found["text"].right, found["image"].right, found["group"].right) == (
            text,
            image,
            text and image,
        )
        at_least = c0_i0 >= c1_i0 and c1_i1 >= c0_i1 and c0_i0 >= c0_i1 and c1_i1 >= c1_i0
        assert found["group"].tie == (at_least and not found["group"].right)


@pytest.mark.parametrize("match", [np.eye(3, dtype=bool), np.eye(2, 4, dtype=bool)])
def test_matched_pairs_asks_for_both_choices_of_each_pair(match: np.ndarray) -> None:
    """As in CS-CLIP's public code of SPEC: strictly above own texts, and above other images."""
    n, m = match.shape
    for scores in tied_scores(n, m):
        outcomes = case(match, "matched_pairs").judge(scores)
        assert [(o.metric, o.index) for o in outcomes] == [("group", i) for i in range(n)]
        for i, outcome in enumerate(outcomes):
            text = all(scores[i, i] > scores[i, j] for j in range(m) if j != i)
            image = all(scores[i, i] > scores[k, i] for k in range(n) if k != i)
            assert outcome.right == (text and image)
            assert outcome.tie == (
                not outcome.right
                and all(scores[i, i] >= scores[i, j] for j in range(m))
                and all(scores[i, i] >= scores[k, i] for k in range(n))
            )
            assert len(outcome.scores) == n + m - 1


def test_chance_of_matched_pairs_is_the_share_of_random_scores() -> None:
    asked = case(np.eye(3, dtype=bool), "matched_pairs")
    drawn = np.random.default_rng(0).random((4_000, 3, 3)).astype(np.float32)
    share = np.mean([outcome.right for scores in drawn for outcome in asked.judge(scores)])
    (chance,) = asked.resolved_protocol.chance("group", np.array([5]), np.array([0])) or [0]
    assert share == pytest.approx(chance, abs=0.02)


def test_a_video_chooses_as_the_mean_of_its_frames_normalized_vectors() -> None:
    generator = np.random.default_rng(0)
    frames, texts = (generator.normal(size=(50, 4, 8)) for _ in range(2))
    frames, texts = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (frames, texts))
    match = np.array([[False, True, False, False]] * 4)
    asked = case(match, VideoByKind("hybrid"))
    right = []
    for some_frames, some_texts in zip(frames, texts, strict=True):
        best = int(np.argmax(some_texts @ some_frames.mean(0)))
        outcomes = by_metric(asked.judge((some_frames @ some_texts.T).astype(np.float32)))
        assert outcomes["i2t"].right == outcomes["hybrid"].right == (best == 1)
        assert outcomes["i2t"].images == (0, 1, 2, 3)
        right.append(best == 1)
    assert 0 < sum(right) < len(right)


def test_half_truth_compares_the_anchor_and_completion_the_completed_anchor() -> None:
    for scores in tied_scores(1, 3):
        anchor, false, true = scores[0]
        found = by_metric(case(np.array([[True, False, True]]), "half_truth").judge(scores))
        assert found["half_truth"].right == (anchor > false)
        assert found["half_truth"].tie == (anchor == false)
        assert found["completion"].right == (true > false)


def test_half_truth_without_a_completed_anchor_has_one_metric() -> None:
    found = case(np.array([[True, False]]), "half_truth").judge(
        np.array([[1.0, 0.5]], dtype=np.float32)
    )
    assert [o.metric for o in found] == ["half_truth"]


@pytest.mark.parametrize("step", [1, 4, 100])
def test_retrieval_is_any_right_answer_among_the_first_k(step: int) -> None:
    """Uneven captions an image, shared captions, and a text that no image has.

    Ties count against the model.
    """
    generator = np.random.default_rng(1)
    for _ in range(20):
        n, m = 9, 31
        match = np.zeros((n, m), dtype=bool)
        match[generator.integers(0, n, m - 1), np.arange(m - 1)] = True
        match[0, 0] = match[1, 0] = True
        scores = generator.integers(0, 40, (n, m)).astype(np.float32)
        found = {
            (o.metric, o.index): o
            for o in Recall().judge_rows(match, lambda rows, s=scores: s[rows], step)
        }
        for side, sides_match, sides_scores in (("i2t", match, scores), ("t2i", match.T, scores.T)):
            for q in range(len(sides_match)):
                right = np.flatnonzero(sides_match[q])
                if not len(right):
                    assert (f"{side}_r@1", q) not in found
                    continue
                # the worst order that ties allow: wrong answers before right ones of the same score
                order = sorted(
                    range(sides_match.shape[1]),
                    key=lambda c: (-sides_scores[q, c], sides_match[q, c]),
                )
                kindest = sorted(
                    range(sides_match.shape[1]),
                    key=lambda c: (-sides_scores[q, c], not sides_match[q, c]),
                )
                for k in (1, 5, 10):
                    outcome = found[f"{side}_r@{k}", q]
                    assert outcome.right == bool(set(order[:k]) & set(right))
                    assert (outcome.right or outcome.tie) == bool(set(kindest[:k]) & set(right))
                    wrong = [c for c in range(sides_match.shape[1]) if not sides_match[q, c]]
                    highest = max(wrong, key=lambda c: sides_scores[q, c])
                    picked = outcome.wrong_text, outcome.wrong_image
                    assert picked == ((highest, None) if side == "i2t" else (None, highest))


def test_retrieval_outcomes_name_the_images_they_are_about() -> None:
    match = np.array([[True, True, False], [False, False, True]])
    found = {
        (o.metric, o.index): o for o in case(match, "retrieval").judge(match.astype(np.float32))
    }
    assert found["i2t_r@1", 1].images == (1,)
    assert found["t2i_r@1", 1].images == (0,)
    assert len(found) == 3 * (2 + 3)


def test_ranks_hold_best_and_hardest_scores() -> None:
    match = np.array([[True, False, False], [False, True, True]])
    scores = np.array([[3.0, 5.0, 3.0], [2.0, 1.0, 4.0]], dtype=np.float32)
    images, texts = ranks(match, lambda rows: scores[rows], step=1)
    assert images.best_right_score.tolist() == [3.0, 4.0]
    assert images.hardest_wrong_score.tolist() == [5.0, 2.0]
    assert (images.hardest_index.tolist(), texts.hardest_index.tolist()) == ([1, 0], [1, 0, 0])
    assert images.n_above.tolist() == [1, 0]
    assert images.n_tied.tolist() == [1, 0]
    assert texts.best_right_score.tolist() == [3.0, 1.0, 4.0]
    assert texts.n_above.tolist() == [0, 1, 0]


def test_where_all_answers_are_right_no_wrong_one_is_named() -> None:
    found = case(np.array([[True], [True]]), "retrieval").judge(np.ones((2, 1), np.float32))
    assert {o.wrong_text for o in found if o.metric.startswith("i2t")} == {None}
    assert {o.wrong_image for o in found} == {None}


def test_an_unknown_protocol_is_named_with_near_ones() -> None:
    with pytest.raises(ZooError, match=r"'i2tt'.*did you mean i2t"):
        case(np.array([[True, False]]), "i2tt").judge(np.zeros((1, 2), dtype=np.float32))


class AnyRight(Protocol):
    """The best right text has to score above the wrong ones, by a margin."""

    name = "any_right"

    def __init__(self, margin: float = 0.0) -> None:
        self.margin = margin

    def queries(self, match: np.ndarray) -> Iterator[Query]:
        for i, right in enumerate(match):
            yield Query("any_right", i, right, (i,), tuple(range(len(right))))

    def judge(self, match: np.ndarray, scores: np.ndarray) -> Iterator[Outcome]:
        for query, row in zip(self.queries(match), scores, strict=True):
            lead = row[query.match].max() - row[~query.match].max() - self.margin
            yield query.to_outcome(row, lead > 0, lead == 0)


class Bare(AnyRight):
    """A protocol without arguments, that gives something else than outcomes."""

    def __init__(self) -> None:
        super().__init__()

    def queries(self, match: np.ndarray) -> list[str]:  # type: ignore[override]
        return ["any?"]

    def judge(self, match: np.ndarray, scores: np.ndarray) -> float:  # type: ignore[override]
        return 0.5


def test_a_protocol_is_found_again_from_what_files_call_it() -> None:
    assert [protocol_name(resolve_protocol(name)) for name in ("i2t", "ImageToText")] == [
        "i2t",
        "i2t",
    ]
    here = "tests.benchmarks.test_protocols"
    assert protocol_name(Bare()) == f"{here}.Bare"
    assert isinstance(resolve_protocol(f"{here}.Bare"), Bare)
    text = protocol_name(AnyRight(0.25))
    assert json.loads(text) == {"class_path": f"{here}.AnyRight", "init_args": {"margin": 0.25}}
    assert resolve_protocol(text).margin == 0.25  # type: ignore[attr-defined]


def test_a_case_is_judged_by_a_protocol_of_its_own() -> None:
    match, scores = np.array([[True, True, False]]), np.array([[0.1, 0.9, 0.5]], np.float32)
    (near,) = case(match, AnyRight(0.3)).judge(scores)
    (far,) = case(match, AnyRight(0.5)).judge(scores)
    assert (near.right, far.right) == (True, False)


def test_a_protocol_that_gives_no_outcomes_is_told_so() -> None:
    with pytest.raises(ZooError, match=r"Bare\.judge returned a float: it must return an Outcome"):
        case(np.array([[True, False]]), Bare()).judge(np.zeros((1, 2), np.float32))
    with pytest.raises(ZooError, match=r"Bare\.queries returned a str: it must return a Query"):
        case(np.array([[True, False]]), Bare()).queries()
