"""`zoo ls`: what is built in and what installed packages offer, read from source without importing it. Free of torch but for backbones."""

import ast
import importlib
import logging
from importlib.metadata import entry_points
from pathlib import Path

from rich.console import Console
from rich.table import Table

from zoo.arguments import Parser
from zoo.recipes import shipped_recipes

log = logging.getLogger(__name__)

UNBROKEN = 10_000  # columns, more than any line has: what is piped is read by programs, and names and paths are copied
ROOMS = {
    "objectives": "Objective",
    "heads": "Head",
    "negatives": "NegativeGenerator",
    "readers": "Reader",
    "datamodules": "LightningDataModule",
    "benchmarks": "Benchmark",
}


def main(argv: list[str]) -> int:
    """Prints one list; returns the exit status."""
    parser = Parser(
        prog="zoo ls", description="List what can be named in a YAML or on the command line."
    )
    parser.add_argument("what", choices=[*ROOMS, "backbones", "configs"], help="which list")
    what = parser.parse_args(argv).what
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


def classes(what: str) -> list[tuple[str, str, str]]:
    """what: a key of ROOMS. Returns (name, class path, first line of the docstring) of built-in and of offered classes."""
    package = Path(__file__).parent
    folder = package / "datamodules" / "readers" if what == "readers" else package / what
    files = (
        [*folder.glob("*.py"), *(package / "evaluation").glob("datamodule.py")]
        if what == "datamodules"
        else folder.glob("*.py")
    )
    defined = [
        (file, node)
        for file in sorted(files)
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    kin = _kin(ROOMS[what], [node for _, node in defined])
    found = [_entry(file, package, node) for file, node in defined if node.name in kin]
    for offered in entry_points(group=f"zoo.{what}"):
        found.append(
            (
                offered.name,
                offered.value.replace(":", "."),
                f"from {offered.dist.name if offered.dist else 'an installed package'}",
            )
        )
    return found


def _kin(base: str, nodes: list[ast.ClassDef]) -> set[str]:
    """Returns the names of the classes that descend from `base`, over however many of the others."""
    bases = {
        node.name: {ast.unparse(b).split("[")[0].rpartition(".")[2] for b in node.bases}
        for node in nodes
    }
    kin = {base}
    while more := {name for name, above in bases.items() if above & kin} - kin:
        kin |= more
    return kin - {base}


def _entry(file: Path, package: Path, node: ast.ClassDef) -> tuple[str, str, str]:
    named = [
        s.value.value
        for s in node.body
        if isinstance(s, ast.Assign | ast.AnnAssign)
        and isinstance(s.value, ast.Constant)
        and ast.unparse(s.targets[0] if isinstance(s, ast.Assign) else s.target) == "name"
    ]
    text = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
    room = ".".join(("zoo", *file.parent.relative_to(package).parts))  # which shows it by this name
    return str(named[0]) if named else node.name, f"{room}.{node.name}", text


def _typed(path: str) -> str:
    """Returns what names a class wherever its kind is wanted: a short name, or the path of one from outside."""
    return path.rpartition(".")[2] if path.startswith("zoo.") else path


def import_all() -> None:
    """Imports every class that can be named, so that its short name is enough wherever its base class is wanted.

    What an installed package offers and cannot be imported is told, and does not stop what needs it not.
    """
    for what in ROOMS:
        for _, path, _ in classes(what):
            module, _, name = path.rpartition(".")
            try:
                getattr(importlib.import_module(module), name)
            except Exception as error:
                if module.partition(".")[0] == "zoo":
                    raise
                log.warning(
                    "%s, which an installed package offers under zoo.%s, cannot be imported (%s: %s)",
                    *(path, what, type(error).__name__, error),
                )


def first_comment(file: Path) -> str:
    """Returns the first comment of a YAML, without the mark."""
    lines = [line for line in file.read_text("utf-8").splitlines() if line.startswith("#")]
    return lines[0].lstrip("# ") if lines else ""


def backbones() -> list[str]:
    """Returns the architectures: shipped ones first, then open_clip's."""
    import open_clip

    own = sorted(p.stem for p in (Path(__file__).parent / "architectures").glob("*.json"))
    return own + [name for name in open_clip.list_models() if name not in own]
