"""Configurable: objects that record their constructor arguments.

A checkpoint can therefore describe them in plain data.
"""

import dataclasses
import inspect
import json
import sys
from abc import ABCMeta
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from jsonargparse import ArgumentParser

from zoo.errors import ZooError
from zoo.support.ranges import check_ranges

Part = TypeVar("Part")


class _ConfigurableType(ABCMeta):
    """Checks the arguments of a constructor against their ranges, and records them.

    It is a metaclass, since wrapping `__init__` hides the arguments from jsonargparse.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = check_ranges(cls, args, kwargs)
        instance = super().__call__(*args, **kwargs)
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        bound = signature.bind(instance, *args, **kwargs)
        bound.apply_defaults()
        arguments = dict(list(bound.arguments.items())[1:])
        for name, parameter in signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(name, {}))
            elif parameter.kind is inspect.Parameter.VAR_POSITIONAL and not arguments.get(name):
                arguments.pop(name, None)
        object.__setattr__(
            instance, "recorded_arguments", {**arguments, **instance.inferred_arguments()}
        )
        return instance


class Configurable(metaclass=_ConfigurableType):
    """Base of components that YAML files and checkpoints describe by class path and arguments."""

    recorded_arguments: dict[str, Any]

    def inferred_arguments(self) -> dict[str, Any]:
        """Returns arguments that were resolved during construction, with their final values."""
        return {}


def class_path(cls: type) -> str:
    """Returns the shortest dotted path of a class, that of a package that exports it.

    It stays valid if the class moves to another module.
    """
    parts = cls.__module__.split(".")
    packages = (".".join(parts[:n]) for n in range(1, len(parts)))
    showing = (p for p in packages if getattr(sys.modules.get(p), cls.__qualname__, None) is cls)
    return f"{next(showing, cls.__module__)}.{cls.__qualname__}"


def to_config(part: Configurable) -> dict[str, Any]:
    """Describes a part and the parts within it in plain data.

    Args:
        part: The part.

    Returns:
        {"class_path", "init_args"}, as in a YAML file.

    Raises:
        ZooError: An argument is not plain data.
    """
    init_args = {
        name: to_plain(value, f"{type(part).__name__}({name}=...)")
        for name, value in part.recorded_arguments.items()
    }
    return {"class_path": class_path(type(part)), "init_args": init_args}


def from_config(described: dict[str, Any], kind: type[Part]) -> Part:
    """Builds the part that `to_config` described.

    Args:
        described: {"class_path", "init_args"}; nested components have the same form.
        kind: The base class.

    Raises:
        jsonargparse.ArgumentError: There is no such class, or it takes other arguments.
    """
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(kind, "part")
    part: Part = parser.instantiate(parser.parse_object({"part": described})).part
    return part


def to_plain(value: Any, name: str) -> Any:
    """Returns a setting in plain data, as in a YAML file.

    Args:
        value: The setting: a number, a text, a component, or a dataclass or collection of them.
        name: The name of the setting in the error.

    Raises:
        ZooError: It contains another object.
    """
    if isinstance(value, Configurable):
        return to_config(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [to_plain(v, name) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_plain(dataclasses.asdict(value), name)
    if isinstance(value, dict):
        return {str(k): to_plain(v, name) for k, v in value.items()}
    if value is None:
        return None
    for kind in (bool, int, float, str):
        if isinstance(value, kind):  # convert subclasses, which would be pickled by name
            return kind(value)
    raise ZooError(
        f"{name} is an instance of {type(value).__name__}, which "
        "cannot be saved in a checkpoint: pass a name, a number or another component"
    )


def differences(before: Any, after: Any, name: str = "") -> list[str]:
    """Compares two settings.

    Args:
        before: The previous settings.
        after: The current settings.
        name: Prefix of the names of entries.

    Returns:
        An entry for each difference, such as `optimizer.lr 0.001, was 0.0005`.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        prefix = f"{name}." if name and not name.endswith(".") else name
        return [
            line
            for key in dict.fromkeys([*before, *after])
            for line in differences(before.get(key), after.get(key), f"{prefix}{key}")
        ]
    before, after = (json.loads(json.dumps(value, default=str)) for value in (before, after))
    return [] if before == after else [f"{name.replace('.init_args', '')} {after}, was {before}"]


def is_recipe(value: Any) -> TypeGuard[dict[str, Any]]:
    """Returns whether a value has the form of a model configuration in a checkpoint.

    Args:
        value: Any value.

    Returns:
        Whether it holds parts, each as `to_config` gives it, with a backbone among them.
    """
    return (
        isinstance(value, dict)
        and "backbone" in value
        and all(
            isinstance(part, dict)
            and isinstance(part.get("class_path"), str)
            and isinstance(part.get("init_args", {}), dict)
            for name, part in value.items()
            if name in ("backbone", "head", "objective")
        )
    )
