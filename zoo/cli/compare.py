"""`zoo compare`: runs side by side, with paired intervals and tests, as a table or picture."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.results.comparison.common import common, largest_difference
from zoo.results.comparison.compare import PRESETS, compare, read_runs
from zoo.results.comparison.comparison import Comparison
from zoo.results.comparison.differing import differences
from zoo.results.comparison.forest import FORMATS, draw_forest, format_of
from zoo.results.comparison.layout import show
from zoo.results.comparison.named import SEED
from zoo.results.comparison.paired import RESAMPLES
from zoo.results.metrics import Rules
from zoo.results.presets.named import preset_of
from zoo.results.ranks import picture, split_tests
from zoo.results.report import Results
from zoo.support.arguments import Parser, split_list, whole_number
from zoo.support.files import check_place, write_bytes

WRITTEN = {
    "md": Comparison.to_markdown,
    "latex": Comparison.to_latex,
    "csv": Comparison.to_csv,
    "json": Comparison.to_json,
}
TABLE = "table"


def main(argv: list[str]) -> int:
    """Compares runs, and returns the exit status."""
    given = parser().parse_args(argv)
    kind = None if given.plot is None else format_of(given.plot)
    for picture_at in filter(None, (given.plot, given.rank_shifts)):
        check_place(picture_at, given.overwrite)
    presets = [preset_of(name) for name in split_list(given.preset, "--preset")]
    beside = split_list(given.beside, "--beside") if given.beside else ()
    aside = split_list(given.aside, "--aside") if given.aside else ()
    runs = read_runs(folders(given.runs))
    ranks = None
    if given.rank_shifts is not None:
        ranks = _rank_shifts(runs, presets[0].rules)
    comparison = compare(
        runs,
        beside,
        given.group,
        presets,
        given.metrics,
        given.resamples,
        given.seed,
        aside,
    )
    if kind is not None:
        write_bytes(given.plot, draw_forest(comparison, kind))
    if ranks is not None:
        write_bytes(given.rank_shifts, ranks)
    if given.format == TABLE:
        show(comparison)
    else:
        print(WRITTEN[given.format](comparison).rstrip("\n"))
    if given.format == "csv":
        print(*comparison.notes, sep="\n", file=sys.stderr)
    if given.outcomes:
        _list_outcomes(runs, presets[0].rules, given.outcomes)
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo compare",
        description="Set runs side by side over the cases that all of them scored: values with the "
        "best in bold and what is level with it underlined, differences to the first run with "
        "intervals over images, p-values, and q-values over all pairs.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="folders that `zoo validate --out` wrote, the first of which the others are compared "
        "with; NAME=FOLDER names one in the tables",
    )
    parser.add_argument(
        "--beside",
        metavar="NAMES",
        help="models, by commas, of `zoo ls models`, whose published figures stand beside, marked "
        "so",
    )
    parser.add_argument(
        "--aside",
        metavar="NAMES",
        help="runs, by commas, that are shown and take part in no test and no choice of the best, "
        "as the weights that the others start from",
    )
    parser.add_argument(
        "--group",
        choices=[SEED],
        help="take the runs that differ in nothing but their seeds together: mean and standard "
        "deviation",
    )
    parser.add_argument(
        "--format",
        choices=[TABLE, *WRITTEN],
        default=TABLE,
        help="how it is printed: a table for the screen, Markdown, LaTeX with booktabs, "
        "comma-separated values or JSON, which has the tests of all pairs (default: table)",
    )
    parser.add_argument(
        "--preset",
        "--presets",
        default=",".join(PRESETS),
        help="ways of counting and averaging, by commas, of `zoo ls presets`, or dotted paths of "
        f"a Preset (default: {','.join(PRESETS)})",
    )
    parser.add_argument(
        "--metrics",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="compare these alone: metrics as `sugarcrepe/*/i2t`, or averages by name, * for "
        "anything; q is then over these",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help=f"draw the differences with their intervals into a file ({', '.join(FORMATS)})",
    )
    parser.add_argument(
        "--rank_shifts",
        type=Path,
        metavar="FILE",
        help="draw the ranks of the runs on each split of familiarity into a PNG",
    )
    parser.add_argument(
        "--outcomes",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="list N outcomes in which each run differs from the first, smallest margins first",
    )
    parser.add_argument(
        "--resamples",
        type=whole_number(1),
        default=RESAMPLES,
        help="how often images are resampled for an interval (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0),
        default=0,
        help="the seed of the resamples (default: %(default)s)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="write over pictures that are there"
    )
    return parser


def folders(given: list[str]) -> Mapping[str, Path] | list[Path]:
    """Returns the folders of runs, by name where any is named.

    Args:
        given: Folders, or NAME=FOLDER.

    Raises:
        ZooError: Some are named and some not, or two have one name.
    """
    pairs = [_split_name(text) for text in given]
    if not any(name for name, _ in pairs):
        return [path for _, path in pairs]
    without = next((path for name, path in pairs if not name), None)
    if without is not None:
        raise ZooError(f"{without} has no name, and another run has: write NAME={without}")
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ZooError(f"two runs are called {twice}: give each a name of its own")
    return dict(pairs)


def _split_name(text: str) -> tuple[str, Path]:
    """Splits NAME=FOLDER; a folder with such a name is itself."""
    name, joint, folder = text.partition("=")
    if joint and not (name and folder) and not Path(text).exists():
        raise ZooError(
            f"{text} has nothing {'after' if name else 'before'} its =: write NAME=FOLDER"
        )
    return (name, Path(folder)) if joint and not Path(text).exists() else ("", Path(text))


def _rank_shifts(runs: Mapping[str, Results], rules: Rules) -> bytes:
    cases = {name: results.cases for name, results in runs.items()}
    first = next(iter(runs))
    if not pc.any(cases[first]["bucket"].is_valid()).as_py():
        raise ZooError(
            f"--rank_shifts: {first} is not split by familiarity: split it by "
            "`zoo rescore RUN --familiar_with CAPTIONS --out DIR`"
        )
    return picture(split_tests(cases, rules))


def _list_outcomes(runs: Mapping[str, Results], rules: Rules, most: int) -> None:
    first, *others = runs
    tables = dict(zip(runs, common([run.cases for run in runs.values()]).tables, strict=True))
    for name in others:
        found = differences(tables[first], tables[name], rules)
        apart = largest_difference(tables[first], tables[name])
        print(
            f"\n{len(found):,} outcomes of {name} differ from those of {first}, and scores by "
            f"{apart:.2g} at most" + ("; of the smallest margins:" if found else "")
        )
        for one in found[:most]:
            print(
                f"  {one.run}/{one.subset}/{one.metric}, case {one.case}: margin "
                f"{one.first_margin:.3g} in {first} and {one.second_margin:.3g} in {name}"
            )
