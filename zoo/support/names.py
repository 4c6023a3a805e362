"""Names of classes: what is built in and what installed packages offer.

What is built in is read from source, without importing it.
"""

import ast
import importlib
import inspect
import logging
import os
import re
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, ClassVar

from zoo.errors import ZooError, suggest_names
from zoo.support.trust import user_folders

log = logging.getLogger(__name__)

ROOMS = {
    "objectives": "Objective",
    "heads": "Head",
    "views": "Views",
    "segments": "Segments",
    "negatives": "NegativeGenerator",
    "positives": "PositiveGenerator",
    "readers": "Reader",
    "datamodules": "LightningDataModule",
    "benchmarks": "Benchmark",
    "extractors": "UnitExtractor",
    "taggers": "Tagger",
    "published_weights": "PublishedWeights",
    "protocols": "Protocol",
    "presets": "Preset",
}
FACES = {  # kinds that another room shows
    "views": "regions_and_phrases",
    "segments": "regions_and_phrases",
    "readers": "sources.readers",
    "extractors": "units",
    "taggers": "language",
    "published_weights": "backbones.published",
    "protocols": "benchmarks",
    "presets": "results",
}
BACKBONE = "zoo.backbones.Backbone"  # the one class that recipes name and no list has


def classes(what: str) -> list[tuple[str, str, str]]:
    """Lists built-in and offered classes of a kind.

    Args:
        what: The kind, a key of ROOMS.

    Returns:
        Name, class path and first sentence of the docstring of each class.
    """
    return [*_built_in(what), *_offered_now(what)]


def _offered_now(what: str) -> list[tuple[str, str, str]]:
    return _installed_classes(what, tuple(map(_state, sys.path)))


@cache
def _installed_classes(
    what: str, places: tuple[tuple[str, int], ...]
) -> list[tuple[str, str, str]]:
    """Lists what installed packages offer of a kind, for which all of them are read.

    Args:
        what: The kind, a key of ROOMS.
        places: Where packages lie, each with the time at which it changed.
    """
    return [
        (
            offered.name,
            offered.value.replace(":", "."),
            f"from {offered.dist.name if offered.dist else 'an installed package'}",
        )
        for offered in entry_points(group=f"zoo.{what}")
        if _is_installed(offered)
    ]


def _is_installed(offered: EntryPoint) -> bool:
    """Returns whether a package is installed, and does not just lie in a folder of the user."""
    return (
        offered.dist is None
        or Path(str(offered.dist.locate_file(""))).resolve() not in user_folders()
    )


def is_offered(path: str) -> bool:
    """Returns whether a class is one that zoo or an installed package offers, and imports nothing.

    It may be named by its file or by a package that shows it, as zoo.heads.cosine.Cosine and
    zoo.heads.Cosine.

    Args:
        path: The dotted path of the class.
    """
    module, _, name = path.rpartition(".")
    if path.startswith("zoo."):
        known = [BACKBONE]
        for what in ROOMS:
            if module.startswith(f"zoo.{FACES.get(what, what)}"):
                known += [listed for _, listed, _ in _built_in(what)]
    else:
        known = [listed for what in ROOMS for _, listed, _ in _offered_now(what)]
    return any(_is_same(module, name, listed) for listed in known)


def _is_same(module: str, name: str, listed: str) -> bool:
    """Returns whether a class of a module is a listed one; a package may show what is within it."""
    other, _, other_name = listed.rpartition(".")
    within = f"{module}.".startswith(f"{other}.") or f"{other}.".startswith(f"{module}.")
    return name == other_name and within


def _state(place: str) -> tuple[str, int]:
    try:
        return place, os.stat(place).st_mtime_ns
    except OSError:
        return place, 0


def paths(what: str) -> dict[str, str]:
    """Returns the class path of every name of a kind: those that `classes` lists, and short ones.

    Args:
        what: The kind, a key of ROOMS.
    """
    listed = classes(what)
    short = {path.rpartition(".")[2]: path for _, path, _ in listed}
    return short | {name: path for name, path, _ in listed}


def class_of(name: str, what: str, base: type) -> type[Any]:
    """Returns the class that a name means.

    Args:
        name: What `zoo ls` lists, the short name of a class, or a dotted path.
        what: The kind, a key of ROOMS.
        base: What the class has to descend from.

    Returns:
        The class.

    Raises:
        ZooError: There is no such class, or it is of another kind.
    """
    noun = re.findall("[A-Z][a-z]*", ROOMS[what])[-1].lower()
    path = name.replace(":", ".")
    if "." not in path or not all(part.isidentifier() for part in path.split(".")):
        known = paths(what)
        if name not in known:
            listed = [listed for listed, _, _ in classes(what)]
            raise ZooError(
                f"there is no {noun} "
                f"{name!r}{suggest_names(name, listed) or suggest_names(name, known)}: "
                f"`zoo ls {what}` lists them; a dotted class path works too"
            )
        path = known[name]
    module, _, last = path.rpartition(".")
    try:
        found = import_path(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ZooError(
            f"{noun} {name!r} names the module {module}, which cannot be "
            f"found{suggest_class(path)}: mend the path"
        ) from error
    except AttributeError as error:
        known = vars(importlib.import_module(module))
        suggestion = suggest_class(path) or suggest_names(last, known)
        raise ZooError(
            f"{noun} {name!r}: the module {module} has no {last}{suggestion}: correct the name"
        ) from error
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ZooError(
            f"{noun} {name!r} is no {base.__name__}: name one of `zoo ls {what}`, or a class that "
            "descends from it"
        )
    check_whole(found, base, f"{noun} {name!r}")
    return found


def check_whole(cls: type, base: type, called: str = "") -> None:
    """Checks that a class has what its base asks of it.

    Args:
        cls: The class.
        base: The class that it descends from, such as Benchmark.
        called: What the user calls it; the name of the class where empty.

    Raises:
        ZooError: The class lacks something.
    """
    if lacks := _left_out(cls, base):
        raise ZooError(
            f"{called or cls.__name__} has no {' and no '.join(lacks)}, which every "
            f"{base.__name__} has: write it into the class"
        )


@cache
def _left_out(cls: type, base: type) -> list[str]:
    """Returns what its base asks of a class and it lacks: values without a default, and methods."""
    values = [
        name
        for name, kind in inspect.get_annotations(base).items()
        if getattr(kind, "__origin__", None) is ClassVar and not hasattr(cls, name)
    ]
    asked = getattr(base, "__abstractmethods__", ())
    return values + sorted(set(asked) & set(getattr(cls, "__abstractmethods__", ())))


def import_path(path: str) -> Any:
    """Returns what a dotted path means.

    Raises:
        ImportError: Its module cannot be imported.
        AttributeError: The module does not have it.
    """
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def suggest_class(path: str) -> str:
    """Finds the class that a dotted path of nothing may have meant.

    Args:
        path: The path.

    Returns:
        ' (did you mean NAME?)' where a class of the path's last name can be named, else ''.
    """
    name = path.rpartition(".")[2]
    known = any(name in paths(what) for what in ROOMS)
    return f" (did you mean {name}?)" if known else ""


@cache
def _built_in(what: str) -> list[tuple[str, str, str]]:
    room = FACES.get(what, what)
    package = Path(__file__).parents[1]
    defined = _class_nodes((package / room.replace(".", "/")).rglob("*.py"))
    # a class may descend from the kind over one at the top of the package
    kin = _kin(ROOMS[what], [*_class_nodes(package.glob("*.py")), *defined])
    return [
        _entry(f"zoo.{room}", node)
        for node in defined
        if node.name in kin and not _is_abstract(node)
    ]


def _class_nodes(files: Iterable[Path]) -> list[ast.ClassDef]:
    return [node for file in sorted(files) for node in _class_nodes_of(file)]


@cache
def _class_nodes_of(file: Path) -> list[ast.ClassDef]:
    body = ast.parse(file.read_text("utf-8")).body
    return [node for node in body if isinstance(node, ast.ClassDef)]


def _is_abstract(node: ast.ClassDef) -> bool:
    """Whether a class leaves methods of its own to its descendants, and cannot be built."""
    return any(
        ast.unparse(decorator) == "abstractmethod"
        for method in node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in method.decorator_list
    )


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


def import_all(kinds: Iterable[str] = tuple(ROOMS)) -> None:
    """Imports every class that can be named, so that its short name is enough.

    What an installed package offers and cannot be imported is logged, and stops nothing that does
    not need it.

    Args:
        kinds: Their kinds, keys of ROOMS.
    """
    for what in kinds:
        for _, path, _ in classes(what):
            try:
                import_path(path)
            except Exception as error:
                if path.startswith("zoo."):
                    raise
                log.warning(
                    "%s, which an installed package offers under zoo.%s, cannot be imported "
                    "(%s: %s)",
                    *(path, what, type(error).__name__, error),
                )
