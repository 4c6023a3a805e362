"""The models and benchmarks of `zoo ls models` and `zoo ls ... --long`.

They import catalogue and benchmarks, which the other lists of `zoo ls` do without.
"""

import inspect
from collections.abc import Iterator

from zoo.backbones.catalogue.entry import ModelEntry, entries, open_clip_model_names
from zoo.benchmarks.base import Benchmark
from zoo.results.published_values import published_models
from zoo.support.class_names import class_of


def model_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yields name, description, source of the weights, and whether there are published results."""
    figures = published_models()
    for name, entry in entries().items():
        yield (
            name,
            entry.description,
            _weights_source(entry),
            "results" if name in figures else "",
        )
    for name in open_clip_model_names():
        yield name, "open_clip's weights", "hub", "results" if name in figures else ""


def describe_models() -> Iterator[str]:
    """Yields the catalogue entry of each model, as lines of text."""
    for name, entry in entries().items():
        construction = [
            entry.architecture,
            entry.activation or "the activation that the weights name",
        ]
        if entry.tag and not entry.is_shipped:
            construction += [f"on top of open_clip's {entry.tag}"]
        if entry.scorer is not None:
            construction = [f"{entry.architecture} of transformers"]
        facts = {
            "built as": ", ".join(construction),
            "images": str(entry.preprocess) if entry.preprocess else "",
            "loaded by": entry.weights_class or entry.head or entry.scorer or "",
            "with": ", ".join(f"{name} {value}" for name, value in entry.arguments.items()),
            "weights": _download_location(entry),
            "file": entry.file,
            "sha256": _format_hashes(entry),
            "licence": entry.licence,
            "trained on": entry.trained_on,
            "paper": entry.paper,
            "not loadable": entry.unsupported,
            "notes": "; ".join(filter(None, [entry.warning, *entry.notes])),
            "not found": ", ".join(entry.unknown),
        }
        lines_of_facts = [f"  {label}: {text}" for label, text in facts.items() if text]
        yield "\n".join([f"{name}: {entry.description}", *lines_of_facts])


def _format_hashes(entry: ModelEntry) -> str:
    if not isinstance(entry.sha256, dict):
        return entry.sha256 or ""
    return ", ".join(f"{file} {value}" for file, value in entry.sha256.items())


def _weights_source(entry: ModelEntry) -> str:
    if entry.unsupported is not None:
        return "not loadable"
    if entry.is_shipped:
        return "zoo"
    return "hub" if entry.hub is not None else "NAME:FILE"


def _download_location(entry: ModelEntry) -> str:
    if entry.is_shipped:
        return f"in the package of zoo, as pretrained: {entry.tag}"
    if entry.hub is not None:
        return f"{entry.hub.page}, downloaded if they are not in the cache"
    if entry.url is None:
        return "no address found"
    return f"{entry.url}, download them and pass NAME:FILE"


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
