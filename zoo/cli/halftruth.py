"""`zoo halftruth`: writes a fixed set of half-truth cases, and shows the results of models."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from zoo.benchmarks.base import Contents
from zoo.benchmarks.half_truth.baselines import text_only_baselines
from zoo.benchmarks.half_truth.benchmark import MAX_IMAGES, HalfTruth
from zoo.benchmarks.half_truth.case_file import is_case_file, write_cases
from zoo.benchmarks.half_truth.rules import CHECKED
from zoo.cli.caption_arguments import read_samples
from zoo.cli.command_parser import CommandParser
from zoo.errors import ZooError
from zoo.results import half_truth_models
from zoo.results.drawing import png
from zoo.results.half_truth_page import PAGE, output_paths, write_page_and_figures
from zoo.results.half_truths import diagnostics
from zoo.results.presets.preset import preset_of
from zoo.results.reader import read_results
from zoo.results.tables import TextTable, baselines_table, default_console
from zoo.sources.images import ImageFinder
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.sample import Sample
from zoo.support.class_names import import_all
from zoo.support.files import check_ending, check_writable, write_bytes
from zoo.support.ranges import PositiveInt
from zoo.units.reader import read_units
from zoo.units.record import UnitRecord

READER_ARGUMENT: dict[str, Any] = {"type": Callable[[Path], Reader], "metavar": "CLASS"}


def main(argv: list[str]) -> int:
    """Runs `build`, `show` or `compare`, and returns the exit status."""
    import_all(("readers",))
    declared = parser()
    args = declared.parse_args(argv)
    if args.command == "build":
        check_ending(Path(args.build.out), ".jsonl")
        check_writable(Path(args.build.out), args.build.overwrite)
        build(declared.instantiate_subcommand(args))
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
    _check_units(records, arguments)
    captions = (
        (arguments.reader or guess_reader)(Path(arguments.captions)) if arguments.captions else None
    )
    settings = {"preset": arguments.preset, "max_images": arguments.images, "seed": arguments.seed}
    contents = HalfTruth(str(units), captions=captions, **settings).build_cases(units, records)
    notes, corpus = dict(contents.notes), None
    if arguments.corpus:
        corpus = _captions_of_other_images(
            read_samples(arguments.corpus, arguments.corpus_reader),
            records,
            contents,
            arguments.corpus,
        )
        notes["corpus"] = f"{Path(arguments.corpus).name}, {len(corpus):,} captions of other images"
    baseline_accuracies = text_only_baselines(contents.cases, corpus)
    header = write_cases(
        out_path, contents.cases, contents.files, notes, baseline_accuracies, **settings
    )
    console = default_console()
    counts = TextTable(
        ("condition", "cases"), tuple((c, f"{n:,}") for c, n in header.conditions.items())
    )
    console.print(counts.rich())
    console.print("text-only baselines (without the image), %:", highlight=False)
    console.print(baselines_table(baseline_accuracies).rich())
    for line in (
        *(f"{subject}: {note}" for subject, note in notes.items()),
        f"{out_path}: {header.cases:,} cases of {header.images:,} images, SHA-256 {header.sha256}",
    ):
        console.print(line, highlight=False, soft_wrap=True)


def _check_units(records: Sequence[UnitRecord], arguments: Namespace) -> None:
    """Rejects units of too few images, and units without foils."""
    images = len({record.image_id for record in records})
    if images < arguments.images:
        raise ZooError(
            f"{arguments.units} has {images:,} images, fewer than the {arguments.images:,} to "
            f"sample: set --images {images}"
        )
    if not any(u.foils for r in records for units in (r.entities, r.relations) for u in units):
        raise ZooError(
            f"{arguments.units} has no foils, and every half-truth is built from one: extract the "
            "units with an extractor that creates foils, as `zoo units extract` does by default"
        )


def _captions_of_other_images(
    samples: Sequence[Sample], records: Sequence[UnitRecord], contents: Contents, corpus: str
) -> list[str]:
    """Returns the captions of a corpus that do not describe an image of the cases."""
    case_ids = {case.id for case in contents.cases}
    images = {record.image_id for record in records if record.caption_id in case_ids}
    own_captions = {record.caption for record in records if record.image_id in images}
    other_captions = [sample.caption for sample in samples if sample.caption not in own_captions]
    if not other_captions:
        raise ZooError(
            f"--corpus {corpus} has only captions of the images in the cases: give a corpus with "
            "captions of other images, such as the training captions"
        )
    return other_captions


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
        ZooError: There are fewer than two results, or their half-truths differ.
    """
    picture = None if arguments.out is None else Path(arguments.out) / half_truth_models.PICTURE
    if picture is not None:
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
    half_truth_models.check_comparable(by_name)
    console = default_console()
    console.print(next(iter(by_name.values())).description.partition(";")[0], highlight=False)
    console.print(half_truth_models.accuracy_table(by_name).rich())
    if picture is not None:
        write_bytes(picture, png(half_truth_models.draw_model_accuracies(by_name)))
        console.print(str(picture), highlight=False, soft_wrap=True)


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo halftruth",
        description="Write a fixed set of half-truth cases, or show the results of models on it.",
    )
    commands = parser.add_subcommands(dest="command", required=True)
    build_parser = CommandParser(
        description="Write a case file, a fixed benchmark that can be published and cited. "
        "Evaluate on it with: zoo validate --benchmarks half_truth:CASES."
    )
    build_parser.add_argument("units", type=str, help="a units file, or a folder of them")
    build_parser.add_argument("--out", type=str, required=True, help="the file to write (.jsonl)")
    build_parser.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
    build_parser.add_argument(
        "--preset",
        type=str,
        default=CHECKED,
        help="the rules that create the texts: paper, checked (those of the paper, without foils "
        "that another caption of the image supports) or public_code",
    )
    build_parser.add_argument(
        "--images", type=PositiveInt, default=MAX_IMAGES, help="number of images to sample"
    )
    build_parser.add_argument("--seed", type=int, default=0, help="the seed of all sampling")
    build_parser.add_argument(
        "--captions",
        type=str,
        help="the captions from which the units were extracted; needed if the units do not name "
        "their images, or to use what the captions file adds about them",
    )
    build_parser.add_argument("--reader", **READER_ARGUMENT, help="the class that reads --captions")
    build_parser.add_argument(
        "--corpus",
        type=str,
        help="captions of other images, for a text-only baseline that chooses the more frequent "
        "of two additions",
    )
    build_parser.add_argument(
        "--corpus_reader", **READER_ARGUMENT, help="the class that reads --corpus"
    )
    show_parser = CommandParser(
        description="Print accuracies and gaps by condition, and write figures and a page of the "
        "worst cases. Existing scores are used."
    )
    show_parser.add_argument("results", type=str, help="the folder that `zoo validate --out` wrote")
    show_parser.add_argument(
        "--out",
        type=str,
        help=f"a folder for {PAGE}, accuracy.png and gaps.png; by default nothing is written",
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
        help="the folder of the images; images are read only from this folder, and without this "
        "flag the page has none",
    )
    show_parser.add_argument(
        "--preset",
        type=str,
        default="official",
        help="the preset that decides how ties count (`zoo ls presets`)",
    )
    compare_parser = CommandParser(
        description="Print and plot the accuracies of several models on the same half-truths. "
        "Existing scores are used."
    )
    compare_parser.add_argument(
        "results", type=str, nargs="+", help="folders that `zoo validate --out` wrote"
    )
    compare_parser.add_argument(
        "--out",
        type=str,
        help=f"a folder for {half_truth_models.PICTURE}; by default nothing is written",
    )
    compare_parser.add_argument(
        "--overwrite", action="store_true", help="overwrite an existing figure"
    )
    compare_parser.add_argument(
        "--preset",
        type=str,
        default="official",
        help="the preset that decides how ties count (`zoo ls presets`)",
    )
    commands.add_subcommand("build", build_parser, help="write a case file from units")
    commands.add_subcommand(
        "show", show_parser, help="show the results of one model, with figures and a page"
    )
    commands.add_subcommand("compare", compare_parser, help="compare the results of several models")
    return parser
