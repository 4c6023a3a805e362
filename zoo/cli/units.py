"""`zoo units`: extracts units and their foils from captions into a file.

`fit` samples from such a file. `show` prints it, `report` counts it or compares two, and `audit`
has it judged by hand.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from zoo.cli.naming import NamingParser, in_words, lend, samples_of
from zoo.errors import ZooError, suggest_names
from zoo.language.tagger import Tagger
from zoo.results.statistics import wilson
from zoo.results.tables import TextTable
from zoo.results.unit_tables import counts_table
from zoo.results.units_report import read_report
from zoo.sources.images import ImageFinder
from zoo.sources.sample import Sample
from zoo.support.files import check_place, write_bytes
from zoo.support.names import import_all
from zoo.support.on_ray import Ray
from zoo.support.progress import counting
from zoo.support.ranges import NonNegativeInt, PositiveInt
from zoo.units.audit import (
    FOIL_VERDICTS,
    UNIT_VERDICTS,
    SheetRow,
    draw,
    read_sheet,
    shares,
    write_sheet,
)
from zoo.units.counts import Counts
from zoo.units.extract import UnitExtractor
from zoo.units.extraction import check_out
from zoo.units.extraction import extract as write_extracted
from zoo.units.on_ray import extract_on_ray
from zoo.units.overlap import RULE, Disagreement
from zoo.units.reader import read_units
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord


def main(argv: list[str]) -> int:
    """Runs `extract`, `show`, `report` or `audit`, and returns the exit status."""
    import_all(("extractors", "readers", "taggers"))
    declared = parser()
    given = declared.parse_args(argv)
    arguments = given[given.command]
    if given.command == "show":
        records = list(read_units(arguments.file).values())
        drawn = Random(arguments.seed).sample(records, min(arguments.n, len(records)))
        show(drawn, len(records))
        return 0
    if given.command == "audit":
        audit(arguments)
        return 0
    if given.command == "report":
        report(arguments)
        return 0
    if not arguments.ray.workers:
        check_out(Path(arguments.out), arguments.overwrite)
    lend(arguments.extractor, "--extractor", seed=arguments.seed, tagger=arguments.tagger)
    made = declared.build_classes(given)
    extractor: UnitExtractor = made.extractor
    samples = _of_splits(
        samples_of(arguments.captions, made.reader), arguments.splits, arguments.captions
    )
    console = Console()
    found = extract(extractor, samples, Path(arguments.out), made.ray, arguments.overwrite)
    console.print(boxed_table(counts_table({"count": found})))
    console.print(
        f"{arguments.out}: {len(samples):,} captions, {in_words(extractor.describe().items())}",
        highlight=False,
        soft_wrap=True,
    )
    return 0


def extract(
    extractor: UnitExtractor, samples: Sequence[Sample], out: Path, ray: Ray, overwrite: bool
) -> Counts:
    """Writes one record a sample, with the sample's caption and image ids.

    Args:
        extractor: Finds the units and makes their foils.
        samples: The captions, in the order of the records.
        out: The file to write, or the folder where Ray extracts.
        ray: Extracts, where it has workers.
        overwrite: Whether parts of Ray that are there may be lost.

    Returns:
        What was found.

    Raises:
        ZooError: Two captions have one id, by which a units file is read, or the file cannot be
            written.
    """
    _refuse_twice(samples)
    captions = [(sample.caption, sample.caption_id, sample.image_id) for sample in samples]
    with counting("units", len(samples)) as done:
        if ray.workers:
            return extract_on_ray(ray, extractor, captions, out, overwrite, done)
        return write_extracted(extractor, captions, out, done)


def show(records: Sequence[UnitRecord], of: int) -> None:
    """Prints records: each unit beside its foils.

    Args:
        records: The records.
        of: How many records there are in the file.
    """
    console = Console()
    for record in records:
        table = Table(
            "unit",
            "foil",
            "edit",
            title=record.caption,
            title_justify="left",
            title_style="bold",
            expand=False,
        )
        units: tuple[Entity | Relation, ...] = (*record.entities, *record.relations)
        for unit in units:
            foils: tuple[EntityFoil | RelationFoil, ...] = unit.foils
            for i, foil in enumerate(foils):
                table.add_row("" if i else unit.text, foil.text, foil.edit)
            if not unit.foils:
                table.add_row(unit.text, "-", "")
        console.print(table)
    console.print(f"{len(records):,} of {of:,} records", highlight=False)


def report(arguments: Namespace) -> None:
    """Prints what is in one units file or two, and writes a page of it where asked for.

    Args:
        arguments: The arguments of the command.

    Raises:
        ZooError: A file is wrong, two have no caption in common, or no image is found.
    """
    out = None if arguments.out is None else Path(arguments.out)
    if out is not None:
        check_place(out, arguments.overwrite)
    paths = [Path(path) for path in (arguments.file, arguments.other) if path is not None]
    made = read_report(paths, arguments.n, arguments.seed)
    root = arguments.data_root
    roots = [root] if root else [path.parent for path in paths]
    page = made.page(ImageFinder(roots, confined=True), must_find=root is not None) if out else ""
    console = Console()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    console.print(boxed_table(made.counts))
    for file in made.files:
        say(f"{file.name}: {file.description}")
    for note in made.notes:
        say(note)
    if made.overlap is None:
        show(made.samples[made.files[0].name], len(made.files[0].records))
    else:
        console.print(boxed_table(made.shared_table()))
        say(RULE)
        say(made.describe_comparison())
        for found in made.disagreements:
            console.print(_disagreement(found, *(file.name for file in made.files)))
    if out is not None:
        write_bytes(out, page.encode())
        say(str(out))


def boxed_table(made: TextTable) -> Table:
    """Returns a table for the screen, with lines around it."""
    table = Table(*made.header)
    for row in made.rows:
        table.add_row(*row)
    return table


def _disagreement(found: Disagreement, first: str, second: str) -> Table:
    table = Table(title=found.record.caption, title_justify="left", title_style="bold")
    for name in ("in both", f"{first} alone", f"{second} alone"):
        table.add_column(name)
    for texts in zip_longest(found.both, found.first, found.second, fillvalue=""):
        table.add_row(*texts)
    return table


def audit(arguments: Namespace) -> None:
    """Counts the verdicts of a sheet, or draws a new one from a units file."""
    file = Path(arguments.file)
    if file.suffix == ".csv":
        rows = read_sheet(file)
        print_shares(rows, file)
        return
    out = Path(arguments.out or file.with_suffix(".audit.csv"))
    rows = draw(read_units(file), arguments.n, arguments.seed, arguments.edit)
    write_sheet(rows, out)
    print(
        f"{out}: {len(rows):,} units with a foil each; write {', '.join(UNIT_VERDICTS)} under "
        f"unit_verdict, {', '.join(FOIL_VERDICTS)} under foil_verdict, then "
        f"`zoo units audit {out}` counts"
    )


def print_shares(rows: Sequence[SheetRow], sheet: Path) -> None:
    """Prints the share of each verdict with its 95 % interval, and how many are not judged yet."""
    judged = sum(bool(row.unit_verdict and row.foil_verdict) for row in rows)
    table = Table("verdict", "of", "count", "share", "95 % (Wilson)")
    for share in shares(rows):
        low, high = wilson(share.count, share.n)
        table.add_row(
            share.verdict,
            f"{share.n:,} {share.of}",
            f"{share.count:,}",
            f"{share.count / share.n:.1%}",
            f"{low:.1%} to {high:.1%}",
        )
    console = Console()
    console.print(table)
    console.print(f"{sheet}: {judged:,} of {len(rows):,} judged", highlight=False, soft_wrap=True)


def _refuse_twice(samples: Iterable[Sample]) -> None:
    origins: dict[str, str] = {}
    for sample in samples:
        first = origins.setdefault(sample.caption_id, sample.origin)
        if first != sample.origin:
            raise ZooError(
                f"{sample.origin} has caption id {sample.caption_id!r}, "
                f"and so has {first}: make ids unique"
            )


def _of_splits(samples: list[Sample], splits: list[str] | None, captions: str) -> list[Sample]:
    if not splits:
        return samples
    known = {sample.split for sample in samples if sample.split}
    for split in splits:
        if split not in known:
            raise ZooError(
                f"{captions} has no split '{split}'{suggest_names(split, known)}: it has "
                f"{', '.join(sorted(known)) or 'none'}"
            )
    return [sample for sample in samples if sample.split in splits]


def parser() -> NamingParser:
    """Returns the parser of the command."""
    parser = NamingParser(
        prog="zoo units", description="Find the units of captions and make their foils."
    )
    commands = parser.add_subcommands(dest="command", required=True)
    make = NamingParser(description="Write the units and foils of captions into a file.")
    make.add_captions()
    make.add_argument(
        "--out",
        type=str,
        required=True,
        help="the file to write, .jsonl or .parquet; the folder of parts where Ray extracts",
    )
    make.add_argument("--overwrite", action="store_true", help="write over a file that is there")
    make.add_argument(
        "--extractor",
        type=UnitExtractor,
        metavar="CLASS",
        default={"class_path": "zoo.units.RuleExtractor"},
        help="the class that finds units and makes foils, one of `zoo ls extractors` or of your "
        "own; its arguments as in --extractor.seed 3",
    )
    make.add_argument(
        "--tagger",
        type=Tagger,
        metavar="CLASS",
        help="the extractor's tagger, one of `zoo ls taggers` or of your own; short for "
        "--extractor.tagger",
    )
    make.add_argument(
        "--seed",
        type=int,
        help="settles which foils are made, short for --extractor.seed",
    )
    make.add_class_arguments(Ray, "ray", help="Ray, for many machines")
    make.add_argument(
        "--splits",
        type=str,
        nargs="+",
        help="those to take, by the source's own names; all by default",
    )
    view = NamingParser(description="Print records of a units file, each unit beside its foils.")
    view.add_argument("file", type=str, help="a units file, or a folder of them")
    view.add_argument("--n", type=NonNegativeInt, default=10, help="how many to print")
    view.add_argument("--seed", type=int, default=0, help="settles which are printed")
    tell = NamingParser(
        description="Print what is in a units file, or what two of the same captions share."
    )
    tell.add_argument("file", type=str, help="a units file, or a folder of them")
    tell.add_argument(
        "other", type=str, nargs="?", help="another of the same captions, which it is compared with"
    )
    tell.add_argument(
        "--n", type=NonNegativeInt, default=6, help="how many captions are drawn as samples"
    )
    tell.add_argument("--seed", type=int, default=0, help="settles which are drawn")
    tell.add_argument("--out", type=str, help="a page to write, .html; none by default")
    tell.add_argument("--overwrite", action="store_true", help="write over a page that is there")
    tell.add_argument(
        "--data_root",
        type=str,
        help="where the page's images are; the folders of the units files by default",
    )
    judge = NamingParser(
        description="Draw a sheet of units and foils to judge by hand, or count a judged one."
    )
    judge.add_argument(
        "file", type=str, help="a units file, or a folder of them; a sheet (.csv) is counted"
    )
    judge.add_argument("--n", type=PositiveInt, default=200, help="how many to draw")
    judge.add_argument("--seed", type=int, default=0, help="settles which are drawn")
    judge.add_argument("--edit", type=str, help="draw foils of this edit alone, as argument_swap")
    judge.add_argument(
        "--out",
        type=str,
        help="the sheet to write; UNITS.audit.csv beside the units file by default",
    )
    commands.add_subcommand("extract", make, help="write a units file")
    commands.add_subcommand("show", view, help="print records of a units file")
    commands.add_subcommand("report", tell, help="count a units file, or compare two")
    commands.add_subcommand(
        "audit", judge, help="draw a sheet of units and foils to judge by hand, or count one"
    )
    return parser
