"""Settings of published models by name."""

import logging
from pathlib import Path
from typing import Any

from zoo.backbones.backbone import Backbone
from zoo.backbones.catalogue.entry import ModelEntry, entries, open_clip_model_names, read_entry
from zoo.backbones.catalogue.files import cached_file, user_file
from zoo.backbones.model_folders import PairScorerSource, pair_scorer_source
from zoo.errors import ZooError, suggest_names
from zoo.support.class_names import class_paths
from zoo.support.class_paths import reject_untrusted_classes
from zoo.support.configurable import Configurable

YAML = (".yaml", ".yml")

log = logging.getLogger(__name__)


def load_published_settings(model_spec: str, flag: str = "") -> dict[str, Any]:
    """Returns the settings of a published model, and downloads and checks its files.

    Args:
        model_spec: A name of `zoo ls models`, or a custom entry, a YAML file. Either may be
            followed by a colon and the file of its weights. A name TAG/ARCHITECTURE is one of
            open_clip's.
        flag: The command-line flag of the same settings; empty if there is none.

    Returns:
        Settings of ZooModule: those of the backbone, and of a head if the model has one.

    Raises:
        ZooError: There is no such model, it cannot be loaded, its weights are not available, or a
            YAML file names a class that is not trusted.
    """
    if not isinstance(model_spec, str) or not model_spec:
        raise ZooError(f"{model_spec!r} is not a model: give a name of `zoo ls models`")
    name, _, file = model_spec.partition(":")
    entry = entry_of(model_spec)
    if entry is None:
        return _open_clip_settings(name, file)
    if entry.scorer is not None:
        raise ZooError(f"{name} scores pairs of image and text and has no towers")
    if entry.unsupported is not None:
        raise ZooError(f"{name} cannot be loaded: {entry.unsupported}")
    if name not in entries():
        _refuse_untrusted_classes(name, _backbone_settings(entry, Path(file)), flag)
    if (warning := model_warning(model_spec)) is not None:
        log.warning("%s", warning)
    if entry.is_shipped and not file:
        return _backbone_settings(entry, None)
    weights = user_file(name, entry, Path(file)) if file else cached_file(name, entry)
    return _backbone_settings(entry, weights)


def published_pair_scorer(model_spec: str) -> PairScorerSource | None:
    """Returns the scorer of a published model, and downloads and checks its files.

    Args:
        model_spec: As in `load_published_settings`; the file of its weights is a folder.

    Returns:
        The scorer, None if the model has two towers.

    Raises:
        ZooError: There is no such model, or its files are not available.
    """
    name, _, folder = model_spec.partition(":")
    entry = entry_of(model_spec)
    if entry is None or entry.scorer is None:
        return None
    files = user_file(name, entry, Path(folder)) if folder else cached_file(name, entry)
    return pair_scorer_source(model_spec, files, entry.scorer, entry.arguments)


def is_published(model_spec: str) -> bool:
    """Returns whether a text names a model, as `load_published_settings` accepts it.

    Args:
        model_spec: The text.
    """
    name = model_spec.partition(":")[0]
    return name in entries() or Path(name).suffix in YAML or name in open_clip_model_names()


def model_warning(model_spec: str) -> str | None:
    """Returns what users of a model should know, None if it has no such warning.

    Args:
        model_spec: A model as `load_published_settings` accepts it, or any other.
    """
    entry = entry_of(model_spec) if is_published(model_spec) else None
    if entry is None or entry.warning is None:
        return None
    return f"{model_spec.partition(':')[0]}: {entry.warning}"


def _refuse_untrusted_classes(name: str, settings: dict[str, Any], flag: str) -> None:
    """Rejects untrusted classes of a custom entry, before its weights are downloaded."""
    kinds = {"backbone": Backbone, "head": Configurable}
    for part, described in settings.items():
        reject_untrusted_classes(described, kinds[part], name, f"{flag}.{part}" if flag else "")


def entry_of(model_spec: str) -> ModelEntry | None:
    """Returns the entry of a published model, None for weights of open_clip.

    Args:
        model_spec: The model, as `load_published_settings` accepts it.

    Raises:
        ZooError: There is no such model, or its YAML file cannot be read.
    """
    name, known_entries = model_spec.partition(":")[0], entries()
    if "/" in name and Path(name).suffix not in YAML:
        return None
    if Path(name).suffix in YAML:
        return read_entry(Path(name))
    if name not in known_entries:
        raise ZooError(
            f"there is no model {name!r}{suggest_names(name, known_entries)}: `zoo ls models` "
            "lists them"
        )
    return known_entries[name]


def _backbone_settings(entry: ModelEntry, weights: Path | None) -> dict[str, Any]:
    """Returns the settings for a file of weights; None takes the weights that come with zoo."""
    pretrained: Any = str(weights)
    if weights is None or (entry.head is not None and entry.weights_class is None):
        pretrained = entry.tag
    elif entry.weights_class is not None:
        pretrained = {
            "class_path": class_paths("published_weights").get(
                entry.weights_class, entry.weights_class
            ),
            "init_args": {"path": str(weights), **entry.arguments},
        }
    backbone = {
        "name": entry.architecture,
        "pretrained": pretrained,
        "activation": entry.activation,
        "preprocess": entry.preprocess,
    }
    if entry.head is None:
        return {"backbone": backbone}
    path = class_paths("heads").get(entry.head, entry.head)
    head = {"class_path": path, "init_args": {"weights": str(weights)}}
    return {"backbone": backbone, "head": head}


def _open_clip_settings(name: str, file: str) -> dict[str, Any]:
    import open_clip

    from zoo.backbones.factory import activation_of

    names = list(open_clip_model_names())
    if name not in names:
        raise ZooError(
            f"there is no model {name!r}{suggest_names(name, names)}: `zoo ls models` lists "
            "them, and "
            "open_clip's as TAG/ARCHITECTURE"
        )
    if file:
        raise ZooError(
            f"{name} are open_clip's own weights, which it downloads itself: leave :{file} out"
        )
    tag, _, architecture = name.partition("/")
    # an architecture with QuickGELU was trained with it, even if its tag does not repeat that
    configs = (
        open_clip.get_pretrained_cfg(architecture, tag),
        open_clip.get_model_config(architecture),
    )
    trained = "quickgelu" if "quickgelu" in map(activation_of, configs) else "gelu"
    backbone = {"name": architecture, "pretrained": tag, "activation": trained, "preprocess": None}
    return {"backbone": backbone}
