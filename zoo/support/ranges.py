"""Numbers with a range: types of arguments, which are checked where a class is built."""

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
else:
    from jsonargparse.typing import (
        ClosedUnitInterval,
        NonNegativeInt,
        OpenUnitInterval,
        PositiveFloat,
        PositiveInt,
        restricted_number_type,
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

__all__ = [
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
    """Checks a constructor's arguments against the ranges of their annotations, whoever calls it.

    A metaclass, since wrapping `__init__` hides the arguments from jsonargparse. The ranges are
    the types of this module and any other of jsonargparse's restricted numbers. The constructor
    gets plain ints and floats, which every checkpoint may hold.
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Builds an object of arguments that are in range."""
        args, kwargs = check_ranges(cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Ranged(metaclass=RangedType):
    """Base of classes whose arguments are held to the ranges and choices of their annotations.

    A dataclass takes the metaclass instead: with a base, jsonargparse takes it for a class with
    subclasses.
    """


def check_ranges(
    cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Holds a constructor's arguments to their ranges.

    Args:
        cls: The class that is built.
        args: Its arguments by position.
        kwargs: Its arguments by name.

    Returns:
        Both, with plain numbers for ranged ones.

    Raises:
        ZooError: One is out of its range.
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
    """Says in words what jsonargparse says in signs.

    Args:
        kind: The type's name; one that ends in `Int` is of whole numbers.
        restriction: Bounds such as `v>=0 and v<=1`.

    Returns:
        Words such as 'a number from 0 to 1'.
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
    said = " and ".join(ends).replace(" and up to ", " to ")
    return f"{number} {said}{' up' if low == '>=' and len(ends) == 1 else ''}"


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Returns the annotations of a constructor and its bases' by argument, its own first."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        made = vars(base).get("__init__")
        if inspect.isfunction(made):
            try:
                hints |= get_type_hints(made)
            except NameError:  # of a module that imports a name for type checkers alone
                hints |= inspect.get_annotations(made)
    return hints


def _to_plain(value: Any, hint: Any) -> Any:
    """Returns the value with plain numbers where the hint has ranges.

    Raises:
        ValueError: The value is out of its range; it says what is wanted.
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
        inside = [h for h in get_args(hint) if h is not ...]
        each = inside if len(inside) == len(value) else inside[:1] * len(value)
        return type(value)(_to_plain(v, h) for v, h in zip(value, each, strict=True))
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
