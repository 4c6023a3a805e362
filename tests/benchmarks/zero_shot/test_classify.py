"""Classification: the k-way rule against loops and torchmetrics, on random scores full of ties."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torchmetrics.functional.classification import multiclass_accuracy

from zoo.benchmarks import Case, Classification
from zoo.benchmarks.protocols.base import Outcome
from zoo.results.metrics import compute_metrics
from zoo.results.outcomes import outcome_rows, outcome_table
from zoo.results.presets.preset import preset_of
from zoo.results.runs import BenchmarkRun
from zoo.sources.sample import ImageRef

OFFICIAL, STRICT = preset_of("official").rules, preset_of("strict").rules
RUN = BenchmarkRun("zero_shot")


def case_of(labels: np.ndarray, k: int) -> Case:
    images = tuple(ImageRef("published", f"{i}.png") for i in range(len(labels)))
    names = tuple(f"class {j}" for j in range(k))
    match = labels[:, None] == np.arange(k)
    return Case(images, names, match, Classification(), "set", "all", argmax=True)


def random_case(k: int, levels: int = 4, n: int = 60) -> tuple[Case, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(k)
    labels = np.concatenate([np.arange(k), generator.integers(0, k, n - k)])
    return case_of(labels, k), labels, generator.integers(0, levels, (n, k)).astype(np.float32)


def rank(row: np.ndarray, label: int, first_wins: bool) -> int:
    """How many classes stand before the right one."""
    before = 0
    for j, score in enumerate(row):
        equal = score == row[label] and j != label
        before += bool(score > row[label] or (equal and (not first_wins or j < label)))
    return before


@pytest.mark.parametrize("k", [2, 5, 6, 12])
def test_an_image_is_right_where_fewer_than_k_classes_stand_before_its_own(k: int) -> None:
    case, labels, scores = random_case(k)
    outcomes = case.judge(scores)
    assert {o.metric for o in outcomes} == ({"acc@1", "acc@5"} if k > 5 else {"acc@1"})
    ties = 0
    for o in outcomes:
        row, label, depth = scores[o.index], labels[o.index], int(o.metric[-1])
        assert o.right == (rank(row, label, first_wins=False) < depth)
        counted = o.right or (o.tie and case.tie_is_right(o))
        assert counted == (rank(row, label, first_wins=True) < depth)
        if depth == 1:
            assert counted == (row.argmax() == label)
        ties += o.tie
    assert ties > 5


def test_an_answer_keeps_its_class_and_the_best_other_in_the_order_of_an_argmax() -> None:
    case, labels, scores = random_case(6)
    for o in case.judge(scores):
        row, label = scores[o.index], labels[o.index]
        kept = dict(zip(o.texts, o.scores, strict=True))
        (other,) = set(kept) - {label}
        assert kept[label] == row[label]
        assert kept[other] == row[other] == max(s for j, s in enumerate(row) if j != label)
        assert [j == label for j in o.texts] == o.match.tolist()
        assert o.right <= o.match[0]


def test_accuracy_and_mean_per_class_are_those_of_torchmetrics_where_nothing_ties() -> None:
    k = 12
    case, labels, _ = random_case(k)
    scores = np.random.default_rng(1).normal(size=case.match.shape).astype(np.float32)
    found = compute_metrics(
        outcome_table(outcome_rows(RUN, case, case.judge(scores), frozenset())), OFFICIAL, {}
    )
    values = {metric.metric: metric.value for metric in found}
    preds, target = torch.from_numpy(scores), torch.from_numpy(labels)
    expected = {
        name: 100 * multiclass_accuracy(preds, target, k, average=average, top_k=top).item()
        for name, average, top in (
            ("acc@1", "micro", 1),
            ("acc@5", "micro", 5),
            ("macro", "macro", 1),
        )
    }
    assert values == pytest.approx(expected)
    assert {metric.metric: metric.n for metric in found} == dict.fromkeys(values, 60)
    chance = {metric.metric: metric.chance for metric in found}
    assert chance == pytest.approx({"acc@1": 100 / k, "acc@5": 500 / k, "macro": 100 / k})


def test_ties_are_wrong_strictly_and_go_to_the_first_class_officially() -> None:
    case = case_of(np.array([0, 1]), 2)
    cases = outcome_table(
        outcome_rows(RUN, case, case.judge(np.zeros((2, 2), np.float32)), frozenset())
    )
    official, strict = (
        next(iter(compute_metrics(cases, rules, {}))) for rules in (OFFICIAL, STRICT)
    )
    assert (official.value, official.ties, strict.value, strict.ties) == (50.0, 2, 0.0, 2)


def test_the_mean_over_classes_weighs_each_class_alike() -> None:
    case = case_of(np.array([0, 0, 0, 1]), 2)
    scores = np.array([[1, 0], [1, 0], [0, 1], [1, 0]], np.float32)
    cases = outcome_table(outcome_rows(RUN, case, case.judge(scores), frozenset()))
    values = {m.metric: m.value for m in compute_metrics(cases, OFFICIAL, {})}
    assert values == pytest.approx({"acc@1": 50.0, "macro": 100 * (2 / 3 + 0) / 2})


def test_an_image_of_several_classes_is_right_by_any_of_them() -> None:
    match = np.array([[True, True, False]])
    case = replace(case_of(np.array([0]), 3), match=match)
    for scores, right, tie in (
        ([0, 2, 1], True, False),
        ([1, 0, 2], False, False),
        ([0, 2, 2], False, True),
    ):
        (outcome,) = case.judge(np.array([scores], np.float32))
        assert isinstance(outcome, Outcome)
        assert (outcome.right, outcome.tie) == (right, tie)
    (metric,) = compute_metrics(
        outcome_table(
            outcome_rows(
                BenchmarkRun("other"), case, case.judge(np.array([[0, 2, 1]])), frozenset()
            )
        ),
        OFFICIAL,
        {},
    )
    assert metric.chance == pytest.approx(200 / 3)


def test_an_image_without_a_class_or_without_another_is_refused() -> None:
    assert "without a right" in Classification().invalid_reason(np.array([[False, False]]))
    assert "without a wrong" in Classification().invalid_reason(np.array([[True]]))
