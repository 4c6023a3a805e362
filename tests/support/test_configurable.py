from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.support.configurable import Configurable, to_config


class Inner(Configurable):
    def __init__(self, size: int = 3) -> None:
        self.size = size


class Outer(Configurable):
    def __init__(
        self,
        inner: Inner | None = None,
        where: Path | None = None,
        names: tuple[str, ...] = (),
        **more: float,
    ) -> None:
        self.inner = inner


def test_arguments_and_defaults_are_kept_as_plain_data() -> None:
    built = to_config(Outer(Inner(5), where=Path("a/b"), names=("x", "y"), rate=0.5))
    inner = {"class_path": f"{__name__}.Inner", "init_args": {"size": 5}}
    assert built == {
        "class_path": f"{__name__}.Outer",
        "init_args": {"inner": inner, "where": "a/b", "names": ["x", "y"], "rate": 0.5},
    }


def test_positional_arguments_of_any_number_are_kept() -> None:
    class Several(Configurable):
        def __init__(self, first: str, *more: str) -> None:
            self.more = more

    assert to_config(Several("a"))["init_args"] == {"first": "a"}
    assert to_config(Several("a", "b", "c"))["init_args"] == {"first": "a", "more": ["b", "c"]}


def test_a_part_that_a_subclass_builds_records_only_its_own_arguments() -> None:
    class Special(Inner):
        def __init__(self) -> None:
            super().__init__(9)

    assert to_config(Special())["init_args"] == {}


def test_a_live_object_is_refused_by_name() -> None:
    with pytest.raises(ZooError, match=r"Outer\(where=\.\.\.\) is an instance of object"):
        to_config(Outer(where=object()))  # type: ignore[arg-type]
