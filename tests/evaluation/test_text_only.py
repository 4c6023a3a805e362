"""What the vectors of texts tell of right answers without the image, held against loops."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.evaluation.fakes import FakeBackbone, cases, cosine, drawn_images, evaluation, measured
from zoo.benchmarks import Case
from zoo.evaluation.text_only import FIFTHS, text_only_accuracy
from zoo.results.plan import ScorableCase
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef
from zoo.sources.seeds import stable_hash

N, WIDTH = 60, 16


def asked(n: int = N, subset: str = "a", right_last: bool = False) -> list[ScorableCase]:
    match = np.array([[False, True] if right_last else [True, False]])
    return [
        ScorableCase(
            BenchmarkRun("b"),
            Case((ImageRef("coco", str(i)),), ("x", "y"), match, "i2t", subset, str(i)),
            np.array([i]),
            np.array([2 * i, 2 * i + 1]),
            np.array([], np.int64),
        )
        for i in range(n)
    ]


def by_loops(vectors: np.ndarray) -> float:
    """Ridge regression of each difference on 1, on the cases of the other fifths."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    differences = [unit[2 * i] - unit[2 * i + 1] for i in range(N)]
    fifths = [stable_hash(f"coco:{i}") % FIFTHS for i in range(N)]
    right = 0.0
    for i in range(N):
        others = [differences[j] for j in range(N) if fifths[j] != fifths[i]]
        pull = sum(float(d @ d) for d in others) / WIDTH
        matrix = sum((np.outer(d, d) for d in others), start=pull * np.eye(WIDTH))
        line = np.linalg.inv(matrix) @ sum(others)
        right += float(unit[2 * i] @ line > unit[2 * i + 1] @ line)
    return 100 * right / N


@pytest.mark.parametrize("hint", [0.0, 0.5, 3.0])
def test_a_line_of_the_other_fifths_is_asked_about_each_case(hint: float) -> None:
    vectors = np.random.default_rng(0).normal(size=(2 * N, WIDTH))
    vectors[::2, 3] += hint  # right texts lean one way
    found = text_only_accuracy(asked(), vectors)["b"]
    assert found["a"]["i2t"] == {"n": N, "value": pytest.approx(by_loops(vectors))}
    assert found["*"] == found["a"]
    if hint == 3.0:
        assert found["a"]["i2t"]["value"] > 90


def test_wide_vectors_give_the_line_that_narrow_ones_do() -> None:
    vectors = np.random.default_rng(1).normal(size=(2 * N, WIDTH))
    vectors[::2, 3] += 1
    wide = np.concatenate([vectors, np.zeros((2 * N, 1000))], axis=1)
    several = [*asked(), *asked(right_last=True, subset="c")]
    narrow = text_only_accuracy(several, vectors)["b"]
    assert narrow["*"]["i2t"]["n"] == 2 * N
    assert narrow["a"]["i2t"]["value"] == narrow["c"]["i2t"]["value"]  # the places are no matter
    assert text_only_accuracy(asked(), wide)["b"]["a"]["i2t"]["value"] > 60


def test_few_cases_and_texts_that_are_all_alike_tell_nothing() -> None:
    assert text_only_accuracy(asked(20), np.ones((40, WIDTH))) == {}
    alike = text_only_accuracy(asked(), np.ones((2 * N, WIDTH)))
    assert alike["b"]["a"]["i2t"]["value"] == 50.0


def test_what_asks_otherwise_than_an_image_among_texts_is_left_out() -> None:
    pair = Case(
        (ImageRef("coco", "1"), ImageRef("coco", "2")), ("x", "y"), np.eye(2, dtype=bool),
        "group", "a", "0",
    )  # fmt: skip
    rows = np.array([0, 1])
    question = ScorableCase(BenchmarkRun("b"), pair, rows, rows, np.array([], np.int64))
    assert text_only_accuracy([question] * N, np.ones((2, WIDTH))) == {}


def test_results_say_what_the_texts_alone_tell(tmp_path: Path) -> None:
    many = cases(drawn_images(tmp_path, N), retrieval=False)
    out = tmp_path / "out"
    measured(evaluation(tmp_path, many, out=str(out)), FakeBackbone(), cosine())
    told = json.loads((out / "results.json").read_text())["scoring"]["text_probe"]
    (found,) = told.values()
    assert {name: sorted(of) for name, of in found.items()} == {
        "pairs": ["i2t"],
        "halves": ["completion", "half_truth"],
        "*": ["completion", "half_truth", "i2t"],
    }
    assert all(m["n"] == N and 0 < m["value"] < 100 for of in found.values() for m in of.values())
