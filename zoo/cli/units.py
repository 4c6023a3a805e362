"""`zoo units`: extracts units and their foils from captions into a file.

`fit` samples from such a file. `show` prints it, and `audit` has it judged by hand.
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from jsonargparse import Namespace
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from zoo.cli.naming import NamingParser, in_words, lend, samples_of
from zoo.errors import ZooError, near
from zoo.language.tagger import Tagger
from zoo.results.statistics import wilson
from zoo.sources.sample import Sample
from zoo.support.files import check_place
from zoo.support.names import import_all
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
from zoo.units.extract import UnitExtractor
from zoo.units.reader import read_units, write_units
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord


def main(argv: list[str]) -> int:
    """Runs `extract`, `show` or `audit`, and returns the exit status."""
    import_all(("extractors", "readers", "taggers"))
    declared = parser()
    given = declared.parse_args(argv)
    arguments = given[given.command]
    if given.command == "show":
        show(read_units(arguments.file), arguments.n, arguments.seed)
        return 0
    if given.command == "audit":
        audit(arguments)
        return 0
    check_place(Path(arguments.out), arguments.overwrite)
    lend(arguments.extractor, "--extractor", seed=arguments.seed, tagger=arguments.tagger)
    made = declared.made(given)
    extractor: UnitExtractor = made.extractor
    samples = _of_splits(
        samples_of(arguments.captions, made.reader), arguments.splits, arguments.captions
    )
    console = Console()
    console.print(extract(extractor, samples, Path(arguments.out)).table(extractor))
    console.print(
        f"{arguments.out}: {len(samples):,} captions, {in_words(extractor.describe().items())}",
        highlight=False,
        soft_wrap=True,
    )
    return 0


@dataclass
class Yield:
    """What extraction gave.

    Attributes:
        captions: How many captions there are.
        failed: How many of them are kept with an error.
        having: How many of them have entities, relations, or such with a foil.
        units: How many entities and relations there are.
        foils: How many foils there are, by edit.
    """

    captions: int = 0
    failed: int = 0
    having: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    foils: Counter[str] = field(default_factory=Counter)

    def count(self, record: UnitRecord) -> None:
        """Counts the units and foils of one caption."""
        self.captions += 1
        self.failed += "error" in record.source
        for name, units in (("entities", record.entities), ("relations", record.relations)):
            self.units[name] += len(units)
            self.having[name] += bool(units)
            self.having[f"{name} with a foil"] += any(unit.foils for unit in units)
            self.foils.update(foil.edit for unit in units for foil in unit.foils)

    def table(self, extractor: UnitExtractor) -> Table:
        """Returns the counts as a table, with those of what the extractor dropped."""
        table = Table("", "count", "of captions")
        for name in ("entities", "relations"):
            for what in (name, f"{name} with a foil"):
                table.add_row(
                    f"captions with {what}",
                    f"{self.having[what]:,}",
                    f"{self.having[what] / max(self.captions, 1):.1%}",
                )
            table.add_row(
                name,
                f"{self.units[name]:,}",
                f"{self.units[name] / max(self.captions, 1):.2f} a caption",
                end_section=True,
            )
        for edit, n in self.foils.most_common():
            table.add_row(f"foils: {edit}", f"{n:,}", f"{n / max(self.captions, 1):.2f} a caption")
        table.add_section()
        if self.failed:
            table.add_row("captions with an error", f"{self.failed:,}", "")
        for reason, n in extractor.dropped.most_common():
            table.add_row(f"dropped: {reason}", f"{n:,}", "")
        return table


def extract(extractor: UnitExtractor, samples: Sequence[Sample], out: Path) -> Yield:
    """Writes one record a sample, with the sample's caption and image ids.

    The file appears when it is whole.

    Args:
        extractor: Finds the units and makes their foils.
        samples: The captions, in the order of the records.
        out: The file to write.

    Returns:
        What was found.

    Raises:
        ZooError: Two captions have one id, by which a units file is read, or the file cannot be
            written.
    """
    _refuse_twice(samples)
    found = Yield()
    columns = (TextColumn("units"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as progress:
        task = progress.add_task("units", total=len(samples))
        captions = [(sample.caption, sample.caption_id, sample.image_id) for sample in samples]
        extractor.out = out
        records = extractor.records(captions, lambda done: progress.advance(task, done))
        write_units(_counted(records, found), out)
    return found


def show(records: dict[str, UnitRecord], n: int, seed: int) -> None:
    """Prints n records drawn by seed: each unit beside its foils."""
    console = Console()
    drawn = Random(seed).sample(list(records.values()), min(n, len(records)))
    for record in drawn:
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
    console.print(f"{len(drawn):,} of {len(records):,} records", highlight=False)


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


def _counted(records: Iterable[UnitRecord], found: Yield) -> Iterator[UnitRecord]:
    for record in records:
        found.count(record)
        yield record


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
                f"{captions} has no split '{split}'{near(split, known)}: it has "
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
    make.add_argument("--out", type=str, required=True, help="the file to write, .jsonl")
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
    commands.add_subcommand(
        "audit", judge, help="draw a sheet of units and foils to judge by hand, or count one"
    )
    return parser
