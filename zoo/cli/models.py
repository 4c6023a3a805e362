"""The lines that `zoo ls models` prints about published models, short or detailed."""

from collections.abc import Iterator

from zoo.backbones.catalogue.entry import ModelEntry, entries, tags
from zoo.results.published_values import published_models as with_figures


def model_rows() -> Iterator[tuple[str, str, str, str]]:
    """Yields name, description, source of the weights, and whether there are published results."""
    figures = with_figures()
    for name, entry in entries().items():
        yield (
            name,
            entry.description,
            _weights_location(entry),
            "results" if name in figures else "",
        )
    for name in tags():
        yield name, "open_clip's weights", "hub", "results" if name in figures else ""


def describe_models() -> Iterator[str]:
    """Yields the catalogue entry of each model, as lines of text."""
    for name, entry in entries().items():
        construction = [
            entry.architecture,
            entry.activation or "the activation that the weights name",
        ]
        construction += [f"on top of open_clip's {entry.tag}"] if entry.tag else []
        facts = {
            "built as": ", ".join(construction),
            "images": str(entry.preprocess) if entry.preprocess else "",
            "loaded by": entry.weights_class or entry.head or "",
            "weights": _download_location(entry),
            "file": entry.file,
            "sha256": _format_hashes(entry),
            "licence": entry.licence,
            "trained on": entry.trained_on,
            "paper": entry.paper,
            "not loadable": entry.unsupported,
            "notes": "; ".join(entry.notes),
            "not found": ", ".join(entry.unknown),
        }
        lines_of_facts = [f"  {label}: {text}" for label, text in facts.items() if text]
        yield "\n".join([f"{name}: {entry.description}", *lines_of_facts])


def _format_hashes(entry: ModelEntry) -> str:
    if not isinstance(entry.sha256, dict):
        return entry.sha256 or ""
    return ", ".join(f"{file} {value}" for file, value in entry.sha256.items())


def _weights_location(entry: ModelEntry) -> str:
    if entry.unsupported is not None:
        return "not loadable"
    return "hub" if entry.hub is not None else "NAME:FILE"


def _download_location(entry: ModelEntry) -> str:
    if entry.hub is not None:
        return f"{entry.hub.page}, downloaded if they are not in the cache"
    if entry.url is None:
        return "no address found"
    return f"{entry.url}, download them and pass NAME:FILE"
