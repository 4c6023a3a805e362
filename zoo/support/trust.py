"""Trust: which code the user allows to run.

Checkpoints, exported folders, results and catalogue files are downloaded data, and may name any
class. Such a class is imported only if it is part of zoo or an installed package, if the user named
it, or if the user trusts all code. `zoo.support.class_paths` decides this; this module records what
the user named, and finds the modules that the user named.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

FLAG = "--trust_code"
# a dotted name or an entry point, but not a flag or a part of a path
_DOTTED = re.compile(r"(?<![\w./~-])[^\W\d]\w*(?:[.:][^\W\d]\w*)+(?![\w./-])")


@dataclass(frozen=True)
class Trust:
    """The code that the user trusts.

    Attributes:
        all_code: Whether every class may be imported.
        names: The dotted names in flags and recipes.
        folders: Folders that are searched for the modules of these names.
    """

    all_code: bool = False
    names: frozenset[str] = frozenset()
    folders: tuple[Path, ...] = ()


NO_TRUST = Trust()
_TRUST: ContextVar[Trust] = ContextVar("zoo_trust", default=NO_TRUST)


def current_trust() -> Trust:
    """Returns the code that the user trusts."""
    return _TRUST.get()


@contextmanager
def allow_all_code(trust_code: bool = True) -> Iterator[None]:
    """Allows downloaded files to name any class within the context.

    Args:
        trust_code: Whether to allow it; False changes nothing.
    """
    token = _TRUST.set(replace(_TRUST.get(), all_code=trust_code or _TRUST.get().all_code))
    try:
        yield
    finally:
        _TRUST.reset(token)


@contextmanager
def enable_user_modules() -> Iterator[None]:
    """Makes trusted modules in the folders of `trust_names` importable within the context.

    These are the modules that the user named, or all if all code is trusted. A folder is appended
    to `sys.path` when a module is found in it, and removed at the end.
    """
    finder, token = _UserModules(), _TRUST.set(_TRUST.get())
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        _TRUST.reset(token)
        sys.meta_path.remove(finder)
        sys.path[:] = [place for place in sys.path if place not in finder.appended]


def trust_names(given: Any, folder: Path) -> None:
    """Trusts the classes that a flag or a recipe of the user names.

    Args:
        given: The words of a command, or the settings of a recipe.
        folder: Where their modules may be: the working directory, or the folder of the recipe.
    """
    trust, folder = _TRUST.get(), folder.resolve()
    folders = trust.folders if folder in trust.folders else (*trust.folders, folder)
    _TRUST.set(replace(trust, names=trust.names | {*dotted_names(given)}, folders=folders))


def dotted_names(given: Any) -> Iterator[str]:
    """Yields the dotted names in plain data, except names of existing files.

    Args:
        given: Texts, lists and dicts.
    """
    if isinstance(given, str):
        for name in _DOTTED.findall(given):
            if not Path(name).exists():
                yield name.replace(":", ".")
    elif isinstance(given, dict):
        yield from dotted_names([*given.values()])
    elif isinstance(given, Iterable):
        for item in given:
            yield from dotted_names(item)


def user_folders() -> set[Path]:
    """Returns the folders whose packages count as user files instead of installed packages."""
    return {Path.cwd().resolve(), *_TRUST.get().folders}


class _UserModules(MetaPathFinder):
    """The last import finder: searches the user's folders for the modules that the user trusts."""

    def __init__(self) -> None:
        self.appended = list[str]()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        trust = _TRUST.get()
        is_named = fullname in {name.partition(".")[0] for name in trust.names}
        is_top_level = path is None
        if not is_named and not (trust.all_code and is_top_level):
            return None
        for folder in map(str, trust.folders):
            module_spec = PathFinder.find_spec(fullname, [folder])
            if module_spec is not None:
                self.appended.append(folder)
                sys.path.append(folder)  # for what the module itself imports
                return module_spec
        return None
