"""Ranks of models on each familiarity split, and pairs of models whose order changes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import pyarrow as pa

from zoo.familiarity.buckets import EXCLUDED
from zoo.results.comparison.alignment import align_runs
from zoo.results.comparison.lines import add_direction
from zoo.results.comparison.outcome_differences import AS_KEPT, jointly_scored_outcomes
from zoo.results.drawing import STYLE, run_styles
from zoo.results.metrics import MetricKey, Rules
from zoo.results.number_formats import format_number
from zoo.results.splits import select_with_pooled_subsets, split_masks
from zoo.results.statistics import benjamini_hochberg, mcnemar_mid_p

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGNIFICANT = 0.05  # BindSplit calls a difference with q up to this value significant


@dataclass(frozen=True)
class SplitTest:
    """The test of two models on one split.

    Attributes:
        key: Benchmark, subset and metric.
        split: Name of the split.
        models: Names of both models.
        n: Number of questions of the split that were scored for both.
        values: Share of right answers of each.
        right_only: Number of questions that only this model answers right (better, for graded
            answers).
        p: The p-value of `mcnemar_mid_p`.
        q: The p-value adjusted over the pairs of models on this split (Benjamini and Hochberg).
        lower_is_better: Whether lower values of the metric are better.
    """

    key: MetricKey
    split: str
    models: tuple[str, str]
    n: int
    values: tuple[float, float]
    right_only: tuple[int, int]
    p: float
    q: float = float("nan")
    lower_is_better: bool = False

    @property
    def lead(self) -> int:
        """Positive if the first model is ahead, negative if the second is."""
        lead = self.right_only[0] - self.right_only[1]
        return -lead if self.lower_is_better else lead


@dataclass(frozen=True)
class Flip:
    """A pair of models with opposite significant orders on two splits.

    Attributes:
        key: Benchmark, subset and metric.
        splits: Names of the splits.
        ahead: The model that is ahead on the first split.
        behind: The model that is ahead on the second.
        p: The larger p-value of both splits.
    """

    key: MetricKey
    splits: tuple[str, str]
    ahead: str
    behind: str
    p: float


@dataclass(frozen=True)
class SeedFlip:
    """A flip of two models that were trained with several seeds.

    Attributes:
        flip: The flip; its p-value is the largest of the seeds in which it is significant.
        n_significant: Number of seeds in which it is significant.
        n_seeds: Number of seeds in which both models were tested.
    """

    flip: Flip
    n_significant: int
    n_seeds: int

    @property
    def in_all_seeds(self) -> bool:
        """Whether it is significant in every seed, as BindSplit requires."""
        return self.n_significant == self.n_seeds


def compute_split_tests(models: Mapping[str, pa.Table], rules: Rules = AS_KEPT) -> list[SplitTest]:
    """Tests each pair of models on each split, over the questions that were scored for all models.

    Args:
        models: Outcomes per model name, tables of `outcomes.SCHEMA`. The buckets of the first model
            apply to all.
        rules: Rules for right answers. By default outcomes are used as stored: every tie is wrong.

    Raises:
        ZooError: Two models were evaluated on different questions.
    """
    tables = align_runs(list(models.values()), list(models)).tables
    has_bucket = tables[0]["bucket"].is_valid()
    cases = dict(zip(models, (table.filter(has_bucket) for table in tables), strict=True))
    tests: dict[tuple[MetricKey, str], list[SplitTest]] = {}
    for (first_name, first_cases), (second_name, second_cases) in combinations(cases.items(), 2):
        for test in _pair_tests((first_name, second_name), first_cases, second_cases, rules):
            tests.setdefault((test.key, test.split), []).append(test)
    return [
        replace(test, q=float(q))
        for group in tests.values()
        for test, q in zip(group, benjamini_hochberg([t.p for t in group]), strict=True)
    ]


def find_flips(tests: Sequence[SplitTest]) -> list[Flip]:
    """Returns the pairs of models with opposite significant orders on two splits.

    Args:
        tests: The tests, from `compute_split_tests`.
    """
    tests_by_pair: dict[tuple[MetricKey, tuple[str, str]], list[SplitTest]] = {}
    for test in tests:
        if test.q <= SIGNIFICANT and test.lead:
            tests_by_pair.setdefault((test.key, test.models), []).append(test)
    return [
        Flip(
            key,
            (earlier.split, later.split),
            *(models if earlier.lead > 0 else models[::-1]),
            p=max(earlier.p, later.p),
        )
        for (key, models), significant in tests_by_pair.items()
        for earlier, later in combinations(significant, 2)
        if earlier.lead * later.lead < 0
    ]


def find_seed_flips(tests_by_seed: Sequence[Sequence[SplitTest]]) -> list[SeedFlip]:
    """Returns the flips of each seed, with the number of seeds that agree.

    Args:
        tests_by_seed: The tests of the models of each seed, from `compute_split_tests`, under the
            same names.

    Returns:
        Flips of all seeds first, then those of fewer seeds.
    """
    flips: dict[tuple[MetricKey, tuple[str, str], str, str], list[Flip]] = {}
    n_seeds: Counter[frozenset[str]] = Counter()
    for tests in tests_by_seed:
        n_seeds.update({frozenset(test.models) for test in tests})
        for flip in find_flips(tests):
            flips.setdefault((flip.key, flip.splits, flip.ahead, flip.behind), []).append(flip)
    seed_flips = [
        SeedFlip(
            replace(same_flips[0], p=max(flip.p for flip in same_flips)),
            len(same_flips),
            n_seeds[frozenset((ahead, behind))],
        )
        for (_, _, ahead, behind), same_flips in flips.items()
    ]
    return sorted(seed_flips, key=lambda flip: not flip.in_all_seeds)


def draw_ranks(tests: Sequence[SplitTest]) -> "Figure":
    """Draws one panel per metric: the ranks of the models on each split.

    Args:
        tests: The tests, from `compute_split_tests`.
    """
    import matplotlib
    from matplotlib.figure import Figure

    values: dict[MetricKey, dict[str, dict[str, float]]] = {}
    lower_is_better = {test.key: test.lower_is_better for test in tests}
    for test in tests:
        for model, value in zip(test.models, test.values, strict=True):
            values.setdefault(test.key, {}).setdefault(test.split, {})[model] = value
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7, 3.2 * max(len(values), 1)), layout="constrained")
        panels = figure.subplots(max(len(values), 1), squeeze=False)[:, 0]
        for axes, (key, by_split) in zip(panels, values.items(), strict=False):
            models = dict.fromkeys(
                model for value_by_model in by_split.values() for model in value_by_model
            )
            for model, (colour, marker) in run_styles(models).items():
                sign = -1 if lower_is_better[key] else 1
                ranks = [
                    1 + sum(sign * (v - value_by_model[model]) > 0 for v in value_by_model.values())
                    for value_by_model in by_split.values()
                ]
                axes.plot(list(by_split), ranks, color=colour, marker=marker, label=model)
                for x, (rank, value_by_model) in enumerate(
                    zip(ranks, by_split.values(), strict=True)
                ):
                    axes.annotate(
                        format_number(100 * value_by_model[model]),
                        (x, rank),
                        (4, 5),
                        textcoords="offset points",
                    )
            title = add_direction("/".join(map(str, key)), lower_is_better[key])
            axes.set_title(title, fontsize="medium")
            axes.set_xlabel("familiarity split")
            axes.set_ylabel("rank")
            axes.margins(0.12)
            axes.set_yticks(range(1, len(models) + 1))  # every rank, even if models are tied
            axes.set_ylim(len(models) + 0.5, 0.5)
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)
    return figure


def _pair_tests(
    models: tuple[str, str], first_cases: pa.Table, second_cases: pa.Table, rules: Rules
) -> Iterator[SplitTest]:
    for split, keep in split_masks(first_cases).items():
        if split == EXCLUDED or not keep.any():
            continue
        for key, _, first_answers, second_answers in jointly_scored_outcomes(
            select_with_pooled_subsets(first_cases, keep),
            select_with_pooled_subsets(second_cases, keep),
            rules,
        ):
            a, b = first_answers.value, second_answers.value
            if len(a):
                wins = int((a > b).sum()), int((b > a).sum())
                values = float(a.mean()), float(b.mean())
                yield SplitTest(
                    key,
                    split,
                    models,
                    len(a),
                    values,
                    wins,
                    mcnemar_mid_p(*wins),
                    lower_is_better=first_answers.lower_is_better(key[2]),
                )
