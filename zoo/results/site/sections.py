"""Sections of a report: which charts are drawn of runs, from numbers to training and its cost."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.errors import ZooError
from zoo.results import half_truth_models
from zoo.results.comparison.comparison import Comparison
from zoo.results.half_truth_pictures import accuracy, gaps, reach_of
from zoo.results.half_truths import ANCHOR, COMPLETION, Diagnostic, diagnostics
from zoo.results.metrics import Metric
from zoo.results.presets.base import Preset
from zoo.results.presets.shipped import Capabilities
from zoo.results.report import Results
from zoo.results.runs import BenchmarkRun
from zoo.results.site.charts import CASES, Chart, Section, bar_chart, ends
from zoo.results.site.drawings import Curve, Looks, Point, Series, lines, radar
from zoo.results.site.numbers import Links, ReportRow
from zoo.results.site.training import curves_of, trajectory_of

SPOKES = 3  # a radar of fewer is no figure
RECALL = re.compile(r"(i2t|t2i)_r@(\d+)")
TEXTS_A_SECOND, HOURS = "train/texts_a_second", "train/device_hours"
SCORING = {
    "images": "images encoded to measure",
    "texts": "texts encoded to measure",
    "device": "measured on",
    "towers": "arithmetic of towers",
    "pairs": "arithmetic of pairs",
}
Curves = Mapping[str, Mapping[str, Curve]]


def capabilities(rows: Sequence[ReportRow], names: Sequence[str]) -> Section | None:
    """Returns averages by capability as a radar and as bars, None where none was taken.

    Args:
        rows: The averages of the preset `capabilities`.
        names: Names of the runs.
    """
    taken = [row for row in rows if any(cell and cell.value is not None for cell in row.cells)]
    if not taken:
        return None
    labels = [row.names[0] for row in taken]
    series = {
        name: [
            Point(None) if cell is None else Point(cell.value, cell.low, cell.high, cell.href)
            for cell in (row.cells[i] for row in taken)
        ]
        for i, name in enumerate(names)
    }
    title = "By capability"
    charts = [bar_chart("capabilities", title, labels, series)]
    spokes = _distinct(labels, series)
    if len(spokes) >= SPOKES:
        numbers = {name: [of[i] for i in spokes.values()] for name, of in series.items()}
        around = Chart(
            "capabilities_radar",
            f"{title}, around",
            charts[0].records,
            lambda: radar(list(spokes), numbers),
        )
        charts.insert(0, around)
    says = Capabilities().says
    says = f"{says[0].upper()}{says[1:]}."
    if len(spokes) < len(labels):
        says += " Capabilities that are equal in every number stand on one spoke of the radar."
    return Section("capabilities", title, says, tuple(charts), of_seeds=True)


def half_truths(runs: Mapping[str, Results], preset: Preset, links: Links) -> Section | None:
    """Returns both accuracies of half-truths by condition, None where no run has any.

    Args:
        runs: The runs.
        preset: What counts as right.
        links: Addresses of cases.
    """
    found: dict[str, Diagnostic] = {}
    records: list[dict[str, object]] = []
    for number, (name, run) in enumerate(runs.items()):
        if not any(metric.benchmark == HalfTruth.name and metric.n for metric in run.metrics):
            continue
        several = diagnostics(run, preset)
        for one in several:
            called = name if len(several) == 1 else f"{name}, {one.run}"
            found[called] = one
            records += _conditions(called, one, links, number)
    if not found:
        return None
    together = True
    try:
        half_truth_models.check_alike(found)
    except ZooError:
        together = False
    title = "Half-truths by condition"
    if len(found) > 1 and together:
        models = Chart("half_truths", title, records, lambda: half_truth_models.drawing(found))
        charts = [models]
    else:
        charts = [
            Chart(
                f"half_truths_{i}",
                f"{title}: {name}",
                [record for record in records if record["run"] == name],
                lambda one=one: accuracy(one),  # type: ignore[misc]
            )
            for i, (name, one) in enumerate(found.items())
        ]
    reach = max(reach_of(one) for one in found.values())
    charts += [
        Chart(
            f"gaps_{i}",
            f"Gaps of {name}",
            [{"condition": c.condition, "case": c.id, "gap": c.gap} for c in one.cases],
            lambda one=one: gaps(one, reach),  # type: ignore[misc]
        )
        for i, (name, one) in enumerate(found.items())
    ]
    says = (
        "A true description A against the same with a wrong detail added, A-, and its true "
        "completion A+ against A-. The gap is the score of A less that of A-."
    )
    return Section("half_truths", "Half-truths", says, tuple(charts))


def retrieval(runs: Mapping[str, Results], links: Links) -> Section | None:
    """Returns recall over depth for each gallery, None where no run retrieved.

    Args:
        runs: The runs.
        links: Addresses of cases.
    """
    cases: dict[tuple[str, Metric], str] = {}
    galleries: dict[tuple[BenchmarkRun, str], dict[str, dict[int, Metric]]] = {}
    looks: dict[str, tuple[int, int]] = {}
    for number, (name, run) in enumerate(runs.items()):
        for metric in run.metrics:
            told = RECALL.fullmatch(metric.metric)
            if told is not None and metric.value is not None:
                asks = told[1] == "i2t"
                curve = f"{name}, {'image to text' if asks else 'text to image'}"
                looks[curve] = number, int(not asks)
                of = galleries.setdefault((metric.benchmark_run, metric.subset), {})
                of.setdefault(curve, {})[int(told[2])] = metric
                cases[curve, metric] = links.metric(metric, metric.metric, number)
    charts = []
    for i, ((asked, subset), found) in enumerate(galleries.items()):
        curves = {name: _depths(of) for name, of in found.items()}
        records = [
            {"curve": name, "depth": k, **ends(m), CASES: cases[name, m]}
            for name, of in found.items()
            for k, m in of.items()
        ]
        first = next(m for of in found.values() for m in of.values())
        title = f"Recall on {asked}/{subset}, among {first.images:,} images"
        charts.append(
            Chart(
                f"retrieval_{i}",
                title,
                records,
                lambda curves=curves: lines(  # type: ignore[misc]
                    curves, "depth", "recall, %", marks=True, looks=looks
                ),
            )
        )
    if not charts:
        return None
    says = "Recall: whether a right answer is among the first, as deep as the axis says."
    return Section("retrieval", "Retrieval", says, tuple(charts))


def training(logged: Curves, names: Sequence[str]) -> Section | None:
    """Returns what was logged while models were trained, None where nothing was.

    Args:
        logged: The logs, by run.
        names: Names of all runs, by whose order they have colours.
    """
    wanted = {
        "loss": ("Loss", r"(train|val)/loss"),
        "rate": ("Learning rate", r"train/lr_\w+"),
        "temperature": ("Temperature: one over the head's scale", r"train/scale"),
        "missing": ("Share of texts that are missing", r"train/missing_\w+"),
    }
    charts = []
    for name, (title, pattern) in wanted.items():
        columns = [column for of in logged.values() for column in of]
        columns = [column for column in dict.fromkeys(columns) if re.fullmatch(pattern, column)]
        curves: dict[str, Curve] = {}
        looks: dict[str, tuple[int, int]] = {}
        for run, of in logged.items():
            for column, alike in _equal(of, columns).items():
                short = [one if name == "loss" else one.partition("/")[2] for one in alike]
                called = f"{run}, {' = '.join(short)}"
                curve, looks[called] = of[column], (names.index(run), columns.index(column))
                if name == "temperature":
                    curve = Curve(curve.x, [1 / y for y in curve.y])
                curves[called] = curve
        if curves:
            charts.append(_over_steps(f"training_{name}", title, curves, looks))
    if not charts:
        return None
    says = (
        "As the runs' folders keep them in metrics.csv, over steps. Curves of a run that are "
        "equal are drawn as one."
    )
    return Section("training", "Training", says, tuple(charts))


def trajectories(runs: Mapping[str, Results], places: Mapping[str, Path]) -> Section | None:
    """Returns what models score on the line to the weights they started from (WiSE-FT).

    Args:
        runs: The runs.
        places: Their folders, as far as they have one.
    """
    charts = []
    for i, (name, run) in enumerate(runs.items()):
        found = trajectory_of(places[name], run) if name in places else None
        if found is None or not found.metrics:
            continue
        curves = {
            metric: Curve(found.alphas, [scores[metric] for scores in found.scores])
            for metric in found.metrics
        }
        records = [
            {"metric": metric, "alpha": alpha, "value": value}
            for metric, curve in curves.items()
            for alpha, value in zip(curve.x, curve.y, strict=True)
        ]
        charts.append(
            Chart(
                f"trajectory_{i}",
                f"{name}: between start and tuned weights",
                records,
                lambda curves=curves: lines(  # type: ignore[misc]
                    curves, "share of the tuned weights", "%", marks=True
                ),
            )
        )
    if not charts:
        return None
    says = "Weights between those that a model started from, at 0, and its own, at 1 (WiSE-FT)."
    return Section("trajectory", "Trajectory", says, tuple(charts))


def forest_section(comparison: Comparison | None) -> Section | None:
    """Returns the forest of differences, None of a run alone."""
    if comparison is None:
        return None
    forest = Chart(
        "differences", "Differences, with paired intervals", comparison.records(), comparison.figure
    )
    return Section("forest", "", "", (forest,))


def costs(runs: Mapping[str, Results], logged: Curves) -> dict[str, list[str]]:
    """Returns what is known of the cost of runs: by what it is, a word for each run.

    Args:
        runs: The runs.
        logged: The logs of training, by run.
    """
    told: dict[str, list[str]] = {}
    for i, (name, run) in enumerate(runs.items()):
        scoring, own = run.header["scoring"], logged.get(name, {})
        kept = {title: scoring[what] for what, title in SCORING.items() if what in scoring}
        known = {k: f"{v:,}" if isinstance(v, int) else str(v) for k, v in kept.items()}
        if own:
            last = max(curve.x[-1] for curve in own.values())
            known["steps trained, as far as logged"] = f"{last:,.0f}"
        if HOURS in own:
            known["device hours of training, as far as logged"] = f"{own[HOURS].y[-1]:.3g}"
        if TEXTS_A_SECOND in own:
            known["texts a second, median of steps"] = f"{median(own[TEXTS_A_SECOND].y):,.0f}"
        for what, said in known.items():
            told.setdefault(what, [""] * len(runs))[i] = said
    return told


def logs(runs: Mapping[str, Results]) -> Curves:
    """Returns what was logged while models were trained, by run, of those whose logs are there."""
    found = {name: curves_of(run) for name, run in runs.items()}
    return {name: of for name, of in found.items() if of}


def _distinct(labels: Sequence[str], series: Series) -> dict[str, int]:
    """Returns where each label stands, of those that are equal in every number one for all."""
    alike: dict[tuple[float | None, ...], list[int]] = {}
    for i in range(len(labels)):
        alike.setdefault(tuple(of[i].value for of in series.values()), []).append(i)
    return {", ".join(labels[i] for i in own): own[0] for own in alike.values()}


def _conditions(
    name: str, found: Diagnostic, links: Links, run: int
) -> Iterator[dict[str, object]]:
    for line in (*found.conditions, *found.means):
        for says, metric, average in (
            ("A > A-", ANCHOR, line.anchor),
            ("A+ > A-", COMPLETION, line.completion),
        ):
            cases = links.members(
                f"{line.name}, {says}", [(found.run, of, metric) for of in line.conditions], run
            )
            told = {"run": name, "condition": line.name, "metric": says}
            yield {**told, **ends(average), "n": average.n, CASES: cases}


def _depths(found: Mapping[int, Metric]) -> Curve:
    metrics = [found[k] for k in sorted(found)]
    values = [metric.value or 0.0 for metric in metrics]
    ends = [(metric.low, metric.high) for metric in metrics]
    known = [(low, high) for low, high in ends if low is not None and high is not None]
    if len(known) < len(values):
        return Curve(sorted(found), values)
    return Curve(sorted(found), values, *map(list, zip(*known, strict=True)))


def _equal(logged: Mapping[str, Curve], columns: Sequence[str]) -> dict[str, list[str]]:
    """Returns the columns that a run has: by the first one, all that are equal to it."""
    found: dict[str, list[str]] = {}
    for column in columns:
        if column in logged:
            first = next((one for one in found if logged[one] == logged[column]), column)
            found.setdefault(first, []).append(column)
    return found


def _over_steps(name: str, title: str, curves: Mapping[str, Curve], looks: Looks) -> Chart:
    records = [
        {"curve": of, "step": x, "value": y}
        for of, curve in curves.items()
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    what = title.partition(":")[0].lower()
    return Chart(name, title, records, lambda: lines(curves, "step", what, looks=looks))
