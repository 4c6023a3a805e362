"""The description of a benchmark that `zoo ls benchmarks --long` prints."""

import inspect

from zoo.benchmarks.base import Benchmark
from zoo.support.class_names import class_of


def describe_benchmark(name: str) -> str:
    """Returns what a benchmark measures, its licence and citation, and how to get it, as lines.

    Args:
        name: The name that `zoo ls benchmarks` lists.

    Raises:
        ZooError: There is no such benchmark.
    """
    cls: type[Benchmark] = class_of(name, "benchmarks", Benchmark)
    summary = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    lines = [f"{name}: {summary}"]
    if cls.colon_argument:
        lines.append(f"  run as {name}:{cls.colon_argument.upper()}")
    lines += _publication_lines(cls)
    needs = [*inspect.signature(cls.__init__).parameters.values()][1:]
    if any(parameter.default is inspect.Parameter.empty for parameter in needs):
        return "\n".join(lines)
    subsets_by_source: dict[str, list[str]] = {}
    for subset in cls().subsets:
        count = "" if subset.n is None else f" {subset.n:,}"
        subsets_by_source.setdefault(subset.instructions, []).append(f"{subset.name}{count}")
    for source, subsets in subsets_by_source.items():
        lines += [f"  cases: {', '.join(subsets)}", f"  get: {source}"]
    return "\n".join(lines)


def _publication_lines(cls: type[Benchmark]) -> list[str]:
    facts = {"licence": cls.licence, "cite": cls.citation}
    facts["hub"] = "" if cls.hub is None else str(cls.hub)
    facts["copies in other formats, which are not supported"] = "; ".join(map(str, cls.copies))
    return [f"  {label}: {text}" for label, text in facts.items() if text]
