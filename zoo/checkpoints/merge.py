"""`zoo merge`: WiSE-FT (Wortsman et al., 2022), theta(alpha) = (1 - alpha) theta_0 + alpha theta_1.

theta_0 are the weights before training, theta_1 those after it. Adapters are merged first:
interpolating their factors would scale B A by alpha squared.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import lightning
import torch
from torch import Tensor

from zoo import __version__
from zoo.backbones.backbone import Backbone
from zoo.backbones.published.base import PublishedWeights
from zoo.backbones.weights import weights_file
from zoo.checkpoints.files import AtomicCheckpointIO, read_checkpoint
from zoo.checkpoints.load import load_checkpoint
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.support.class_paths import reject_untrusted_classes
from zoo.support.configurable import from_config, to_config
from zoo.support.files import check_writable

State = dict[str, Tensor]


def interpolated_checkpoint_path(out: Path, alpha: float) -> Path:
    """Returns the checkpoint that a merge into the folder `out` writes for an alpha."""
    return out / f"alpha_{alpha:.9g}.ckpt"


def write_interpolated_checkpoints(
    checkpoint: str | Path,
    alphas: Sequence[float],
    out: str | Path,
    base: str | Path | None = None,
) -> list[Path]:
    """Writes one checkpoint per alpha.

    Args:
        checkpoint: The tuned model.
        alphas: Weights of the tuned model, from 0 to 1, without duplicates.
        out: The folder for the checkpoints.
        base: The weights that training started from, a tag or a file. None for those in the
            checkpoint's recipe or, for adapters, the weights that they adapt.

    Returns:
        The paths of the checkpoints, in the order of the alphas.

    Raises:
        ZooError: An alpha is out of range or a duplicate, the checkpoints cannot be written, the
            initial weights are not known or not those in `base`, or the head starts from random
            weights, which cannot be interpolated.
    """
    checkpoint, out = Path(checkpoint), Path(out)
    base = None if base is None else str(base)
    files = [interpolated_checkpoint_path(out, alpha) for alpha in alphas]
    if not files or len(set(files)) < len(files) or not all(0 <= alpha <= 1 for alpha in alphas):
        raise ZooError(f"alphas are {list(alphas)}: give numbers from 0 to 1, without duplicates")
    check_writable(files[0], overwrite=True)
    module = load_checkpoint(checkpoint)
    (start, untuned), tuned = (
        _load_initial_state_and_origins(checkpoint, module, base),
        _state_with_merged_adapters(module),
    )
    unmatched = [
        name for name in tuned if name not in start or start[name].shape != tuned[name].shape
    ]
    if unmatched:
        raise ZooError(
            f"{base} does not fit {checkpoint} ({unmatched[0]} is missing or has another shape): "
            "set --base to the weights that it started from"
        )
    changed = [
        name
        for name, tensor in _frozen_parameters(module).items()
        if not torch.equal(tensor, start[name])
    ]
    if changed:
        raise ZooError(
            f"{checkpoint} was not trained from {base or 'the weights in its recipe'} "
            f"({changed[0]} was frozen but differs): set --base to the weights that it started from"
        )
    recipe = {
        **module.constructor_config(),
        "backbone": to_config(module.backbone.with_merged_adapters()),
    }
    origin = {
        name: part
        for name, part in read_checkpoint(checkpoint).get("zoo", {}).items()
        if name in ("data", "trained_images", "weights")
    }
    for alpha, file in zip(alphas, files, strict=True):
        provenance = origin if alpha > 0 else {**origin, "trained_images": [], "weights": untuned}
        content = {
            "state_dict": interpolate_states(start, tuned, alpha),
            "hyper_parameters": {
                **recipe,
                "_instantiator": "lightning.pytorch.cli.instantiate_module",
            },
            "zoo": {
                "version": __version__,
                "lightning": lightning.__version__,
                **provenance,
                "alpha": alpha,
                "tuned": str(checkpoint),
            },
            "pytorch-lightning_version": lightning.__version__,
        }
        AtomicCheckpointIO().save_checkpoint(content, file)
    return files


def interpolate_states(start: State, tuned: State, alpha: float) -> State:
    """Returns (1 - alpha) start + alpha tuned, computed in fp64.

    Args:
        start: The state at alpha 0.
        tuned: The state at alpha 1. Its integer tensors, which are counters, are copied.
        alpha: The weight of the tuned state.
    """
    return {
        name: ((1 - alpha) * start[name].double() + alpha * tensor.double()).to(tensor.dtype)
        if tensor.is_floating_point()
        else tensor
        for name, tensor in tuned.items()
    }


def _load_initial_state_and_origins(
    checkpoint: Path, module: ZooModule, base: str | None
) -> tuple[State, dict[str, str]]:
    """Returns the state of the module before training, and the origin of its weights."""
    recipe = read_checkpoint(checkpoint)["hyper_parameters"]
    recorded = recipe["backbone"]["init_args"]
    source = base if base is not None else recorded.get("pretrained")
    if source is None and module.backbone.tuning.lora is None:
        raise ZooError(
            f"the recipe of {checkpoint} has no initial weights: set --base to the tag or the file "
            "of the weights that training started from"
        )
    if base is None and not (isinstance(source, str) and weights_file(source)):
        reject_untrusted_classes({"pretrained": source}, Backbone, str(checkpoint))
    plain_tuning = replace(module.backbone.tuning, lora=None)
    try:
        pretrained = from_config(source, PublishedWeights) if isinstance(source, dict) else source
        settings = {
            **module.backbone.recorded_arguments,
            "pretrained": pretrained,
            "tuning": plain_tuning,
        }
        backbone = type(module.backbone)(**settings)
    except ZooError as error:
        raise ZooError(
            f"the weights that {checkpoint} started from cannot be loaded ({error}): give them "
            "with --base"
        ) from error
    origins = backbone.weights
    if source is None:
        backbone.load_state_dict(_backbone_before_adapters(module.backbone).state_dict())
    state = {f"backbone.{name}": tensor for name, tensor in backbone.state_dict().items()}
    head = _initial_head_state(
        module, backbone, recipe.get("head", {}).get("init_args", {}).get("weights")
    )
    state |= {f"head.{name}": tensor for name, tensor in head.items()}
    state |= {
        name: tensor
        for name, tensor in module.state_dict().items()
        if name.startswith("objective.")
    }
    return state, origins


def _initial_head_state(module: ZooModule, backbone: Backbone, weights: str | None) -> State:
    """Returns the state that the head starts from.

    Args:
        module: The tuned module.
        backbone: The plain backbone.
        weights: The file in the head's argument `weights`, or None.

    Raises:
        ZooError: The head starts from random weights.
    """
    states, settings = [], dict(module.head.recorded_arguments)
    if weights is not None:
        settings["weights"] = weights
    for seed in (0, 1):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            head = type(module.head)(**settings)
            head.attach(backbone.shapes)
        states.append(head.state_dict())
    random_names = [
        name for name, tensor in states[0].items() if not torch.equal(tensor, states[1][name])
    ]
    if random_names:
        raise ZooError(
            f"{type(module.head).__name__} starts from random weights ({random_names[0]}), which "
            "cannot be interpolated: use WiSE-FT with a head that starts from fixed weights, such "
            "as Cosine, Linear or MaxSim"
        )
    return states[0]


def _state_with_merged_adapters(module: ZooModule) -> State:
    """Returns the module's state with adapters merged."""
    towers = {
        f"backbone.{name}": tensor
        for name, tensor in module.backbone.with_merged_adapters().state_dict().items()
    }
    return towers | {
        name: tensor
        for name, tensor in module.state_dict().items()
        if not name.startswith("backbone.")
    }


def _backbone_before_adapters(backbone: Backbone) -> Backbone:
    """Returns the backbone before adapters were added."""
    copied = copy.deepcopy(backbone)
    for name, parameter in copied.named_parameters():
        if "lora_B" in name:
            parameter.data.zero_()
    return copied.with_merged_adapters()


def _frozen_parameters(module: ZooModule) -> State:
    """Returns the towers' weights that were frozen in training, by name."""
    if module.backbone.tuning.lora is None:
        frozen = {
            name: p.detach()
            for name, p in module.backbone.named_parameters()
            if not p.requires_grad
        }
    else:
        frozen = dict(_backbone_before_adapters(module.backbone).named_parameters())
    # without the temperature, which the head owns
    return {f"backbone.{name}": p.detach() for name, p in frozen.items() if p.ndim}
