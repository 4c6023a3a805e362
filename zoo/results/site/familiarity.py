"""What training has shown: metrics over bindings and images that were seen, and over others."""

from collections.abc import Mapping

from zoo.results.leaks import ALL, FREE
from zoo.results.presets.base import Preset
from zoo.results.report import Results
from zoo.results.runs import BenchmarkRun
from zoo.results.site.charts import Chart, Section, bar_chart
from zoo.results.site.drawings import Looks, Point
from zoo.results.site.numbers import Links

SPLITS = ("seen", "unseen")


def familiar(
    runs: Mapping[str, Results], counted: Mapping[str, Results], preset: Preset, links: Links
) -> Section | None:
    """Returns metrics by what training has shown: bindings seen or unseen, images seen or not.

    Args:
        runs: The runs, as they were counted when they were measured.
        counted: The runs, counted under the presets of the report.
        preset: The first of these.
        links: Addresses of cases.
    """
    drawn = _splits(counted, links), _leaks(runs, preset, links)
    charts = [chart for chart in drawn if chart is not None]
    if not charts:
        return None
    says = (
        "Seen: all bindings of attributes to objects in the texts of a case stood in training "
        "captions; unseen: none. Leak-free: without the cases whose images the model has seen."
    )
    return Section("familiar", "What training has shown", says, tuple(charts))


def _splits(runs: Mapping[str, Results], links: Links) -> Chart | None:
    """Draws metrics over cases of seen and unseen bindings."""
    found: dict[str, dict[str, Point]] = {}
    labels: dict[str, None] = {}
    looks: dict[str, tuple[int, int]] = {}
    for i, (name, run) in enumerate(runs.items()):
        for metric in run.counted[0].splits:
            if metric.split in SPLITS and metric.value is not None:
                label = f"{metric.benchmark_run}/{metric.subset}/{metric.metric}"
                labels[label] = None
                href = links.metric(metric, metric.metric, i, split=metric.split)
                point = Point(metric.value, metric.low, metric.high, href)
                series = f"{name}, {metric.split}"
                looks[series] = i, SPLITS.index(metric.split)
                found.setdefault(series, {})[label] = point
    return _chart("seen_unseen", "Seen against unseen bindings", labels, found, looks)


def _leaks(runs: Mapping[str, Results], preset: Preset, links: Links) -> Chart | None:
    """Draws metrics over all cases, and without those whose images a model has seen.

    A run that was not counted under the preset when it was measured says under which it was.
    """
    found: dict[str, dict[str, Point]] = {}
    labels: dict[str, None] = {}
    looks: dict[str, tuple[int, int]] = {}
    for i, (name, run) in enumerate(runs.items()):
        of = next((own for own in run.counted if own.preset == preset.name), run.counted[0])
        under = "" if of.preset == preset.name else f", preset {of.preset}"
        told = [leak for leak in of.leaks if leak.n_seen]
        whole = {(leak.benchmark, leak.run) for leak in told if leak.subset == ALL}
        for leak in told:
            if leak.subset != ALL and (leak.benchmark, leak.run) in whole:
                continue
            asked = BenchmarkRun(leak.benchmark, leak.run)
            label = f"{asked}/{leak.subset}/{leak.metric}"
            labels[label] = None
            parts: tuple[tuple[str, float | None, dict[str, str]], ...] = (
                ("full", leak.full, {}),
                ("leak-free", leak.without, {"leak": FREE}),
            )
            for kind, (says, value, asks) in enumerate(parts):
                if leak.subset == ALL:
                    href = links.subsets(asked, leak.metric, i, **asks)
                else:
                    href = links.place(str(asked), leak.subset, leak.metric, i, **asks)
                series = f"{name}, {says}{under}"
                looks[series] = i, kind
                found.setdefault(series, {})[label] = Point(value, href=href)
    return _chart("leak_free", "Full against leak-free", labels, found, looks)


def _chart(
    name: str,
    title: str,
    labels: Mapping[str, None],
    found: Mapping[str, Mapping[str, Point]],
    looks: Looks,
) -> Chart | None:
    if not labels:
        return None
    rows = list(labels)
    series = {of: [points.get(row, Point(None)) for row in rows] for of, points in found.items()}
    return bar_chart(name, title, rows, series, looks)
