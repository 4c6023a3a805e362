"""`zoo bindings`: counts how often captions pair each attribute with each object.

`zoo validate --familiar_with` and `zoo rescore --familiar_with` read the table that it writes.
"""

from pathlib import Path

from zoo.cli.caption_arguments import add_caption_arguments
from zoo.cli.command_parser import CommandParser
from zoo.familiarity.captions import COCO, count_caption_bindings, load_binding_table
from zoo.familiarity.table import write_binding_table
from zoo.support.class_names import import_all
from zoo.support.files import check_ending, check_writable
from zoo.support.log import enable_log_output


def main(argv: list[str]) -> int:
    """Writes the table, prints a summary, and returns the exit status."""
    import_all(("readers",))
    enable_log_output()
    declared = parser()
    args = declared.instantiate(declared.parse_args(argv))
    out_path = Path(args.out)
    check_ending(out_path, ".csv")
    check_writable(out_path, args.overwrite)
    if args.reader is None:
        table = load_binding_table(args.captions, [Path(root) for root in args.data_root])
    else:
        table = count_caption_bindings(args.reader(Path(args.captions)))
    write_binding_table(table, out_path)
    perfect = sum(perfect > 0 for perfect, _ in table.perfect_close_counts.values())
    print(
        f"{out_path}: {len(table.perfect_close_counts):,} bindings of {table.about['captions']}, "
        f"{perfect:,} of "
        "them with a perfect match"
    )
    return 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo bindings",
        description="Count the attribute-object pairs in captions, such as (grey, sofa), and "
        "write them to a table. `zoo validate --familiar_with TABLE` then splits the cases of "
        "benchmarks by whether their pairs occur in these captions.",
    )
    add_caption_arguments(parser, f", a units file, `{COCO}` (COCO's training captions)")
    parser.add_argument("--out", type=str, required=True, help="the table to write (.csv)")
    parser.add_argument("--overwrite", action="store_true", help="overwrite an existing file")
    parser.add_argument(
        "--data_root",
        type=str,
        nargs="+",
        default=["."],
        help=f"one or several folders that contain COCO's captions, if `captions` is `{COCO}`",
    )
    return parser
