"""Metrics: what the outcomes of a benchmark come to, with interval, coverage and ties.

Values are in per cent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zoo.benchmarks.protocols.recall import Recall
from zoo.results.outcomes import Judged, judge_outcomes, protocol_here
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import Observations, interval

MACRO = "macro"

Place = tuple[BenchmarkRun, str, str]


@dataclass(frozen=True)
class Reference:
    """What is known of a subset beforehand.

    Attributes:
        n: Number of cases as published; of a retrieval, number of images. None where it is not
            known.
        chance: Chance level in per cent, by metric.
        published: Value of OpenAI's ViT-B/32 as published, in per cent, by metric.
    """

    n: int | None = None
    chance: Mapping[str, float] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Macro:
    """How a macro average is taken over groups.

    Attributes:
        without: Names of the groups that are left out.
        at_least: Number of cases in the file below which a group is left out.
        of: Name of the metric that it averages; empty where there is one alone.
    """

    without: frozenset[str] = frozenset()
    at_least: int = 1
    of: str = ""


@dataclass(frozen=True)
class Rules:
    """What counts as right, and what is averaged over groups.

    Attributes:
        official_ties: Whether a tie is right where the official script's argmax makes it so.
            Otherwise every tie is wrong.
        drop_identical: Whether options equal to the right text are dropped.
        macros: Macro averages by benchmark and subset; the subset '*' stands for any.
    """

    official_ties: bool
    drop_identical: bool
    macros: Mapping[tuple[str, str], Macro] = field(default_factory=dict)

    def macro(self, benchmark: str, subset: str) -> Macro | None:
        """Returns how a subset is averaged over groups, None where it is not."""
        return self.macros.get((benchmark, subset), self.macros.get((benchmark, "*")))

    def counts_like(self, other: "Rules", part: pa.Table) -> bool:
        """Tells whether other rules count the outcomes of one metric alike, macro averages apart.

        Args:
            other: The other rules.
            part: Outcomes of one metric, a table of `outcomes.SCHEMA`.
        """
        ties = (
            self.official_ties == other.official_ties or not pc.any(part["correct_first"]).as_py()
        )
        return ties and (
            self.drop_identical == other.drop_identical
            or not pc.any(pc.list_flatten(part["identical"])).as_py()
        )


@dataclass(frozen=True)
class Metric:
    """One number of the report, with what it was counted over.

    Attributes:
        benchmark: Name of the benchmark.
        subset: Name of the subset.
        metric: Name as the protocol gives it, or `macro` for the mean over groups.
        value: Value in per cent, None where nothing was scored.
        low: Lower end of the 95 % interval in per cent, None where nothing was scored.
        high: Upper end of the 95 % interval in per cent, None where nothing was scored.
        interval: How the interval was found, in words; empty where nothing was scored.
        n: Number of queries that were scored.
        of: Number of queries in the file.
        ties: Number of scored queries that are wrong by `>` and right by `>=`.
        images: Number of distinct images that the scored queries are about.
        images_of: Number of distinct images that all queries are about.
        trained_on: Number of images of scored queries that the model was trained on.
        chance: Chance level in per cent, None where it is not known.
        published: Value of OpenAI's ViT-B/32 in per cent, as published. None where it is not known,
            or where it was counted by other rules or over another gallery.
        gallery_of: Number of images of the whole gallery; None where the metric is no recall.
        run: What tells this run of the benchmark from another, as in `BenchmarkRun`.
        split: The split over whose cases it was counted; empty where over all cases.
        ties_right: Number of ties that count as right; None in results of an older zoo.
    """

    benchmark: str
    subset: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    interval: str
    n: int
    of: int
    ties: int
    images: int
    images_of: int
    trained_on: int
    chance: float | None = None
    published: float | None = None
    gallery_of: int | None = None
    run: str = ""
    split: str = ""
    ties_right: int | None = None

    @property
    def benchmark_run(self) -> BenchmarkRun:
        """The benchmark, as it was asked for."""
        return BenchmarkRun(self.benchmark, self.run)

    def __str__(self) -> str:
        split = f", {self.split}" if self.split else ""
        return f"{self.benchmark_run}/{self.subset}/{self.metric}{split}"

    @property
    def coverage(self) -> float:
        """The share of queries that were scored."""
        return self.n / self.of if self.of else 0.0

    @property
    def partial_gallery(self) -> bool:
        """Whether this is a recall among some of the gallery's images only.

        Such a recall is easier than one among all images, and not comparable with it.
        """
        return self.gallery_of is not None and self.images < self.gallery_of


def metrics(
    outcomes: pa.Table,
    rules: Rules,
    references: Mapping[tuple[BenchmarkRun, str], Reference],
    published: Rules | None = None,
) -> dict[Metric, Observations | None]:
    """Counts outcomes into metrics.

    Args:
        outcomes: Table of `outcomes.SCHEMA`.
        rules: What counts as right.
        references: What is known beforehand, by benchmark and subset.
        published: Rules under which the published values were found; `rules` where None.

    Returns:
        The metrics in the order of the outcomes, each with what it was made of, or None where
        nothing was scored or no interval is known.
    """
    found: dict[Metric, Observations | None] = {}
    for place, rows in places(outcomes).items():
        part = outcomes.take(rows)
        run, subset, name = place
        known = references.get((run, subset), Reference())
        official = rules if published is None else published
        alike = rules.counts_like(official, part)
        outcome = judge_outcomes(part, rules.official_ties, rules.drop_identical)
        metric, observed = _metric(place, name, outcome, known, alike)
        found[metric] = observed
        macro = rules.macro(run.benchmark, subset)
        if macro is not None and macro.of in ("", name):
            alike = alike and macro == official.macro(run.benchmark, subset)
            metric, observed = _metric(
                (run, subset, MACRO), name, _group_outcomes(outcome, macro), known, alike
            )
            found[metric] = observed
    return found


def tie_warnings(metrics: Iterable[Metric], preset: str) -> Iterator[str]:
    """Yields a sentence for each benchmark of which most scored answers are ties.

    Args:
        metrics: Metrics that were counted under one preset.
        preset: Its name.
    """
    by_benchmark: dict[BenchmarkRun, dict[str, list[Metric]]] = {}
    for metric in metrics:
        if metric.metric != MACRO:
            by_metric = by_benchmark.setdefault(metric.benchmark_run, {})
            by_metric.setdefault(metric.metric, []).append(metric)
    for run, by_metric in by_benchmark.items():
        shares = {
            name: sum(m.ties for m in own) / max(sum(m.n for m in own), 1)
            for name, own in by_metric.items()
        }
        most = max(shares, key=lambda name: shares[name])
        if shares[most] > 0.5:
            says = f"{run}: {shares[most]:.1%} of the {most} answers are ties"
            yield f"{says}, {_said_of_ties(by_metric[most], preset)}"


def _said_of_ties(metrics: Sequence[Metric], preset: str) -> str:
    right = [metric.ties_right for metric in metrics]
    strict = "`zoo rescore RUN --preset strict` counts every tie as wrong"
    if None in right:
        return f"which preset {preset} may count as right; {strict}"
    counted, ties = sum(filter(None, right)), sum(metric.ties for metric in metrics)
    if not counted:
        return "which count as wrong"
    some = "" if counted == ties else f"{counted:,} of "
    return f"{some}which preset {preset} counts as right; {strict}"


def places(outcomes: pa.Table) -> dict[Place, NDArray[np.int64]]:
    """Returns the row numbers of each benchmark, subset and metric, as the outcomes come."""
    found: dict[Place, list[int]] = {}
    columns = (outcomes[name].to_pylist() for name in ("benchmark", "run", "subset", "metric"))
    for row, (benchmark, run, subset, metric) in enumerate(zip(*columns, strict=True)):
        found.setdefault((BenchmarkRun(benchmark, run), subset, metric), []).append(row)
    return {place: np.array(rows) for place, rows in found.items()}


def _group_outcomes(outcome: Judged, macro: Macro) -> Judged:
    names, index, sizes = np.unique(
        outcome.group.astype(str), return_inverse=True, return_counts=True
    )
    counts = np.array(
        [
            size >= macro.at_least and name not in macro.without
            for name, size in zip(names, sizes, strict=True)
        ],
        dtype=bool,
    )
    return outcome.select(counts[index])


def _metric(
    place: Place, counted: str, outcome: Judged, known: Reference, alike: bool
) -> tuple[Metric, Observations | None]:
    """Makes one metric and the observations it is made of.

    Args:
        place: Benchmark, subset and metric.
        counted: Name of the metric whose outcomes these are.
        outcome: The outcomes.
        known: What is known of the subset beforehand.
        alike: Whether the outcomes are counted as the published ones were.
    """
    scored = outcome.select(outcome.scored)
    n, (run, subset, name) = len(scored.right), place
    observed = low = high = chance = None
    how = ""
    if n:
        observed = Observations(
            scored.value,
            scored.image(f"{run}/{subset}/{counted}"),
            scored.group.astype(str) if name == MACRO else np.zeros(n),
        )
        low, high, how = interval([observed], [1.0])
        if not all(protocol_here(text).has_interval for text in set(scored.protocol)):
            low, high, how = None, None, "none is known of a number over all images"
        elif not np.isin(scored.value, (0, 1)).all():
            how += ", at least as wide as graded answers need"
        chance = _chance(counted, scored, observed.weight)
    trained = {
        image
        for images, seen in zip(scored.images, scored.trained, strict=True)
        for image, s in zip(images, seen, strict=True)
        if s
    }
    images = len({image for images in scored.images for image in images})
    images_of = len({image for images in outcome.images for image in images})
    gallery = any(isinstance(protocol_here(text), Recall) for text in set(outcome.protocol))
    gallery_of = max(images_of, known.n or 0) if gallery else None
    whole = gallery_of is None or images == gallery_of
    return Metric(
        run.benchmark,
        subset,
        name,
        value=_per_cent(None if observed is None else observed.value),
        low=_per_cent(low),
        high=_per_cent(high),
        interval=how,
        n=n,
        of=len(outcome.right),
        ties=int(scored.tie.sum()),
        images=images,
        images_of=images_of,
        trained_on=len(trained),
        chance=known.chance.get(name) if chance is None else _per_cent(chance),
        published=known.published.get(name) if alike and whole else None,
        gallery_of=gallery_of,
        run=run.run,
        ties_right=int((scored.tie & scored.right).sum()),
    ), (None if low is None else observed)


def _chance(metric: str, scored: Judged, weight: NDArray[np.float64]) -> float | None:
    """Returns the mean chance of queries, None where their options do not tell it."""
    chance = np.zeros(len(weight))
    for text in set(scored.protocol):
        asked = scored.protocol == text
        found = protocol_here(text).chance(
            metric, scored.options[asked], scored.right_options[asked]
        )
        if found is None:
            return None
        chance[asked] = found
    return float(weight @ chance)


def _per_cent(share: float | None) -> float | None:
    return None if share is None else 100 * share
