"""Sections of a report, with their charts: from metrics to training curves and cost."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.errors import ZooError
from zoo.results import half_truth_models
from zoo.results.comparison.comparison import Comparison
from zoo.results.drawing import run_styles, style_numbers
from zoo.results.half_truth_pictures import draw_accuracy, draw_gaps, gap_limit
from zoo.results.half_truths import ANCHOR, COMPLETION, Diagnostic, diagnostics
from zoo.results.metrics import Metric
from zoo.results.presets.preset import Capabilities, Preset
from zoo.results.report import Results
from zoo.results.runs import BenchmarkRun
from zoo.results.site.chart_drawing import Curve, Looks, Point, Series, draw_lines, draw_radar
from zoo.results.site.charts import CASES, Chart, Section, bar_chart, interval_fields
from zoo.results.site.numbers import Links, ReportRow
from zoo.results.site.training import read_training_curves, read_trajectory

MIN_SPOKES = 3  # a radar chart with fewer spokes has no area
CHANCE = "train/chance_loss"
LOSS = rf"(train|val)/loss|{CHANCE}"  # the columns of a log with losses
RECALL = re.compile(r"(i2t|t2i)_r@(\d+)")
TEXTS_A_SECOND, HOURS = "train/texts_per_second", "train/device_hours"
SCORING = {
    "images": "images encoded for evaluation",
    "texts": "texts encoded for evaluation",
    "device": "evaluated on",
    "towers": "precision of towers",
    "pairs": "precision of pairs",
}
Curves = Mapping[str, Mapping[str, Curve]]


def capability_section(rows: Sequence[ReportRow], names: Sequence[str]) -> Section | None:
    """Returns averages by capability as a radar and as bars, None if there are none.

    Args:
        rows: The averages of the preset `capabilities`.
        names: Names of the runs.
    """
    rows_with_values = [
        row for row in rows if any(cell and cell.value is not None for cell in row.cells)
    ]
    if not rows_with_values:
        return None
    labels = [row.names[0] for row in rows_with_values]
    series = {
        name: [
            Point(None) if cell is None else Point(cell.value, cell.low, cell.high, cell.href)
            for cell in (row.cells[i] for row in rows_with_values)
        ]
        for i, name in enumerate(names)
    }
    title = "By capability"
    charts = [bar_chart("capabilities", title, labels, series)]
    spokes = _join_equal_labels(labels, series)
    if len(spokes) >= MIN_SPOKES:
        numbers = {name: [points[i] for i in spokes.values()] for name, points in series.items()}
        radar_chart = Chart(
            "capabilities_radar",
            f"{title} (radar)",
            charts[0].records,
            lambda: draw_radar(list(spokes), numbers),
        )
        charts.insert(0, radar_chart)
    description = Capabilities().description
    description = f"{description[0].upper()}{description[1:]}."
    if len(spokes) < len(labels):
        description += " Capabilities with equal numbers share one spoke of the radar."
    return Section("capabilities", title, description, tuple(charts), of_seeds=True)


def half_truth_section(runs: Mapping[str, Results], preset: Preset, links: Links) -> Section | None:
    """Returns both accuracies on half-truths by condition, None if no run has any.

    Args:
        runs: The runs.
        preset: Preset that counts the answers.
        links: Addresses of cases.
    """
    diagnostic_by_name: dict[str, Diagnostic] = {}
    records: list[dict[str, object]] = []
    for number, (name, run) in enumerate(runs.items()):
        if not any(metric.benchmark == HalfTruth.name and metric.n for metric in run.metrics):
            continue
        run_diagnostics = diagnostics(run, preset)
        for diagnostic in run_diagnostics:
            label = name if len(run_diagnostics) == 1 else f"{name}, {diagnostic.run}"
            diagnostic_by_name[label] = diagnostic
            records += _condition_records(label, diagnostic, links, number)
    if not diagnostic_by_name:
        return None
    is_comparable = True
    try:
        half_truth_models.check_same_cases(diagnostic_by_name)
        half_truth_models.check_drawable(diagnostic_by_name)
    except ZooError:
        is_comparable = False
    title = "Half-truths by condition"
    if len(diagnostic_by_name) > 1 and is_comparable:
        models = Chart(
            "half_truths",
            title,
            records,
            lambda: half_truth_models.draw_model_accuracies(diagnostic_by_name),
        )
        charts = [models]
    else:
        charts = [
            Chart(
                f"half_truths_{i}",
                f"{title}: {name}",
                [record for record in records if record["run"] == name],
                lambda diagnostic=diagnostic: draw_accuracy(diagnostic),  # type: ignore[misc]
            )
            for i, (name, diagnostic) in enumerate(diagnostic_by_name.items())
        ]
    reach = max(gap_limit(diagnostic) for diagnostic in diagnostic_by_name.values())
    charts += [
        Chart(
            f"gaps_{i}",
            f"Score gaps of {name}",
            [{"condition": c.condition, "case": c.id, "gap": c.gap} for c in diagnostic.cases],
            lambda diagnostic=diagnostic, name=name: draw_gaps(  # type: ignore[misc]
                diagnostic, reach, run_styles(diagnostic_by_name)[name][0]
            ),
        )
        for i, (name, diagnostic) in enumerate(diagnostic_by_name.items())
    ]
    description = (
        "A: a true description; A-: the same with a wrong detail added; A+: the same with a true "
        "detail added. Accuracies are the shares of A > A- and of A+ > A-. The gap is the score of "
        "A minus that of A-."
    )
    return Section("half_truths", "Half-truths", description, tuple(charts))


def retrieval_section(runs: Mapping[str, Results], links: Links) -> Section | None:
    """Returns recall over depth for each gallery, None if no run has retrieval results.

    Args:
        runs: The runs.
        links: Addresses of cases.
    """
    cases: dict[tuple[str, Metric], str] = {}
    galleries: dict[tuple[BenchmarkRun, str], dict[str, dict[int, Metric]]] = {}
    looks: dict[str, tuple[int, int]] = {}
    colours = style_numbers(runs)
    for number, (name, run) in enumerate(runs.items()):
        for metric in run.metrics:
            match = RECALL.fullmatch(metric.metric)
            if match is not None and metric.value is not None:
                is_image_to_text = match[1] == "i2t"
                curve = f"{name}, {'image to text' if is_image_to_text else 'text to image'}"
                looks[curve] = colours[name], int(not is_image_to_text)
                curve_metrics = galleries.setdefault((metric.benchmark_run, metric.subset), {})
                curve_metrics.setdefault(curve, {})[int(match[2])] = metric
                cases[curve, metric] = links.metric_link(metric, metric.metric, number)
    charts = []
    for i, ((benchmark_run, subset), metrics_by_curve) in enumerate(galleries.items()):
        curves = {name: _recall_curve(metrics) for name, metrics in metrics_by_curve.items()}
        records = [
            {"curve": name, "depth": k, **interval_fields(m), CASES: cases[name, m]}
            for name, metrics in metrics_by_curve.items()
            for k, m in metrics.items()
        ]
        first_metric = next(m for metrics in metrics_by_curve.values() for m in metrics.values())
        title = f"Recall on {benchmark_run}/{subset}, among {first_metric.images:,} images"
        charts.append(
            Chart(
                f"retrieval_{i}",
                title,
                records,
                lambda curves=curves: draw_lines(  # type: ignore[misc]
                    curves, "depth", "recall, %", marks=True, looks=looks
                ),
            )
        )
    if not charts:
        return None
    description = "Recall@k: the share of queries with a right answer among the first k (depth)."
    return Section("retrieval", "Retrieval", description, tuple(charts))


def training_section(curves_by_run: Curves, objectives: Mapping[str, str]) -> Section | None:
    """Returns the training curves, None if nothing was logged.

    Losses of different objectives have a chart each, since their values are not comparable.

    Args:
        curves_by_run: The logs, by run.
        objectives: The objective of each run, by the names of all runs.
    """
    panels = {
        "rate": ("Learning rate", r"train/lr_\w+"),
        "temperature": ("Temperature: 1 / the head's scale", r"train/scale"),
        "missing": ("Share of missing texts", r"train/missing_\w+"),
    }
    colours = style_numbers(objectives)
    logs_by_objective: dict[str, dict[str, Mapping[str, Curve]]] = {}
    for run, log in curves_by_run.items():
        logs_by_objective.setdefault(objectives[run], {})[run] = log
    selections: list[tuple[str, str, str, Curves]] = []
    for i, (objective, logs) in enumerate(logs_by_objective.items()):
        several = len(logs_by_objective) > 1
        title = f"Loss of {objective}" if several else "Loss"
        selections.append((f"loss_{i}" if several else "loss", title, LOSS, logs))
    selections += [(name, *panel, curves_by_run) for name, panel in panels.items()]
    charts = []
    for name, title, pattern, selected_logs in selections:
        columns = [column for log in selected_logs.values() for column in log]
        columns = [column for column in dict.fromkeys(columns) if re.fullmatch(pattern, column)]
        curves: dict[str, Curve] = {}
        looks: dict[str, tuple[int, int]] = {}
        for run, log in selected_logs.items():
            for column, equal_columns in _group_equal_columns(log, columns).items():
                short_names = [
                    column_name if pattern == LOSS else column_name.partition("/")[2]
                    for column_name in equal_columns
                ]
                label = f"{run}, {' = '.join(short_names)}"
                curve, looks[label] = log[column], (colours[run], columns.index(column))
                curve = replace(curve, is_reference=column == CHANCE)
                if name == "temperature":
                    curve = Curve(curve.x, [1 / y for y in curve.y])
                curves[label] = curve
        if curves:
            charts.append(_step_chart(f"training_{name}", title, curves, looks))
    if not charts:
        return None
    description = (
        "Curves from metrics.csv in the folder of each run, over steps. Equal curves of a run are "
        "drawn as one. chance_loss: the loss of a uniform guess."
    )
    return Section("training", "Training", description, tuple(charts))


def trajectory_section(
    runs: Mapping[str, Results], run_folders: Mapping[str, Path]
) -> Section | None:
    """Returns the scores of models between the weights they started from and their own (WiSE-FT).

    Args:
        runs: The runs.
        run_folders: The folders of the runs that have one.
    """
    charts = []
    for i, (name, run) in enumerate(runs.items()):
        trajectory = read_trajectory(run_folders[name], run) if name in run_folders else None
        if trajectory is None or not trajectory.metrics:
            continue
        curves = {
            metric: Curve(trajectory.alphas, [scores[metric] for scores in trajectory.scores])
            for metric in trajectory.metrics
        }
        records = [
            {"metric": metric, "alpha": alpha, "value": value}
            for metric, curve in curves.items()
            for alpha, value in zip(curve.x, curve.y, strict=True)
        ]
        charts.append(
            Chart(
                f"trajectory_{i}",
                f"{name}: from start to fine-tuned weights",
                records,
                lambda curves=curves: draw_lines(  # type: ignore[misc]
                    curves, "share of the fine-tuned weights", "%", marks=True
                ),
            )
        )
    if not charts:
        return None
    description = (
        "Scores of weights interpolated between the start (0) and the fine-tuned model (1), as in "
        "WiSE-FT."
    )
    return Section("trajectory", "Trajectory", description, tuple(charts))


def forest_section(comparison: Comparison | None) -> Section | None:
    """Returns the forest plot of the differences, None for a single run."""
    if comparison is None:
        return None
    forest = Chart(
        "differences", "Differences, with paired intervals", comparison.records(), comparison.figure
    )
    return Section("forest", "", "", (forest,))


def cost_table(runs: Mapping[str, Results], curves_by_run: Curves) -> dict[str, list[str]]:
    """Returns the known costs of the runs: by name of the cost, one text per run.

    Args:
        runs: The runs.
        curves_by_run: The logs of training, by run.
    """
    table: dict[str, list[str]] = {}
    for i, (name, run) in enumerate(runs.items()):
        scoring, log = run.header["scoring"], curves_by_run.get(name, {})
        fields = {title: scoring[key] for key, title in SCORING.items() if key in scoring}
        cells = {k: f"{v:,}" if isinstance(v, int) else str(v) for k, v in fields.items()}
        if log:
            last_step = max(curve.x[-1] for curve in log.values())
            cells["training steps (logged)"] = f"{last_step:,.0f}"
        if HOURS in log:
            cells["device hours of training (logged)"] = f"{log[HOURS].y[-1]:.3g}"
        if TEXTS_A_SECOND in log:
            cells["texts per second, median over steps"] = f"{median(log[TEXTS_A_SECOND].y):,.0f}"
        for cost, text in cells.items():
            table.setdefault(cost, [""] * len(runs))[i] = text
    return table


def read_logs(runs: Mapping[str, Results]) -> Curves:
    """Returns the training curves by run, for runs whose logs exist."""
    curves_by_run = {name: read_training_curves(run) for name, run in runs.items()}
    return {name: run_curves for name, run_curves in curves_by_run.items() if run_curves}


def _join_equal_labels(labels: Sequence[str], series: Series) -> dict[str, int]:
    """Returns the index of each label; labels with the same numbers are joined into one."""
    indices_by_values: dict[tuple[float | None, ...], list[int]] = {}
    for i in range(len(labels)):
        indices_by_values.setdefault(
            tuple(points[i].value for points in series.values()), []
        ).append(i)
    return {
        ", ".join(labels[i] for i in indices): indices[0] for indices in indices_by_values.values()
    }


def _condition_records(
    name: str, diagnostic: Diagnostic, links: Links, run: int
) -> Iterator[dict[str, object]]:
    for line in (*diagnostic.conditions, *diagnostic.means):
        for label, metric, average in (
            ("A > A-", ANCHOR, line.anchor),
            ("A+ > A-", COMPLETION, line.completion),
        ):
            cases = links.members_link(
                f"{line.name}, {label}",
                [(diagnostic.run, condition, metric) for condition in line.conditions],
                run,
            )
            fields = {"run": name, "condition": line.name, "metric": label}
            yield {**fields, **interval_fields(average), "n": average.n, CASES: cases}


def _recall_curve(metric_by_depth: Mapping[int, Metric]) -> Curve:
    metrics = [metric_by_depth[k] for k in sorted(metric_by_depth)]
    values = [metric.value or 0.0 for metric in metrics]
    ends = [(metric.low, metric.high) for metric in metrics]
    intervals = [(low, high) for low, high in ends if low is not None and high is not None]
    if len(intervals) < len(values):
        return Curve(sorted(metric_by_depth), values)
    low, high = zip(*intervals, strict=True)
    return Curve(sorted(metric_by_depth), values, low, high)


def _group_equal_columns(
    curves: Mapping[str, Curve], columns: Sequence[str]
) -> dict[str, list[str]]:
    """Returns the columns that a run has, grouped if they are equal, by the first of each group."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        if column in curves:
            first_column = next(
                (candidate for candidate in groups if curves[candidate] == curves[column]), column
            )
            groups.setdefault(first_column, []).append(column)
    return groups


def _step_chart(name: str, title: str, curves: Mapping[str, Curve], looks: Looks) -> Chart:
    records = [
        {"curve": label, "step": x, "value": y}
        for label, curve in curves.items()
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    axis_label = title.partition(":")[0].lower()
    return Chart(name, title, records, lambda: draw_lines(curves, "step", axis_label, looks=looks))
