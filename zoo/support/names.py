"""Names of classes: what is built in and what installed packages offer.

What is built in is read from source, without importing it.
"""

import ast
import importlib
import logging
from importlib.metadata import entry_points
from pathlib import Path

log = logging.getLogger(__name__)

ROOMS = {
    "objectives": "Objective",
    "heads": "Head",
    "negatives": "NegativeGenerator",
    "readers": "Reader",
    "datamodules": "LightningDataModule",
    "benchmarks": "Benchmark",
}
FACES = {"readers": "sources.readers"}  # kinds that another room shows


def classes(what: str) -> list[tuple[str, str, str]]:
    """Lists built-in and offered classes of a kind.

    Args:
        what: The kind, a key of ROOMS.

    Returns:
        Name, class path and first sentence of the docstring of each class.
    """
    room = FACES.get(what, what)
    folder = Path(__file__).parents[1] / room.replace(".", "/")
    defined = [
        node
        for file in sorted(folder.rglob("*.py"))
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    kin = _kin(ROOMS[what], defined)
    found = [_entry(f"zoo.{room}", node) for node in defined if node.name in kin]
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
    """Returns the names of the classes that descend from `base`, directly or over others."""
    bases = {
        node.name: {ast.unparse(b).split("[")[0].rpartition(".")[2] for b in node.bases}
        for node in nodes
    }
    kin = {base}
    while more := {name for name, above in bases.items() if above & kin} - kin:
        kin |= more
    return kin - {base}


def _entry(room: str, node: ast.ClassDef) -> tuple[str, str, str]:
    named = [
        s.value.value
        for s in node.body
        if isinstance(s, ast.Assign | ast.AnnAssign)
        and isinstance(s.value, ast.Constant)
        and ast.unparse(s.targets[0] if isinstance(s, ast.Assign) else s.target) == "name"
    ]
    text = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
    return str(named[0]) if named else node.name, f"{room}.{node.name}", text


def import_all() -> None:
    """Imports every class that can be named, so that its short name is enough.

    What an installed package offers and cannot be imported is logged, and stops nothing that does
    not need it.
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
                    "%s, which an installed package offers under zoo.%s, cannot be imported "
                    "(%s: %s)",
                    *(path, what, type(error).__name__, error),
                )
