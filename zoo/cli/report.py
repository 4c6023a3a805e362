"""`zoo report`: a folder of pages of what runs found, with every case behind its numbers."""

from collections.abc import Mapping
from pathlib import Path

from zoo.cli.compare import folders
from zoo.errors import ZooError
from zoo.results.comparison.compare import PRESETS, read_runs
from zoo.results.comparison.named import SEED, by_seed
from zoo.results.presets.named import preset_of
from zoo.results.report import Results
from zoo.results.site.patches import Mapped, Mapper
from zoo.results.site.write import PAGE, check_out, write
from zoo.support.arguments import Parser, split_list, whole_number


def main(argv: list[str]) -> int:
    """Writes a report, and returns the exit status."""
    given = parser().parse_args(argv)
    check_out(given.out, given.overwrite)
    presets = [preset_of(name) for name in split_list(given.preset, "--preset")]
    asked = folders(given.runs)
    runs = read_runs(asked, least=1)
    groups = by_seed(runs) if given.group else {name: [name] for name in runs}
    shown = {group: runs[of[0]] for group, of in groups.items()}
    paths = asked.values() if isinstance(asked, Mapping) else asked
    said = write(
        runs,
        presets,
        given.out,
        dict(zip(runs, paths, strict=True)),
        given.data_root,
        given.most_mb,
        given.publish,
        given.overwrite,
        Mapped(_mappers(shown), given.patch_words) if given.patch_words else None,
        groups,
        split_list(given.aside, "--aside") if given.aside else (),
    )
    for line in said:
        print(line)
    print(given.out / PAGE)
    return 0


def _mappers(runs: Mapping[str, Results]) -> dict[str, Mapper]:
    """Returns what gives words and patches, of the runs whose head's score is made of them.

    Raises:
        ZooError: A model is not there or another one, or none of them has such a head.
    """
    from zoo.checkpoints.load import load_measured
    from zoo.evaluation.patch_words import mapper

    found = {name: mapper(load_measured(run.header["model"])) for name, run in runs.items()}
    known = {name: one for name, one in found.items() if one is not None}
    if not known:
        raise ZooError(
            f"no head of {', '.join(runs)} scores by words and patches: leave --patch_words out, "
            "or measure a model with MaxSim"
        )
    return known


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo report",
        description="Write a folder of pages that a browser opens without a network: numbers with "
        "intervals and coverage, pictures, and the cases behind every number. Nothing is scored "
        "again.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="folders that `zoo validate --out` wrote, the first of which the others are compared "
        "with; NAME=FOLDER names one on the pages",
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument(
        "--group",
        choices=[SEED],
        help="take the runs that differ in nothing but their seeds together: numbers are means and "
        "standard deviations, and cases those of the first",
    )
    parser.add_argument(
        "--aside",
        metavar="NAMES",
        help="runs, by commas, that are shown and take part in no test, as the weights that the "
        "others start from",
    )
    parser.add_argument(
        "--preset",
        "--presets",
        default=",".join(PRESETS),
        help="ways of counting and averaging, by commas, of `zoo ls presets`; metrics are those of "
        f"the first (default: {','.join(PRESETS)})",
    )
    parser.add_argument(
        "--data_root",
        nargs="+",
        type=Path,
        default=(),
        help="the folders of the images; only images below them are read, and without this flag "
        "the pages have none",
    )
    parser.add_argument(
        "--most_mb",
        type=whole_number(1),
        default=100,
        help="how many megabytes the folder may have; small copies of images are left out beyond "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--patch_words",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="show which patches of the image the words of a text are like, for heads that score "
        "by them, as MaxSim: of the N cases of each metric that a run has most wrong. The models "
        "are loaded for that (default: %(default)s)",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="link the images of data sets rather than copy them, so that the folder can be "
        "published",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="write over a report that lies there"
    )
    return parser
