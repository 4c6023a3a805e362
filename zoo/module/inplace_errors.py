"""A clear error for tensors that are modified in place although the gradient needs them."""

from torch import nn

from zoo.errors import ZooError

TORCH_MESSAGE = "modified by an inplace operation"  # in the backward pass


def translate_inplace_error(error: RuntimeError, parts: tuple[nn.Module, ...]) -> ZooError | None:
    """Translates torch's error about a tensor that was modified in place.

    Args:
        error: The error of the backward pass.
        parts: The parts of the model. Those of `zoo` itself modify nothing in place.

    Returns:
        An error that names the custom parts, None for another error or without custom parts.
    """
    custom_parts = [type(part).__name__ for part in parts if not _is_from_zoo(type(part))]
    if TORCH_MESSAGE not in str(error) or not custom_parts:
        return None
    tensor = str(error).partition("operation: ")[2].partition(";")[0]
    return ZooError(
        f"{' or '.join(custom_parts)} changed a tensor in place that the gradient needs "
        f"({tensor}): write x = x + y in the place of x += y and of methods that end in _, and "
        "clone a buffer before the loss uses it"
    )


def _is_from_zoo(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "zoo"
