"""`zoo rescore`: metrics made again from cases.parquet, or compared with those of another run."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from zoo.familiarity.captions import COCO, familiar_table, training_captions
from zoo.results.compare import Matched, differences, largest_difference, matched, paired
from zoo.results.familiar import Familiarity
from zoo.results.presets.base import Preset
from zoo.results.presets.named import preset_of
from zoo.results.ranks import PICTURE, SIGNIFICANT, flips, picture, split_tests
from zoo.results.reading import read
from zoo.results.report import finished, refuse_results
from zoo.results.show import screen, show
from zoo.support.arguments import Parser, listed
from zoo.support.files import check_place, write_beside


def main(argv: list[str]) -> int:
    """Counts a run's outcomes under presets, and returns the exit status."""
    given = parser().parse_args(argv)
    refuse_results(given.out, given.overwrite, given.familiar_with is not None)
    if given.out is not None and given.against:
        check_place(given.out / PICTURE, given.overwrite)
    presets = [preset_of(name) for name in listed(given.preset, "--preset")]
    results = read(given.run)
    familiarity = None
    if given.familiar_with is not None:
        trained = training_captions(results.header["model"])
        familiarity = Familiarity(familiar_table(given.familiar_with, given.data_root, trained))
    results = finished(results, presets, given.out, familiarity)
    show(results)
    others = {path: read(path).cases for path in given.against}
    for path, cases in others.items():
        if len(others) > 1:
            screen().print(f"\nagainst {path}")
        runs = matched(results.cases, cases)
        _say_what_is_compared(runs)
        for preset in presets:
            _compare(runs, preset)
    if others and pc.any(results.cases["bucket"].is_valid()).as_py():
        models = {str(path): cases for path, cases in {given.run: results.cases, **others}.items()}
        for preset in presets:
            _compare_splits(models, preset)
        if given.out is not None:
            write_beside(given.out / PICTURE, picture(split_tests(models, presets[0].rules)))
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
        nargs="+",
        default=[],
        help="other runs over the same questions: which outcomes differ under the presets, and "
        "whether by more than chance; by --familiar_with, all pairs of runs on each split",
    )
    parser.add_argument(
        "--familiar_with",
        metavar="CAPTIONS",
        nargs="?",
        const=COCO,
        help="captions by whose bindings cases are split, or their table (`zoo bindings`); "
        "`training`, the model's own; `coco`, its training captions, which count where none are "
        "named",
    )
    parser.add_argument(
        "--data_root",
        type=Path,
        nargs="+",
        default=[Path()],
        help="where `--familiar_with coco` looks for its captions",
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


def _compare_splits(models: Mapping[str, pa.Table], preset: Preset) -> None:
    console = screen()
    console.print(f"\npairs of runs on each split under preset {preset.name}")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("metric", "first run", "second run"):
        table.add_column(name, overflow="fold")
    for name in ("split", "n", "first, %", "second, %", "p", "q"):
        table.add_column(name, justify="right", no_wrap=True)
    tests = split_tests(models, preset.rules)
    for test in tests:
        table.add_row(
            "/".join(map(str, test.place)),
            *test.models,
            test.split,
            f"{test.n:,}",
            *(f"{100 * value:.1f}" for value in test.values),
            f"{test.p:.3g}",
            f"{test.q:.3g}",
        )
    console.print(table)
    console.print(
        "p: two-sided mid-p of McNemar's test, each question by itself; q: adjusted over the pairs "
        "of runs on one split"
    )
    found = flips(tests)
    for flip in found:
        console.print(
            f"significant flip of {'/'.join(map(str, flip.place))}: {flip.ahead} is ahead on "
            f"{flip.splits[0]}, {flip.behind} on {flip.splits[1]} (p {flip.p:.3g})",
            soft_wrap=True,
        )
    if not found:
        console.print(f"no significant flip: no pair is ordered otherwise at q {SIGNIFICANT}")
