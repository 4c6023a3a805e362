"""The report on the screen: figures, averages and what is absent, readable at 100 columns."""

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from zoo.evaluation.averages import Average
from zoo.evaluation.figures import Figure
from zoo.evaluation.report import CUT, SHORT_LISTS, Counted, Results
from zoo.provenance import random_weights


def show(results: Results, console: Console | None = None) -> None:
    """Prints the results."""
    (console or screen()).print(shown(results))


def screen() -> Console:
    """Returns the terminal, or a console of 100 columns where the output is none."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=100)


def shown(results: Results) -> RenderableType:
    """Returns the report: by preset a table of figures and its averages, then the notes and the parts without annotation files."""
    return Group(*_lines(results))


def _lines(results: Results) -> Iterator[RenderableType]:
    random = random_weights(results.header["model"].get("weights", {}))
    for counted in results.counted:
        yield Text(f"preset {counted.preset}: {counted.says}")
        if random is not None:
            yield Text(random, style="bold")
        yield _figures(counted)
        if counted.averages:
            yield _averages(counted)
            yield from (
                Text(f"{a.name} is withheld, for want of {', '.join(a.missing)}")
                for a in counted.averages
                if a.value is None
            )
        yield Text("")
    yield from _remarks(results.figures)
    if short_lists := results.header["scoring"].get(SHORT_LISTS):
        yield Text(f"retrieval: {short_lists}; an answer off a short-list is wrong")
    for place, n in results.header["scoring"].get(CUT, {}).items():
        yield Text(f"{place}: {n:,} texts are over the context length and cut")
    for name, benchmark in results.header["benchmarks"].items():
        yield from (
            Text(f"{name}, {subject}: {note}") for subject, note in benchmark["notes"].items()
        )
    for part in results.header["absent"]:
        yield Text(
            f"absent: {part['benchmark']}/{part['subset']} ({' or '.join(part['files'])}): {part['how']}"
        )


def _figures(counted: Counted) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("benchmark", overflow="fold")
    table.add_column("subset", overflow="fold")
    table.add_column("figure", no_wrap=True)
    for name in ("%", "95 % interval", "n / of all", "ties", "chance", "B/32"):
        table.add_column(name, justify="right", no_wrap=True)
    before = ""
    for f in counted.figures:
        table.add_row(
            f.benchmark if f.benchmark != before else "",
            f.subset,
            f.figure,
            _number(f.value),
            _interval(f),
            f"{f.n:,} / {f.of:,}",
            f"{f.ties:,}" if f.ties else "",
            _number(f.chance),
            _number(f.published),
        )
        before = f.benchmark
    return table


def _averages(counted: Counted) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("average")
    table.add_column("%", justify="right", no_wrap=True)
    table.add_column("95 % interval", justify="right", no_wrap=True)
    table.add_column("weighting")
    table.add_column("n / of all", justify="right")
    table.add_column("")
    for average in counted.averages:
        figures = (
            _number(average.value),
            _interval(average),
            average.weighting,
            f"{average.n:,} / {average.of:,}",
        )
        table.add_row(average.name, *figures, _state(average))
    return table


def _state(average: Average) -> str:
    if average.value is None:
        return f"withheld: {len(average.missing)} missing"
    return "" if average.n == average.of else "of what was scored alone"


def _remarks(figures: tuple[Figure, ...]) -> Iterator[Text]:
    """What each subset's photographs were: how many are there, how many the model was trained on."""
    subsets = {(f.benchmark, f.subset): f for f in reversed(figures) if f.figure != "macro"}
    for (benchmark, subset), f in reversed(subsets.items()):
        if f.photographs < f.photographs_of or f.trained_on or f.partial_gallery:
            trained = (
                f", {f.trained_on:,} of which the model was trained on" if f.trained_on else ""
            )
            if f.partial_gallery:
                gallery = f"gallery of {f.photographs:,} of {f.gallery_of:,} photographs: easier than the whole, not comparable"
                yield Text(f"{benchmark}/{subset}: {gallery}{trained}")
            else:
                yield Text(
                    f"{benchmark}/{subset}: {f.photographs:,} of {f.photographs_of:,} photographs{trained}"
                )


def _interval(found: Figure | Average) -> str:
    return "" if found.low is None or found.high is None else f"{found.low:.1f} to {found.high:.1f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
