"""Suites: names for groups of benchmarks."""

import inspect
from collections.abc import Iterable, Iterator

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError
from zoo.results.averages import Mean
from zoo.results.presets.preset import Preset, preset_of
from zoo.support.class_names import class_of, list_classes

ALL, SUITE = "all", "suite:"


def expand_suites(entries: Iterable[str | Benchmark]) -> list[str | Benchmark]:
    """Replaces suite names by the benchmarks of the suite.

    Args:
        entries: Benchmarks or their names. `all` is every benchmark that needs no file from the
            user, and `suite:NAME` is every benchmark whose metrics enter the means of a preset.

    Returns:
        Benchmarks or their names. A suite omits benchmarks that are also given by name or belong
        to an earlier suite. Benchmarks for which the preset has arguments are built with them.

    Raises:
        ZooError: The preset does not exist, has no means, or has wrong arguments for a benchmark.
    """
    requested, benchmarks = list(entries), list[str | Benchmark]()
    present = {entry for entry in requested if isinstance(entry, str)}
    for entry in requested:
        members = _suite_members(entry) if isinstance(entry, str) else None
        if members is None:
            benchmarks.append(entry)
            continue
        benchmarks += [member for name, member in members.items() if name not in present]
        present |= members.keys()
    return benchmarks


def self_contained_benchmarks() -> list[str]:
    """Returns the names of the benchmarks that need no file from the user."""
    names = (name for name, _, _ in list_classes("benchmarks"))
    return [name for name in names if _needs_no_arguments(class_of(name, "benchmarks", Benchmark))]


def _needs_no_arguments(cls: type[Benchmark]) -> bool:
    arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return not any(
        argument.default is argument.empty and argument.kind is not argument.VAR_KEYWORD
        for argument in arguments
    )


def _suite_members(entry: str) -> dict[str, str | Benchmark] | None:
    """Returns the benchmarks of a suite by name, None if the name is not a suite."""
    if entry == ALL:
        return {name: name for name in self_contained_benchmarks()}
    if not entry.startswith(SUITE):
        return None
    preset = preset_of(entry.removeprefix(SUITE))
    names = list(dict.fromkeys(name for mean in preset.means for name in _member_benchmarks(mean)))
    if not names:
        raise ZooError(
            f"preset {preset.name} has no means and therefore no benchmarks. "
            "Give benchmarks, or a preset with means"
        )
    return {name: _build_member(name, preset) for name in names}


def _build_member(name: str, preset: Preset) -> str | Benchmark:
    arguments = preset.benchmark_arguments.get(name)
    if arguments is None:
        return name
    cls: type[Benchmark] = class_of(name, "benchmarks", Benchmark)
    try:
        return cls(**arguments)
    except TypeError as error:
        raise ZooError(
            f"preset {preset.name}: benchmark_arguments of {name} are wrong ({error})"
        ) from error


def _member_benchmarks(mean: Mean) -> Iterator[str]:
    for member in mean.members:
        if isinstance(member, Mean):
            yield from _member_benchmarks(member)
        elif not member.unscorable:
            yield member.benchmark
