"""`zoo rescore`: figures made again from cases.parquet, or compared with those of another run."""

from pathlib import Path

from rich.table import Table

from zoo.arguments import Parser, listed
from zoo.evaluation.averages import PRESETS, preset_named
from zoo.evaluation.compare import differences, largest_difference, paired
from zoo.evaluation.report import Results, read, refuse_results, write
from zoo.evaluation.show import screen, show


def main(argv: list[str]) -> int:
    """Counts a run's outcomes under presets; returns the exit status."""
    parser = Parser(
        prog="zoo rescore", description="Make the figures of a run again from its cases.parquet."
    )
    parser.add_argument("run", type=Path, help="the folder that `zoo validate --out` wrote")
    parser.add_argument(
        "--preset",
        "--presets",
        default="official",
        help=f"one or several, by commas: {', '.join(PRESETS)}",
    )
    parser.add_argument(
        "--out", type=Path, help="a folder for the new results; without it they are only printed"
    )
    parser.add_argument(
        "--against",
        type=Path,
        help="another run: which outcomes differ, and whether by more than chance",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="write over the results that --out holds"
    )
    given = parser.parse_args(argv)
    refuse_results(given.out, given.overwrite)
    presets = [preset_named(name) for name in listed(given.preset, "--preset")]
    results = read(given.run).recounted(presets)
    if given.out is not None:
        write(results, given.out)
    show(results)
    if given.against is not None:
        _compare(results, read(given.against).recounted(presets))
    return 0


def _compare(results: Results, others: Results) -> None:
    table = Table(
        "figure",
        "both",
        "this run alone",
        "the other alone",
        "p (mid-p McNemar)",
        "q",
        box=None,
        pad_edge=False,
    )
    for test in paired(results.cases, others.cases):
        table.add_row(
            "/".join(test.place),
            f"{test.both:,}",
            f"{test.first:,}",
            f"{test.second:,}",
            f"{test.p:.3g}",
            f"{test.q:.3g}",
        )
    console = screen()
    console.print(table)
    console.print(f"scores differ by {largest_difference(results.cases, others.cases):.2g} at most")
    found = differences(results.cases, others.cases)
    console.print(
        f"{len(found):,} outcomes differ" + (", those of the smallest margins:" if found else "")
    )
    for difference in found[:10]:
        place = f"{difference.benchmark}/{difference.subset}/{difference.figure}, case {difference.case}"
        console.print(
            f"  {place}: margins {difference.first_margin:.3g} and {difference.second_margin:.3g}"
        )
