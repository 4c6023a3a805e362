"""`zoo halftruth`: settles half-truths in a case file, and shows what models made of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from zoo.benchmarks.base import Contents
from zoo.benchmarks.half_truth.baselines import baselines
from zoo.benchmarks.half_truth.benchmark import MAX_IMAGES, HalfTruth
from zoo.benchmarks.half_truth.case_file import is_case_file, write_cases
from zoo.benchmarks.half_truth.rules import CHECKED
from zoo.cli.naming import NamingParser, samples_of
from zoo.errors import ZooError
from zoo.results import half_truth_models
from zoo.results.drawing import png
from zoo.results.half_truth_page import PAGE, files, write
from zoo.results.half_truths import diagnostics
from zoo.results.presets.named import preset_of
from zoo.results.reading import read
from zoo.results.show import rich_table, screen
from zoo.results.tables import TextTable, baselines_table
from zoo.sources.images import ImageFinder
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.sample import Sample
from zoo.support.files import check_ending, check_place, write_bytes
from zoo.support.names import import_all
from zoo.support.ranges import PositiveInt
from zoo.units.reader import read_units
from zoo.units.record import UnitRecord

READER: dict[str, Any] = {"type": Callable[[Path], Reader], "metavar": "CLASS"}


def main(argv: list[str]) -> int:
    """Runs `build`, `show` or `compare`, and returns the exit status."""
    import_all(("readers",))
    declared = parser()
    given = declared.parse_args(argv)
    if given.command == "build":
        check_ending(Path(given.build.out), ".jsonl")
        check_place(Path(given.build.out), given.build.overwrite)
        build(declared.build_classes(given))
    elif given.command == "show":
        show(given.show)
    else:
        compare(given.compare)
    return 0


def build(made: Namespace) -> None:
    """Writes a case file, and prints what it holds.

    Args:
        made: The arguments of the command, with its readers built.

    Raises:
        ZooError: The units give no such cases, or a file is wrong.
    """
    units, out = Path(made.units), Path(made.out)
    if is_case_file(units):
        raise ZooError(
            f"{units} is a case file already: `zoo validate --benchmarks half_truth:{units}` "
            "measures on it"
        )
    for reader, file in (("reader", "captions"), ("corpus_reader", "corpus")):
        if made[reader] is not None and made[file] is None:
            raise ZooError(f"--{reader} reads --{file}, which is not given: name the captions too")
    records = list(read_units(units).values())
    _check(records, made)
    captions = (made.reader or guess_reader)(Path(made.captions)) if made.captions else None
    settings = {"preset": made.preset, "max_images": made.images, "seed": made.seed}
    contents = HalfTruth(str(units), captions=captions, **settings).build_cases(units, records)
    notes, corpus = dict(contents.notes), None
    if made.corpus:
        corpus = _other_captions(
            samples_of(made.corpus, made.corpus_reader), records, contents, made.corpus
        )
        notes["corpus"] = f"{Path(made.corpus).name}, {len(corpus):,} captions of other images"
    guessed = baselines(contents.cases, corpus)
    header = write_cases(out, contents.cases, contents.files, notes, guessed, **settings)
    console = screen()
    counts = TextTable(
        ("condition", "cases"), tuple((c, f"{n:,}") for c, n in header.conditions.items())
    )
    console.print(rich_table(counts))
    console.print("guessed without the image, %:", highlight=False)
    console.print(rich_table(baselines_table(guessed)))
    for line in (
        *(f"{subject}: {note}" for subject, note in notes.items()),
        f"{out}: {header.cases:,} cases of {header.images:,} images, SHA-256 {header.sha256}",
    ):
        console.print(line, highlight=False, soft_wrap=True)


def _check(records: Sequence[UnitRecord], arguments: Namespace) -> None:
    """Refuses units of too few images, and units without foils."""
    images = len({record.image_id for record in records})
    if images < arguments.images:
        raise ZooError(
            f"--images {arguments.images} asks for more images than {arguments.units} has units "
            f"of: name at most {images}"
        )
    if not any(u.foils for r in records for units in (r.entities, r.relations) for u in units):
        raise ZooError(
            f"{arguments.units} has units without a single foil, and a half-truth is made of one: "
            "extract the units by an extractor that makes foils, as `zoo units extract` does"
        )


def _other_captions(
    samples: Sequence[Sample], records: Sequence[UnitRecord], contents: Contents, corpus: str
) -> list[str]:
    """Returns the captions of a corpus that are none of an image that is asked about."""
    asked = {case.id for case in contents.cases}
    images = {record.image_id for record in records if record.caption_id in asked}
    own = {record.caption for record in records if record.image_id in images}
    others = [sample.caption for sample in samples if sample.caption not in own]
    if not others:
        raise ZooError(
            f"--corpus {corpus} has no caption but those of the images that are asked about: "
            "name a corpus with others, such as the training captions"
        )
    return others


def show(arguments: Namespace) -> None:
    """Prints what a model made of half-truths, and writes pictures and page where asked for.

    Args:
        arguments: The arguments of the command.

    Raises:
        ZooError: The results have no half-truths, or the images of the worst are not found.
    """
    out = None if arguments.out is None else Path(arguments.out)

    def check_places(n: int) -> None:
        for path in [] if out is None else files(n, out):
            check_place(path, arguments.overwrite)

    check_places(1)  # before the results are read, which say how many there are
    results = read(Path(arguments.results))
    found = diagnostics(results, preset_of(arguments.preset))
    check_places(len(found))
    console = screen()
    for diagnostic in found:
        console.print(f"{diagnostic.run}, {diagnostic.says}", highlight=False)
        console.print(rich_table(diagnostic.table()))
        for subject, note in diagnostic.notes.items():
            console.print(f"{subject}: {note}", highlight=False, soft_wrap=True)
    if out is None:
        return
    finder = None
    if arguments.data_root:
        finder = ImageFinder([arguments.data_root], confined=True)
    else:
        console.print(
            f"{PAGE} has no images: add --data_root FOLDER, since only images below a folder that "
            "you give are read",
            highlight=False,
            soft_wrap=True,
        )
    for path in write(found, results.header["model"], finder, arguments.worst, out):
        console.print(str(path), highlight=False, soft_wrap=True)


def compare(arguments: Namespace) -> None:
    """Prints what several models made of the same half-truths, and draws it where asked for.

    Args:
        arguments: The arguments of the command.

    Raises:
        ZooError: There are fewer than two results, or they are of other half-truths.
    """
    picture = None if arguments.out is None else Path(arguments.out) / half_truth_models.PICTURE
    if picture is not None:
        check_place(picture, arguments.overwrite)
    preset = preset_of(arguments.preset)
    found = {}
    for folder in dict.fromkeys(arguments.results):
        several = diagnostics(read(Path(folder)), preset)
        for one in several:
            found[folder if len(several) == 1 else f"{folder} {one.run}"] = one
    if len(found) < 2:
        raise ZooError(
            f"{arguments.results[0]} alone is nothing to compare: name the results of another "
            "model too, or take `zoo halftruth show`"
        )
    half_truth_models.check_alike(found)
    console = screen()
    console.print(next(iter(found.values())).says.partition(";")[0], highlight=False)
    console.print(rich_table(half_truth_models.table(found)))
    if picture is not None:
        write_bytes(picture, png(half_truth_models.drawing(found)))
        console.print(str(picture), highlight=False, soft_wrap=True)


def parser() -> NamingParser:
    """Returns the parser of the command."""
    parser = NamingParser(
        prog="zoo halftruth",
        description="Settle half-truths in a case file, or show what models made of them.",
    )
    commands = parser.add_subcommands(dest="command", required=True)
    make = NamingParser(
        description="Write a case file, which is published, cited and measured on: "
        "zoo validate --benchmarks half_truth:CASES."
    )
    make.add_argument("units", type=str, help="a units file, or a folder of them")
    make.add_argument("--out", type=str, required=True, help="the file to write, .jsonl")
    make.add_argument("--overwrite", action="store_true", help="write over a file that is there")
    make.add_argument(
        "--preset",
        type=str,
        default=CHECKED,
        help="the rule by which texts are made: paper, checked (the paper's without foils that "
        "another caption of the image bears out) or public_code",
    )
    make.add_argument("--images", type=PositiveInt, default=MAX_IMAGES, help="how many are drawn")
    make.add_argument("--seed", type=int, default=0, help="settles all draws")
    make.add_argument(
        "--captions",
        type=str,
        help="the captions that the units are of, where the units do not say which image they "
        "mean, or where the captions say more of it",
    )
    make.add_argument("--reader", **READER, help="the class that reads --captions")
    make.add_argument(
        "--corpus",
        type=str,
        help="captions of other images, from which the half-truth is guessed without the image: "
        "the more frequent addition is taken for the true one",
    )
    make.add_argument("--corpus_reader", **READER, help="the class that reads --corpus")
    view = NamingParser(
        description="Print accuracies and gaps by condition, and write pictures and a page of the "
        "worst cases. Nothing is scored again."
    )
    view.add_argument("results", type=str, help="the folder that `zoo validate --out` wrote")
    view.add_argument(
        "--out", type=str, help=f"a folder for {PAGE}, accuracy.png and gaps.png; none by default"
    )
    view.add_argument("--overwrite", action="store_true", help="write over files that are there")
    view.add_argument(
        "--worst", type=PositiveInt, default=12, help="how many cases of a condition the page has"
    )
    view.add_argument(
        "--data_root",
        type=str,
        help="the folder of the images; only images below it are read, and without this flag the "
        "page has none",
    )
    view.add_argument(
        "--preset", type=str, default="official", help="how ties count, one of `zoo ls presets`"
    )
    several = NamingParser(
        description="Print the accuracies of several models on the same half-truths beside each "
        "other, and draw them. Nothing is scored again."
    )
    several.add_argument(
        "results", type=str, nargs="+", help="folders that `zoo validate --out` wrote"
    )
    several.add_argument(
        "--out", type=str, help=f"a folder for {half_truth_models.PICTURE}; none by default"
    )
    several.add_argument("--overwrite", action="store_true", help="write over a picture")
    several.add_argument(
        "--preset", type=str, default="official", help="how ties count, one of `zoo ls presets`"
    )
    commands.add_subcommand("build", make, help="write a case file from units")
    commands.add_subcommand("show", view, help="print, draw and lay out what a model made of one")
    commands.add_subcommand("compare", several, help="print and draw several models together")
    return parser
