"""Reads and loads files of weights.

A file is read without running code, and is loaded completely or not at all. The class of a
checkpoint's head is only imported if `zoo.support.class_paths` allows it.
"""

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from zoo.backbones.factory import Activation, activation_of, validate_preprocess
from zoo.backbones.hugging_face import loading_hint
from zoo.backbones.lora import LoRA, has_adapters, merge_adapters
from zoo.errors import ZooError
from zoo.support.class_names import import_path
from zoo.support.class_paths import reject_untrusted_classes
from zoo.support.configurable import Configurable, is_recipe
from zoo.support.tensors import read_tensors

logger = logging.getLogger(__name__)

DESCRIPTION = "zoo.json"  # `zoo export` writes it next to the weights
LAST_CHECKPOINTS = ("checkpoints/last.ckpt", "last.ckpt")  # in the folder of a run
SUFFIXES = (".pt", ".pth", ".bin", ".safetensors")  # of files of weights
WRAPPERS = ("state_dict", "model_state_dict", "model")
PREFIXES = {"module", "model", "clip_model", "backbone"}
# Further tensors in published files: CS-CLIP's second temperature, buffers of older versions, and
# numbers of OpenAI's archives.
EXTRAS = (
    "head.logit_scale",
    "position_ids",
    "attn_mask",
    "input_resolution",
    "context_length",
    "vocab_size",
)
POSITIONS = ("positional_embedding", "text.positional_embedding")
TEXT_TOWER = (
    "text_projection",
    "positional_embedding",
    "token_embedding",
    "transformer",
    "ln_final",
)


@dataclass(frozen=True)
class Weights:
    """The weights of a file under open_clip's names.

    Attributes:
        file: The file.
        state: The tensors by name.
        activation: The activation they were trained with; None if the file does not record it.
        prefix: The prefix that the names had.
        unprefixed_names: The names without the prefix. They are in the state as well.
        preprocess: open_clip's preprocessing of images; None if the file does not record it.
        weight_origins: The origin of the weights that a checkpoint of zoo records
            (`zoo.support.provenance`); None for any other file.
        tokenizer: The folder of the tokenizer that they were trained with instead of the
            architecture's own.
    """

    file: Path
    state: dict[str, Tensor]
    activation: Activation | None
    prefix: str = ""
    unprefixed_names: tuple[str, ...] = ()
    preprocess: dict[str, Any] | None = None
    weight_origins: dict[str, str] | None = None
    tokenizer: str | None = None
    context_length: int | None = None


def weights_file(path: str) -> Path | None:
    """Returns the file of weights at a path.

    Args:
        path: A file, the folder of a run, or a folder that holds open_clip's file.

    Returns:
        The file, or None if there is none.
    """
    from open_clip.constants import HF_SAFE_WEIGHTS_NAME, HF_WEIGHTS_NAME

    names = (HF_SAFE_WEIGHTS_NAME, HF_WEIGHTS_NAME, *LAST_CHECKPOINTS)
    files = (Path(path) / name for name in names)
    return next((file for file in (Path(path), *files) if file.is_file()), None)


def read_weights(file: Path) -> Weights:
    """Reads a checkpoint of zoo, or a state dict that may be wrapped and prefixed.

    Args:
        file: The file.

    Returns:
        Its weights, with adapters merged.

    Raises:
        ZooError: The file cannot be read, or does not hold exactly one open_clip model.
    """
    content = read_tensors(file)
    state: dict[str, Any] = content
    wrapped = [state]  # a file may hold itself
    while (
        inner := next((w for w in WRAPPERS if isinstance(state.get(w), dict)), None)
    ) is not None:
        state = state[inner]
        if any(state is outer for outer in wrapped):
            raise ZooError(f"{file} contains itself as {inner!r}: save the model's state_dict()")
        wrapped.append(state)
    state = {
        key.replace("_orig_mod.", ""): value
        for key, value in state.items()
        if isinstance(value, Tensor)
    }
    settings = _recorded_settings(content)
    if settings:
        state = {key: value for key, value in state.items() if not key.startswith("teacher.")}
    prefix = _prefix(file, state)
    model_state = {
        key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)
    }
    other_state = {key: value for key, value in state.items() if not key.startswith(prefix)}
    if settings:
        # the head has the trained temperature; the backbone's own is the initial one
        model_state |= _temperature_tensors(other_state) if _scales_cosine(file, content) else {}
        other_state = {
            key: value
            for key, value in other_state.items()
            if not key.startswith(("head.", "objective."))
        }
        logger.info("%s: using only the backbone, without head and objective", file)
    if has_adapters(model_state):
        lora = _group_argument(settings, "tuning", "lora")
        if not isinstance(lora, dict):
            raise ZooError(
                f"{file} holds adapters without the alpha they were trained with: save the merged "
                "model's state_dict() instead"
            )
        model_state = merge_adapters(model_state, LoRA(**lora).scaling)
    description = content if settings else _read_export_description(file)
    model_settings = settings or {**_recorded_settings(description), **_read_open_clip_config(file)}
    return Weights(
        file,
        {**model_state, **other_state},
        model_settings.get("activation"),
        prefix,
        tuple(other_state),
        model_settings.get("preprocess"),
        _recorded_origin(description),
        _group_argument(model_settings, "text", "tokenizer"),
    )


def _prefix(file: Path, state: dict[str, Tensor]) -> str:
    """Returns the prefix of the names of the image tower."""
    prefixes = {
        key.partition("visual.")[0]
        for key in state
        if key.startswith("visual.") or ".visual." in key
    }
    if not prefixes:
        names = ", ".join(sorted(state)[:3]) or "no tensor"
        if any("vision_model." in key for key in state):
            raise ZooError(f"{file} has the weights of {loading_hint(file)}")
        raise ZooError(
            f"{file} is not an open_clip model, no name in it has `visual.` ({names}, ...): "
            "convert it to open_clip's names"
        )
    known_prefixes = [prefix for prefix in prefixes if set(prefix.split(".")) <= {*PREFIXES, ""}]
    if len(prefixes) > 1 or not known_prefixes:
        raise ZooError(
            f"{file} holds image towers under {', '.join(map(repr, sorted(prefixes)))}, so the "
            "model is ambiguous: save one model"
        )
    return known_prefixes[0]


def _recorded_settings(held: dict[str, Any]) -> dict[str, Any]:
    """Returns the backbone's arguments in a checkpoint of zoo; empty for any other file."""
    recipe = held.get("hyper_parameters")
    settings: dict[str, Any] = recipe["backbone"].get("init_args", {}) if is_recipe(recipe) else {}
    return settings


def _group_argument(settings: dict[str, Any], group: str, name: str) -> Any:
    """Returns an argument of a group of the backbone's arguments; None if it is missing."""
    arguments = settings.get(group)
    return arguments.get(name) if isinstance(arguments, dict) else None


def _read_export_description(file: Path) -> dict[str, Any]:
    """Returns the description by `zoo export` next to open_clip's file, in a checkpoint's format.

    It is empty for any other file.
    """
    from open_clip.constants import HF_SAFE_WEIGHTS_NAME

    description = file.with_name(DESCRIPTION)
    if file.name != HF_SAFE_WEIGHTS_NAME or not description.is_file():
        return {}
    try:
        content = json.loads(description.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ZooError(
            f"{description} cannot be read ({error}): fix it, or move the weights out of its folder"
        ) from error
    if not isinstance(content, dict):
        return {}
    return {"hyper_parameters": content.get("recipe"), "zoo": content.get("origin")}


def _read_open_clip_config(file: Path) -> dict[str, Any]:
    """Returns the settings in open_clip's configuration next to the file of weights.

    It is empty for any other file.
    """
    from open_clip.constants import HF_CONFIG_NAME, HF_SAFE_WEIGHTS_NAME, HF_WEIGHTS_NAME

    config = file.with_name(HF_CONFIG_NAME)
    if file.name not in (HF_SAFE_WEIGHTS_NAME, HF_WEIGHTS_NAME) or not config.is_file():
        return {}
    try:
        content = json.loads(config.read_text("utf-8"))
        model, images = dict(content["model_cfg"]), dict(content.get("preprocess_cfg") or {})
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ZooError(
            f"{config} does not describe the weights in its folder "
            f"({type(error).__name__}: {error}): fix it, or move the weights out of the folder"
        ) from error
    images.pop("size", None)
    return {
        "activation": activation_of(model),
        "preprocess": validate_preprocess(images, str(config)),
    }


def _recorded_origin(held: dict[str, Any]) -> dict[str, str] | None:
    """Returns the origin of the weights in a checkpoint of zoo; None for any other file."""
    zoo = held.get("zoo")
    origin = zoo.get("weights") if isinstance(zoo, dict) else None
    return origin if isinstance(origin, dict) else None


def _scales_cosine(file: Path, held: dict[str, Any]) -> bool:
    """Returns whether a checkpoint of zoo has a head whose scale is the towers' temperature.

    It is false if the head's class cannot be imported.

    Raises:
        ZooError: The class is not trusted.
    """
    path = held.get("hyper_parameters", {}).get("head", {}).get("class_path", "")
    if path:
        reject_untrusted_classes({"class_path": path}, Configurable, str(file), "--model.head")
    try:
        return bool(import_path(path).scales_cosine)
    except (ImportError, AttributeError, ValueError):
        return False


def _temperature_tensors(beside: dict[str, Tensor]) -> dict[str, Tensor]:
    names = {"head.log_scale": "logit_scale", "head.bias": "logit_bias"}
    return {names[key]: value for key, value in beside.items() if key in names}


def load_weights(
    model: nn.Module,
    weights: Weights,
    resize_text: bool = False,
    kept_positions: int | None = None,
) -> None:
    """Loads weights into a model, all or none.

    Known further tensors of published files are left out and logged.

    Args:
        model: The open_clip model.
        weights: The weights.
        resize_text: Whether the table of text positions is interpolated to the model's context.
        kept_positions: How many of the first positions are kept, as in Long-CLIP; None interpolates
            all of them.

    Raises:
        ZooError: Tensors are missing, unexpected, of another shape or not finite; the message lists
            them.
    """
    target = model.state_dict()
    state = _rename_text_keys(weights.state, target)
    extras = [key for key in state if key not in target and key.endswith(EXTRAS)]
    if extras:
        logger.info(
            "%s: left out %s, which open_clip models do not have", weights.file, ", ".join(extras)
        )
    state = {key: value for key, value in state.items() if key not in extras}
    for key in ("logit_scale", "logit_bias"):
        if key in state and key in target and state[key].numel() == 1:
            state[key] = state[key].reshape(target[key].shape)
    positions = next((key for key in target if key in POSITIONS), "")
    if kept_positions is not None and not positions:
        raise ZooError(
            "backbone.text.kept_positions needs a table of text positions, which this text tower "
            "does not have: set it to null"
        )
    if (
        resize_text
        and positions in state
        and _have_equal_width(state[positions], target[positions])
    ):
        _resize_positions(model, state, positions, len(target[positions]), kept_positions)
    faults = {
        "missing": [key for key in target if key not in state],
        "unexpected": [key for key in state if key not in target],
        "of another shape": [
            f"{key} {tuple(state[key].shape)} for {tuple(target[key].shape)}"
            for key in state
            if key in target and state[key].shape != target[key].shape
        ],
    }
    if any(faults.values()):
        wrong = "; ".join(
            f"{len(keys)} {kind}: {list_keys(keys)}" for kind, keys in faults.items() if keys
        )
        advice = "set backbone.name to the architecture the file was made with"
        if any("lora_" in key for key in faults["unexpected"]):
            advice = (
                "it holds LoRA tensors, set backbone.pretrained to their publication "
                "(`zoo ls published_weights`)"
            )
        raise ZooError(f"{weights.file} does not fit the backbone ({wrong}): {advice}")
    refuse_not_finite(weights.file, state, "fetch the file again, or give another")
    model.load_state_dict(state)


def _resize_positions(
    model: nn.Module, state: dict[str, Tensor], key: str, length: int, kept: int | None
) -> None:
    """Replaces the table of text positions in a state by one of the model's length."""
    if len(state[key]) == length:
        return
    if kept is not None:
        state[key] = stretch_positions(state[key], length, kept)
        return
    from open_clip.model import resize_text_pos_embed

    resize_text_pos_embed(state, model)


def stretch_positions(table: Tensor, length: int, kept: int) -> Tensor:
    """Stretches a table of positions, and keeps the first ones, as Long-CLIP does.

    With a factor s = (length - kept) / (positions - kept), position kept + i of the table moves to
    kept + s i, those between two are interpolated linearly, and those after the last continue the
    line through the last two. With 77 positions, 20 kept and a length of 248, s is 4: this is the
    table of `load_from_clip` in `model/longclip.py` of github.com/beichenzbc/Long-CLIP.

    Args:
        table: The vectors of the positions, `[positions, D]`.
        length: The new number of positions, at least the old one.
        kept: How many of the first positions keep their vectors, at most two fewer than there are.

    Returns:
        The new table, `[length, D]`.

    Raises:
        ZooError: The length is smaller than before, or too many positions are kept.
    """
    positions = len(table)
    if length < positions or kept > positions - 2:
        raise ZooError(
            f"backbone.text.kept_positions is {kept} and backbone.text.context_length {length}, "
            f"and the weights have {positions} text positions: keep at most {positions - 2}, and "
            f"give a context length of at least {positions}, or set kept_positions to null"
        )
    scale = (length - kept) / (positions - kept)
    places = kept + torch.arange(length - kept, dtype=torch.float64, device=table.device) / scale
    left = places.floor().long().clamp(max=positions - 2)
    share = (places - left)[:, None]
    values = table.double()
    stretched = values[left] * (1 - share) + values[left + 1] * share
    return torch.cat([table[:kept], stretched.to(table.dtype)])


def _have_equal_width(table: Tensor, other: Tensor) -> bool:
    """Returns whether two tables have vectors of the same width."""
    return table.ndim == 2 and table.shape[1:] == other.shape[1:]


def refuse_not_finite(source: Path, state: dict[str, Tensor], advice: str) -> None:
    """Checks that weights are finite.

    Args:
        source: The source of the weights in messages.
        state: The weights by name.
        advice: What the user can do, the end of the message.

    Raises:
        ZooError: Weights are NaN or infinite.
    """
    wrong = [
        name
        for name, tensor in state.items()
        if tensor.is_floating_point() and not tensor.isfinite().all()
    ]
    if wrong:
        raise ZooError(
            f"{source} holds NaN or infinite weights in {len(wrong)} of {len(state)} tensors "
            f"({list_keys(wrong, 2)}): {advice}"
        )


def _rename_text_keys(state: dict[str, Tensor], target: dict[str, Tensor]) -> dict[str, Tensor]:
    """Adds or removes the prefix `text.` of the text tower's names, to match the model."""
    if "text.token_embedding.weight" in target and "token_embedding.weight" in state:
        return {
            f"text.{key}" if key.startswith(TEXT_TOWER) else key: value
            for key, value in state.items()
        }
    if "token_embedding.weight" in target and "text.token_embedding.weight" in state:
        return {key.removeprefix("text."): value for key, value in state.items()}
    return state


def list_keys(keys: Iterable[str], n: int = 5) -> str:
    """Returns the first names of a list, with dots if there are more."""
    first_keys = list(islice(keys, n + 1))
    return ", ".join(first_keys[:n]) + (", ..." if len(first_keys) > n else "")
