"""The benchmarks that can be asked for by name. Importing this module imports none of them."""

import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from typing import Any, NamedTuple

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError, near

BUILT_IN = {
    "sugarcrepe": "zoo.benchmarks.sugarcrepe:SugarCrepe",
    "aro": "zoo.benchmarks.aro.benchmark:ARO",
    "winoground": "zoo.benchmarks.winoground:Winoground",
    "retrieval": "zoo.benchmarks.retrieval:Retrieval",
    "half_truth": "zoo.benchmarks.half_truth.benchmark:HalfTruth",
    "scene_swaps": "zoo.benchmarks.scene_swaps:SceneSwaps",
    "pairs": "zoo.benchmarks.pairs:Pairs",
}
# what stands behind the colon in `pairs:FILE.csv`
ARGUMENT = {"pairs": "file", "half_truth": "units", "retrieval": "source", "scene_swaps": "folder"}
GROUP = "zoo.benchmarks"
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
    name, argument, subsets = _parsed(name)
    given = dict(options or {})
    if argument is not None:
        given[ARGUMENT[name]] = argument
    if subsets:
        given["subsets"] = list(subsets)
    cls = _class(name)
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
                f"{name} has no option {option!r}{near(option, accepted)}: "
                f"it takes {', '.join(accepted) or 'none'}"
            )
    try:
        signature.bind(None, **given)
    except TypeError as error:
        mend = (
            f"write {name}:{ARGUMENT[name].upper()}"
            if name in ARGUMENT
            else "give it as an option in YAML"
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
        if isinstance(entry, str) and (parsed := _parsed(entry)).subsets:
            place = places.setdefault(parsed[:2], len(made))
            if place < len(made):
                made[place] = f"{made[place]}:{':'.join(parsed.subsets)}"
                continue
        made.append(entry)
    return [benchmark(entry) if isinstance(entry, str) else entry for entry in made]


class _Parsed(NamedTuple):
    name: str
    argument: str | None
    subsets: tuple[str, ...]


def _parsed(text: str) -> _Parsed:
    """Splits a name from what follows its colons. A class path, `module:Class`, is a name."""
    name, colon, rest = text.partition(":")
    if not colon or name not in offered():
        return _Parsed(text, None, ())
    in_table = _TABLE.fullmatch(rest) if name in ARGUMENT else None
    if in_table is not None:
        return _Parsed(name, in_table[1], tuple(in_table[2].split(":")[1:]))
    rest, subsets = _without_subsets(f":{rest}", _class(name).offers)
    if name in ARGUMENT:
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


def offered() -> dict[str, str]:
    """Returns the path 'module:Class' of each benchmark by name, installed packages' included."""
    return {**{entry.name: entry.value for entry in entry_points(group=GROUP)}, **BUILT_IN}


def _class(name: str) -> type[Benchmark]:
    known = offered()
    path = known.get(name, name)
    module, _, attribute = path.partition(":") if ":" in path else path.rpartition(".")
    if not module:
        raise ZooError(
            f"there is no benchmark {name!r}{near(name, known)}: `zoo ls benchmarks` lists them; "
            "a dotted class path works too"
        )
    try:
        found = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ZooError(
            f"benchmark {name!r} names the module {module}, "
            f"which cannot be found{near(name, known)}: mend the path"
        ) from error
    except AttributeError as error:
        raise ZooError(
            f"benchmark {name!r}: the module {module} has no {attribute}"
            f"{near(attribute, vars(importlib.import_module(module)))}: mend the name"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Benchmark)):
        raise ZooError(
            f"benchmark {name!r} is no subclass of zoo.benchmarks.Benchmark: name a class that is"
        )
    return found
