"""Names of classes, both built in and provided by installed packages through entry points.

Built-in classes are listed by parsing the source, without importing it.
"""

import ast
import importlib.util
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


def list_classes(kind: str) -> list[tuple[str, str, str]]:
    """Lists the built-in and installed classes of a kind.

    Args:
        kind: The kind, a key of BASE_CLASS_BY_KIND.

    Returns:
        Name, class path and first sentence of the docstring of each class.
    """
    return [*_built_in_classes(kind), *_list_installed_classes(kind)]


def _list_installed_classes(kind: str) -> list[tuple[str, str, str]]:
    return _installed_classes(tuple(map(_path_and_mtime, sys.path)))[kind]


@cache
def _installed_classes(
    places: tuple[tuple[str, int], ...],
) -> dict[str, list[tuple[str, str, str]]]:
    """Lists the classes that installed packages provide, by kind. Reads the metadata of all.

    Args:
        places: The entries of `sys.path` with the times of their last changes (the cache key).
    """
    installed = entry_points()
    return {
        kind: [
            (
                entry_point.name,
                entry_point.value.replace(":", "."),
                f"from {entry_point.dist.name if entry_point.dist else 'an installed package'}",
            )
            for entry_point in installed.select(group=f"zoo.{kind}")
            if _is_installed(entry_point)
        ]
        for kind in BASE_CLASS_BY_KIND
    }


def _is_installed(entry_point: EntryPoint) -> bool:
    """Returns whether an entry point is from an installed package, not from a user's folder."""
    return (
        entry_point.dist is None
        or Path(str(entry_point.dist.locate_file(""))).resolve() not in user_folders()
    )


def is_registered_class(path: str) -> bool:
    """Returns whether a class is part of zoo or an installed package, without importing it.

    It may be named by its module or by a package that exports it, as zoo.heads.cosine.Cosine and
    zoo.heads.Cosine.

    Args:
        path: The dotted path of the class.
    """
    module, _, name = path.rpartition(".")
    if path.startswith("zoo."):
        listed_paths = [BACKBONE]
        for kind in BASE_CLASS_BY_KIND:
            if module.startswith(f"zoo.{PACKAGES.get(kind, kind)}"):
                listed_paths += [listed for _, listed, _ in _built_in_classes(kind)]
    else:
        listed_paths = [
            listed for kind in BASE_CLASS_BY_KIND for _, listed, _ in _list_installed_classes(kind)
        ]
    return any(_matches_listed_class(module, name, listed) for listed in listed_paths)


def _matches_listed_class(module: str, name: str, listed: str) -> bool:
    """Returns whether a class is a listed one, named by its module or by an exporting package."""
    listed_module, _, listed_name = listed.rpartition(".")
    is_nested = f"{module}.".startswith(f"{listed_module}.") or f"{listed_module}.".startswith(
        f"{module}."
    )
    return name == listed_name and is_nested


def _path_and_mtime(place: str) -> tuple[str, int]:
    try:
        return place, os.stat(place).st_mtime_ns
    except OSError:
        return place, 0


def class_paths(kind: str) -> dict[str, str]:
    """Returns the class paths of a kind, by listed name and by class name.

    Args:
        kind: The kind, a key of BASE_CLASS_BY_KIND.
    """
    listed = list_classes(kind)
    short = {path.rpartition(".")[2]: path for _, path, _ in listed}
    return short | {name: path for name, path, _ in listed}


def class_of(name: str, kind: str, base: type) -> type[Any]:
    """Imports the class with a given name.

    Args:
        name: A name from `zoo ls`, a class name, or a dotted path.
        kind: The kind, a key of BASE_CLASS_BY_KIND.
        base: The required base class.

    Returns:
        The class.

    Raises:
        ZooError: There is no such class, or it is of another kind.
    """
    noun = re.findall("[A-Z][a-z]*", BASE_CLASS_BY_KIND[kind])[-1].lower()
    path = name.replace(":", ".")
    if "." not in path or not all(part.isidentifier() for part in path.split(".")):
        path_by_name = class_paths(kind)
        if name not in path_by_name:
            listed = [listed for listed, _, _ in list_classes(kind)]
            raise ZooError(
                f"there is no {noun} "
                f"{name!r}{suggest_names(name, listed) or suggest_names(name, path_by_name)}: "
                f"`zoo ls {kind}` lists them; a dotted class path works too"
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
            f"{noun} {name!r} is not a subclass of {base.__name__}: choose one of `zoo ls {kind}`, "
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
    if missing := _missing_members(cls, base):
        raise ZooError(
            f"{display_name or cls.__name__} does not define {' and '.join(missing)}, which every "
            f"{base.__name__} needs: add it to the class"
        )


@cache
def _missing_members(cls: type, base: type) -> list[str]:
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
    is_known = any(name in class_paths(kind) for kind in BASE_CLASS_BY_KIND)
    return f" (did you mean {name}?)" if is_known else ""


@cache
def _built_in_classes(kind: str) -> list[tuple[str, str, str]]:
    package_name = PACKAGES.get(kind, kind)
    package = Path(__file__).parents[1]
    defined = _class_nodes((package / package_name.replace(".", "/")).rglob("*.py"))
    # a class may inherit from the base class through a class at the top of the package
    subclass_names = _subclass_names(
        BASE_CLASS_BY_KIND[kind], [*_class_nodes(package.glob("*.py")), *defined]
    )
    return [
        _describe_class(f"zoo.{package_name}", node)
        for node in defined
        if node.name in subclass_names and not _is_abstract(node)
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


def _subclass_names(base: str, nodes: list[ast.ClassDef]) -> set[str]:
    """Returns the names of the direct and indirect subclasses of `base`."""
    bases = {
        node.name: {ast.unparse(b).split("[")[0].rpartition(".")[2] for b in node.bases}
        for node in nodes
    }
    names = {base}
    while new_names := {name for name, base_names in bases.items() if base_names & names} - names:
        names |= new_names
    return names - {base}


def _describe_class(package: str, node: ast.ClassDef) -> tuple[str, str, str]:
    named = [
        s.value.value
        for s in node.body
        if isinstance(s, ast.Assign | ast.AnnAssign)
        and isinstance(s.value, ast.Constant)
        and ast.unparse(s.targets[0] if isinstance(s, ast.Assign) else s.target) == "name"
    ]
    text = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
    return str(named[0]) if named else node.name, f"{package}.{node.name}", text


def import_all(kinds: Iterable[str] = tuple(BASE_CLASS_BY_KIND)) -> None:
    """Imports all listed classes, so that they can be used by their class names.

    Classes of installed packages that cannot be imported are logged and skipped.

    Args:
        kinds: The kinds, keys of BASE_CLASS_BY_KIND.
    """
    for kind in kinds:
        for _, path, _ in list_classes(kind):
            try:
                import_path(path)
            except Exception as error:
                if path.startswith("zoo."):
                    raise
                log.warning(
                    "cannot import %s, an entry point zoo.%s of an installed package (%s: %s)",
                    *(path, kind, type(error).__name__, error),
                )


def parse_class_arguments(path: str, kwargs_target: str = "") -> list[str] | None:
    """Returns the names of a class's arguments, read from its source without importing it.

    Args:
        path: The dotted path of a class: that of its module, or of a package that holds it.
        kwargs_target: The class that takes the `**kwargs` of this one; empty if it is not known.

    Returns:
        The names, or None if the source does not list all of them, for example because of
        `**kwargs`.
    """
    package, _, rest = path.partition(".")
    room, _, name = rest.rpartition(".")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    module = folder.joinpath(*room.split(".")).with_suffix(".py")
    files = [module] if module.is_file() else (folder / room.partition(".")[0]).rglob("*.py")
    arguments = _constructor_arguments({node.name: node for node in _class_nodes(files)}, name)
    if arguments is None or "**" not in arguments:
        return arguments
    other_arguments = parse_class_arguments(kwargs_target) if kwargs_target else None
    return None if other_arguments is None else [*arguments, *other_arguments]


def _constructor_arguments(nodes: dict[str, ast.ClassDef], name: str) -> list[str] | None:
    """Returns the arguments of a class, with '**' among them if it takes `**kwargs`."""
    node = nodes.get(name)
    if node is None:
        return None
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            arguments = method.args
            names = [argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)][1:]
            return [*names, *["**"] * (arguments.kwarg is not None)]
    if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        fields = (statement for statement in node.body if isinstance(statement, ast.AnnAssign))
        return [
            ast.unparse(f.target) for f in fields if "ClassVar" not in ast.unparse(f.annotation)
        ]
    bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
    base_names = [base for base in bases if base not in ("ABC", "Generic")]
    return _constructor_arguments(nodes, base_names[0]) if len(base_names) == 1 else None
