"""Lookup of benchmarks by name. Importing this module imports none of them."""

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError, suggest_names
from zoo.support.class_names import check_complete, class_of, list_classes

_TABLE_PATTERN = re.compile(
    r"(.+?\.[ct]sv)((?::[^:]+)*)"
)  # a table of pairs; its subsets are known only when it is read


def build_benchmark(name: str, options: Mapping[str, Any] | None = None) -> Benchmark:
    """Returns the benchmark of that name.

    Args:
        name: A built-in benchmark, one of an installed package (entry points of the group
            'zoo.benchmarks'), a dotted class path, or `pairs:FILE.csv`, `half_truth:UNITS.jsonl`,
            `retrieval:SOURCE` or `scene_swaps:FOLDER`. Subsets may follow, each after a colon and
            named as in the report (`sugarcrepe:swap_obj`).
        options: Further arguments of its class.

    Raises:
        ZooError: A name, subset or option is unknown, or an option is missing. The error suggests
            similar names.
    """
    name, argument, subsets = _parse_name(name)
    arguments = dict(options or {})
    cls = _benchmark_class(name)
    if argument is not None:
        arguments[cls.colon_argument] = argument
    if subsets:
        arguments["subsets"] = list(subsets)
    signature = inspect.signature(cls.__init__)
    accepted = [parameter for parameter in signature.parameters if parameter != "self"]
    accepts_any = any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in signature.parameters.values()
    )
    if subsets and "subsets" not in accepted:
        raise ZooError(f"{name} has no subsets to choose from: remove {':'.join(subsets)!r}")
    for option in arguments:
        if option not in accepted and not accepts_any:
            raise ZooError(
                f"{name} has no option {option!r}{suggest_names(option, accepted)}: "
                f"it takes {', '.join(accepted) or 'none'}"
            )
    try:
        signature.bind(None, **arguments)
    except TypeError as error:
        advice = (
            f"write --benchmarks {name}:{cls.colon_argument.upper()}"
            if cls.colon_argument
            else f"set it by --benchmarks {name} --benchmarks.ARG VALUE or in YAML"
        )
        raise ZooError(f"the arguments of {name} do not fit ({error}): {advice}") from error
    return cls(**arguments)


def build_benchmarks(entries: Iterable[str | Benchmark]) -> list[Benchmark]:
    """Creates the benchmarks of a list.

    Args:
        entries: Names, as in `build_benchmark`, or benchmarks. Entries that name subsets of
            one benchmark are merged.

    Returns:
        The benchmarks, in the order of their first entries.

    Raises:
        ZooError: One cannot be created.
    """
    resolved: list[str | Benchmark] = []
    places: dict[tuple[str, str | None], int] = {}
    for entry in entries:
        if isinstance(entry, str) and (parsed := _parse_name(entry)).subsets:
            place = places.setdefault(parsed[:2], len(resolved))
            if place < len(resolved):
                resolved[place] = f"{resolved[place]}:{':'.join(parsed.subsets)}"
                continue
        resolved.append(entry)
    for entry in resolved:
        if isinstance(entry, Benchmark):
            check_complete(type(entry), Benchmark)
    return [build_benchmark(entry) if isinstance(entry, str) else entry for entry in resolved]


def _benchmark_class(name: str) -> type[Benchmark]:
    """Returns the class of a name; a class outside zoo takes no argument after a colon."""
    try:
        return class_of(name, "benchmarks", Benchmark)
    except ZooError as error:
        owner, colon, argument = name.partition(":")
        if not colon or "." not in owner:
            raise
        try:
            cls = class_of(owner, "benchmarks", Benchmark)
        except ZooError as owner_error:
            raise (error if argument.isidentifier() else owner_error) from None
        parameter_names = list(inspect.signature(cls.__init__).parameters)[1:]
        advice = (
            f"--benchmarks {owner} --benchmarks.{parameter_names[0]} {argument}"
            if parameter_names
            else owner
        )
        raise ZooError(
            f"{owner} takes no argument after a colon: "
            f"{'write' if parameter_names else 'it takes none, write'} {advice}"
        ) from error


class _ParsedName(NamedTuple):
    name: str
    argument: str | None
    subsets: tuple[str, ...]


def _parse_name(text: str) -> _ParsedName:
    """Splits a name, its argument and its subsets. A class path, `module:Class`, is a name."""
    name, colon, rest = text.partition(":")
    if not colon or name not in benchmark_names():
        return _ParsedName(text, None, ())
    cls: type[Benchmark] = class_of(name, "benchmarks", Benchmark)
    table_match = _TABLE_PATTERN.fullmatch(rest) if cls.colon_argument else None
    if table_match is not None:
        return _ParsedName(name, table_match[1], tuple(table_match[2].split(":")[1:]))
    rest, subsets = _split_subsets(f":{rest}", cls.subset_names)
    if cls.colon_argument:
        return _ParsedName(name, rest.removeprefix(":"), subsets)
    return _ParsedName(name, None, (*([rest.removeprefix(":")] if rest else []), *subsets))


def _split_subsets(text: str, known: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Returns the text without the subsets at its end, and these subsets.

    Some subsets have a colon in their names.
    """
    subsets: tuple[str, ...] = ()
    while matching := [subset for subset in known if text.endswith(f":{subset}")]:
        longest = max(matching, key=len)
        text, subsets = text.removesuffix(f":{longest}"), (longest, *subsets)
    return text, subsets


def benchmark_names() -> list[str]:
    """Returns the names of all benchmarks, including those of installed packages."""
    return [name for name, _, _ in list_classes("benchmarks")]
