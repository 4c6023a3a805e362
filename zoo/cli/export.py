"""`zoo export`: exports a checkpoint for open_clip, Hugging Face or onnxruntime."""

from pathlib import Path
from typing import get_args

from zoo.cli.command_parser import CommandParser
from zoo.publishing.export import Format, export


def main(argv: list[str]) -> int:
    """Exports a checkpoint, and returns the exit status."""
    args = parser().parse_args(argv)
    print(
        export(
            args.checkpoint,
            args.out,
            args.format,
            args.results,
            args.licence,
            args.overwrite,
        )
    )
    return 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo export",
        description="Export a model for open_clip, Hugging Face or onnxruntime. LoRA adapters are "
        "merged into the weights. The export also contains the head (cosine, if the recipe sets no "
        "other) and a model card.",
    )
    parser.add_argument(
        "checkpoint",
        help="the model: a checkpoint file, a run's folder, `last` or `best` of the newest run, "
        "or any other value of --model of `zoo fit`",
    )
    parser.add_argument("out", type=Path, help="the folder to write")
    parser.add_argument(
        "--format",
        choices=get_args(Format),
        default="open_clip",
        help="the library that loads the export: open_clip, hf (Hugging Face) or onnx "
        "(onnxruntime)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        nargs="+",
        default=[],
        metavar="RUN",
        help="folders that `zoo validate --out` wrote for the same weights; their results are "
        "added to the model card (README.md)",
    )
    parser.add_argument(
        "--licence",
        metavar="ID",
        help="the licence of the weights, as the Hugging Face hub spells it, such as apache-2.0 "
        "or cc-by-4.0",
    )
    parser.add_argument("--overwrite", action="store_true", help="overwrite an earlier export")
    return parser
