"""`zoo ls`: what is built in and what installed packages offer, read from source without importing it. Free of torch but for backbones."""

import ast
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

from rich.console import Console
from rich.table import Table

from zoo.arguments import Parser
from zoo.recipes import shipped_recipes

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
    parser = Parser(prog="zoo ls", description="List what can be named in a YAML or on the command line.")
    parser.add_argument("what", choices=[*ROOMS, "backbones", "configs"], help="which list")
    what = parser.parse_args(argv).what
    table = Table(box=None, pad_edge=False)
    table.add_column("name")
    table.add_column("class path" if what in ROOMS else "what it is", overflow="fold")
    if what in ROOMS:
        table.add_column("what it is", overflow="fold")
        for name, path, text in classes(what):
            table.add_row(name, path, text)
    elif what == "configs":
        for name, file in shipped_recipes().items():
            table.add_row(name, first_comment(file))
    else:
        for name in backbones():
            table.add_row(name, "shipped with zoo" if name.startswith("zoo-") else "open_clip")
    Console().print(table)
    return 0


def classes(what: str) -> list[tuple[str, str, str]]:
    """what: a key of ROOMS. Returns (name, class path, first line of the docstring) of built-in and of offered classes."""
    package = Path(__file__).parent
    folder = package / "datamodules" / "readers" if what == "readers" else package / what
    files = [*folder.glob("*.py"), *(package / "evaluation").glob("datamodule.py")] if what == "datamodules" else folder.glob("*.py")
    found = [entry for file in sorted(files) for entry in _classes_of(file, package, ROOMS[what])]
    for offered in entry_points(group=f"zoo.{what}"):
        found.append(
            (offered.name, offered.value.replace(":", "."), f"from {offered.dist.name if offered.dist else 'an installed package'}")
        )
    return found


def _classes_of(file: Path, package: Path, base: str) -> Iterator[tuple[str, str, str]]:
    module = ".".join(("zoo", *file.relative_to(package).with_suffix("").parts))
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef) and base in {ast.unparse(b).split("[")[0] for b in node.bases}:
            named = [
                s.value.value
                for s in node.body
                if isinstance(s, ast.Assign | ast.AnnAssign)
                and isinstance(s.value, ast.Constant)
                and ast.unparse(s.targets[0] if isinstance(s, ast.Assign) else s.target) == "name"
            ]
            text = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
            yield str(named[0]) if named else node.name, f"{module}.{node.name}", text


def first_comment(file: Path) -> str:
    """Returns the first comment of a YAML, without the mark."""
    lines = [line for line in file.read_text("utf-8").splitlines() if line.startswith("#")]
    return lines[0].lstrip("# ") if lines else ""


def backbones() -> list[str]:
    """Returns the architectures: shipped ones first, then open_clip's."""
    import open_clip

    own = sorted(p.stem for p in (Path(__file__).parent / "architectures").glob("*.json"))
    return own + [name for name in open_clip.list_models() if name not in own]
