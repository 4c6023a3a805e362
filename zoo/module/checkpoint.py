"""What a checkpoint has to have so that a module can take it."""

from collections.abc import Iterable, Mapping
from typing import Any

from lightning.pytorch.callbacks import WeightAveraging
from torch import Tensor

from zoo.errors import ZooError
from zoo.support.spec import Configurable, differences, to_config

Checkpoint = dict[str, Any]


def recorded_part(checkpoint: Checkpoint, part: str) -> dict[str, Any]:
    """Returns what a checkpoint says of a part, as `spec` gives it; nothing where it says none."""
    found: dict[str, Any] = checkpoint.get("hyper_parameters", {}).get(part, {})
    return found


def keep_own_objective(
    state: dict[str, Tensor],
    recorded: str | None,
    objective: Configurable,
    own: Mapping[str, Tensor],
) -> None:
    """Puts an objective's tensors in the place of another's, which say nothing of the model.

    Where the objective has a teacher, it is a copy of the checkpoint's towers.

    Args:
        state: The checkpoint's tensors, changed here.
        recorded: Class path of the objective that they were trained with.
        objective: The objective of the run.
        own: The module's tensors.
    """
    if recorded == to_config(objective)["class_path"]:
        return
    for name in [name for name in state if name.startswith(("objective.", "teacher."))]:
        del state[name]
    state.update({name: tensor for name, tensor in own.items() if name.startswith("objective.")})
    copies = {f"teacher.{name}": tensor.clone() for name, tensor in state.items()}
    state.update({name: tensor for name, tensor in copies.items() if name in own})


def refuse_half_an_average(checkpoint: Checkpoint, callbacks: Iterable[object]) -> None:
    """Refuses an average beside the weights that were trained if nothing takes both.

    Args:
        checkpoint: Lightning's.
        callbacks: The trainer's callbacks.

    Raises:
        ZooError: The checkpoint has both, and none of the callbacks keeps an average.
    """
    keeps_one = any(isinstance(callback, WeightAveraging) for callback in callbacks)
    if "current_model_state" in checkpoint and not keeps_one:
        raise ZooError(
            "the checkpoint holds an average of the weights beside those that were trained, "
            "and this run keeps none: name zoo.training.EMA among trainer.callbacks as that "
            "run did, or start anew from the average by --model.backbone.pretrained"
        )


def refuse_other_adapters(checkpoint: Checkpoint, backbone: Configurable) -> None:
    """Holds a checkpoint to the adapters of a backbone.

    Args:
        checkpoint: Lightning's.
        backbone: The backbone of the run.

    Raises:
        ZooError: The checkpoint has others.
    """
    theirs, ours = (
        described.get("init_args", {}).get("tuning", {}).get("lora")
        for described in (recorded_part(checkpoint, "backbone"), to_config(backbone))
    )
    if theirs != ours:
        raise ZooError(
            f"the checkpoint was trained with backbone.tuning.lora {_settings(theirs)} and "
            f"this run has {_settings(ours)}: set model.backbone.tuning.lora as it was there, "
            "or give the checkpoint as backbone.pretrained, which merges its adapters"
        )


def refuse_other_tensors(
    checkpoint: Checkpoint, own: Mapping[str, Tensor], parts: Mapping[str, Configurable]
) -> None:
    """Holds the tensors of a checkpoint to those of a module.

    Args:
        checkpoint: Lightning's.
        own: The module's tensors.
        parts: Head and objective by their names, whose arguments are compared with those that the
            checkpoint records.

    Raises:
        ZooError: They differ in name or shape. Where an argument of head or objective decides it,
            the error names the argument.
    """
    state = checkpoint["state_dict"]
    faults = dict.fromkeys(own.keys() - state.keys(), "is missing")
    faults |= dict.fromkeys(state.keys() - own.keys(), "is not known here")
    faults |= {
        name: f"is {tuple(state[name].shape)} there and {tuple(own[name].shape)} here"
        for name in own.keys() & state.keys()
        if own[name].shape != state[name].shape
    }
    if not faults:
        return
    at_fault = {name.partition(".")[0] for name in faults}
    other = [
        line
        for name, part in parts.items()
        if name in at_fault
        for line in _other_arguments(
            recorded_part(checkpoint, name), to_config(part), f"model.{name}"
        )
    ]
    first = min(faults)
    because = f"; this run has {', '.join(other)}" if other else ""
    raise ZooError(
        f"the checkpoint does not fit backbone, head and objective ({len(faults)} tensors "
        f"differ, such as: {first} {faults[first]}{because}): set them to those that it was "
        "trained with"
    )


def _other_arguments(there: dict[str, Any], here: dict[str, Any], name: str) -> list[str]:
    """Returns the arguments in which a part differs from what a checkpoint says of it."""
    if not there:
        return []
    if there["class_path"] != here["class_path"]:
        return differences(there["class_path"], here["class_path"], name)
    return differences(there.get("init_args", {}), here["init_args"], name)


def _settings(lora: dict[str, Any] | None) -> str:
    return "null" if lora is None else ", ".join(f"{name}={value}" for name, value in lora.items())
