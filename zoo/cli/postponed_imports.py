"""Postpones the import of scipy.signal, which torchmetrics imports and does not use.

Lightning imports torchmetrics, which adds `scipy.signal.hamming` for the sake of another library.
The import takes 0.5 CPU seconds and 60 MiB.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

NAME = "scipy.signal"


class _PostponedModule(ModuleType):
    """A module in place of scipy.signal, which imports it if anything else of it is used."""

    hamming = None  # torchmetrics adds it if it is missing

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks for some
            raise AttributeError(name)
        if sys.modules.get(NAME) is self:
            del sys.modules[NAME]
        return getattr(importlib.import_module(NAME), name)


@contextmanager
def scipy_signal_postponed() -> Iterator[None]:
    """Postpones the import of scipy.signal in a block to its first use, or to the next import."""
    if NAME in sys.modules:
        yield
        return
    postponed = sys.modules[NAME] = _PostponedModule(NAME)
    try:
        yield
    finally:
        if sys.modules.get(NAME) is postponed:
            del sys.modules[NAME]
