"""What `zoo ls benchmarks --long` says of a benchmark."""

import inspect

from zoo.benchmarks.base import Benchmark
from zoo.support.names import class_of


def at_length(name: str) -> str:
    """Returns what a benchmark is, whose it is and how to get it, in lines.

    Args:
        name: Its name, as `zoo ls benchmarks` lists it.

    Raises:
        ZooError: There is no such benchmark.
    """
    cls: type[Benchmark] = class_of(name, "benchmarks", Benchmark)
    says = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    lines = [f"{name}: {says}"]
    if cls.behind_colon:
        lines.append(f"  asked for as {name}:{cls.behind_colon.upper()}")
    lines += _publication(cls)
    needs = [*inspect.signature(cls.__init__).parameters.values()][1:]
    if any(parameter.default is inspect.Parameter.empty for parameter in needs):
        return "\n".join(lines)
    by_how: dict[str, list[str]] = {}
    for subset in cls().subsets:
        count = "" if subset.n is None else f" {subset.n:,}"
        by_how.setdefault(subset.how, []).append(f"{subset.name}{count}")
    for how, subsets in by_how.items():
        lines += [f"  cases: {', '.join(subsets)}", f"  get: {how}"]
    return "\n".join(lines)


def _publication(cls: type[Benchmark]) -> list[str]:
    told = {"licence": cls.licence, "cite": cls.citation}
    told["hub"] = "" if cls.hub is None else str(cls.hub)
    told["in other layouts, which are not read"] = "; ".join(map(str, cls.copies))
    return [f"  {what}: {text}" for what, text in told.items() if text]
