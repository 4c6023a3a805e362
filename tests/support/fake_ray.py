"""A stand-in for Ray, where it is not installed."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import ClassVar

import pytest


class Data:
    """Stands in for `ray.data`: one worker, in this process."""

    worked: ClassVar[list[dict[str, object]]] = []

    class DataContext:
        enable_progress_bars = True
        execution_options = SimpleNamespace(preserve_order=False)

        @classmethod
        def get_current(cls) -> type["Data.DataContext"]:
            return cls

    @staticmethod
    def ActorPoolStrategy(size: int) -> int:
        return size

    @staticmethod
    def from_items(items: list[dict[str, object]], override_num_blocks: int) -> "Data":
        assert override_num_blocks == len(items)
        data = Data()
        data.items = items
        return data

    items: list[dict[str, object]]

    def map(
        self,
        worker: type[Callable[..., dict[str, object]]],
        fn_constructor_args: tuple[object, ...],
        **_: object,
    ) -> "Data":
        work = worker(*fn_constructor_args)
        self.worked.extend(self.items)
        made = Data()
        made.items = [work(item) for item in self.items]
        return made

    def iter_rows(self) -> list[dict[str, object]]:
        return self.items


def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Puts it in the place of Ray; returns the list of the parts that it will have been handed."""
    module = type(sys)("ray")
    module.is_initialized = lambda: True  # type: ignore[attr-defined]
    module.data = Data  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", module)
    monkeypatch.setitem(sys.modules, "ray.data", Data)  # type: ignore[arg-type]
    Data.worked.clear()
    return Data.worked
