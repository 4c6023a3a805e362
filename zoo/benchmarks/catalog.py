"""The benchmarks that can be asked for by name. Importing this module imports none of them."""

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError, suggest_names
from zoo.support.names import check_whole, class_of, classes

_TABLE = re.compile(
    r"(.+?\.[ct]sv)((?::[^:]+)*)"
)  # a table of pairs, whose subsets are known when it is read


def benchmark(name: str, options: Mapping[str, Any] | None = None) -> Benchmark:
    """Returns the benchmark of that name.

    Args:
        name: A built-in benchmark, one that an installed package offers (entry points of the group
            'zoo.benchmarks'), a dotted class path, or `pairs:FILE.csv`,
            `half_truth:UNITS.jsonl`, `retrieval:SOURCE` or `scene_swaps:FOLDER`. Subsets may
            follow, named as in the report and each behind a colon (`sugarcrepe:swap_obj`).
        options: Further arguments of its class.

    Raises:
        ZooError: A name, subset or option is unknown, or an option is missing. The error names what
            is near an unknown one.
    """
    name, argument, subsets = _parse_name(name)
    given = dict(options or {})
    cls = _class(name)
    if argument is not None:
        given[cls.behind_colon] = argument
    if subsets:
        given["subsets"] = list(subsets)
    signature = inspect.signature(cls.__init__)
    accepted = [parameter for parameter in signature.parameters if parameter != "self"]
    takes_any = any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in signature.parameters.values()
    )
    if subsets and "subsets" not in accepted:
        raise ZooError(
            f"{name} has no subsets to choose among: name it without {':'.join(subsets)!r}"
        )
    for option in given:
        if option not in accepted and not takes_any:
            raise ZooError(
                f"{name} has no option {option!r}{suggest_names(option, accepted)}: "
                f"it takes {', '.join(accepted) or 'none'}"
            )
    try:
        signature.bind(None, **given)
    except TypeError as error:
        mend = (
            f"write {name}:{cls.behind_colon.upper()}"
            if cls.behind_colon
            else f"give it, as in --benchmarks {name} --benchmarks.ARG VALUE or in YAML"
        )
        raise ZooError(f"{name} cannot be made ({error}): {mend}") from error
    return cls(**given)


def asked_for(entries: Iterable[str | Benchmark]) -> list[Benchmark]:
    """Makes the benchmarks of a list.

    Args:
        entries: Names, as `benchmark` takes them, or benchmarks. Subsets of one benchmark that are
            asked for one by one make one benchmark.

    Returns:
        The benchmarks, each where it is first asked for.

    Raises:
        ZooError: One cannot be made.
    """
    made: list[str | Benchmark] = []
    places: dict[tuple[str, str | None], int] = {}
    for entry in entries:
        if isinstance(entry, str) and (parsed := _parse_name(entry)).subsets:
            place = places.setdefault(parsed[:2], len(made))
            if place < len(made):
                made[place] = f"{made[place]}:{':'.join(parsed.subsets)}"
                continue
        made.append(entry)
    for entry in made:
        if isinstance(entry, Benchmark):
            check_whole(type(entry), Benchmark)
    return [benchmark(entry) if isinstance(entry, str) else entry for entry in made]


def _class(name: str) -> type[Benchmark]:
    """Returns the class that a name means; a class from outside has no argument behind a colon."""
    try:
        return class_of(name, "benchmarks", Benchmark)
    except ZooError as error:
        owner, colon, argument = name.partition(":")
        if not colon or "." not in owner:
            raise
        try:
            cls = class_of(owner, "benchmarks", Benchmark)
        except ZooError as of_owner:
            raise (error if argument.isidentifier() else of_owner) from None
        takes = list(inspect.signature(cls.__init__).parameters)[1:]
        mend = f"--benchmarks {owner} --benchmarks.{takes[0]} {argument}" if takes else owner
        raise ZooError(
            f"{owner} takes no argument behind a colon: "
            f"{'give it by its name, as in' if takes else 'it takes none, write'} {mend}"
        ) from error


class _Parsed(NamedTuple):
    name: str
    argument: str | None
    subsets: tuple[str, ...]


def _parse_name(text: str) -> _Parsed:
    """Splits a name from what follows its colons. A class path, `module:Class`, is a name."""
    name, colon, rest = text.partition(":")
    if not colon or name not in benchmark_names():
        return _Parsed(text, None, ())
    cls: type[Benchmark] = class_of(name, "benchmarks", Benchmark)
    in_table = _TABLE.fullmatch(rest) if cls.behind_colon else None
    if in_table is not None:
        return _Parsed(name, in_table[1], tuple(in_table[2].split(":")[1:]))
    rest, subsets = _without_subsets(f":{rest}", cls.offers)
    if cls.behind_colon:
        return _Parsed(name, rest.removeprefix(":"), subsets)
    return _Parsed(name, None, (*([rest.removeprefix(":")] if rest else []), *subsets))


def _without_subsets(text: str, offers: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """Returns the text without the subsets behind its last colons, and these subsets.

    Some have a colon in their names.
    """
    subsets: tuple[str, ...] = ()
    while ends := [subset for subset in offers if text.endswith(f":{subset}")]:
        last = max(ends, key=len)
        text, subsets = text.removesuffix(f":{last}"), (last, *subsets)
    return text, subsets


def benchmark_names() -> list[str]:
    """Returns the names of benchmarks, installed packages' included."""
    return [name for name, _, _ in classes("benchmarks")]
