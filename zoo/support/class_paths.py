"""Classes that downloaded files name, checked before anything is imported.

jsonargparse imports what stands where an argument takes a class, and checks the class afterwards.
Therefore everything that it could import is looked at before: a dict with a `class_path`, and a
text at a place whose type is not plain.
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
from zoo.support.names import import_path, is_offered
from zoo.support.spec import Configurable
from zoo.support.trust import FLAG, current_trust

PLAIN = (str, int, float, bool, Path, NoneType)
REMOTE_CODE = "trust_remote_code"  # a setting of Hugging Face's libraries


def refuse_code(described: Any, kind: Any, source: str, flag: str = "") -> None:
    """Refuses classes that are neither offered by zoo or an installed package nor trusted.

    Nothing that is refused is imported.

    Args:
        described: What a downloaded file says: a part as {"class_path", "init_args"}, or the
            arguments of `kind`.
        kind: The class, or the type, that is built of it.
        source: The file, as the message calls it.
        flag: The flag of the command line that takes the same settings, such as `--model`; empty
            where there is none.

    Raises:
        ZooError: A class is not trusted.
    """
    if current_trust().all_code:
        return
    try:
        for path, own_flag in _classes(described, kind, flag):
            if not is_trusted(path):
                direct = f"name it yourself by {own_flag} {path}, or " if own_flag else ""
                raise ZooError(
                    f"{source} names the class {path}, which neither zoo nor an installed package "
                    f"offers: if you trust it, {direct}add {FLAG} (in Python, trust_code=True)"
                )
    except RecursionError as error:
        raise ZooError(
            f"{source} nests settings in settings without end: get the file again"
        ) from error


def refuse_remote_code(settings: Any, source: str) -> None:
    """Refuses settings that would have Hugging Face's libraries run code of a repository.

    Args:
        settings: Plain data.
        source: The file, as the message calls it.

    Raises:
        ZooError: They are not trusted.
    """
    if current_trust().all_code:
        return
    for name, value in _settings(settings):
        if name == REMOTE_CODE and value:
            raise ZooError(
                f"{source} sets {REMOTE_CODE}, by which a tokenizer or model runs code of its own: "
                f"if you trust it, add {FLAG} (in Python trust_code=True)"
            )


def is_trusted(path: str) -> bool:
    """Returns whether a class may be imported that a downloaded file names.

    It may if zoo or an installed package offers it, if the user named it or another class of its
    module, if the user's own Python has imported it, or if all code is trusted.

    Args:
        path: The dotted path of the class.
    """
    trust, path = current_trust(), path.replace(":", ".")
    module, _, name = path.rpartition(".")
    loaded = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return (
        trust.all_code
        or any(module == named.rpartition(".")[0] for named in trust.names)
        or (isclass(loaded) and issubclass(loaded, Configurable))
        or is_offered(path)
    )


def _message(path: str, source: str, flag: str) -> str:
    """Returns what is said of a class that is not trusted.

    Args:
        path: The class.
        source: The file that names it.
        flag: The flag by which the user can name it; empty where there is none.
    """
    direct = f"name it yourself by {flag} {path}, or " if flag and _is_dotted(path) else ""
    return (
        f"{source} names the class {path}, which neither zoo nor an installed package offers: if "
        f"you trust it, {direct}add {FLAG} (in Python, trust_code=True)"
    )


def _classes(value: Any, kind: Any, flag: str) -> Iterator[tuple[str, str]]:
    """Yields what would be imported, and the flag by which the user can name it.

    The consumer stops at a class that is not trusted, so that those that were yielded may be
    imported here, for the types of their arguments.

    Args:
        value: Plain data.
        kind: The type of the argument that it is given to; Any where that is not known.
        flag: The flag of that argument; empty where there is none.
    """
    cls = _class_in(kind)
    own_flag = "" if cls is None or is_dataclass(cls) else flag
    if isinstance(value, str):
        unfolded = None if _is_plain(kind) else _unfold(value)
        if unfolded is not None:
            yield from _classes(unfolded, kind, flag)
        elif not _is_plain(kind) and (not _takes_text(kind) or _is_dotted(value)):
            yield value, own_flag if _is_dotted(value) else ""
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _classes(item, kind, "")
    elif isinstance(value, argparse.Namespace):
        yield from _classes(vars(value), kind, flag)
    elif isinstance(value, dict):
        arguments = dict(value)
        path = arguments.pop("class_path", None)
        if path is not None:
            yield str(path), own_flag
            cls = _import_class(str(path))
        given = [(name, inner) for name, inner in arguments.items() if name != "init_args"]
        inside = arguments.get("init_args", {})
        given += inside.items() if isinstance(inside, dict) else [("init_args", inside)]
        kinds = _argument_kinds(cls) if cls is not None else {}
        for name, inner in given:
            # a mapping of any names has one type for all
            known = kinds.get(name, kind if cls is None else Any)
            inner_flag = f"{flag}.{name}" if flag and str(name).isidentifier() else ""
            yield from _classes(inner, known, inner_flag)


def _settings(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yields every name and value in plain data."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield name, inner
            yield from _settings(inner)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _settings(item)


def _unfold(text: str) -> Any:
    """Returns the list or dict that a text holds in YAML, None where it holds neither."""
    try:
        held = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return held if isinstance(held, list | dict) else None


def _is_dotted(text: str) -> bool:
    parts = text.replace(":", ".").split(".")
    return len(parts) > 1 and all(part.isidentifier() for part in parts)


def _import_class(path: str) -> type | None:
    """Returns a class that may be imported, None where there is none."""
    try:
        found = import_path(path)
    except (ImportError, AttributeError, ValueError):
        return None  # who builds it says what is wrong
    return found if isclass(found) else None


@cache
def _argument_kinds(cls: type) -> dict[str, Any]:
    """Returns the types of a class's arguments by name, its bases' included."""
    kinds = dict[str, Any]()
    for base in reversed(cls.__mro__):
        if "__init__" in vars(base) and base is not object:
            try:
                kinds |= get_type_hints(vars(base)["__init__"])
            except (NameError, TypeError, AttributeError):  # types that are not there at run time
                kinds |= dict.fromkeys(vars(base)["__init__"].__annotations__, object)
    return kinds


def _is_plain(kind: Any) -> bool:
    """Returns whether a text of this type cannot be taken for a class."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return True
    if _is_container(origin):
        return all(_is_plain(inner) for inner in arguments if inner is not Ellipsis)
    # the numbers and texts of jsonargparse are bounded ones
    return kind in (*PLAIN, None) or getattr(kind, "__module__", "") == "jsonargparse.typing"


def _takes_text(kind: Any) -> bool:
    """Returns whether a text may be meant at a place of this type."""
    if kind is Any or kind is str:
        return True
    return _is_container(get_origin(kind)) and any(map(_takes_text, get_args(kind)))


def _class_in(kind: Any) -> type | None:
    """Returns the class that a dict without a `class_path` gives the arguments of."""
    if _is_container(get_origin(kind)):
        return next((cls for inner in get_args(kind) if (cls := _class_in(inner))), None)
    return kind if isclass(kind) and kind is not object and not _is_plain(kind) else None


def _is_container(origin: Any) -> bool:
    """Returns whether a generic type is a union or a collection, whose types are its members'."""
    return origin in (Union, UnionType) or (isclass(origin) and issubclass(origin, Collection))
