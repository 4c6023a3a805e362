"""Names of classes, both built in and provided by installed packages through entry points.

Built-in classes are listed by parsing the source, without importing it.
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

BASE_CLASS_BY_KIND = {
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
PACKAGES = {  # kinds whose package has another name
    "views": "regions_and_phrases",
    "segments": "regions_and_phrases",
    "readers": "sources.readers",
    "extractors": "units",
    "taggers": "language",
    "published_weights": "backbones.published",
    "protocols": "benchmarks",
    "presets": "results",
}
BACKBONE = "zoo.backbones.Backbone"  # named in recipes, but not listed under any kind


def classes(kind: str) -> list[tuple[str, str, str]]:
    """Lists the built-in and installed classes of a kind.

    Args:
        kind: The kind, a key of ROOMS.

    Returns:
        Name, class path and first sentence of the docstring of each class.
    """
    return [*_built_in(kind), *_offered_now(kind)]


def _offered_now(what: str) -> list[tuple[str, str, str]]:
    return _installed_classes(what, tuple(map(_state, sys.path)))


@cache
def _installed_classes(
    what: str, places: tuple[tuple[str, int], ...]
) -> list[tuple[str, str, str]]:
    """Lists the classes of a kind that installed packages provide. Reads the metadata of all.

    Args:
        what: The kind, a key of ROOMS.
        places: The entries of `sys.path` with the times of their last changes (the cache key).
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
    """Returns whether an entry point is from an installed package, not from a user's folder."""
    return (
        offered.dist is None
        or Path(str(offered.dist.locate_file(""))).resolve() not in user_folders()
    )


def is_offered(path: str) -> bool:
    """Returns whether a class is part of zoo or an installed package, without importing it.

    It may be named by its module or by a package that exports it, as zoo.heads.cosine.Cosine and
    zoo.heads.Cosine.

    Args:
        path: The dotted path of the class.
    """
    module, _, name = path.rpartition(".")
    if path.startswith("zoo."):
        listed_paths = [BACKBONE]
        for what in BASE_CLASS_BY_KIND:
            if module.startswith(f"zoo.{PACKAGES.get(what, what)}"):
                listed_paths += [listed for _, listed, _ in _built_in(what)]
    else:
        listed_paths = [
            listed for what in BASE_CLASS_BY_KIND for _, listed, _ in _offered_now(what)
        ]
    return any(_is_same(module, name, listed) for listed in listed_paths)


def _is_same(module: str, name: str, listed: str) -> bool:
    """Returns whether a class is a listed one, named by its module or by an exporting package."""
    listed_module, _, listed_name = listed.rpartition(".")
    is_nested = f"{module}.".startswith(f"{listed_module}.") or f"{listed_module}.".startswith(
        f"{module}."
    )
    return name == listed_name and is_nested


def _state(place: str) -> tuple[str, int]:
    try:
        return place, os.stat(place).st_mtime_ns
    except OSError:
        return place, 0


def class_paths(what: str) -> dict[str, str]:
    """Returns the class paths of a kind, by listed name and by class name.

    Args:
        what: The kind, a key of ROOMS.
    """
    listed = classes(what)
    short = {path.rpartition(".")[2]: path for _, path, _ in listed}
    return short | {name: path for name, path, _ in listed}


def class_of(name: str, what: str, base: type) -> type[Any]:
    """Imports the class with a given name.

    Args:
        name: A name from `zoo ls`, a class name, or a dotted path.
        what: The kind, a key of ROOMS.
        base: The required base class.

    Returns:
        The class.

    Raises:
        ZooError: There is no such class, or it is of another kind.
    """
    noun = re.findall("[A-Z][a-z]*", BASE_CLASS_BY_KIND[what])[-1].lower()
    path = name.replace(":", ".")
    if "." not in path or not all(part.isidentifier() for part in path.split(".")):
        path_by_name = class_paths(what)
        if name not in path_by_name:
            listed = [listed for listed, _, _ in classes(what)]
            raise ZooError(
                f"there is no {noun} "
                f"{name!r}{suggest_names(name, listed) or suggest_names(name, path_by_name)}: "
                f"`zoo ls {what}` lists them; a dotted class path works too"
            )
        path = path_by_name[name]
    module, _, class_name = path.rpartition(".")
    try:
        cls = import_path(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ZooError(
            f"{noun} {name!r} names the module {module}, which cannot be "
            f"found{suggest_class(path)}: correct the path"
        ) from error
    except AttributeError as error:
        module_names = vars(importlib.import_module(module))
        suggestion = suggest_class(path) or suggest_names(class_name, module_names)
        raise ZooError(
            f"{noun} {name!r}: the module {module} has no {class_name}{suggestion}: "
            "correct the name"
        ) from error
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise ZooError(
            f"{noun} {name!r} is not a subclass of {base.__name__}: choose one of `zoo ls {what}`, "
            "or a custom subclass"
        )
    check_complete(cls, base, f"{noun} {name!r}")
    return cls


def check_complete(cls: type, base: type, display_name: str = "") -> None:
    """Checks that a class defines everything that its base class requires.

    Args:
        cls: The class.
        base: The base class, such as Benchmark.
        display_name: Name of the class in the message; by default the class name.

    Raises:
        ZooError: The class is incomplete.
    """
    if missing := _left_out(cls, base):
        raise ZooError(
            f"{display_name or cls.__name__} does not define {' and '.join(missing)}, which every "
            f"{base.__name__} needs: add it to the class"
        )


@cache
def _left_out(cls: type, base: type) -> list[str]:
    """Returns the required class variables and methods that a class does not define."""
    values = [
        name
        for name, kind in inspect.get_annotations(base).items()
        if getattr(kind, "__origin__", None) is ClassVar and not hasattr(cls, name)
    ]
    abstract_methods = getattr(base, "__abstractmethods__", ())
    return values + sorted(set(abstract_methods) & set(getattr(cls, "__abstractmethods__", ())))


def import_path(path: str) -> Any:
    """Imports the object with a dotted path.

    Raises:
        ImportError: The module cannot be imported.
        AttributeError: The module does not have the object.
    """
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def suggest_class(path: str) -> str:
    """Suggests a class for a dotted path that does not exist.

    Args:
        path: The path.

    Returns:
        ' (did you mean NAME?)' if the last part of the path is a known class, else ''.
    """
    name = path.rpartition(".")[2]
    is_known = any(name in class_paths(what) for what in BASE_CLASS_BY_KIND)
    return f" (did you mean {name}?)" if is_known else ""


@cache
def _built_in(what: str) -> list[tuple[str, str, str]]:
    package_name = PACKAGES.get(what, what)
    package = Path(__file__).parents[1]
    defined = _class_nodes((package / package_name.replace(".", "/")).rglob("*.py"))
    # a class may inherit from the base class through a class at the top of the package
    kin = _kin(BASE_CLASS_BY_KIND[what], [*_class_nodes(package.glob("*.py")), *defined])
    return [
        _entry(f"zoo.{package_name}", node)
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
    """Returns whether a class declares abstract methods."""
    return any(
        ast.unparse(decorator) == "abstractmethod"
        for method in node.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        for decorator in method.decorator_list
    )


def _kin(base: str, nodes: list[ast.ClassDef]) -> set[str]:
    """Returns the names of the direct and indirect subclasses of `base`."""
    bases = {
        node.name: {ast.unparse(b).split("[")[0].rpartition(".")[2] for b in node.bases}
        for node in nodes
    }
    kin = {base}
    while new_names := {name for name, base_names in bases.items() if base_names & kin} - kin:
        kin |= new_names
    return kin - {base}


def _entry(package_name: str, node: ast.ClassDef) -> tuple[str, str, str]:
    named = [
        s.value.value
        for s in node.body
        if isinstance(s, ast.Assign | ast.AnnAssign)
        and isinstance(s.value, ast.Constant)
        and ast.unparse(s.targets[0] if isinstance(s, ast.Assign) else s.target) == "name"
    ]
    text = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
    return str(named[0]) if named else node.name, f"{package_name}.{node.name}", text


def import_all(kinds: Iterable[str] = tuple(BASE_CLASS_BY_KIND)) -> None:
    """Imports all listed classes, so that they can be used by their class names.

    Classes of installed packages that cannot be imported are logged and skipped.

    Args:
        kinds: The kinds, keys of ROOMS.
    """
    for what in kinds:
        for _, path, _ in classes(what):
            try:
                import_path(path)
            except Exception as error:
                if path.startswith("zoo."):
                    raise
                log.warning(
                    "cannot import %s, an entry point zoo.%s of an installed package (%s: %s)",
                    *(path, what, type(error).__name__, error),
                )
