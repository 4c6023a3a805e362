"""What `zoo ls models` says of published models: a line each, or all that is known of them."""

from collections.abc import Iterator

from zoo.backbones.catalogue.entry import ModelEntry, entries, tags
from zoo.results.published import models as with_figures


def lines() -> Iterator[tuple[str, str, str, str]]:
    """Yields name, what it is, where its weights are, and whether figures of it were published."""
    figures = with_figures()
    for name, entry in entries().items():
        yield name, entry.says, _weights_location(entry), "figures" if name in figures else ""
    for name in tags():
        yield name, "open_clip's weights", "hub", "figures" if name in figures else ""


def at_length() -> Iterator[str]:
    """Yields all that is known of each model of the catalogue, in lines."""
    for name, entry in entries().items():
        built = [entry.architecture, entry.activation or "the activation that the weights say"]
        built += [f"over open_clip's {entry.tag}"] if entry.tag else []
        told = {
            "built as": ", ".join(built),
            "images": str(entry.preprocess) if entry.preprocess else "",
            "read by": entry.rule or entry.head or "",
            "weights": _address(entry),
            "file": entry.file,
            "sha256": _hashes(entry),
            "licence": entry.licence,
            "trained on": entry.trained_on,
            "paper": entry.paper,
            "not loadable": entry.refused,
            "notes": "; ".join(entry.notes),
            "not found": ", ".join(entry.unknown),
        }
        said = [f"  {what}: {text}" for what, text in told.items() if text]
        yield "\n".join([f"{name}: {entry.says}", *said])


def _hashes(entry: ModelEntry) -> str:
    if not isinstance(entry.sha256, dict):
        return entry.sha256 or ""
    return ", ".join(f"{file} {value}" for file, value in entry.sha256.items())


def _weights_location(entry: ModelEntry) -> str:
    if entry.refused is not None:
        return "not loadable"
    return "hub" if entry.hub is not None else "NAME:FILE"


def _address(entry: ModelEntry) -> str:
    if entry.hub is not None:
        return f"{entry.hub.page}, fetched where they are not in the cache"
    if entry.url is None:
        return "no address was found"
    return f"{entry.url}, to be fetched and named, as NAME:FILE"
