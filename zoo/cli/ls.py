"""`zoo ls`: what is built in and what installed packages offer.

Classes are read from source, which is not imported.
"""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from zoo.cli.recipes import shipped_recipes
from zoo.support.arguments import Parser
from zoo.support.names import ROOMS, classes

# columns, more than any line has: programs read what is piped, and people copy names and paths
UNBROKEN = 10_000


def main(argv: list[str]) -> int:
    """Prints one list, and returns the exit status."""
    what = parser().parse_args(argv).what
    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True)
    if what in ROOMS:
        table.add_column("class", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    if what in ROOMS:
        for name, path, text in classes(what):
            table.add_row(name, _typed(path), text)
    elif what == "configs":
        for name, file in shipped_recipes().items():
            table.add_row(name, first_comment(file))
    else:
        for name in backbones():
            table.add_row(name, "shipped with zoo" if name.startswith("zoo-") else "open_clip")
    console = Console()
    size = console.measure(table, options=console.options.update(width=UNBROKEN))
    console.width = max(console.width, size.minimum) if console.is_terminal else size.maximum
    console.print(table)
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo ls", description="List what can be named in a YAML or on the command line."
    )
    parser.add_argument("what", choices=[*ROOMS, "backbones", "configs"], help="which list")
    return parser


def _typed(path: str) -> str:
    """Returns what names a class in a YAML: a short name, or the path of one from outside."""
    return path.rpartition(".")[2] if path.startswith("zoo.") else path


def first_comment(file: Path) -> str:
    """Returns the first comment of a YAML, without the mark."""
    lines = [line for line in file.read_text("utf-8").splitlines() if line.startswith("#")]
    return lines[0].lstrip("# ") if lines else ""


def backbones() -> list[str]:
    """Returns the names of architectures: shipped ones first, then open_clip's."""
    import open_clip

    from zoo.backbones.factory import SHIPPED

    own = sorted(p.stem for p in SHIPPED.glob("*.json"))
    return own + [name for name in open_clip.list_models() if name not in own]
