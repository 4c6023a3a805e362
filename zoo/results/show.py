"""The report on the screen: metrics, averages and what is absent, readable at 100 columns."""

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
from zoo.results.leaks import Leak, leaks_table, untold
from zoo.results.metrics import Metric, tie_warnings
from zoo.results.report import BESIDE, CUT, DECODED, EXCLUDED_IMAGES, SHORT_LISTS, Results
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

UNBROKEN = 10_000  # columns
MANY = 40  # metrics of a preset that are shown one by one
MISSING = 16  # what a mean lacks, that is named one by one
FOLDED = ("benchmark", "subset", "average", "metric or average", "")
WORDS = (
    *FOLDED,
    "metric",
    "split",
    "weighting",
    "baseline",
    "condition",
)  # columns of words are aligned to the left


def show(results: Results, console: Console | None = None, long: bool = False) -> None:
    """Prints the results, on a console of its own without breaking a name in a file or pipe.

    Args:
        results: The results.
        console: Where they are printed.
        long: Whether nothing is shortened where there is much.
    """
    (console or wide_enough(_lines(results, long))).print(render_results(results, long))


def wide_enough(parts: Iterable[RenderableType]) -> Console:
    """Returns the terminal, or a console for a file or pipe in which no table is broken.

    Args:
        parts: What will be printed.
    """
    console = screen()
    if not console.is_terminal:
        unbroken = console.options.update(width=UNBROKEN)
        tables = (part for part in parts if isinstance(part, Table))
        widths = (console.measure(table, options=unbroken).maximum for table in tables)
        console.width = max(console.width, *widths, 0)
    return console


def as_text(results: Results) -> str:
    """Returns what `show` prints, 100 columns wide."""
    console = Console(width=100, file=StringIO(), color_system=None)
    with console.capture() as captured:
        show(results, console)
    return captured.get().rstrip()


def screen() -> Console:
    """Returns the terminal, or a console of 100 columns where the output is not a terminal."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=100)


def render_results(results: Results, long: bool = False) -> RenderableType:
    """Returns the report.

    It holds for each preset a table of metrics and one of averages. What is told without the image,
    notes follow, and last of all what was asked for and not measured. Many metrics are shown by
    benchmark.

    Args:
        results: The results.
        long: Whether nothing is shortened where there is much.
    """
    return Group(*_lines(results, long))


def _lines(results: Results, long: bool) -> Iterator[RenderableType]:
    header, many = results.header, not long and len(results.metrics) > MANY
    random = random_weights(results.header["model"].get("weights", {}))
    for counted in results.counted:
        yield Text(f"preset {counted.preset}: {counted.says}")
        if random is not None:
            yield Text(random, style="bold")
        first = () if counted is results.counted[0] else results.metrics
        own = [metric for metric in counted.metrics if metric not in first]
        for warning in tie_warnings(own, counted.preset):
            yield Text(warning, style="bold")
        if many and own:
            before = () if counted is results.counted[0] else results.counted[0].by_benchmark
            known = [replace(average, preset=counted.preset) for average in before]
            averages = [average for average in counted.by_benchmark if average not in known]
            if averages:
                yield rich_table(summary_table(averages, counted.metrics, header))
        elif own:
            yield rich_table(metrics_table(own))
        if len(own) < len(counted.metrics):
            which = "other metrics" if own else "metrics"
            yield Text(f"all {which} are as under preset {results.counted[0].preset}")
        if counted.averages:
            taken = [a for a in counted.averages if a.value is not None or not many]
            yield rich_table(averages_table(taken))
            yield from map(Text, _not_taken(counted.averages, many))
        if counted.splits:
            yield Text("\nby the familiarity of bindings, each outcome alike")
            yield rich_table(splits_table(counted.splits))
        published = results.published_table(counted)
        if published.rows or (BESIDE in results.header and counted is results.counted[0]):
            yield Text(f"\n{published.says[0]}")
            yield from [rich_table(published)] if published.rows else []
            yield from map(Text, published.says[1:])
        if EXCLUDED_IMAGES in header:
            yield from _leaks(counted.leaks, header[EXCLUDED_IMAGES], long)
        yield Text("")
    for name, benchmark in results.header["benchmarks"].items():
        if guessed := benchmark.get("baselines"):
            yield Text(f"{name}, guessed without the image, %:")
            yield rich_table(baselines_table(guessed))
            yield Text("")
    if "familiarity" in results.header:
        yield from _familiarity(results.header["familiarity"])
    if many:
        yield Text(f"to the right of chance, {BLIND}")
    elif (blind := ceilings_table(header, long)).rows:
        yield Text(BLIND)
        yield rich_table(blind)
    yield from _remarks(results.metrics, many)
    if short_lists := results.header["scoring"].get(SHORT_LISTS):
        yield Text(f"retrieval: {short_lists}; an answer off a short-list is wrong")
    if decoder := results.header["scoring"].get(DECODED):
        yield Text(f"images were decoded by {decoder}: published numbers are of PIL's pixels")
    for place, n in results.header["scoring"].get(CUT, {}).items():
        yield Text(f"{place}: {n:,} texts are longer than the context and lose their ends")
    yield from map(Text, notes(header, long))
    if many:
        yield Text(LONG)
    yield from map(Text, absent(header, long))
    if missing := not_measured(header, results.metrics):
        yield Text(missing, style="bold")


def _leaks(found: Sequence[Leak], excluded: dict[str, Any], long: bool) -> Iterator[RenderableType]:
    """Yields the metrics without the images that the model has seen, and what cannot be told."""
    table = leaks_table(found, long)
    yield Text(
        f"\nwithout cases of the {excluded['images']:,} images of {excluded['named']}"
        + ("" if table.rows else ": no case is about one of them")
    )
    if table.rows:
        yield rich_table(table)
    if lacking := untold(found):
        yield Text(f"in neither part, as nothing tells whether it was seen: {lacking}")


def _not_taken(averages: Iterable[Average], many: bool) -> Iterator[str]:
    """Yields which averages are withheld and what they lack; where there is much, how much."""
    withheld = [average for average in averages if average.value is None]
    if many and withheld:
        names = (f"{a.name} ({len(a.missing)} missing)" for a in withheld)
        yield f"not taken: {'; '.join(names)}"
        return
    for average in withheld:
        yield f"{average.name} is not taken, these are missing: {_list_missing(average.missing)}"


def _familiarity(said: dict[str, Any]) -> Iterator[Text]:
    """Yields which captions bindings were looked for in, and what was found of each subset."""
    yield Text(f"bindings are looked for in {said['with']['captions']}")
    for name, of in said["subsets"].items():
        n = of["split"]
        if not n:
            yield Text(f"{name}: no case binds an attribute to an object in each of its texts")
            continue
        yield Text(f"{name}: " + ", ".join(f"{b} {count:,}" for b, count in of["buckets"].items()))
        rules = (
            f"{rule}: all seen {of[rule]['seen'] / n:.1%}, all unseen {of[rule]['unseen'] / n:.1%}"
            for rule in ("strict", "loose")
        )
        yield Text(f"  {'; '.join(rules)}; {of['excluded']:,} excluded")
        for over in ("full", "mixed"):
            right, wrong = (of[f"labels, {over}"][side] for side in ("right", "wrong"))
            yield Text(
                f"  {over}: of the bindings of right texts {_shares(right)}; "
                f"of wrong ones {_shares(wrong)}"
            )
    yield Text("")


def _shares(labels: dict[str, int]) -> str:
    n = max(sum(labels.values()), 1)
    return f"{labels['perfect'] / n:.1%} perfect, {labels['none'] / n:.1%} none"


def rich_table(made: TextTable) -> Table:
    """Returns a table for the screen, words to the left and numbers to the right.

    Where its columns of words are not counted, their names tell which they are.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for i, name in enumerate(made.header):
        words, folded = name in WORDS, name in FOLDED
        if made.words is not None:
            words = folded = i < made.words
        side: Literal["left", "right"] = "left" if words else "right"
        table.add_column(name, justify=side, overflow="fold", no_wrap=not folded)
    for row in made.rows:
        table.add_row(*map(_mark_cell, row))
    return table


def _mark_cell(cell: str) -> RenderableType:
    """Returns a cell with its mark, which a file or pipe shows by a sign alone."""
    if isinstance(cell, Bold):
        return Text(f"{cell}*", "bold")
    return Text(f"{cell}~", "underline") if isinstance(cell, Underlined) else cell


def _remarks(metrics: tuple[Metric, ...], many: bool) -> Iterator[Text]:
    """Yields how many images are there, and how many of them the model was trained on.

    Subsets of a benchmark of which there is no more to say share a line, or have none where there
    are many metrics.
    """
    subsets = {(f.benchmark_run, f.subset): f for f in reversed(metrics) if f.metric != "macro"}
    found: dict[BenchmarkRun, list[str]] = {}
    for (run, subset), f in reversed(subsets.items()):
        if f.partial_gallery and f.images:
            yield Text(
                f"{run}/{subset}: a gallery of {f.images:,} images, of {f.gallery_of:,}: "
                "easier than the whole, not comparable"
            )
        elif f.trained_on:
            yield Text(
                f"{run}/{subset}: {f.images:,} of {f.images_of:,} images found; the model was "
                f"trained on {f.trained_on:,} of them"
            )
        elif f.images < f.images_of and not many:
            found.setdefault(run, []).append(f"{subset} {f.images:,} of {f.images_of:,}")
    for run, subsets_found in found.items():
        yield Text(f"{run}, images found: {', '.join(subsets_found)}")


def _list_missing(missing: tuple[str, ...]) -> str:
    """Returns what is missing, by benchmark where that is much."""
    if len(missing) <= MISSING:
        return ", ".join(missing)
    of = Counter(name.partition("/")[0] for name in missing)
    return ", ".join(f"{name} ({n} metrics)" if n > 1 else name for name, n in of.items())
