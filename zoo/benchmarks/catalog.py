"""The benchmarks that can be asked for by name. Importing it imports none of them; free of torch."""

import importlib
import inspect
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError, near

BUILT_IN = {
    "sugarcrepe": "zoo.benchmarks.sugarcrepe:SugarCrepe",
    "aro": "zoo.benchmarks.aro:ARO",
    "winoground": "zoo.benchmarks.winoground:Winoground",
    "retrieval": "zoo.benchmarks.retrieval:Retrieval",
    "half_truth": "zoo.benchmarks.half_truth:HalfTruth",
    "scene_swaps": "zoo.benchmarks.scene_swaps:SceneSwaps",
    "pairs": "zoo.benchmarks.pairs:Pairs",
}
# what stands behind the colon in `pairs:FILE.csv`
ARGUMENT = {"pairs": "file", "half_truth": "units", "retrieval": "source", "scene_swaps": "folder"}
GROUP = "zoo.benchmarks"


def benchmark(name: str, options: Mapping[str, Any] | None = None) -> Benchmark:
    """Returns the benchmark of that name.

    name: a built-in one, one that an installed package offers (entry points of the group 'zoo.benchmarks'), a dotted class path, or
    `pairs:FILE.csv`, `half_truth:UNITS.jsonl`, `retrieval:SOURCE`, `scene_swaps:FOLDER`. options: further arguments of its class. Raises
    ZooError for an unknown name or option, with the near ones, and for a missing one.
    """
    prefix, colon, argument = name.partition(":")
    given = dict(options or {})
    if colon and prefix in ARGUMENT:
        name, given[ARGUMENT[prefix]] = prefix, argument
    cls = _class(name)
    signature = inspect.signature(cls.__init__)
    accepted = [parameter for parameter in signature.parameters if parameter != "self"]
    takes_any = any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD
        for parameter in signature.parameters.values()
    )
    for option in given:
        if option not in accepted and not takes_any:
            raise ZooError(
                f"{name} has no option {option!r}{near(option, accepted)}: it takes {', '.join(accepted) or 'none'}"
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


def offered() -> dict[str, str]:
    """Returns 'module:Class' by name, of the built-in benchmarks and of those that installed packages offer."""
    return {**{entry.name: entry.value for entry in entry_points(group=GROUP)}, **BUILT_IN}


def _class(name: str) -> type[Benchmark]:
    known = offered()
    path = known.get(name, name)
    module, _, attribute = path.partition(":") if ":" in path else path.rpartition(".")
    if not module:
        raise ZooError(
            f"there is no benchmark {name!r}{near(name, known)}: `zoo ls benchmarks` lists them; a dotted class path works too"
        )
    try:
        found = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ZooError(
            f"benchmark {name!r} names the module {module}, which cannot be found{near(name, known)}: mend the path"
        ) from error
    except AttributeError as error:
        raise ZooError(
            f"benchmark {name!r}: {module} has no {attribute}{near(attribute, vars(importlib.import_module(module)))}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, Benchmark)):
        raise ZooError(
            f"benchmark {name!r} is no subclass of zoo.benchmarks.base.Benchmark: name a class that is"
        )
    return found
