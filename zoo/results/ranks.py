"""Ranks: which of several models is ahead on each split of familiarity, and where that changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import combinations

import pyarrow as pa

from zoo.familiarity.buckets import EXCLUDED
from zoo.results.comparison.common import common
from zoo.results.comparison.differing import AS_KEPT, judged_by_both
from zoo.results.metrics import Place, Rules
from zoo.results.splits import split_rows
from zoo.results.statistics import benjamini_hochberg, mcnemar

SIGNIFICANT = 0.05  # the q under which BindSplit calls a difference significant


@dataclass(frozen=True)
class SplitTest:
    """The test of two models on one split.

    Attributes:
        place: Benchmark, subset and metric.
        split: Name of the split.
        models: Names of both models.
        n: Number of questions of the split that both scored.
        values: Share of right answers of each.
        alone: Number of questions that each alone has right, or better where answers are graded.
        p: The p-value of `mcnemar`.
        q: The p-value adjusted over the pairs of models on this split (Benjamini and Hochberg).
    """

    place: Place
    split: str
    models: tuple[str, str]
    n: int
    values: tuple[float, float]
    alone: tuple[int, int]
    p: float
    q: float = float("nan")

    @property
    def lead(self) -> int:
        """Above 0 where the first model is ahead, below where the second is."""
        return self.alone[0] - self.alone[1]


@dataclass(frozen=True)
class Flip:
    """A pair of models whose order is significant on two splits, and not the same.

    Attributes:
        place: Benchmark, subset and metric.
        splits: Names of the splits.
        ahead: The model that is ahead on the first split.
        behind: The model that is ahead on the second.
        p: The larger p-value of both splits.
    """

    place: Place
    splits: tuple[str, str]
    ahead: str
    behind: str
    p: float


def split_tests(models: Mapping[str, pa.Table], rules: Rules = AS_KEPT) -> list[SplitTest]:
    """Tests each pair of models on each split, over the questions that all were asked and scored.

    Args:
        models: Outcomes of each model by its name, tables of `outcomes.SCHEMA`. The buckets of the
            first model's cases hold for all.
        rules: What counts as right. By default outcomes count as they are kept: every tie is wrong.

    Raises:
        ZooError: Two models were not asked the same.
    """
    tables = common(list(models.values()), list(models)).tables
    split = tables[0]["bucket"].is_valid()
    cases = dict(zip(models, (table.filter(split) for table in tables), strict=True))
    tests: dict[tuple[Place, str], list[SplitTest]] = {}
    for (a, one), (b, other) in combinations(cases.items(), 2):
        for test in _of_pair((a, b), one, other, rules):
            tests.setdefault((test.place, test.split), []).append(test)
    return [
        replace(test, q=float(q))
        for group in tests.values()
        for test, q in zip(group, benjamini_hochberg([t.p for t in group]), strict=True)
    ]


def flips(tests: Sequence[SplitTest]) -> list[Flip]:
    """Returns the pairs of models of which each is ahead, significantly, on another split.

    Args:
        tests: What `split_tests` found.
    """
    found: dict[tuple[Place, tuple[str, str]], list[SplitTest]] = {}
    for test in tests:
        if test.q <= SIGNIFICANT and test.lead:
            found.setdefault((test.place, test.models), []).append(test)
    return [
        Flip(
            place,
            (one.split, other.split),
            *(models if one.lead > 0 else models[::-1]),
            p=max(one.p, other.p),
        )
        for (place, models), significant in found.items()
        for one, other in combinations(significant, 2)
        if one.lead * other.lead < 0
    ]


def picture(tests: Sequence[SplitTest]) -> bytes:
    """Returns a PNG with a panel for each metric: the ranks of the models, split by split.

    Args:
        tests: What `split_tests` found.
    """
    from matplotlib.figure import Figure

    values: dict[Place, dict[str, dict[str, float]]] = {}
    for test in tests:
        for model, value in zip(test.models, test.values, strict=True):
            values.setdefault(test.place, {}).setdefault(test.split, {})[model] = value
    figure = Figure(figsize=(7, 3.2 * max(len(values), 1)), layout="constrained")
    panels = figure.subplots(max(len(values), 1), squeeze=False)[:, 0]
    for axes, (place, by_split) in zip(panels, values.items(), strict=False):
        models = dict.fromkeys(model for of in by_split.values() for model in of)
        for model in models:
            ranks = [1 + sum(v > of[model] for v in of.values()) for of in by_split.values()]
            axes.plot(list(by_split), ranks, marker="o", label=model)
            for x, (rank, of) in enumerate(zip(ranks, by_split.values(), strict=True)):
                axes.annotate(
                    f"{100 * of[model]:.1f}", (x, rank), (4, 5), textcoords="offset points"
                )
        axes.set_title("/".join(map(str, place)), fontsize="medium")
        axes.set_ylabel("rank")
        axes.margins(0.12)
        axes.set_yticks(range(1, len(models) + 1))  # all of them, where some are shared too
        axes.set_ylim(len(models) + 0.5, 0.5)
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)
    out = BytesIO()
    figure.savefig(out, format="png", dpi=150)
    return out.getvalue()


def _of_pair(
    models: tuple[str, str], one: pa.Table, other: pa.Table, rules: Rules
) -> Iterator[SplitTest]:
    for split, keep in split_rows(one).items():
        if split == EXCLUDED or not keep.any():
            continue
        rows = pa.array(keep)
        for place, _, first, second in judged_by_both(one.filter(rows), other.filter(rows), rules):
            a, b = first.value, second.value
            if len(a):
                alone = int((a > b).sum()), int((b > a).sum())
                values = float(a.mean()), float(b.mean())
                yield SplitTest(place, split, models, len(a), values, alone, mcnemar(*alone))
