"""`zoo units`: extracts units and their foils from captions into a file.

`zoo fit` samples from such a file. `count` counts the words of captions, by which the rules draw
foils. `show` prints units, `report` summarizes them or compares two files, and `audit` creates a
sheet for manual evaluation.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from random import Random

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from zoo.cli.caption_arguments import add_caption_arguments, read_samples
from zoo.cli.command_parser import CommandParser, format_pairs, pass_arguments
from zoo.errors import ZooError, suggest_names
from zoo.language.tagger import Tagger
from zoo.language.taggers import default_tagger
from zoo.results.statistics import wilson
from zoo.results.tables import TextTable
from zoo.results.units_report import BLIND_NOTE, counts_table, read_units_report
from zoo.sources.images import ImageFinder
from zoo.sources.sample import Sample
from zoo.support.class_names import import_all
from zoo.support.files import check_writable, write_bytes
from zoo.support.progress import show_progress
from zoo.support.ranges import NonNegativeInt, PositiveInt
from zoo.support.ray_jobs import Ray
from zoo.units.audit import (
    CAPTION_COLUMNS,
    COLUMNS,
    FOIL_VERDICTS,
    UNIT_VERDICTS,
    SheetRow,
    draw_caption_rows,
    draw_sheet_rows,
    read_sheet,
    verdict_shares,
    write_sheet,
)
from zoo.units.counts import Counts
from zoo.units.extraction import check_output
from zoo.units.extraction import write_extracted_units as write_extracted
from zoo.units.extractor import UnitExtractor
from zoo.units.overlap import RULE, Disagreement
from zoo.units.ray_extraction import extract_on_ray
from zoo.units.reader import read_units
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord
from zoo.units.rules.corpus_counts import count_corpus
from zoo.units.rules.rule import RuleExtractor

# with fewer captions, the counts that come with the package are better
MIN_CAPTIONS = 5_000


def main(argv: list[str]) -> int:
    """Runs `extract`, `count`, `show`, `report` or `audit`, and returns the exit status."""
    import_all(("extractors", "readers", "taggers"))
    declared = parser()
    args = declared.parse_args(argv)
    arguments = args[args.command]
    if args.command == "show":
        records = list(read_units(arguments.file).values())
        sampled = Random(arguments.seed).sample(records, min(arguments.n, len(records)))
        show(sampled, len(records))
        return 0
    if args.command == "audit":
        count_or_sample_sheet(arguments)
        return 0
    if args.command == "report":
        report(arguments)
        return 0
    if args.command == "count":
        built_args = declared.instantiate_subcommand(args)
        count_captions(
            read_samples(arguments.captions, built_args.reader), built_args.tagger, arguments
        )
        return 0
    if not arguments.ray.workers:
        check_output(Path(arguments.out), arguments.overwrite)
    pass_arguments(arguments.extractor, "--extractor", seed=arguments.seed, tagger=arguments.tagger)
    built_args = declared.instantiate_subcommand(args)
    extractor: UnitExtractor = built_args.extractor
    samples = select_splits(
        read_samples(arguments.captions, built_args.reader), arguments.splits, arguments.captions
    )
    console = Console()
    extractor = with_own_counts(extractor, samples, Path(arguments.out))
    counts = extract(extractor, samples, Path(arguments.out), built_args.ray, arguments.overwrite)
    console.print(boxed_table(counts_table({"count": counts})))
    console.print(
        f"{arguments.out}: {len(samples):,} captions, {format_pairs(extractor.describe().items())}",
        highlight=False,
        soft_wrap=True,
    )
    return 0


def extract(
    extractor: UnitExtractor, samples: Sequence[Sample], out: Path, ray: Ray, overwrite: bool
) -> Counts:
    """Writes one record per sample, with the caption and image ids of the sample.

    Args:
        extractor: Finds the units and makes their foils.
        samples: The captions, in the order of the records.
        out: The file to write, or a folder if Ray is used.
        ray: Runs the extraction if it has workers.
        overwrite: Whether existing parts of Ray may be overwritten.

    Returns:
        The counts of units and foils.

    Raises:
        ZooError: Two captions have the same id, or the file cannot be written.
    """
    _refuse_duplicate_ids(samples)
    captions = [(sample.caption, sample.caption_id, sample.image_id) for sample in samples]
    with show_progress("units", len(samples)) as advance:
        if ray.workers:
            return extract_on_ray(ray, extractor, captions, out, overwrite, advance)
        return write_extracted(extractor, captions, out, advance)


def count_captions(samples: Sequence[Sample], tagger: Tagger | None, arguments: Namespace) -> None:
    """Writes the counts of captions, which `--extractor.counts` takes.

    Args:
        samples: The captions.
        tagger: The tagger; None for the default.
        arguments: The arguments of the command.

    Raises:
        ZooError: The file exists, or cannot be written.
    """
    out_path = Path(arguments.out)
    check_writable(out_path, arguments.overwrite)
    _write_counts(samples, tagger or default_tagger(), out_path, arguments.min_count)
    print(f"{out_path}: counts of {len(samples):,} captions")


def with_own_counts(
    extractor: UnitExtractor, samples: Sequence[Sample], out: Path
) -> UnitExtractor:
    """Returns the extractor, which draws foils by the counts of the captions if it can.

    The rules do so if they were given no counts and there are at least `MIN_CAPTIONS`. The counts
    are written to `NAME.words` next to the output file.

    Args:
        extractor: The extractor.
        samples: The captions.
        out: The output of `extract`.
    """
    if (
        type(extractor) is not RuleExtractor
        or extractor.counts is not None
        or len(samples) < MIN_CAPTIONS
    ):
        return extractor
    counts_path = out.with_name(f"{out.name}.words")
    _write_counts(samples, extractor.tagger, counts_path)
    return RuleExtractor(extractor.seed, extractor.tagger, str(counts_path))


def _write_counts(samples: Sequence[Sample], tagger: Tagger, out: Path, min_count: int = 1) -> None:
    with show_progress("words", len(samples)) as advance:

        def captions() -> Iterator[tuple[str, str]]:
            for sample in samples:
                yield sample.caption, sample.image_id
                advance(1)

        text = count_corpus(captions(), tagger, min_count)
    write_bytes(out, text.encode())


def show(records: Sequence[UnitRecord], total: int) -> None:
    """Prints records: each unit with its foils.

    Args:
        records: The records.
        total: The number of records in the file.
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
    console.print(f"{len(records):,} of {total:,} records", highlight=False)


def report(arguments: Namespace) -> None:
    """Prints a summary of one or two units files, and writes it as a page if `out` is given.

    Args:
        arguments: The arguments of the command.

    Raises:
        ZooError: A file is invalid, two files share no caption, or no image is found.
    """
    out_path = None if arguments.out is None else Path(arguments.out)
    if out_path is not None:
        check_writable(out_path, arguments.overwrite)
    paths = [Path(path) for path in (arguments.file, arguments.other) if path is not None]
    file_report = read_units_report(paths, arguments.n, arguments.seed)
    root = arguments.data_root
    roots = [root] if root else [path.parent for path in paths]
    page = (
        file_report.page(ImageFinder(roots, confined=True), must_find=root is not None)
        if out_path
        else ""
    )
    console = Console()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    console.print(boxed_table(file_report.kinds_table))
    for file in file_report.files:
        say(f"{file.name}: {file.description}")
    for note in file_report.notes:
        say(note)
    console.print(boxed_table(file_report.blind_table))
    say(BLIND_NOTE)
    if file_report.overlap is None:
        show(file_report.samples[file_report.files[0].name], len(file_report.files[0].records))
    else:
        console.print(boxed_table(file_report.shared_table()))
        say(RULE)
        say(file_report.describe_comparison())
        for disagreement in file_report.disagreements:
            console.print(
                _disagreement_table(disagreement, *(file.name for file in file_report.files))
            )
    if out_path is not None:
        write_bytes(out_path, page.encode())
        say(str(out_path))


def boxed_table(made: TextTable) -> Table:
    """Returns a table for the terminal, with borders."""
    table = Table(*made.header)
    for row in made.rows:
        table.add_row(*row)
    return table


def _disagreement_table(found: Disagreement, first: str, second: str) -> Table:
    table = Table(title=found.record.caption, title_justify="left", title_style="bold")
    for name in ("in both", f"only {first}", f"only {second}"):
        table.add_column(name)
    for texts in zip_longest(found.both, found.first, found.second, fillvalue=""):
        table.add_row(*texts)
    return table


def count_or_sample_sheet(arguments: Namespace) -> None:
    """Counts the verdicts of a sheet, or samples a new sheet from a units file."""
    file = Path(arguments.file)
    if file.suffix == ".csv":
        rows = read_sheet(file)
        print_shares(rows, file)
        return
    out_path = Path(arguments.out or file.with_suffix(".audit.csv"))
    records = read_units(file)
    if arguments.captions is not None and arguments.edit is not None:
        raise ZooError("--captions draws all units of a caption: leave out --edit")
    rows = (
        draw_sheet_rows(records, arguments.n, arguments.seed, arguments.edit)
        if arguments.captions is None
        else draw_caption_rows(records, arguments.captions, arguments.seed)
    )
    write_sheet(rows, out_path, COLUMNS if arguments.captions is None else CAPTION_COLUMNS)
    missed_note = (
        ""
        if arguments.captions is None
        else "the numbers of missed entities and relations in the first row of a caption, "
    )
    print(
        f"{out_path}: {len(rows):,} units with one foil each; enter {missed_note}"
        f"{', '.join(UNIT_VERDICTS)} as "
        f"unit_verdict and {', '.join(FOIL_VERDICTS)} as foil_verdict, then run "
        f"`zoo units audit {out_path}` to count them"
    )


def print_shares(rows: Sequence[SheetRow], sheet: Path) -> None:
    """Prints the share of each verdict with its 95 % interval, and the number of judged rows."""
    judged = sum(row.is_judged for row in rows)
    table = Table("verdict", "of", "count", "share", "95 % (Wilson)")
    for share in verdict_shares(rows):
        low, high = wilson(share.count, share.n)
        table.add_row(
            share.verdict,
            f"{share.n:,} {share.group}",
            f"{share.count:,}",
            f"{share.count / share.n:.1%}",
            f"{low:.1%} to {high:.1%}",
        )
    console = Console()
    console.print(table)
    console.print(f"{sheet}: {judged:,} of {len(rows):,} judged", highlight=False, soft_wrap=True)


def _refuse_duplicate_ids(samples: Iterable[Sample]) -> None:
    origins: dict[str, str] = {}
    for sample in samples:
        first_origin = origins.setdefault(sample.caption_id, sample.origin)
        if first_origin != sample.origin:
            raise ZooError(
                f"{sample.origin} and {first_origin} have the same caption id "
                f"{sample.caption_id!r}: make ids unique"
            )


def select_splits(samples: list[Sample], splits: list[str] | None, captions: str) -> list[Sample]:
    """Returns the samples of some splits.

    Args:
        samples: The samples of a file.
        splits: Names of the splits; None for all.
        captions: The file, for messages.

    Raises:
        ZooError: The file has no such split.
    """
    if not splits:
        return samples
    known_splits = {sample.split for sample in samples if sample.split}
    for split in splits:
        if split not in known_splits:
            raise ZooError(
                f"{captions} has no split '{split}'{suggest_names(split, known_splits)}: it has "
                f"{', '.join(sorted(known_splits)) or 'none'}"
            )
    return [sample for sample in samples if sample.split in splits]


def add_extractor_arguments(parser: CommandParser) -> None:
    """Adds the arguments that name the extractor of units and its tagger.

    Args:
        parser: The parser of the command.
    """
    parser.add_argument(
        "--extractor",
        type=UnitExtractor,
        metavar="CLASS",
        default={"class_path": "zoo.units.RuleExtractor"},
        help="the class that finds units and makes foils: a name of `zoo ls extractors` or a "
        "custom class. Flags such as --extractor.seed 3 set its arguments",
    )
    parser.add_argument(
        "--tagger",
        type=Tagger,
        metavar="CLASS",
        help="the part-of-speech tagger: a name of `zoo ls taggers` or a custom class; short for "
        "--extractor.tagger",
    )


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo units",
        description="Extract units and foils from captions, and inspect them. A unit is an entity "
        "('a grey sofa') or a relation ('two cats sleep on a grey sofa') in a caption, and a foil "
        "is a wrong version of a unit ('a red sofa').",
    )
    commands = parser.add_subcommands(dest="command", required=True)
    extract_parser = CommandParser(
        description="Write the units and foils of captions to a units file."
    )
    add_caption_arguments(extract_parser)
    extract_parser.add_argument(
        "--out",
        type=str,
        required=True,
        help="the file to write (.jsonl or .parquet); with Ray, the folder to write",
    )
    extract_parser.add_argument(
        "--overwrite", action="store_true", help="overwrite an existing file"
    )
    add_extractor_arguments(extract_parser)
    extract_parser.add_argument(
        "--seed",
        type=int,
        help="the seed of the foils; short for --extractor.seed",
    )
    extract_parser.add_class_arguments(Ray, "ray", help="settings of Ray, to use several machines")
    extract_parser.add_argument(
        "--splits",
        type=str,
        nargs="+",
        help="splits to use, by their names in the captions file (default: all)",
    )
    count_parser = CommandParser(
        description="Count the nouns, attributes and relations in captions. `zoo units extract "
        "--extractor.counts FILE` chooses foils by these counts: words that are frequent in the "
        "captions are then also frequent in the foils."
    )
    add_caption_arguments(count_parser)
    count_parser.add_argument("--out", type=str, required=True, help="the file to write")
    count_parser.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
    count_parser.add_argument(
        "--tagger",
        type=Tagger,
        metavar="CLASS",
        help="the part-of-speech tagger: a name of `zoo ls taggers` or a custom class (default: "
        "TextBlobTagger)",
    )
    count_parser.add_argument(
        "--min_count",
        type=PositiveInt,
        default=1,
        help="leave out counts below this number",
    )
    show_parser = CommandParser(
        description="Print a sample of the captions in a units file, with their units and foils."
    )
    show_parser.add_argument("file", type=str, help="a units file, or a folder of them")
    show_parser.add_argument(
        "--n", type=NonNegativeInt, default=10, help="number of captions to print"
    )
    show_parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    report_parser = CommandParser(
        description="Summarize a units file, or compare two units files of the same captions."
    )
    report_parser.add_argument("file", type=str, help="a units file, or a folder of them")
    report_parser.add_argument(
        "other",
        type=str,
        nargs="?",
        help="another units file of the same captions, for a comparison",
    )
    report_parser.add_argument(
        "--n", type=NonNegativeInt, default=6, help="number of sampled captions to show"
    )
    report_parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    report_parser.add_argument(
        "--out", type=str, help="an HTML page to write (.html); by default, no page is written"
    )
    report_parser.add_argument(
        "--overwrite", action="store_true", help="overwrite an existing page"
    )
    report_parser.add_argument(
        "--data_root",
        type=str,
        help="the folder of the images for the HTML page (default: the folders of the units files)",
    )
    audit_parser = CommandParser(
        description="Write a sample of units and foils to a sheet (.csv) for manual evaluation, or "
        "count the verdicts in a completed sheet."
    )
    audit_parser.add_argument(
        "file",
        type=str,
        help="a units file (or a folder of them) from which units are sampled, or a completed "
        "sheet (.csv) whose verdicts are counted",
    )
    audit_parser.add_argument(
        "--n", type=PositiveInt, default=200, help="number of units to sample"
    )
    audit_parser.add_argument(
        "--captions",
        type=PositiveInt,
        help="sample this many captions with all their units, instead of --n single units. You "
        "can then also count the units that the extractor missed",
    )
    audit_parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    audit_parser.add_argument(
        "--edit",
        type=str,
        help="sample only foils with this kind of change, such as argument_swap (exchanged "
        "subject and object)",
    )
    audit_parser.add_argument(
        "--out",
        type=str,
        help="the sheet to write (default: UNITS.audit.csv next to the units file)",
    )
    commands.add_subcommand("extract", extract_parser, help="write a units file")
    commands.add_subcommand(
        "count", count_parser, help="count the words of captions, by which rules draw foils"
    )
    commands.add_subcommand("show", show_parser, help="print records of a units file")
    commands.add_subcommand("report", report_parser, help="summarize a units file, or compare two")
    commands.add_subcommand(
        "audit",
        audit_parser,
        help="sample a sheet of units and foils for manual evaluation, or count one",
    )
    return parser
