"""Metrics of half-truths as in CS-CLIP: accuracies, gaps and text-only baselines.

A is the anchor, A- the half-truth and A+ the true completion. The gap of a case is the score of A
minus the score of A- (CS-CLIP, Tables 1, 6 and 7).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from zoo.benchmarks.base import Baselines
from zoo.benchmarks.ceilings import ceilings_from_dict
from zoo.benchmarks.half_truth.baselines import CORPUS, LONGER
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.half_truth.rules import CONDITIONS, ENTITY_CONDITIONS
from zoo.errors import ZooError
from zoo.results.averages import Average, Mean, Member, compute_available_averages
from zoo.results.header import SCALE, references
from zoo.results.metrics import Metric, compute_metrics
from zoo.results.number_formats import format_number
from zoo.results.presets.preset import Preset
from zoo.results.report import Results
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import Observations
from zoo.results.tables import TextTable, format_interval

ANCHOR, COMPLETION = "half_truth", "completion"
# the best of four guesses from the texts of all cases, as in `zoo.benchmarks.ceilings`
BEST_GUESS = "best text-only guess"
ENTITIES = (*ENTITY_CONDITIONS.values(), "+Rand")
HEADER = (
    "condition",
    "A > A-\n%",
    "\n95 %",
    "longer\ntext, %",
    "mean\ngap",
    "A+ > A-\n%",
    "\n95 % ",
    "longer\nwins, % ",
    "corpus\ncount, %",
    "n",
    "ties",
)


@dataclass(frozen=True)
class ScoredCase:
    """The scores of one half-truth.

    Attributes:
        condition: The condition.
        id: The id of the source caption.
        image: The identity of the image.
        texts: The anchor, the half-truth and the true completion.
        scores: Their scores.
    """

    condition: str
    id: str
    image: str
    texts: tuple[str, str, str]
    scores: tuple[float, float, float]

    @property
    def gap(self) -> float:
        """The score of the anchor minus that of the half-truth."""
        return self.scores[0] - self.scores[1]


@dataclass(frozen=True)
class ConditionLine:
    """A condition, or a mean over several.

    Attributes:
        name: Name of the condition or of the mean.
        anchor: How often the anchor scores above the half-truth.
        completion: How often the true completion does.
        gap: The mean gap.
        ties: Number of anchors with exactly the score of their half-truths.
        baselines: Text-only baselines in per cent, by baseline and metric.
        conditions: The conditions that it covers.
    """

    name: str
    anchor: Average
    completion: Average
    gap: float
    ties: int
    baselines: Mapping[tuple[str, str], float]
    conditions: tuple[str, ...]

    def accuracy(self, metric: str) -> Average:
        """Returns the accuracy of a metric, `ANCHOR` or `COMPLETION`."""
        return self.anchor if metric == ANCHOR else self.completion


@dataclass(frozen=True)
class Diagnostic:
    """The results of a model on all half-truths of a run.

    Attributes:
        run: The benchmark run.
        description: Description of the preset and the scores.
        notes: Notes of the report on the cases.
        conditions: One line per scored condition.
        means: Lines over entity additions, relation additions, all cases and all conditions.
        cases: The scored cases, in ascending order of their gaps.
    """

    run: BenchmarkRun
    description: str
    notes: Mapping[str, str]
    conditions: tuple[ConditionLine, ...]
    means: tuple[ConditionLine, ...]
    cases: tuple[ScoredCase, ...]

    def table(self) -> TextTable:
        """Returns one row per line, with each accuracy followed by its baselines."""
        rows = (
            (
                line.name,
                format_number(line.anchor.value),
                format_interval(line.anchor),
                format_number(line.baselines.get((LONGER, ANCHOR))),
                f"{line.gap:+.4f}",
                format_number(line.completion.value),
                format_interval(line.completion),
                format_number(line.baselines.get((LONGER, COMPLETION))),
                format_number(line.baselines.get((CORPUS, COMPLETION))),
                f"{line.anchor.n:,}",
                f"{line.ties:,}" if line.ties else "",
            )
            for line in (*self.conditions, *self.means)
        )
        return TextTable(HEADER, tuple(rows))

    def worst_cases(self, n: int) -> dict[str, list[ScoredCase]]:
        """Returns, per condition, the n half-truths that score highest above their anchors."""
        fooled: dict[str, list[ScoredCase]] = {line.name: [] for line in self.conditions}
        for case in self.cases:
            if case.gap < 0 and len(fooled[case.condition]) < n:
                fooled[case.condition].append(case)
        return fooled


def diagnostics(results: Results, preset: Preset) -> list[Diagnostic]:
    """Returns one diagnostic per run of half-truths in the results.

    Args:
        results: The results.
        preset: Rules for right answers.

    Raises:
        ZooError: The results have no scored half-truth.
    """
    run_diagnostics = []
    scale = results.header["scoring"].get(SCALE)
    scores = "those of the model" if scale is None else f"taken before the scale, {scale:.4g}"
    for entry in results.header["benchmarks"].values():
        run = BenchmarkRun(entry["benchmark"], entry["run"])
        run_mask = pc.and_(*(pc.equal(results.cases[k], v) for k, v in run._asdict().items()))
        outcomes = results.cases.filter(run_mask)
        if run.benchmark != HalfTruth.name or not pc.any(pc.is_valid(outcomes["right"])).as_py():
            continue
        cases = sorted(_scored_cases(outcomes, scale or 1.0), key=lambda case: case.gap)
        builder = _LineBuilder(
            compute_metrics(outcomes, preset.rules, references(results.header)),
            cases,
            {**entry.get("baselines", {}), BEST_GUESS: _best_guesses(entry)},
        )
        run_diagnostics.append(
            Diagnostic(
                run,
                f"preset {preset.name}: {preset.description}; scores are {scores}",
                entry["notes"],
                tuple(builder.line(name, [name]) for name in builder.conditions),
                tuple(builder.mean_lines()),
                tuple(cases),
            )
        )
    if not run_diagnostics:
        raise ZooError(
            "the results have no scored half-truth. Run "
            "`zoo validate --benchmarks half_truth:CASES --out RESULTS` first"
        )
    return run_diagnostics


def _best_guesses(benchmark: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Returns the best text-only guess of each metric by condition, in per cent.

    Args:
        benchmark: The description of the half-truths in the header of the results.
    """
    ceilings = ceilings_from_dict(benchmark.get("ceilings", {}))
    return {
        condition: {
            metric: ceiling.best_guess[1]
            for metric, ceiling in by_metric.items()
            if ceiling.best_guess is not None
        }
        for condition, by_metric in ceilings.items()
    }


def _scored_cases(outcomes: pa.Table, scale: float) -> Iterator[ScoredCase]:
    """Yields the scored cases, with scores divided by the scale."""
    rows = outcomes.filter(pc.is_valid(outcomes["scores"])).to_pylist()
    completions = {(r["subset"], r["case"]): r for r in rows if r["metric"] == COMPLETION}
    for row in rows:
        if row["metric"] == ANCHOR:
            completion = completions[row["subset"], row["case"]]
            anchor, half_truth = (score / scale for score in row["scores"])
            yield ScoredCase(
                row["subset"],
                row["case"],
                row["images"][0],
                (*row["texts"], completion["texts"][0]),
                (anchor, half_truth, completion["scores"][0] / scale),
            )


class _LineBuilder:
    """Builds lines of conditions and means.

    Args:
        observations: The metrics with their observations.
        cases: The scored cases.
        baselines: Text-only baselines.
    """

    def __init__(
        self,
        observations: Mapping[Metric, Observations | None],
        cases: Sequence[ScoredCase],
        baselines: Baselines,
    ) -> None:
        self._observations, self._baselines = observations, baselines
        gaps = {name: [case.gap for case in cases if case.condition == name] for name in CONDITIONS}
        self._gaps = {
            name: fmean(condition_gaps) for name, condition_gaps in gaps.items() if condition_gaps
        }
        self._anchors = {m.subset: m for m in observations if m.metric == ANCHOR}
        self.conditions = list(self._gaps)

    def mean_lines(self) -> Iterator[ConditionLine]:
        """Yields a line for each mean of two or more conditions."""
        entity = [name for name in self.conditions if name in ENTITIES]
        relation = [name for name in self.conditions if name not in ENTITIES]
        for name, conditions in (("entity", entity), ("relation", relation)):
            if len(conditions) > 1:
                yield self.line(name, conditions, "cases")
        yield self.line("all, by cases", self.conditions, "cases")
        yield self.line(f"mean of {len(self.conditions)}", self.conditions)

    def line(
        self, name: str, conditions: Sequence[str], weighting: Literal["equal", "cases"] = "equal"
    ) -> ConditionLine:
        """Returns the line of one or more conditions."""
        cases = {c: 1 if weighting == "equal" else self._anchors[c].n_total for c in conditions}
        share = {c: n / sum(cases.values()) for c, n in cases.items()}
        guessed = {
            (baseline, metric): sum(share[c] * subsets[c][metric] for c in conditions)
            for baseline, subsets in self._baselines.items()
            for metric in (ANCHOR, COMPLETION)
            if all(metric in subsets.get(c, {}) for c in conditions)
        }
        anchor, completion = (
            compute_available_averages(
                "",
                [Mean(name, tuple(Member(HalfTruth.name, c, m) for c in conditions), weighting)],
                list(self._observations),
                self._observations,
            )[0]
            for m in (ANCHOR, COMPLETION)
        )
        gap = sum(share[c] * self._gaps[c] for c in conditions)
        ties = sum(self._anchors[c].ties for c in conditions)
        return ConditionLine(name, anchor, completion, gap, ties, guessed, tuple(conditions))
