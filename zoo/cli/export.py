"""`zoo export`: a checkpoint as a plain model for open_clip, Hugging Face or onnxruntime."""

from pathlib import Path
from typing import get_args

from zoo.publishing.export import Format, export
from zoo.support.arguments import Parser


def main(argv: list[str]) -> int:
    """Exports a checkpoint, and returns the exit status."""
    given = parser().parse_args(argv)
    print(
        export(
            given.checkpoint,
            given.out,
            given.format,
            given.measured,
            given.licence,
            given.overwrite,
        )
    )
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo export",
        description="Write a checkpoint as a plain "
        "model, adapters merged, with its head and a model card beside it.",
    )
    parser.add_argument(
        "checkpoint",
        type=Path,
        help="of `zoo fit` (a file, its run, `last` or "
        "`best`) or `zoo merge`, a folder that was exported, or a model of `zoo ls models`",
    )
    parser.add_argument("out", type=Path, help="the folder to write")
    parser.add_argument(
        "--format",
        choices=get_args(Format),
        default="open_clip",
        help="who is to reload it: open_clip, Hugging Face, or onnxruntime",
    )
    parser.add_argument(
        "--measured",
        type=Path,
        nargs="+",
        default=[],
        metavar="RUN",
        help="folders that `zoo validate --out` wrote of these weights: their figures go on the "
        "model card, README.md",
    )
    parser.add_argument(
        "--licence",
        metavar="ID",
        help="the licence of the weights, as the hub names it (apache-2.0, mit, cc-by-4.0)",
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="write over a folder that was exported before"
    )
    return parser
