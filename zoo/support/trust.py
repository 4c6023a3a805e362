"""Trust: which code may run because the user asked for it.

Checkpoints, exported folders, results and catalogue files are downloaded data, and may name any
class. Such a class is imported only if zoo or an installed package offers it, if the user named it,
or if the user trusts all code. `zoo.support.class_paths` decides that; here is what the user asked
for, and where the modules that the user named are found.
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
# a dotted name or an entry point, and neither a flag nor a part of a path
_DOTTED = re.compile(r"(?<![\w./~-])[^\W\d]\w*(?:[.:][^\W\d]\w*)+(?![\w./-])")


@dataclass(frozen=True)
class Trust:
    """What the user asked for.

    Attributes:
        all_code: Whether every class may be imported.
        names: The dotted names in flags and recipes.
        folders: Where modules that these name are looked for, if they are not found otherwise.
    """

    all_code: bool = False
    names: frozenset[str] = frozenset()
    folders: tuple[Path, ...] = ()


NOTHING = Trust()
_TRUST: ContextVar[Trust] = ContextVar("zoo_trust", default=NOTHING)


def current_trust() -> Trust:
    """Returns what the user asked for."""
    return _TRUST.get()


@contextmanager
def trusting_code(trust_code: bool = True) -> Iterator[None]:
    """Lets downloaded files name any class, as long as the context lasts.

    Args:
        trust_code: Whether it does; False changes nothing.
    """
    token = _TRUST.set(replace(_TRUST.get(), all_code=trust_code or _TRUST.get().all_code))
    try:
        yield
    finally:
        _TRUST.reset(token)


@contextmanager
def user_modules() -> Iterator[None]:
    """Finds modules of classes that the user names in the folders of `trust_names`.

    A folder is appended to `sys.path` when a module is found in it, and is removed at the end.
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
        folder: Where their modules may lie: the working folder, or that of the recipe.
    """
    trust, folder = _TRUST.get(), folder.resolve()
    folders = trust.folders if folder in trust.folders else (*trust.folders, folder)
    _TRUST.set(replace(trust, names=trust.names | {*dotted_names(given)}, folders=folders))


def dotted_names(given: Any) -> Iterator[str]:
    """Yields the dotted names in plain data, without those that are names of files.

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
    """Returns the folders in which a package counts as the user's files, and not as installed."""
    return {Path.cwd().resolve(), *_TRUST.get().folders}


class _UserModules(MetaPathFinder):
    """The last finder: looks for the modules that the user named in the folders of the user."""

    def __init__(self) -> None:
        self.appended = list[str]()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        trust = _TRUST.get()
        if fullname not in {name.partition(".")[0] for name in trust.names}:
            return None
        for folder in map(str, trust.folders):
            found = PathFinder.find_spec(fullname, [folder])
            if found is not None:
                self.appended.append(folder)
                sys.path.append(folder)  # for what the module itself imports
                return found
        return None
