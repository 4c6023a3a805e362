"""The printed report: metrics, averages and missing data, within 100 columns."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from typing import Any, Literal

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from zoo.results.averages import Average
from zoo.results.brief import (
    BLIND,
    LONG,
    absent,
    ceilings_table,
    not_measured,
    notes,
    summary_table,
)
from zoo.results.leaks import LeakMetric, format_unknown_counts, leaks_table
from zoo.results.metrics import Metric, tie_warnings
from zoo.results.report import (
    DECODED,
    EXCLUDED_IMAGES,
    REFERENCE_MODELS,
    SHORT_LISTS,
    TRUNCATED,
    Results,
)
from zoo.results.runs import BenchmarkRun
from zoo.results.tables import (
    Bold,
    TextTable,
    Underlined,
    averages_table,
    baselines_table,
    metrics_table,
    splits_table,
)
from zoo.support.provenance import random_weights

UNLIMITED_WIDTH = 10_000  # columns
MANY = 40  # with more metrics, the report is shortened
MAX_MISSING_NAMES = 16  # with more, missing members are counted by benchmark
FOLDED = ("benchmark", "subset", "average", "metric or average", "")
WORDS = (
    *FOLDED,
    "metric",
    "split",
    "weighting",
    "baseline",
    "condition",
)  # text columns, aligned to the left


def print_results(results: Results, console: Console | None = None, long: bool = False) -> None:
    """Prints the report.

    Args:
        results: The results.
        console: The console; by default the terminal, or one wide enough for a file or pipe.
        long: Whether to print everything, however many metrics there are.
    """
    (console or console_for(_renderables(results, long))).print(render_results(results, long))


def console_for(parts: Iterable[RenderableType]) -> Console:
    """Returns the terminal, or a console for a file or pipe that is as wide as the tables.

    Args:
        parts: The content to print.
    """
    console = default_console()
    if not console.is_terminal:
        unbroken = console.options.update(width=UNLIMITED_WIDTH)
        tables = (part for part in parts if isinstance(part, Table))
        widths = (console.measure(table, options=unbroken).maximum for table in tables)
        console.width = max(console.width, *widths, 0)
    return console


def as_text(results: Results) -> str:
    """Returns the output of `show`, 100 columns wide."""
    console = Console(width=100, file=StringIO(), color_system=None)
    with console.capture() as captured:
        print_results(results, console)
    return captured.get().rstrip()


def default_console() -> Console:
    """Returns the terminal, or a console of 100 columns if the output is not a terminal."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=100)


def render_results(results: Results, long: bool = False) -> RenderableType:
    """Returns the report as a renderable.

    For each preset, it has a table of metrics and one of averages. Text-only baselines and notes
    follow, and finally the data that were not measured. Many metrics are summarized by benchmark.

    Args:
        results: The results.
        long: Whether to print everything, however many metrics there are.
    """
    return Group(*_renderables(results, long))


def _renderables(results: Results, long: bool) -> Iterator[RenderableType]:
    header, shorten = results.header, not long and len(results.metrics) > MANY
    random = random_weights(results.header["model"].get("weights", {}))
    for counted in results.by_preset:
        yield Text(f"preset {counted.preset}: {counted.description}")
        if random is not None:
            yield Text(random, style="bold")
        first_metrics = () if counted is results.by_preset[0] else results.metrics
        preset_metrics = [metric for metric in counted.metrics if metric not in first_metrics]
        for warning in tie_warnings(preset_metrics, counted.preset):
            yield Text(warning, style="bold")
        if shorten and preset_metrics:
            first_means = (
                () if counted is results.by_preset[0] else results.by_preset[0].by_benchmark
            )
            shown_means = [replace(average, preset=counted.preset) for average in first_means]
            averages = [average for average in counted.by_benchmark if average not in shown_means]
            if averages:
                yield rich_table(summary_table(averages, counted.metrics, header))
        elif preset_metrics:
            yield rich_table(metrics_table(preset_metrics))
        if len(preset_metrics) < len(counted.metrics):
            subject = "other metrics" if preset_metrics else "metrics"
            yield Text(f"all {subject} are the same as under preset {results.by_preset[0].preset}")
        if counted.averages:
            shown_averages = [a for a in counted.averages if a.value is not None or not shorten]
            yield rich_table(averages_table(shown_averages))
            yield from map(Text, _withheld_averages(counted.averages, shorten))
        if counted.splits:
            yield Text("\nby familiarity of bindings, all outcomes with equal weight")
            yield rich_table(splits_table(counted.splits))
        published = results.published_table(counted)
        if published.rows or (
            REFERENCE_MODELS in results.header and counted is results.by_preset[0]
        ):
            yield Text(f"\n{published.preamble[0]}")
            yield from [rich_table(published)] if published.rows else []
            yield from map(Text, published.preamble[1:])
        if EXCLUDED_IMAGES in header:
            yield from _leak_lines(counted.leaks, header[EXCLUDED_IMAGES], long)
        yield Text("")
    for name, benchmark in results.header["benchmarks"].items():
        if baselines := benchmark.get("baselines"):
            yield Text(f"{name}, text-only baselines, %:")
            yield rich_table(baselines_table(baselines))
            yield Text("")
    if "familiarity" in results.header:
        yield from _familiarity_lines(results.header["familiarity"])
    if shorten:
        yield Text(f"to the right of chance: {BLIND}")
    elif (blind := ceilings_table(header, long)).rows:
        yield Text(BLIND)
        yield rich_table(blind)
    yield from _image_notes(results.metrics, shorten)
    if short_lists := results.header["scoring"].get(SHORT_LISTS):
        yield Text(f"retrieval: {short_lists}; an answer outside the short-list is wrong")
    if decoder := results.header["scoring"].get(DECODED):
        yield Text(f"images were decoded by {decoder}: published numbers were measured with PIL")
    for place, n in results.header["scoring"].get(TRUNCATED, {}).items():
        yield Text(f"{place}: {n:,} texts are longer than the context length and were truncated")
    yield from map(Text, notes(header, long))
    if shorten:
        yield Text(LONG)
    yield from map(Text, absent(header, long))
    if missing := not_measured(header, results.metrics):
        yield Text(missing, style="bold")


def _leak_lines(
    leaks: Sequence[LeakMetric], excluded: dict[str, Any], long: bool
) -> Iterator[RenderableType]:
    """Yields the metrics without images that the model has seen, and the undecidable cases."""
    table = leaks_table(leaks, long)
    yield Text(
        f"\nwithout cases of the {excluded['images']:,} images of {excluded['named']}"
        + ("" if table.rows else ": no case is about one of them")
    )
    if table.rows:
        yield rich_table(table)
    if unknown_counts := format_unknown_counts(leaks):
        yield Text(
            f"in neither part, because it is unknown whether the images were seen: {unknown_counts}"
        )


def _withheld_averages(averages: Iterable[Average], shorten: bool) -> Iterator[str]:
    """Yields the withheld averages with their missing members, or only counts if shortened."""
    withheld = [average for average in averages if average.value is None]
    if shorten and withheld:
        names = (f"{a.name} ({len(a.missing)} missing)" for a in withheld)
        yield f"withheld averages: {'; '.join(names)}"
        return
    for average in withheld:
        yield f"{average.name} is withheld, missing: {_list_missing(average.missing)}"


def _familiarity_lines(familiarity: dict[str, Any]) -> Iterator[Text]:
    """Yields the captions that bindings were searched in, and the counts of each subset."""
    yield Text(f"bindings are searched in {familiarity['with']['captions']}")
    for name, subset in familiarity["subsets"].items():
        n = subset["split"]
        if not n:
            yield Text(f"{name}: no case has an attribute-object binding in each of its texts")
            continue
        yield Text(
            f"{name}: " + ", ".join(f"{b} {count:,}" for b, count in subset["buckets"].items())
        )
        rules = (
            f"{rule}: all seen {subset[rule]['seen'] / n:.1%}, "
            f"all unseen {subset[rule]['unseen'] / n:.1%}"
            for rule in ("strict", "loose")
        )
        yield Text(f"  {'; '.join(rules)}; {subset['excluded']:,} excluded")
        for scope in ("full", "mixed"):
            right, wrong = (subset[f"labels, {scope}"][side] for side in ("right", "wrong"))
            yield Text(
                f"  {scope}: bindings of right texts {_format_shares(right)}; "
                f"of wrong texts {_format_shares(wrong)}"
            )
    yield Text("")


def _format_shares(labels: dict[str, int]) -> str:
    n = max(sum(labels.values()), 1)
    return f"{labels['perfect'] / n:.1%} perfect, {labels['none'] / n:.1%} none"


def rich_table(text_table: TextTable) -> Table:
    """Returns a table for the terminal, with text columns left-aligned and numbers right-aligned.

    If `words` is None, text columns are identified by their names.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(text_table.header):
        words, folded = name in WORDS, name in FOLDED
        if text_table.n_text_columns is not None:
            words = folded = i < text_table.n_text_columns
        side: Literal["left", "right"] = "left" if words else "right"
        table.add_column(name, justify=side, overflow="fold", no_wrap=not folded)
    for row in text_table.rows:
        table.add_row(*map(_mark_cell, row))
    return table


def _mark_cell(cell: str) -> RenderableType:
    """Returns a cell with its style and a sign, because a file or pipe has no styles."""
    if isinstance(cell, Bold):
        return Text(f"{cell}*", "bold")
    return Text(f"{cell}~", "underline") if isinstance(cell, Underlined) else cell


def _image_notes(metrics: tuple[Metric, ...], shorten: bool) -> Iterator[Text]:
    """Yields the numbers of available images, and of images that the model was trained on.

    Subsets with nothing else to report share a line per benchmark, which is omitted if shortened.
    """
    subsets = {(m.benchmark_run, m.subset): m for m in reversed(metrics) if m.metric != "macro"}
    partial_subsets: dict[BenchmarkRun, list[str]] = {}
    for (run, subset), m in reversed(subsets.items()):
        if m.partial_gallery and m.images:
            yield Text(
                f"{run}/{subset}: a gallery of {m.images:,} of {m.gallery_size:,} images: "
                "easier than the full gallery, not comparable"
            )
        elif m.trained_on:
            yield Text(
                f"{run}/{subset}: {m.images:,} of {m.images_total:,} images found; the model was "
                f"trained on {m.trained_on:,} of them"
            )
        elif m.images < m.images_total and not shorten:
            partial_subsets.setdefault(run, []).append(
                f"{subset} {m.images:,} of {m.images_total:,}"
            )
    for run, subsets_found in partial_subsets.items():
        yield Text(f"{run}, images found: {', '.join(subsets_found)}")


def _list_missing(missing: tuple[str, ...]) -> str:
    """Returns the missing members, or their numbers by benchmark if there are many."""
    if len(missing) <= MAX_MISSING_NAMES:
        return ", ".join(missing)
    counts = Counter(name.partition("/")[0] for name in missing)
    return ", ".join(f"{name} ({n} metrics)" if n > 1 else name for name, n in counts.items())
