"""`zoo compare`: compares runs with paired intervals and tests, as a table or a figure."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from zoo.cli.command_parser import CommandParser
from zoo.cli.studies.runs import work_folder_runs
from zoo.errors import ZooError
from zoo.results.comparison.alignment import align_runs, largest_score_difference
from zoo.results.comparison.compare import PRESETS, compare, read_runs
from zoo.results.comparison.comparison import Comparison, print_comparison
from zoo.results.comparison.lines import ComparisonLine
from zoo.results.comparison.outcome_differences import outcome_differences, select_counted
from zoo.results.comparison.paired_tests import RESAMPLES
from zoo.results.comparison.run_names import SEED
from zoo.results.comparison.scatter import (
    axis_label,
    draw_scatter,
    published_points,
    scatter_points,
)
from zoo.results.comparison.split_chart import draw_split_accuracies, split_panels
from zoo.results.drawing import FORMATS, figure_format, render_figure
from zoo.results.metrics import Rules
from zoo.results.presets.preset import Preset, preset_of
from zoo.results.ranks import compute_split_tests, draw_ranks
from zoo.results.report import Results
from zoo.support.arguments import integer_at_least, split_list
from zoo.support.files import check_writable, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATTERS: dict[str, Callable[..., str]] = {
    "md": Comparison.to_markdown,
    "latex": Comparison.to_latex,
    "csv": Comparison.to_csv,
    "json": Comparison.to_json,
}
TABLE = "table"


def main(argv: list[str]) -> int:
    """Compares runs, and returns the exit status."""
    args = parser().parse_args(argv)
    run_folders = parse_run_folders(args.runs)
    x_name, y_name, scatter_file = args.scatter or ("", "", "")
    scatter_path = Path(scatter_file) if args.scatter else None
    picture_paths = (args.plot, scatter_path, args.by_split, args.rank_shifts)
    for picture_path in filter(None, picture_paths):
        figure_format(picture_path)
        check_writable(picture_path, args.overwrite)
    if (args.caption or args.label) and args.format != "latex":
        raise ZooError("--caption and --label are for tables in LaTeX: add --format latex")
    presets = [preset_of(name) for name in split_list(args.preset, "--preset")]
    published_models = (
        split_list(args.reference_models, "--reference_models") if args.reference_models else ()
    )
    untested_runs = (
        split_list(args.exclude_from_tests, "--exclude_from_tests")
        if args.exclude_from_tests
        else ()
    )
    runs = read_runs(run_folders)
    figures: dict[Path, Figure] = {}
    if args.rank_shifts is not None:
        figures[args.rank_shifts] = _draw_rank_shifts(runs, presets[0].rules)
    comparison = compare(
        runs,
        published_models,
        args.group,
        presets,
        args.metrics,
        args.resamples,
        args.seed,
        untested_runs,
    )
    lines = comparison.lines
    if args.plot is not None:
        figures[args.plot] = comparison.figure()
    if scatter_path is not None:
        points = scatter_points(lines, x_name, y_name)
        published = published_points(lines, x_name, y_name)
        axis_labels = axis_label(lines, x_name), axis_label(lines, y_name)
        figures[scatter_path] = draw_scatter(points, published, *axis_labels)
    if args.by_split is not None:
        figures[args.by_split] = draw_split_accuracies(split_panels(lines))
    for path, figure in figures.items():
        write_bytes(path, render_figure(figure, figure_format(path)))
    if args.format == TABLE:
        print_comparison(comparison)
    else:
        titles = (args.caption, args.label) if args.format == "latex" else ()
        print(FORMATTERS[args.format](comparison, *titles).rstrip("\n"))
    if args.format == "csv":
        print(*comparison.notes, sep="\n", file=sys.stderr)
    if args.outcomes:
        counted_lines = lines if args.metrics else None
        _print_outcome_differences(runs, presets, counted_lines, args.outcomes)
    return 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo compare",
        description="Compare runs (evaluations) on the cases that all of them scored. The table "
        "shows the metrics of each run, and the differences from the first run with confidence "
        "intervals, p-values and q-values (p-values corrected for multiple tests). For each "
        "metric, the best value is bold, and values that are not significantly worse than the "
        "best are underlined. In LaTeX, the best value is bold only if it is significantly better "
        "than all others.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="folders that `zoo validate` or `zoo study` wrote. The first run is compared with "
        "each of the others. NAME=FOLDER sets the name of a run in the tables",
    )
    parser.add_argument(
        "--reference_models",
        metavar="NAMES",
        help="names of models (`zoo ls models`), separated by commas. Their published results are "
        "added in marked columns",
    )
    parser.add_argument(
        "--exclude_from_tests",
        metavar="NAMES",
        help="names of runs, separated by commas, that are shown without significance tests, "
        "such as the evaluation of the initial weights. These runs are never marked as best",
    )
    parser.add_argument(
        "--group",
        choices=[SEED],
        help="`seed` shows runs that differ only in their seeds as one run, with means and "
        "standard deviations",
    )
    parser.add_argument(
        "--format",
        choices=[TABLE, *FORMATTERS],
        default=TABLE,
        help="output format: `table` (for the terminal), `md`, `latex` (with booktabs), `csv` or "
        "`json`. Only `json` includes the tests between all pairs of runs (default: table)",
    )
    parser.add_argument(
        "--caption",
        default="",
        metavar="TEXT",
        help="first sentence of the captions of LaTeX tables. The tables then become floats",
    )
    parser.add_argument(
        "--label",
        default="",
        metavar="NAME",
        help="prefix of the labels of LaTeX tables, such as tab:results. A table's label ends "
        "with `-metrics`, `-averages`, `-splits`, `-gaps` or `-differences`",
    )
    parser.add_argument(
        "--preset",
        "--presets",
        default=",".join(PRESETS),
        help="rules for ties and averages, separated by commas: names of `zoo ls presets`, preset "
        "files (YAML or JSON) or dotted paths of Preset classes (default: "
        f"{','.join(PRESETS)})",
    )
    parser.add_argument(
        "--metrics",
        nargs="+",
        default=[],
        metavar="PATTERN",
        help="compare only these metrics or averages, such as `sugarcrepe/*/i2t`, in which * "
        "matches any text. The q-values are then corrected only for the tests of these metrics "
        "and averages",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help=f"a file ({', '.join(FORMATS)}) for a plot of the differences with intervals",
    )
    parser.add_argument(
        "--rank_shifts",
        type=Path,
        metavar="FILE",
        help=f"a file ({', '.join(FORMATS)}) for a plot of the ranks of the runs on seen, mixed "
        "and unseen cases. A case is seen, mixed or unseen if all, some or none of its "
        "attribute-object pairs occur in the captions of `zoo validate --familiar_with`. The split "
        "of the first run is used for all runs",
    )
    parser.add_argument(
        "--by_split",
        type=Path,
        metavar="FILE",
        help=f"a file ({', '.join(FORMATS)}) for a plot of the accuracy of the runs on seen, mixed "
        "and unseen cases (see --rank_shifts), with the range over seeds",
    )
    parser.add_argument(
        "--scatter",
        type=str,
        nargs=3,
        metavar=("X", "Y", "FILE"),
        help="plot two metrics or averages against each other. `--scatter Comp ZS wise_ft.pdf`, "
        "for example, writes a plot of the average ZS (y axis) over the average Comp (x axis) to "
        "wise_ft.pdf. A line joins checkpoints that the same `zoo merge` command wrote",
    )
    parser.add_argument(
        "--outcomes",
        type=integer_at_least(0),
        default=0,
        metavar="N",
        help="for each of the other runs, list at most N answers whose outcome (right or wrong) "
        "differs from that in the first run. With --metrics, only answers of these metrics are "
        "listed. The margin of an answer is the right score minus the best wrong score. An answer "
        "has a margin in each of the two runs. Answers are sorted by the larger absolute margin, "
        "so that close decisions come first",
    )
    parser.add_argument(
        "--resamples",
        type=integer_at_least(1),
        default=RESAMPLES,
        help="number of bootstrap resamples per interval; the bootstrap resamples images",
    )
    parser.add_argument(
        "--seed",
        type=integer_at_least(0),
        default=0,
        help="the seed of the bootstrap",
    )
    parser.add_argument("--overwrite", action="store_true", help="overwrite existing figures")
    return parser


def parse_run_folders(given: list[str]) -> Mapping[str, Path] | list[Path]:
    """Returns the folders of runs, by name if any run is named.

    A run that is not named then has the name of its folder.

    Args:
        given: Folders, or pairs NAME=FOLDER. A work folder of `zoo study` or of `zoo validate
            --models` stands for its runs.

    Raises:
        ZooError: Two runs share a name.
    """
    pairs = [pair for text in given for pair in work_folder_runs(Path(text)) or [_split_name(text)]]
    if not any(name for name, _ in pairs):
        return [path for _, path in pairs]
    pairs = [(name or path.absolute().name, path) for name, path in pairs]
    names = [name for name, _ in pairs]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise ZooError(
            f"two runs are named {duplicate}: give each a different name with NAME=FOLDER"
        )
    return dict(pairs)


def _split_name(text: str) -> tuple[str, Path]:
    """Splits NAME=FOLDER, unless the whole text is the path of an existing folder."""
    name, joint, folder = text.partition("=")
    if joint and not (name and folder) and not Path(text).exists():
        raise ZooError(
            f"{text} has nothing {'after' if name else 'before'} the =: write NAME=FOLDER"
        )
    return (name, Path(folder)) if joint and not Path(text).exists() else ("", Path(text))


def _draw_rank_shifts(runs: Mapping[str, Results], rules: Rules) -> "Figure":
    cases = {name: results.cases for name, results in runs.items()}
    first_run = next(iter(runs))
    if not pc.any(cases[first_run]["bucket"].is_valid()).as_py():
        raise ZooError(
            f"--rank_shifts: {first_run} has no familiarity split: create one with "
            "`zoo rescore RUN --familiar_with CAPTIONS --out DIR`"
        )
    return draw_ranks(compute_split_tests(cases, rules))


def _print_outcome_differences(
    runs: Mapping[str, Results],
    presets: Sequence[Preset],
    counted_lines: Sequence[ComparisonLine] | None,
    most: int,
) -> None:
    """Prints the outcomes that differ; with `counted_lines`, only those that these rows count."""
    first_run, *other_runs = runs
    tables = dict(zip(runs, align_runs([run.cases for run in runs.values()]).tables, strict=True))
    if counted_lines is not None:
        counted = pa.array(select_counted(tables[first_run], counted_lines, presets))
        tables = {name: table.filter(counted) for name, table in tables.items()}
    for name in other_runs:
        differing = outcome_differences(tables[first_run], tables[name], presets[0].rules)
        max_difference = largest_score_difference(tables[first_run], tables[name])
        print(
            f"\n{len(differing):,} outcomes of {name} differ from those of {first_run}, and "
            "scores by "
            f"at most {max_difference:.2g}" + ("; smallest margins first:" if differing else "")
        )
        for outcome in differing[:most]:
            print(
                f"  {outcome.run}/{outcome.subset}/{outcome.metric}, case {outcome.case}: margin "
                f"{outcome.first_margin:.3g} in {first_run} and {outcome.second_margin:.3g} in "
                f"{name}"
            )
