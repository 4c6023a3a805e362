"""Short-lists against loops over each query's own candidates."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.fakes import recalled
from zoo.benchmarks.protocols.base import Outcome
from zoo.benchmarks.protocols.recall import Recall
from zoo.evaluation.shortlist import short_lists


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 14), st.integers(1, 25), st.integers(10, 16), st.integers(0, 10_000))
def test_a_query_is_answered_from_its_own_candidates(n: int, m: int, k: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    images, texts = (generator.normal(size=(count, 4)).astype(np.float32) for count in (n, m))
    scores, match = (
        generator.integers(0, 6, (n, m)).astype(np.float32),
        generator.random((n, m)) < 0.2,
    )
    lists = short_lists(images, texts, k)
    i, j = lists.pair_rows
    cosines = (images / np.linalg.norm(images, axis=1)[:, None]) @ (
        texts / np.linalg.norm(texts, axis=1)[:, None]
    ).T
    outcomes = {
        (o.metric, o.index): o
        for o in Recall().judge_ranks(match, *lists.ranks(match, scores[i, j]))
    }
    found = {asked: outcome.right for asked, outcome in outcomes.items()}
    for q in np.flatnonzero(match.any(1)):
        wrong = [int(c) for c in sorted(lists.texts[q]) if not match[q, c]]
        highest = max(wrong, key=lambda c, q=q: scores[q, c], default=None)
        assert outcomes["i2t_r@1", q].wrong_text == highest
    for q in np.flatnonzero(match.any(0)):
        wrong = [int(c) for c in sorted(lists.images[q]) if not match[c, q]]
        highest = max(wrong, key=lambda c, q=q: scores[c, q], default=None)
        assert outcomes["t2i_r@1", q].wrong_image == highest
    for depth in (1, 5, 10):
        for q in range(n):
            if match[q].any():
                assert found[f"i2t_r@{depth}", q] == recalled(
                    cosines[q], scores[q], match[q], k, depth
                )
        for q in range(m):
            if match[:, q].any():
                assert found[f"t2i_r@{depth}", q] == recalled(
                    cosines[:, q], scores[:, q], match[:, q], k, depth
                )


@given(st.integers(1, 10), st.integers(1, 10), st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_short_lists_of_everything_are_the_whole_gallery(n: int, m: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores, match = (
        generator.integers(0, 5, (n, m)).astype(np.float32),
        generator.random((n, m)) < 0.3,
    )
    lists = short_lists(
        generator.normal(size=(n, 3)).astype(np.float32),
        generator.normal(size=(m, 3)).astype(np.float32),
        10,
    )
    kept = list(Recall().judge_ranks(match, *lists.ranks(match, scores.reshape(-1))))

    def told(o: Outcome) -> tuple[str, int, bool, bool, int | None, int | None]:
        return o.metric, o.index, o.right, o.tie, o.wrong_image, o.wrong_text

    assert [told(o) for o in kept] == [told(o) for o in Recall().judge(match, scores)]
