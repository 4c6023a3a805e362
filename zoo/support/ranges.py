"""Argument types for numbers with a range, checked when an object is constructed; class paths."""

import inspect
import math
import re
import types
from abc import ABCMeta
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from zoo.errors import ZooError

if TYPE_CHECKING:
    PositiveInt = int
    NonNegativeInt = int
    PositiveFloat = float
    Number = float
    PositiveNumber = float
    NonNegativeNumber = float
    ClosedUnitInterval = float
    HalfOpenUnitInterval = float
    OpenUnitInterval = float
    JpegQuality = int
    ClassPath = str
else:
    from jsonargparse.typing import (
        ClosedUnitInterval,
        NonNegativeInt,
        OpenUnitInterval,
        PositiveFloat,
        PositiveInt,
        restricted_number_type,
        restricted_string_type,
    )

    Number = restricted_number_type("Number", float, [(">", -math.inf), ("<", math.inf)])
    PositiveNumber = restricted_number_type("PositiveNumber", float, [(">", 0), ("<", math.inf)])
    NonNegativeNumber = restricted_number_type(
        "NonNegativeNumber", float, [(">=", 0), ("<", math.inf)]
    )
    JpegQuality = restricted_number_type("JpegQualityInt", int, [(">=", 1), ("<=", 95)])
    HalfOpenUnitInterval = restricted_number_type(
        "HalfOpenUnitInterval", float, [(">=", 0), ("<", 1)]
    )
    # the name of a class that is imported later: `zoo.support.class_paths` checks it as well
    ClassPath = restricted_string_type("ClassPath", r"^\S+$")

__all__ = [
    "ClassPath",
    "ClosedUnitInterval",
    "HalfOpenUnitInterval",
    "JpegQuality",
    "NonNegativeInt",
    "NonNegativeNumber",
    "Number",
    "OpenUnitInterval",
    "PositiveFloat",
    "PositiveInt",
    "PositiveNumber",
    "Ranged",
    "RangedType",
    "describe_restriction",
]

_BOUND = re.compile(r"v(>=|>|<=|<)([\w.]+)")
_ENDS = {">=": "from {}", ">": "above {}", "<=": "up to {}", "<": "below {}"}


class RangedType(ABCMeta):
    """Checks the arguments of a constructor against the ranges of their annotations.

    It is a metaclass, since wrapping `__init__` hides the arguments from jsonargparse. The ranges
    are the types of this module and any other restricted numbers of jsonargparse. The constructor
    gets plain ints and floats, which can be saved in checkpoints.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Builds an object after checking the ranges of the arguments."""
        args, kwargs = check_ranges(cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Ranged(metaclass=RangedType):
    """Base of classes whose arguments are checked against the ranges and choices they declare.

    Dataclasses use the metaclass instead: jsonargparse would treat a dataclass with a base class as
    a class with subclasses.
    """


def check_ranges(
    cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Checks the arguments of a constructor against their ranges.

    Args:
        cls: The class to build.
        args: Its positional arguments.
        kwargs: Its keyword arguments.

    Returns:
        Both, with ranged numbers as plain ints and floats.

    Raises:
        ZooError: An argument is out of range.
    """
    hints = _hints(cls)

    def check_value(name: str, value: Any) -> Any:
        try:
            return _to_plain(value, hints.get(name))
        except ValueError as error:
            raise ZooError(f"{cls.__name__}({name}={value!r}): give {error}") from error

    names = list(inspect.signature(cls.__init__).parameters)[1:]  # type: ignore[misc]
    placed = tuple(check_value(name, value) for name, value in zip(names, args, strict=False))
    named = {name: check_value(name, value) for name, value in kwargs.items()}
    return placed + args[len(placed) :], named


def describe_restriction(kind: str, restriction: str) -> str:
    """Describes a restricted number type of jsonargparse in words.

    Args:
        kind: Name of the type; types that end in `Int` are whole numbers.
        restriction: Bounds such as `v>=0 and v<=1`.

    Returns:
        A description such as 'a number from 0 to 1'.
    """
    number = "a whole number" if kind.endswith("Int") else "a number"
    bounds = dict[str, str](_BOUND.findall(restriction))
    low = next((sign for sign in bounds if sign.startswith(">")), None)
    high = next((sign for sign in bounds if sign.startswith("<")), None)
    if number == "a whole number" and low == ">" and high is None:
        return f"a whole number from {int(float(bounds[low])) + 1} up"
    ends = [
        _ENDS[sign].format(bounds[sign]) for sign in (low, high) if sign and bounds[sign] != "inf"
    ]
    if not ends:
        return number.replace("a ", "a finite ", 1)
    bounds_text = " and ".join(ends).replace(" and up to ", " to ")
    return f"{number} {bounds_text}{' up' if low == '>=' and len(ends) == 1 else ''}"


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Returns the annotations of the constructors of a class and its bases, by argument."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        constructor = vars(base).get("__init__")
        if inspect.isfunction(constructor):
            try:
                hints |= get_type_hints(constructor)
            except NameError:  # a name that is imported only for type checkers
                hints |= inspect.get_annotations(constructor)
    return hints


def _to_plain(value: Any, hint: Any) -> Any:
    """Returns the value, with ranged numbers as plain ints and floats.

    Raises:
        ValueError: The value is out of range; the message describes the range.
    """
    if get_origin(hint) in (Union, types.UnionType):
        members = get_args(hint)
        if any(isinstance(m, type) and not _has_range(m) and isinstance(value, m) for m in members):
            return value
        ranges = [m for m in members if _has_range(m)]
        if all(get_origin(m) is Literal or m is types.NoneType for m in members):
            ranges = [Literal[tuple(c for m in members for c in get_args(m))]]
        return _to_plain(value, ranges[0]) if ranges else value
    if _has_range(hint):
        return _plain_number(value, hint)
    if get_origin(hint) is Literal and value not in get_args(hint):
        raise ValueError(f"one of {', '.join(map(str, get_args(hint)))}")
    if isinstance(value, int | float) and get_origin(hint) in (tuple, list, Sequence):
        raise ValueError("a list of numbers")
    if isinstance(value, list | tuple) and get_args(hint):
        item_hints = [h for h in get_args(hint) if h is not ...]
        hint_per_item = item_hints if len(item_hints) == len(value) else item_hints[:1] * len(value)
        return type(value)(_to_plain(v, h) for v, h in zip(value, hint_per_item, strict=True))
    return value


def _has_range(hint: Any) -> bool:
    return (
        isinstance(hint, type) and issubclass(hint, int | float) and hasattr(hint, "_restrictions")
    )


def _plain_number(value: Any, kind: Any) -> int | float:
    try:
        number = kind(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(describe_restriction(kind.__name__, kind._expression)) from error
    return int(number) if isinstance(number, int) else float(number)
