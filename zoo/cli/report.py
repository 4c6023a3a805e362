"""`zoo report`: writes an HTML report of runs, with every case behind the numbers."""

from collections.abc import Mapping
from pathlib import Path

from zoo.cli.command_parser import CommandParser
from zoo.cli.compare import parse_run_folders
from zoo.errors import ZooError
from zoo.results.comparison.compare import PRESETS, read_runs
from zoo.results.comparison.run_names import SEED, group_across_seeds
from zoo.results.presets.preset import preset_of
from zoo.results.report import Results
from zoo.results.site.patches import PatchMapOptions, PatchMapper
from zoo.results.site.write import PAGE, check_report_folder, write_report
from zoo.support.arguments import integer_at_least, split_list


def main(argv: list[str]) -> int:
    """Writes a report, and returns the exit status."""
    args = parser().parse_args(argv)
    run_folders = parse_run_folders(args.runs)
    check_report_folder(args.out, args.overwrite)
    presets = [preset_of(name) for name in split_list(args.preset, "--preset")]
    runs = read_runs(run_folders, minimum=1)
    groups = group_across_seeds(runs) if args.group else {name: [name] for name in runs}
    shown_runs = {group: runs[names[0]] for group, names in groups.items()}
    paths = run_folders.values() if isinstance(run_folders, Mapping) else run_folders
    messages = write_report(
        runs,
        presets,
        args.out,
        dict(zip(runs, paths, strict=True)),
        args.data_root,
        args.max_size_mb,
        args.publish,
        args.overwrite,
        PatchMapOptions(_patch_word_mappers(shown_runs), args.patch_words)
        if args.patch_words
        else None,
        groups,
        split_list(args.exclude_from_tests, "--exclude_from_tests")
        if args.exclude_from_tests
        else (),
    )
    for line in messages:
        print(line)
    print(args.out / PAGE)
    return 0


def _patch_word_mappers(runs: Mapping[str, Results]) -> dict[str, PatchMapper]:
    """Returns the word-patch mappers of the runs whose head scores words against patches.

    Raises:
        ZooError: A model is missing or has changed, or no head scores words against patches.
    """
    from zoo.checkpoints.load import load_model_of_results
    from zoo.evaluation.patch_words import patch_word_function

    mapper_by_run = {
        name: patch_word_function(load_model_of_results(run.header["model"]))
        for name, run in runs.items()
    }
    mappers = {
        name: run_mapper for name, run_mapper in mapper_by_run.items() if run_mapper is not None
    }
    if not mappers:
        raise ZooError(
            f"no head of {', '.join(runs)} scores words against patches: remove --patch_words, "
            "or evaluate a model with MaxSim"
        )
    return mappers


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo report",
        description="Write an HTML report of runs, from their saved scores. The report shows "
        "results with confidence intervals and case counts, figures, and the cases behind every "
        "number. It can be read offline.",
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="folders that `zoo validate` or `zoo study` wrote. The first run is compared with "
        "each of the others. NAME=FOLDER sets the name of a run in the report",
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument(
        "--group",
        choices=[SEED],
        help="`seed` shows runs that differ only in their seeds as one run, with means and "
        "standard deviations. Cases are shown for the first of these runs",
    )
    parser.add_argument(
        "--exclude_from_tests",
        metavar="NAMES",
        help="names of runs, separated by commas, that are shown without significance tests, "
        "such as the evaluation of the initial weights",
    )
    parser.add_argument(
        "--preset",
        "--presets",
        default=",".join(PRESETS),
        help="rules for ties and averages, separated by commas: names of `zoo ls presets`, preset "
        "files (YAML or JSON) or dotted paths of Preset classes. Averages are shown for each of "
        f"them, metrics only for the first (default: {','.join(PRESETS)})",
    )
    parser.add_argument(
        "--data_root",
        nargs="+",
        type=Path,
        default=(),
        help="the folders of the images. Images are read only from these folders. Without this "
        "flag, the report has no images",
    )
    parser.add_argument(
        "--max_size_mb",
        type=integer_at_least(1),
        default=100,
        help="maximum size of the report in megabytes; thumbnails that would exceed it are left "
        "out",
    )
    parser.add_argument(
        "--patch_words",
        type=integer_at_least(0),
        default=0,
        metavar="N",
        help="in the N worst cases of each metric, show which image patches match the words of "
        "the text. This loads the models, and needs a head that scores words against patches, "
        "such as MaxSim",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="link to images of data sets on their publishers' servers instead of copying them, "
        "so that the report can be published",
    )
    parser.add_argument("--overwrite", action="store_true", help="overwrite an existing report")
    return parser
