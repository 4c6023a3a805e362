"""Checks the class paths in downloaded files before anything is imported.

jsonargparse imports the value of any argument that takes a class, and checks the class afterwards.
Therefore everything that it could import is checked before: dicts with a `class_path`, and strings
in the place of an argument whose type is not plain.
"""

import argparse
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from inspect import isclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from zoo.errors import ZooError
from zoo.support.class_names import import_path, is_registered_class
from zoo.support.configurable import Configurable
from zoo.support.ranges import ClassPath
from zoo.support.trust import FLAG, current_trust

PLAIN = (str, int, float, bool, Path, NoneType)
TRUSTED_MODULE = "torch.optim"
REMOTE_CODE = "trust_remote_code"  # a setting of Hugging Face's libraries


def reject_untrusted_classes(described: Any, kind: Any, source: str, flag: str = "") -> None:
    """Rejects classes that are not part of zoo or an installed package, unless they are trusted.

    Rejected classes are not imported.

    Args:
        described: The content of a downloaded file: a component as {"class_path", "init_args"}, or
            the arguments of `kind`.
        kind: The class or type to build from it.
        source: Name of the file in the message.
        flag: The command-line flag that takes the same settings, such as `--model`, or ''.

    Raises:
        ZooError: A class is not trusted.
    """
    if current_trust().all_code:
        return
    try:
        for path, own_flag in _find_class_paths(described, kind, flag):
            if not is_trusted(path):
                direct = f"set {own_flag} {path}, or " if own_flag else ""
                raise ZooError(
                    f"{source} uses the class {path}, which is not part of zoo or an installed "
                    f"package: if you trust it, {direct}add {FLAG} (in Python, trust_code=True)"
                )
    except RecursionError as error:
        raise ZooError(
            f"{source} has settings that are nested too deeply: download the file again"
        ) from error


def reject_remote_code(settings: Any, source: str) -> None:
    """Rejects settings that make Hugging Face libraries run code from a repository.

    Args:
        settings: Plain data.
        source: Name of the file in the message.

    Raises:
        ZooError: The settings are not trusted.
    """
    if current_trust().all_code:
        return
    for name, value in _walk_settings(settings):
        if name == REMOTE_CODE and value:
            raise ZooError(
                f"{source} sets {REMOTE_CODE}, which lets a tokenizer or model run custom code: "
                f"if you trust it, add {FLAG} (in Python, trust_code=True)"
            )


def is_trusted(path: str) -> bool:
    """Returns whether a class named in a downloaded file may be imported.

    It may if it is part of zoo or an installed package, or in `torch.optim`, if the user named it
    or another class of its module, if the running program has imported it, or if all code is
    trusted.

    Args:
        path: The dotted path of the class.
    """
    trust, path = current_trust(), path.replace(":", ".")
    module, _, name = path.rpartition(".")
    loaded = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return (
        trust.all_code
        or module == TRUSTED_MODULE
        or any(module == named.rpartition(".")[0] for named in trust.names)
        or (isclass(loaded) and issubclass(loaded, Configurable))
        or is_registered_class(path)
    )


def _find_class_paths(value: Any, kind: Any, flag: str) -> Iterator[tuple[str, str]]:
    """Yields the class paths that would be imported, and the flags by which the user can set them.

    The caller stops at the first class that is not trusted. Classes yielded before may therefore be
    imported here, to get the types of their arguments.

    Args:
        value: Plain data.
        kind: The type of the argument; Any if unknown.
        flag: The flag of the argument, or ''.
    """
    cls = _class_in(kind)
    own_flag = "" if cls is None or is_dataclass(cls) else flag
    if isinstance(value, str) and kind is ClassPath:
        if _is_dotted(value):
            yield value, flag
    elif isinstance(value, str):
        unfolded = None if _is_plain(kind) else _parse_yaml_collection(value)
        if unfolded is not None:
            yield from _find_class_paths(unfolded, kind, flag)
        elif not _is_plain(kind) and (not _takes_text(kind) or _is_dotted(value)):
            yield value, own_flag if _is_dotted(value) else ""
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _find_class_paths(item, kind, "")
    elif isinstance(value, argparse.Namespace):
        yield from _find_class_paths(vars(value), kind, flag)
    elif isinstance(value, dict):
        arguments = dict(value)
        path = arguments.pop("class_path", None)
        if path is not None:
            yield str(path), own_flag
            cls = _import_class(str(path))
        named_values = [(name, inner) for name, inner in arguments.items() if name != "init_args"]
        init_args = arguments.get("init_args", {})
        named_values += (
            init_args.items() if isinstance(init_args, dict) else [("init_args", init_args)]
        )
        kinds = _argument_kinds(cls) if cls is not None else {}
        for name, inner in named_values:
            # all values of a mapping with arbitrary keys have the same type
            inner_kind = kinds.get(name, kind if cls is None else Any)
            inner_flag = f"{flag}.{name}" if flag and str(name).isidentifier() else ""
            yield from _find_class_paths(inner, inner_kind, inner_flag)


def _walk_settings(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yields every key and value in nested plain data."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield name, inner
            yield from _walk_settings(inner)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk_settings(item)


def _parse_yaml_collection(text: str) -> Any:
    """Parses a YAML list or dict; returns None for any other text."""
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return value if isinstance(value, list | dict) else None


def _is_dotted(text: str) -> bool:
    parts = text.replace(":", ".").split(".")
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def _import_class(path: str) -> type | None:
    """Imports a class; returns None if there is no such class."""
    try:
        value = import_path(path)
    except (ImportError, AttributeError, ValueError):
        return None  # reported when the object is built
    return value if isclass(value) else None


@cache
def _argument_kinds(cls: type) -> dict[str, Any]:
    """Returns the types of the arguments of a class and its bases, by name."""
    kinds = dict[str, Any]()
    for base in reversed(cls.__mro__):
        if "__init__" in vars(base) and base is not object:
            try:
                kinds |= get_type_hints(vars(base)["__init__"])
            except (NameError, TypeError, AttributeError):  # types that do not exist at run time
                kinds |= dict.fromkeys(vars(base)["__init__"].__annotations__, object)
    return kinds


def _is_plain(kind: Any) -> bool:
    """Returns whether a string in an argument of this type is never imported as a class."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return True
    if _is_container(origin):
        return all(_is_plain(inner) for inner in arguments if inner is not Ellipsis)
    # the types of jsonargparse.typing are restricted numbers and strings
    return kind in (*PLAIN, None) or getattr(kind, "__module__", "") == "jsonargparse.typing"


def _takes_text(kind: Any) -> bool:
    """Returns whether an argument of this type accepts any string."""
    if kind is Any or kind is str:
        return True
    return _is_container(get_origin(kind)) and any(map(_takes_text, get_args(kind)))


def _class_in(kind: Any) -> type | None:
    """Returns the class whose arguments a dict without `class_path` contains."""
    if _is_container(get_origin(kind)):
        return next((cls for inner in get_args(kind) if (cls := _class_in(inner))), None)
    return kind if isclass(kind) and kind is not object and not _is_plain(kind) else None


def _is_container(origin: Any) -> bool:
    """Returns whether a generic type is a union or a collection."""
    return origin in (Union, UnionType) or (isclass(origin) and issubclass(origin, Collection))
