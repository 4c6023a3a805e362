"""Checks that a checkpoint fits a module."""

from collections.abc import Iterable, Mapping
from typing import Any

from lightning.pytorch.callbacks import WeightAveraging
from torch import Tensor

from zoo.errors import ZooError
from zoo.support.configurable import Configurable, differences, to_config

Checkpoint = dict[str, Any]


def recorded_part(checkpoint: Checkpoint, part: str) -> dict[str, Any]:
    """Returns the configuration of a part in a checkpoint, empty if it has none."""
    recorded: dict[str, Any] = checkpoint.get("hyper_parameters", {}).get(part, {})
    return recorded


def replace_objective_state(
    state: dict[str, Tensor],
    recorded_class_path: str | None,
    objective: Configurable,
    module_state: Mapping[str, Tensor],
) -> None:
    """Replaces the tensors of another objective in a checkpoint by those of this objective.

    A teacher of this objective becomes a copy of the checkpoint's towers.

    Args:
        state: The checkpoint's tensors, changed here.
        recorded_class_path: Class path of the objective that they were trained with.
        objective: The objective of the run.
        module_state: The module's tensors.
    """
    if recorded_class_path == to_config(objective)["class_path"]:
        return
    for name in [name for name in state if name.startswith(("objective.", "teacher."))]:
        del state[name]
    state.update(
        {name: tensor for name, tensor in module_state.items() if name.startswith("objective.")}
    )
    copies = {f"teacher.{name}": tensor.clone() for name, tensor in state.items()}
    state.update({name: tensor for name, tensor in copies.items() if name in module_state})


def refuse_unused_average(checkpoint: Checkpoint, callbacks: Iterable[object]) -> None:
    """Refuses a checkpoint with averaged weights if no callback restores the average.

    Args:
        checkpoint: A checkpoint of Lightning.
        callbacks: The trainer's callbacks.

    Raises:
        ZooError: The checkpoint has averaged weights, and no callback averages weights.
    """
    keeps_one = any(isinstance(callback, WeightAveraging) for callback in callbacks)
    if "current_model_state" in checkpoint and not keeps_one:
        raise ZooError(
            "the checkpoint has an average of the weights, but this run does not average weights: "
            "add zoo.training.EMA to trainer.callbacks, or start a new run from the average with "
            "--model.backbone.pretrained"
        )


def refuse_other_adapters(checkpoint: Checkpoint, backbone: Configurable) -> None:
    """Checks that a checkpoint has the adapters of a backbone.

    Args:
        checkpoint: A checkpoint of Lightning.
        backbone: The backbone of the run.

    Raises:
        ZooError: The checkpoint has other adapters.
    """
    theirs, ours = (
        described.get("init_args", {}).get("tuning", {}).get("lora")
        for described in (recorded_part(checkpoint, "backbone"), to_config(backbone))
    )
    if theirs != ours:
        raise ZooError(
            f"the checkpoint was trained with backbone.tuning.lora {_format_lora(theirs)}, but "
            "this "
            f"run has {_format_lora(ours)}: set model.backbone.tuning.lora to the checkpoint's "
            "value, "
            "or set backbone.pretrained to the checkpoint, which merges its adapters"
        )


def refuse_other_tensors(
    checkpoint: Checkpoint, module_state: Mapping[str, Tensor], parts: Mapping[str, Configurable]
) -> None:
    """Checks that the tensors of a checkpoint have the names and shapes of a module's.

    Args:
        checkpoint: A checkpoint of Lightning.
        module_state: The module's tensors.
        parts: Head and objective by name; their arguments are compared with the checkpoint's.

    Raises:
        ZooError: Names or shapes differ. The error lists the arguments of head or objective that
            differ.
    """
    state = checkpoint["state_dict"]
    faults = dict.fromkeys(module_state.keys() - state.keys(), "is missing")
    faults |= dict.fromkeys(state.keys() - module_state.keys(), "is not part of this model")
    faults |= {
        name: f"is {tuple(state[name].shape)}, expected {tuple(module_state[name].shape)}"
        for name in module_state.keys() & state.keys()
        if module_state[name].shape != state[name].shape
    }
    if not faults:
        return
    wrong_parts = {name.partition(".")[0] for name in faults}
    changes = [
        line
        for name, part in parts.items()
        if name in wrong_parts
        for line in _other_arguments(
            recorded_part(checkpoint, name), to_config(part), f"model.{name}"
        )
    ]
    example = min(faults)
    reason = f"; this run has {', '.join(changes)}" if changes else ""
    raise ZooError(
        f"the checkpoint does not fit backbone, head and objective ({len(faults)} tensors "
        f"differ, such as: {example} {faults[example]}{reason}): use those that it was "
        "trained with"
    )


def _other_arguments(recorded: dict[str, Any], current: dict[str, Any], name: str) -> list[str]:
    """Returns the arguments in which a part differs from the checkpoint's configuration."""
    if not recorded:
        return []
    if recorded["class_path"] != current["class_path"]:
        return differences(recorded["class_path"], current["class_path"], name)
    return differences(recorded.get("init_args", {}), current["init_args"], name)


def _format_lora(lora: dict[str, Any] | None) -> str:
    return "null" if lora is None else ", ".join(f"{name}={value}" for name, value in lora.items())
