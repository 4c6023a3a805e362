"""`zoo export`: writes a checkpoint as a plain model that open_clip or Hugging Face reloads."""

from pathlib import Path

from zoo.checkpoints.export import export
from zoo.support.arguments import Parser


def main(argv: list[str]) -> int:
    """Exports a checkpoint, and returns the exit status."""
    given = parser().parse_args(argv)
    print(export(given.checkpoint, given.out, given.format))
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo export",
        description="Write a checkpoint as a plain "
        "model, adapters merged, with its head beside it.",
    )
    parser.add_argument(
        "checkpoint",
        type=Path,
        help="of `zoo fit` (a file, its run, `last` or "
        "`best`) or `zoo merge`, a folder that was exported, or a model of `zoo ls models`",
    )
    parser.add_argument("out", type=Path, help="a folder that does not exist yet")
    parser.add_argument(
        "--format", choices=["open_clip", "hf"], default="open_clip", help="who is to reload it"
    )
    return parser
