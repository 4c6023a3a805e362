"""`zoo halftruth`: writes fixed sets of half-truth cases, and evaluates models on them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from zoo.benchmarks.half_truth.benchmark import MAX_IMAGES
from zoo.benchmarks.half_truth.case_file import is_case_file
from zoo.benchmarks.half_truth.rules import CHECKED
from zoo.cli.caption_arguments import read_samples
from zoo.cli.command_parser import CommandParser, pass_arguments
from zoo.cli.half_truth_cases import check_units, write_case_file
from zoo.cli.half_truth_run import (
    print_models,
    run_diagnostic,
    run_parser,
    write_model_pictures,
)
from zoo.errors import ZooError
from zoo.results import half_truth_models
from zoo.results.half_truth_page import PAGE, output_paths, write_page_and_figures
from zoo.results.half_truths import diagnostics
from zoo.results.presets.preset import preset_of
from zoo.results.reader import read_results
from zoo.results.tables import default_console
from zoo.sources.images import ImageFinder
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.support.class_names import import_all
from zoo.support.files import check_ending, check_writable
from zoo.support.ranges import PositiveInt
from zoo.units.reader import read_units

READER_ARGUMENT: dict[str, Any] = {"type": Callable[[Path], Reader], "metavar": "CLASS"}


def main(argv: list[str]) -> int:
    """Runs `run`, `build`, `show` or `compare`, and returns the exit status."""
    import_all(("extractors", "readers", "taggers"))
    declared = parser()
    args = declared.parse_args(argv)
    if args.command == "build":
        check_ending(Path(args.build.out), ".jsonl")
        check_writable(Path(args.build.out), args.build.overwrite)
        build(declared.instantiate_subcommand(args))
    elif args.command == "run":
        pass_arguments(args.run.extractor, "--extractor", tagger=args.run.tagger)
        run_diagnostic(declared.instantiate_subcommand(args))
    elif args.command == "show":
        show(args.show)
    else:
        compare(args.compare)
    return 0


def build(arguments: Namespace) -> None:
    """Writes a case file, and prints a summary.

    Args:
        arguments: The arguments of the command, with its readers built.

    Raises:
        ZooError: The units yield no half-truth cases, or a file is invalid.
    """
    units, out_path = Path(arguments.units), Path(arguments.out)
    if is_case_file(units):
        raise ZooError(
            f"{units} is already a case file: evaluate on it with "
            f"`zoo validate --benchmarks half_truth:{units}`"
        )
    for reader, file in (("reader", "captions"), ("corpus_reader", "corpus")):
        if arguments[reader] is not None and arguments[file] is None:
            raise ZooError(
                f"--{reader} reads the file of --{file}, which is not given: add --{file}"
            )
    records = list(read_units(units).values())
    check_units(units, records, arguments.images)
    captions = (
        (arguments.reader or guess_reader)(Path(arguments.captions)) if arguments.captions else None
    )
    write_case_file(
        units,
        records,
        out_path,
        captions,
        None
        if arguments.corpus is None
        else (Path(arguments.corpus).name, read_samples(arguments.corpus, arguments.corpus_reader)),
        preset=arguments.preset,
        max_images=arguments.images,
        seed=arguments.seed,
    )


def show(arguments: Namespace) -> None:
    """Prints the half-truth results of a model, and writes figures and a page if `out` is given.

    Args:
        arguments: The arguments of the command.

    Raises:
        ZooError: The results have no half-truths, or images of the worst cases are not found.
    """
    out_folder = None if arguments.out is None else Path(arguments.out)

    def check_places(n: int) -> None:
        for path in [] if out_folder is None else output_paths(n, out_folder):
            check_writable(path, arguments.overwrite)

    check_places(1)  # checks the first files before the results are read
    results = read_results(Path(arguments.results))
    run_diagnostics = diagnostics(results, preset_of(arguments.preset))
    check_places(len(run_diagnostics))
    console = default_console()
    for diagnostic in run_diagnostics:
        console.print(f"{diagnostic.run}, {diagnostic.description}", highlight=False)
        console.print(diagnostic.table().rich())
        for subject, note in diagnostic.notes.items():
            console.print(f"{subject}: {note}", highlight=False, soft_wrap=True)
    if out_folder is None:
        return
    finder = None
    if arguments.data_root:
        finder = ImageFinder([arguments.data_root], confined=True)
    else:
        console.print(
            f"{PAGE} has no images: add --data_root FOLDER, since images are read only from "
            "folders that you name",
            highlight=False,
            soft_wrap=True,
        )
    for path in write_page_and_figures(
        run_diagnostics, results.header["model"], finder, arguments.cases_per_condition, out_folder
    ):
        console.print(str(path), highlight=False, soft_wrap=True)


def compare(arguments: Namespace) -> None:
    """Prints the results of several models on the same half-truths, and plots them if asked.

    Args:
        arguments: The arguments of the command.

    Raises:
        ZooError: There are fewer than two results, their half-truths differ, or there are too many
            for one figure.
    """
    pictures = [
        Path(arguments.out) / name for name in (half_truth_models.PICTURES if arguments.out else ())
    ]
    for picture in pictures:
        check_writable(picture, arguments.overwrite)
    preset = preset_of(arguments.preset)
    by_name = {}
    for folder in dict.fromkeys(arguments.results):
        run_diagnostics = diagnostics(read_results(Path(folder)), preset)
        for diagnostic in run_diagnostics:
            by_name[folder if len(run_diagnostics) == 1 else f"{folder} {diagnostic.run}"] = (
                diagnostic
            )
    if len(by_name) < 2:
        raise ZooError(
            f"{arguments.results[0]} cannot be compared alone: add the results of another model, "
            "or use `zoo halftruth show`"
        )
    half_truth_models.check_same_cases(by_name)
    if pictures:
        half_truth_models.check_drawable(by_name)
    print_models(by_name)
    write_model_pictures(by_name, pictures)


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo halftruth",
        description="Evaluate models on half-truths: true texts with a wrong detail added. `run` "
        "does all steps; each of the other commands does one step.",
    )
    commands = parser.add_subcommands(dest="command", required=True)
    build_parser = CommandParser(
        description="Write a case file: a fixed benchmark that can be published and cited. A case "
        "has three texts about an image: a true text, the same text with a wrong detail added, and "
        "the same text with a true detail added. `zoo validate --benchmarks half_truth:FILE` "
        "evaluates a model on such a file."
    )
    build_parser.add_argument(
        "units", type=str, help="a file that `zoo units extract` wrote, or a folder of such files"
    )
    build_parser.add_argument("--out", type=str, required=True, help="the file to write (.jsonl)")
    build_parser.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
    build_parser.add_argument(
        "--preset",
        type=str,
        default=CHECKED,
        help="the rules for building half-truths: `paper` (those of CS-CLIP's paper); `checked` "
        "(as `paper`, but without wrong details that may be true according to another caption of "
        "the image); `equal_words` (as `paper`, but the wrong and the true detail have the same "
        "number of words); or `public_code` (those of the code of CS-CLIP's authors)",
    )
    build_parser.add_argument(
        "--images", type=PositiveInt, default=MAX_IMAGES, help="number of images to sample"
    )
    build_parser.add_argument("--seed", type=int, default=0, help="the seed of all sampling")
    build_parser.add_argument(
        "--captions",
        type=str,
        help="the captions from which the units were extracted. This flag is needed if the image "
        "ids in the units file do not identify image files. With this flag, all captions of an "
        "image count as true, also those without units",
    )
    build_parser.add_argument("--reader", **READER_ARGUMENT, help="the class that reads --captions")
    build_parser.add_argument(
        "--corpus",
        type=str,
        help="captions of other images, for a text-only baseline. Of the true and the wrong "
        "detail, the baseline chooses the one that is more frequent in these captions",
    )
    build_parser.add_argument(
        "--corpus_reader", **READER_ARGUMENT, help="the class that reads --corpus"
    )
    show_parser = CommandParser(
        description="Print accuracies and score gaps by condition, from saved scores. A condition "
        "is a kind of wrong detail. A gap is the score of the true text minus that of the "
        "half-truth, divided by the model's scale (1 / temperature). With --out, also write "
        "figures and a page of the worst cases."
    )
    show_parser.add_argument("results", type=str, help="the folder that `zoo validate --out` wrote")
    show_parser.add_argument(
        "--out",
        type=str,
        help=f"a folder for {PAGE}, accuracy.png and gaps.png; by default, nothing is written",
    )
    show_parser.add_argument("--overwrite", action="store_true", help="overwrite existing files")
    show_parser.add_argument(
        "--cases_per_condition",
        type=PositiveInt,
        default=12,
        help="number of cases per condition on the page",
    )
    show_parser.add_argument(
        "--data_root",
        type=str,
        help="the folder of the images. Images are read only from this folder. Without this flag, "
        "the page has no images",
    )
    show_parser.add_argument(
        "--preset",
        type=str,
        default="official",
        help="the preset that decides how ties count (`zoo ls presets`)",
    )
    compare_parser = CommandParser(
        description="Print and plot the accuracies of several models on the same half-truths, "
        "from saved scores."
    )
    compare_parser.add_argument(
        "results", type=str, nargs="+", help="folders that `zoo validate --out` wrote"
    )
    compare_parser.add_argument(
        "--out",
        type=str,
        help=f"a folder for {' and '.join(half_truth_models.PICTURES)}; by default, nothing is "
        "written",
    )
    compare_parser.add_argument(
        "--overwrite", action="store_true", help="overwrite existing figures"
    )
    compare_parser.add_argument(
        "--preset",
        type=str,
        default="official",
        help="the preset that decides how ties count (`zoo ls presets`)",
    )
    commands.add_subcommand(
        "run", run_parser(), help="all steps: captions, units, cases, models, table"
    )
    commands.add_subcommand("build", build_parser, help="write a case file from units")
    commands.add_subcommand(
        "show", show_parser, help="show the results of one model, with figures and a page"
    )
    commands.add_subcommand("compare", compare_parser, help="compare the results of several models")
    return parser
