"""A backbone's model, from architecture and weights to adapters and compiled blocks."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from zoo.backbones.factory import (
    Activation,
    build,
    check_tag,
    resolve_activation,
    resolve_architecture,
    shipped_weights,
    validate_preprocess,
)
from zoo.backbones.model_folders import find_model_folder, folder_settings, is_model_folder
from zoo.backbones.published.base import PublishedWeights
from zoo.backbones.settings import TextInput, Tuning
from zoo.backbones.towers import Tower
from zoo.backbones.weights import Weights, load_weights, read_weights, weights_file
from zoo.errors import ZooError, import_optional, suggest_names
from zoo.support import provenance
from zoo.support.class_names import class_paths, import_path
from zoo.support.configurable import from_config

NAME = "ViT-B-32-quickgelu"  # the default architecture
# parts of a model of two towers; open_clip also has models of audio, and ones that write captions
TWO_TOWERS = ("visual", "encode_text", "logit_scale")
INDUCTOR_MODES = ("reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
GRAPH_LIMIT = 64  # graphs of one block before torch runs new shapes uncompiled


@dataclass(frozen=True)
class BuiltModel:
    """An open_clip model, and the settings that were resolved while it was built.

    Attributes:
        name: The architecture.
        open_clip_name: The name that open_clip knows it by.
        config: Its configuration, in open_clip's format.
        model: The model, with its weights.
        activation: The activation of its blocks.
        text: How texts become token ids, with the settings of the weights.
        weight_origins: The origin of each tower's weights (`zoo.support.provenance`).
    """

    name: str
    open_clip_name: str
    config: dict[str, Any]
    model: Any  # open_clip's models share an interface and no class
    activation: Activation
    text: TextInput
    weight_origins: dict[str, str]


def construct_model(
    name: str | None,
    pretrained: str | PublishedWeights | None,
    activation: Activation | None,
    preprocess: dict[str, Any] | None,
    text: TextInput,
) -> BuiltModel:
    """Builds the model for a backbone's arguments.

    Args:
        name: As in Backbone.
        pretrained: As in Backbone.
        activation: As in Backbone.
        preprocess: As in Backbone.
        text: As in Backbone.

    Raises:
        ZooError: A name is unknown, a file does not fit, or the activation is ambiguous.
    """
    architecture_name = name or NAME
    known_as, config = resolve_architecture(architecture_name)
    preprocess_settings = validate_preprocess(preprocess or {}, "backbone.preprocess")
    weights = _read_pretrained(pretrained, known_as)
    # the tag or the path
    source = str(pretrained.path) if isinstance(pretrained, PublishedWeights) else pretrained
    if weights is not None:
        text = replace(
            text,
            tokenizer=text.tokenizer or weights.tokenizer,
            context_length=text.context_length or weights.context_length,
        )
    resolved_activation = resolve_activation(
        known_as,
        config,
        source,
        activation,
        weights.activation if weights else None,
        is_name_given=name is not None,
    )
    settings = ((weights.preprocess or {}) if weights else {}) | preprocess_settings
    if weights is None and source is not None and text.kept_positions is not None:
        published = build(known_as, source, resolved_activation, None, settings)
        weights = _collect_published_weights(published, source)
        settings = weights.preprocess or {}
    model = build(
        known_as,
        None if weights else source,
        resolved_activation,
        text.context_length,
        settings,
    )
    if not all(hasattr(model, part) for part in TWO_TOWERS):
        raise ZooError(
            f"{known_as} is not a model of images and texts with two towers: choose another "
            "backbone.name"
        )
    if weights is not None:
        load_weights(
            model,
            weights,
            resize_text=text.context_length is not None,
            kept_positions=text.kept_positions,
        )
    return BuiltModel(
        architecture_name,
        known_as,
        config,
        model,
        resolved_activation,
        text,
        _tower_origins(source, weights),
    )


def _read_pretrained(
    pretrained: str | PublishedWeights | None, open_clip_name: str
) -> Weights | None:
    """Returns the weights of a file or a publication; None for those of a tag, and random ones."""
    if isinstance(pretrained, PublishedWeights):
        return pretrained.read(open_clip_name)
    if pretrained is None:
        return None
    if (shipped := shipped_weights(open_clip_name, pretrained)) is not None:
        return read_weights(shipped)
    folder = find_model_folder(pretrained)
    if (file := weights_file(str(folder or pretrained))) is not None:
        return read_weights(file)
    if folder is not None and is_model_folder(folder):
        return _read_hugging_face_folder(folder, open_clip_name)
    if (publication := _publication_class(pretrained)) is not None:
        parameters = list(inspect.signature(publication.__init__).parameters.values())[1:]
        needed = [p.name for p in parameters if p.default is p.empty] or ["path"]
        raise ZooError(
            f"backbone.pretrained is {pretrained}, a publication, and its file is missing: set "
            f"{' and '.join(f'backbone.pretrained.{name}' for name in needed)}"
        )
    check_tag(open_clip_name, pretrained)
    return None


def _read_hugging_face_folder(folder: Path, open_clip_name: str) -> Weights:
    """Returns the weights of a Hugging Face model, with the settings in its folder."""
    settings = folder_settings(folder)
    publication = from_config(settings["pretrained"], PublishedWeights)
    return replace(
        publication.read(open_clip_name),
        activation=settings["activation"],
        preprocess=settings["preprocess"],
        tokenizer=settings.get("text", {}).get("tokenizer"),
    )


def _collect_published_weights(model: nn.Module, tag: str) -> Weights:
    """Returns the weights that open_clip loaded for a tag, and their preprocessing of images."""
    settings = dict(cast(Any, model).visual.preprocess_cfg)
    settings.pop("size", None)
    return Weights(Path(tag), model.state_dict(), None, preprocess=settings)


def _publication_class(name: str) -> type[PublishedWeights] | None:
    """Returns the publication of a name, None if the name is a tag or a file."""
    path = class_paths("published_weights").get(name, name)
    if "." not in path or not all(part.isidentifier() for part in path.split(".")):
        return None
    try:
        value = import_path(path)
    except (ImportError, AttributeError):
        return None
    return value if isinstance(value, type) and issubclass(value, PublishedWeights) else None


def _tower_origins(source: str | None, weights: Weights | None) -> dict[str, str]:
    """Returns the origin of the towers' weights; a checkpoint of zoo may hold random ones too."""
    towers = (provenance.IMAGE, provenance.TEXT)
    if source is None:
        return dict.fromkeys(towers, provenance.RANDOM)
    recorded = (weights.weight_origins if weights is not None else None) or {}
    return {
        tower: provenance.RANDOM
        if recorded.get(tower) == provenance.RANDOM
        else provenance.describe_pretrained(source)
        for tower in towers
    }


def apply_lora(model: nn.Module, tuning: Tuning, tower_of: Callable[[str], str]) -> None:
    """Adds adapters to the trained towers, if `tuning` has any.

    Args:
        model: The open_clip model. It is changed in place.
        tuning: What is trained.
        tower_of: Maps a module's name to its tower, `image` or `text`.

    Raises:
        ZooError: Adapters need an extra that is not installed, or cannot be put in.
    """
    if tuning.lora is None:
        return
    import_optional("peft", "hf")
    from zoo.backbones.adapters import add_adapters

    trained = [side for side in ("image", "text") if tuning.trains(side)]
    add_adapters(model, tuning.lora, tower_of, trained)


def compile_blocks(towers: Iterable[Tower], compiler: str | None) -> None:
    """Compiles the blocks of towers in place, so that parameters keep their names.

    Blocks of both towers share their code, and need a graph for each precision, with and without
    gradients, for one item and for several, and for full and cut texts. torch would stop compiling
    after 8 graphs and run the other shapes uncompiled.

    Args:
        towers: The towers.
        compiler: A backend of torch.compile, or a mode of its backend inductor; None leaves the
            blocks as they are.

    Raises:
        ZooError: There is no such backend or mode.
    """
    if compiler is None:
        return
    if compiler not in (*INDUCTOR_MODES, *torch.compiler.list_backends(exclude_tags=())):
        compilers = [*torch.compiler.list_backends(), *INDUCTOR_MODES]
        raise ZooError(
            f"backbone.compute.compile {compiler!r} is not a backend of torch.compile or a mode of "
            f"inductor{suggest_names(compiler, compilers)}: set it to inductor or null"
        )
    from torch._dynamo.config import patch  # imported here because it is slow

    settings = {"mode" if compiler in INDUCTOR_MODES else "backend": compiler}
    for tower in towers:
        for module in tower.busiest_modules():
            module.compile(**settings)
            # the setting counts when a call compiles, and is restored after the call
            with_graph_limit = patch(recompile_limit=GRAPH_LIMIT)
            module._compiled_call_impl = with_graph_limit(module._compiled_call_impl)
