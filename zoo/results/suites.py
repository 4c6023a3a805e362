"""Suites: names that stand for several benchmarks."""

import inspect
from collections.abc import Iterable, Iterator

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError
from zoo.results.averages import Mean
from zoo.results.presets.named import preset_of
from zoo.support.names import class_of, classes

ALL, SUITE = "all", "suite:"


def expand_suites(entries: Iterable[str | Benchmark]) -> list[str | Benchmark]:
    """Puts benchmarks in the place of the names that stand for several.

    Args:
        entries: Benchmarks or their names. `all` is every benchmark that needs no file of one's
            own, and `suite:NAME` is those whose metrics enter the means of a preset.

    Returns:
        Benchmarks or their names. A suite leaves out what is named beside it, before or behind, and
        what a suite before it has.

    Raises:
        ZooError: There is no such preset, or it has no means.
    """
    given, made = list(entries), list[str | Benchmark]()
    for entry in given:
        meant = _suite_members(entry) if isinstance(entry, str) else None
        made += [entry] if meant is None else [n for n in meant if n not in (*given, *made)]
    return made


def published_names() -> list[str]:
    """Returns the names of the benchmarks that need no file of one's own."""
    names = (name for name, _, _ in classes("benchmarks"))
    return [name for name in names if _needs_nothing(class_of(name, "benchmarks", Benchmark))]


def _needs_nothing(cls: type[Benchmark]) -> bool:
    arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return not any(
        argument.default is argument.empty and argument.kind is not argument.VAR_KEYWORD
        for argument in arguments
    )


def _suite_members(entry: str) -> list[str] | None:
    """Returns the names that a name stands for, None where it is a benchmark's own."""
    if entry == ALL:
        return published_names()
    if not entry.startswith(SUITE):
        return None
    preset = preset_of(entry.removeprefix(SUITE))
    found = list(dict.fromkeys(name for mean in preset.means for name in _benchmarks(mean)))
    if not found:
        raise ZooError(
            f"the preset {preset.name} takes no mean, so that it names no benchmark: "
            "name benchmarks, or a preset with means"
        )
    return found


def _benchmarks(mean: Mean) -> Iterator[str]:
    for member in mean.members:
        if isinstance(member, Mean):
            yield from _benchmarks(member)
        elif not member.unscorable:
            yield member.benchmark
