"""`zoo bindings`: counts which attributes captions give to which objects, into a table.

`zoo validate --familiar_with` and `zoo rescore --familiar_with` take such a table.
"""

from pathlib import Path

from zoo.cli.naming import NamingParser
from zoo.familiarity.captions import COCO, familiar_table, of_captions
from zoo.familiarity.table import write
from zoo.support.files import check_ending, check_place
from zoo.support.log import speak
from zoo.support.names import import_all


def main(argv: list[str]) -> int:
    """Writes the table, says what it holds, and returns the exit status."""
    import_all(("readers",))
    speak()
    declared = parser()
    given = declared.instantiate(declared.parse_args(argv))
    out = Path(given.out)
    check_ending(out, ".csv")
    check_place(out, given.overwrite)
    if given.reader is None:
        table = familiar_table(given.captions, [Path(root) for root in given.data_root])
    else:
        table = of_captions(given.reader(Path(given.captions)))
    write(table, out)
    perfect = sum(perfect > 0 for perfect, _ in table.counts.values())
    print(
        f"{out}: {len(table.counts):,} bindings of {table.about['captions']}, {perfect:,} of them "
        "with a perfect match"
    )
    return 0


def parser() -> NamingParser:
    """Returns the parser of the command."""
    parser = NamingParser(
        prog="zoo bindings",
        description="Count which attributes captions give to which objects, into a table.",
    )
    parser.add_captions(f"; a units file; `{COCO}` for COCO's training captions")
    parser.add_argument("--out", type=str, required=True, help="the table to write, .csv")
    parser.add_argument("--overwrite", action="store_true", help="write over a file that is there")
    parser.add_argument(
        "--data_root",
        type=str,
        nargs="+",
        default=["."],
        help=f"where `{COCO}` looks for its captions",
    )
    return parser
