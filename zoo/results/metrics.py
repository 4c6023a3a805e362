"""Metrics of benchmarks, with interval, coverage and ties. Values are in per cent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zoo.benchmarks.protocols.recall import Recall
from zoo.results.outcomes import JudgedOutcomes, import_protocol, judge_outcomes
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import Observations, interval

MACRO = "macro"

MetricKey = tuple[BenchmarkRun, str, str]


@dataclass(frozen=True)
class Reference:
    """Reference values of a subset.

    Attributes:
        n: Published number of cases; for retrieval, number of images. None if unknown.
        chance: Chance level in per cent, by metric.
        published: Published value of OpenAI's ViT-B/32 in per cent, by metric.
    """

    n: int | None = None
    chance: Mapping[str, float] = field(default_factory=dict)
    published: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MacroAverage:
    """Definition of a macro average: the mean of a metric over `Case.group`, unweighted.

    Attributes:
        excluded_groups: Names of excluded groups.
        min_cases: Minimum number of cases of a group, scored or not. Smaller groups are excluded.
        metric: Name of the averaged metric; empty if the subset has only one.
    """

    excluded_groups: frozenset[str] = frozenset()
    min_cases: int = 1
    metric: str = ""


@dataclass(frozen=True)
class Rules:
    """Rules that decide whether an answer is right, and definitions of macro averages.

    Attributes:
        official_ties: Whether a tie counts as in the benchmark's official script. If False, every
            tie counts as wrong.
        drop_identical: Whether wrong texts that equal the right text are dropped.
        macros: Macro averages by benchmark and subset; the subset '*' matches any subset.
    """

    official_ties: bool
    drop_identical: bool
    macros: Mapping[tuple[str, str], MacroAverage] = field(default_factory=dict)

    def macro_average(self, benchmark: str, subset: str) -> MacroAverage | None:
        """Returns the macro average of a subset, None if it has none."""
        return self.macros.get((benchmark, subset), self.macros.get((benchmark, "*")))

    def gives_same_outcomes(self, other: "Rules", part: pa.Table) -> bool:
        """Returns whether other rules judge the cases of a metric in the same way.

        Macro averages are not compared.

        Args:
            other: The other rules.
            part: Outcomes of one metric, a table with the columns of `zoo.results.outcomes.SCHEMA`.
        """
        ties = self.official_ties == other.official_ties or not pc.any(part["tie_is_right"]).as_py()
        return ties and (
            self.drop_identical == other.drop_identical
            or not pc.any(pc.list_flatten(part["identical"])).as_py()
        )


@dataclass(frozen=True)
class Metric:
    """One number with its counts: a row of the table that all averages, comparisons and pages use.

    Attributes:
        benchmark: Name of the benchmark.
        subset: Name of the subset.
        metric: Name from the protocol, or `macro` for the mean over groups.
        value: Value in per cent, None if nothing was scored.
        low: Lower end of the 95 % interval in per cent, None if nothing was scored.
        high: Upper end of the 95 % interval in per cent, None if nothing was scored.
        interval: Description of the interval method; empty if nothing was scored.
        n: Number of queries that were scored.
        n_total: Number of queries in the file.
        ties: Number of scored queries that are wrong by `>` and right by `>=`.
        images: Number of distinct images that the scored queries are about.
        images_total: Number of distinct images that all queries are about.
        trained_on: Number of images of scored queries that the model was trained on.
        chance: Chance level in per cent, None if unknown.
        published: Published value of OpenAI's ViT-B/32 in per cent. None if unknown, or if it was
            computed under other rules or over another gallery.
        gallery_size: Number of images of the full gallery; None if the metric is not a recall.
        run: Identifies the run of the benchmark, as in `BenchmarkRun`.
        split: The familiarity split of its cases; empty for all cases.
        ties_right: Number of ties that count as right; None in results of an older zoo.
        lower_is_better: Whether lower values are better; None in results of an older zoo.
    """

    benchmark: str
    subset: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    interval: str
    n: int
    n_total: int
    ties: int
    images: int
    images_total: int
    trained_on: int
    chance: float | None = None
    published: float | None = None
    gallery_size: int | None = None
    run: str = ""
    split: str = ""
    ties_right: int | None = None
    lower_is_better: bool | None = None

    @property
    def benchmark_run(self) -> BenchmarkRun:
        """The run of the benchmark."""
        return BenchmarkRun(self.benchmark, self.run)

    @property
    def metric_key(self) -> MetricKey:
        """Run, subset and metric, which outcomes, runs and pages have in common."""
        return self.benchmark_run, self.subset, self.metric

    def __str__(self) -> str:
        split = f", {self.split}" if self.split else ""
        return f"{self.benchmark_run}/{self.subset}/{self.metric}{split}"

    @property
    def coverage(self) -> float:
        """The share of queries that were scored."""
        return self.n / self.n_total if self.n_total else 0.0

    @property
    def partial_gallery(self) -> bool:
        """Whether this is a recall over only a part of the gallery.

        Such a recall is easier than one over the full gallery, and not comparable with it.
        """
        return self.gallery_size is not None and self.images < self.gallery_size


def compute_metrics(
    outcomes: pa.Table,
    rules: Rules,
    references: Mapping[tuple[BenchmarkRun, str], Reference],
    published_rules: Rules | None = None,
) -> dict[Metric, Observations | None]:
    """Computes metrics from outcomes.

    Args:
        outcomes: Table of `outcomes.SCHEMA`.
        rules: Rules for right answers.
        references: Reference values, by benchmark and subset.
        published_rules: Rules of the published values; `rules` if None.

    Returns:
        The metrics in the order of the outcomes, each with its observations, or None if nothing was
        scored or no interval is known.
    """
    observations_by_metric: dict[Metric, Observations | None] = {}
    for key, rows in group_rows_by_metric(outcomes).items():
        part = outcomes.take(rows)
        run, subset, name = key
        reference = references.get((run, subset), Reference())
        official = rules if published_rules is None else published_rules
        is_comparable = rules.gives_same_outcomes(official, part)
        outcome = judge_outcomes(part, rules.official_ties, rules.drop_identical)
        metric, observed = _build_metric(key, name, outcome, reference, is_comparable)
        observations_by_metric[metric] = observed
        macro = rules.macro_average(run.benchmark, subset)
        if macro is not None and macro.metric in ("", name):
            is_comparable = is_comparable and macro == official.macro_average(run.benchmark, subset)
            metric, observed = _build_metric(
                (run, subset, MACRO),
                name,
                _select_macro_groups(outcome, macro),
                reference,
                is_comparable,
            )
            observations_by_metric[metric] = observed
    return observations_by_metric


def find_tie_warnings(metrics: Iterable[Metric], preset: str) -> Iterator[str]:
    """Yields a warning for each benchmark where most scored answers are ties.

    Args:
        metrics: Metrics of one preset.
        preset: Name of the preset.
    """
    by_benchmark: dict[BenchmarkRun, dict[str, list[Metric]]] = {}
    for metric in metrics:
        if metric.metric != MACRO:
            by_metric = by_benchmark.setdefault(metric.benchmark_run, {})
            by_metric.setdefault(metric.metric, []).append(metric)
    for run, by_metric in by_benchmark.items():
        shares = {
            name: sum(m.ties for m in subset_metrics) / max(sum(m.n for m in subset_metrics), 1)
            for name, subset_metrics in by_metric.items()
        }
        top_metric = max(shares, key=lambda name: shares[name])
        if shares[top_metric] > 0.5:
            sentence = f"{run}: {shares[top_metric]:.1%} of the {top_metric} answers are ties"
            yield f"{sentence}, {_tie_clause(by_metric[top_metric], preset)}"


def _tie_clause(metrics: Sequence[Metric], preset: str) -> str:
    right = [metric.ties_right for metric in metrics]
    strict = "`zoo rescore RUN --preset strict` counts every tie as wrong"
    if None in right:
        return f"which preset {preset} may count as right; {strict}"
    counted, ties = sum(filter(None, right)), sum(metric.ties for metric in metrics)
    if not counted:
        return "which count as wrong"
    count = "" if counted == ties else f"{counted:,} of "
    return f"{count}which preset {preset} counts as right; {strict}"


def group_rows_by_metric(outcomes: pa.Table) -> dict[MetricKey, NDArray[np.int64]]:
    """Returns the row numbers of each run, subset and metric, in the order of the outcomes."""
    rows_by_key: dict[MetricKey, list[int]] = {}
    columns = (outcomes[name].to_pylist() for name in ("benchmark", "run", "subset", "metric"))
    for row, (benchmark, run, subset, metric) in enumerate(zip(*columns, strict=True)):
        rows_by_key.setdefault((BenchmarkRun(benchmark, run), subset, metric), []).append(row)
    return {key: np.array(rows) for key, rows in rows_by_key.items()}


def _select_macro_groups(outcome: JudgedOutcomes, macro: MacroAverage) -> JudgedOutcomes:
    names, index, sizes = np.unique(
        outcome.group.astype(str), return_inverse=True, return_counts=True
    )
    counts = np.array(
        [
            size >= macro.min_cases and name not in macro.excluded_groups
            for name, size in zip(names, sizes, strict=True)
        ],
        dtype=bool,
    )
    return outcome.select(counts[index])


def _build_metric(
    key: MetricKey,
    source_metric: str,
    outcome: JudgedOutcomes,
    reference: Reference,
    is_comparable: bool,
) -> tuple[Metric, Observations | None]:
    """Returns one metric and its observations.

    Args:
        key: Benchmark, subset and metric.
        source_metric: Name of the metric that the outcomes belong to.
        outcome: The outcomes.
        reference: Reference values of the subset.
        is_comparable: Whether the rules are those of the published value.
    """
    scored = outcome.select(outcome.scored)
    n, (run, subset, name) = len(scored.right), key
    observed = low = high = chance = None
    method = ""
    if n:
        observed = Observations(
            scored.value,
            scored.image_labels(f"{run}/{subset}/{source_metric}"),
            scored.group.astype(str) if name == MACRO else np.zeros(n),
        )
        low, high, method = interval([observed], [1.0])
        if not all(
            import_protocol(protocol_name).has_interval for protocol_name in set(scored.protocol)
        ):
            low, high, method = None, None, "no interval is known for a number over all images"
        elif not np.isin(scored.value, (0, 1)).all():
            method += ", at least as wide as graded answers need"
        chance = _mean_chance(source_metric, scored, observed.weight)
    trained = {
        image
        for images, flags in zip(scored.images, scored.trained, strict=True)
        for image, flag in zip(images, flags, strict=True)
        if flag
    }
    images = len({image for images in scored.images for image in images})
    images_total = len({image for images in outcome.images for image in images})
    is_gallery = any(
        isinstance(import_protocol(protocol_name), Recall)
        for protocol_name in set(outcome.protocol)
    )
    gallery_size = max(images_total, reference.n or 0) if is_gallery else None
    is_complete = gallery_size is None or images == gallery_size
    return Metric(
        run.benchmark,
        subset,
        name,
        value=_per_cent(None if observed is None else observed.value),
        low=_per_cent(low),
        high=_per_cent(high),
        interval=method,
        n=n,
        n_total=len(outcome.right),
        ties=int(scored.tie.sum()),
        images=images,
        images_total=images_total,
        trained_on=len(trained),
        chance=reference.chance.get(name) if chance is None else _per_cent(chance),
        published=reference.published.get(name) if is_comparable and is_complete else None,
        gallery_size=gallery_size,
        run=run.run,
        ties_right=int((scored.tie & scored.right).sum()),
        lower_is_better=outcome.lower_is_better(source_metric),
    ), (None if low is None else observed)


def _mean_chance(metric: str, scored: JudgedOutcomes, weight: NDArray[np.float64]) -> float | None:
    """Returns the mean chance level of queries, None if their options do not determine it."""
    chance_by_query = np.zeros(len(weight))
    for protocol_name in set(scored.protocol):
        mask = scored.protocol == protocol_name
        chances = import_protocol(protocol_name).chance(
            metric, scored.options[mask], scored.right_options[mask]
        )
        if chances is None:
            return None
        chance_by_query[mask] = chances
    return float(weight @ chance_by_query)


def _per_cent(share: float | None) -> float | None:
    return None if share is None else 100 * share
