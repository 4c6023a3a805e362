"""`zoo rescore`: metrics made again from cases.parquet, or compared with those of another run."""

from pathlib import Path

from rich.table import Table

from zoo.results.compare import Matched, differences, largest_difference, matched, paired
from zoo.results.presets import Preset, preset_of
from zoo.results.report import read, refuse_results, write
from zoo.results.show import screen, show
from zoo.support.arguments import Parser, listed


def main(argv: list[str]) -> int:
    """Counts a run's outcomes under presets, and returns the exit status."""
    given = parser().parse_args(argv)
    refuse_results(given.out, given.overwrite)
    presets = [preset_of(name) for name in listed(given.preset, "--preset")]
    results = read(given.run).recounted(presets)
    if given.out is not None:
        write(results, given.out)
    show(results)
    if given.against is not None:
        runs = matched(results.cases, read(given.against).cases)
        _say_what_is_compared(runs)
        for preset in presets:
            _compare(runs, preset)
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo rescore", description="Make the metrics of a run again from its cases.parquet."
    )
    parser.add_argument("run", type=Path, help="the folder that `zoo validate --out` wrote")
    parser.add_argument(
        "--preset",
        "--presets",
        default="official",
        help="one or several, by commas, of `zoo ls presets`, or the dotted path of a Preset",
    )
    parser.add_argument(
        "--out", type=Path, help="a folder for the new results; without it they are only printed"
    )
    parser.add_argument(
        "--against",
        type=Path,
        help="another run over the same questions: which outcomes differ under the presets, and "
        "whether by more than chance",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="write over the results that --out holds"
    )
    return parser


def _say_what_is_compared(runs: Matched) -> None:
    console = screen()
    for (run, subset), (first, second) in runs.left_out.items():
        console.print(
            f"{run}/{subset}: {first:,} outcomes of this run and "
            f"{second:,} of the other are about questions that were not asked "
            "of both (other images, texts or gallery), and are left out"
        )
    if runs.by_name:
        console.print(
            "a run of an older zoo keeps no hash of what it asked: cases of one name and with "
            "the same images are taken to have the same texts"
        )
    console.print(f"scores differ by {largest_difference(runs):.2g} at most")


def _compare(runs: Matched, preset: Preset) -> None:
    console = screen()
    console.print(f"\nboth runs under preset {preset.name}, over the questions that both scored")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("metric", overflow="fold")
    for name in (
        "questions",
        "images",
        "this\nrun, %",
        "the\nother, %",
        "right in\nthis alone",
        "right in\nother alone",
        "p",
        "q",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for test in paired(runs, preset.rules):
        table.add_row(
            "/".join(map(str, test.place)),
            f"{test.n:,}",
            f"{test.images:,}",
            f"{100 * test.first_value:.1f}",
            f"{100 * test.second_value:.1f}",
            f"{test.first:,}",
            f"{test.second:,}",
            f"{test.p:.3g}",
            f"{test.q:.3g}",
        )
    console.print(table)
    console.print(
        "p: exact, two-sided mid-p of exchanging both runs' answers image by image (McNemar's "
        "test where each image is asked about once); q: adjusted over all metrics"
    )
    found = differences(runs, preset.rules)
    console.print(
        f"{len(found):,} outcomes differ" + (", those of the smallest margins:" if found else "")
    )
    for difference in found[:10]:
        place = f"{difference.run}/{difference.subset}/{difference.metric}"
        console.print(
            f"  {place}, case {difference.case}: "
            f"margins {difference.first_margin:.3g} and {difference.second_margin:.3g}"
        )
