"""Metrics on bindings and images that were seen in training, and on those that were not."""

from collections.abc import Mapping

from zoo.results.drawing import style_numbers
from zoo.results.leaks import ALL, FREE
from zoo.results.presets.preset import Preset
from zoo.results.report import Results
from zoo.results.site.chart_drawing import Looks, Point
from zoo.results.site.charts import Chart, Section, bar_chart
from zoo.results.site.numbers import Links

SPLITS = ("seen", "unseen")


def familiarity_section(
    runs: Mapping[str, Results], recounted_runs: Mapping[str, Results], preset: Preset, links: Links
) -> Section | None:
    """Returns a section of metrics by familiarity: bindings and images seen in training or not.

    Args:
        runs: The runs, with the counts from when they were measured.
        recounted_runs: The runs, counted under the presets of the report.
        preset: The first of these presets.
        links: Addresses of cases.
    """
    candidates = _split_chart(recounted_runs, links), _leak_chart(runs, preset, links)
    charts = [chart for chart in candidates if chart is not None]
    if not charts:
        return None
    description = (
        "Seen: all bindings of attributes to objects in the texts of a case occur in training "
        "captions; unseen: none of them does. Leak-free: without the cases whose images the model "
        "has seen."
    )
    return Section("familiar", "Seen in training", description, tuple(charts))


def _split_chart(runs: Mapping[str, Results], links: Links) -> Chart | None:
    """Draws metrics over cases of seen and unseen bindings."""
    points_by_series: dict[str, dict[str, Point]] = {}
    labels: dict[str, None] = {}
    looks: dict[str, tuple[int, int]] = {}
    colours = style_numbers(runs)
    for i, (name, run) in enumerate(runs.items()):
        for metric in run.by_preset[0].splits:
            if metric.split in SPLITS and metric.value is not None:
                label = f"{metric.benchmark_run}/{metric.subset}/{metric.metric}"
                labels[label] = None
                href = links.metric_link(metric, metric.metric, i, split=metric.split)
                point = Point(metric.value, metric.low, metric.high, href)
                series = f"{name}, {metric.split}"
                looks[series] = colours[name], SPLITS.index(metric.split)
                points_by_series.setdefault(series, {})[label] = point
    return _familiarity_chart(
        "seen_unseen", "Seen vs unseen bindings", labels, points_by_series, looks
    )


def _leak_chart(runs: Mapping[str, Results], preset: Preset, links: Links) -> Chart | None:
    """Draws metrics over all cases, and without those whose images a model has seen.

    A run that was measured without the preset is labelled with the preset that it was measured
    with.
    """
    points_by_series: dict[str, dict[str, Point]] = {}
    labels: dict[str, None] = {}
    looks: dict[str, tuple[int, int]] = {}
    colours = style_numbers(runs)
    for i, (name, run) in enumerate(runs.items()):
        counts = next((c for c in run.by_preset if c.preset == preset.name), run.by_preset[0])
        preset_suffix = "" if counts.preset == preset.name else f", preset {counts.preset}"
        measured_leaks = [leak for leak in counts.leaks if leak.n_seen]
        with_all_subsets = {leak.benchmark_run for leak in measured_leaks if leak.subset == ALL}
        for leak in measured_leaks:
            if leak.subset != ALL and leak.benchmark_run in with_all_subsets:
                continue
            label = f"{leak.benchmark_run}/{leak.subset}/{leak.metric}"
            labels[label] = None
            parts: tuple[tuple[str, float | None, dict[str, str]], ...] = (
                ("full", leak.full, {}),
                ("leak-free", leak.without, {"leak": FREE}),
            )
            for kind, (kind_label, value, filters) in enumerate(parts):
                if leak.subset == ALL:
                    href = links.subsets_link(leak.benchmark_run, leak.metric, i, **filters)
                else:
                    href = links.case_link(
                        str(leak.benchmark_run), leak.subset, leak.metric, i, **filters
                    )
                series = f"{name}, {kind_label}{preset_suffix}"
                looks[series] = colours[name], kind
                points_by_series.setdefault(series, {})[label] = Point(value, href=href)
    return _familiarity_chart("leak_free", "Full vs leak-free", labels, points_by_series, looks)


def _familiarity_chart(
    name: str,
    title: str,
    labels: Mapping[str, None],
    points_by_series: Mapping[str, Mapping[str, Point]],
    looks: Looks,
) -> Chart | None:
    if not labels:
        return None
    rows = list(labels)
    series = {
        series_name: [points.get(row, Point(None)) for row in rows]
        for series_name, points in points_by_series.items()
    }
    return bar_chart(name, title, rows, series, looks)
