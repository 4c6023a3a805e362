"""Tensors that a part of the model changed in place though the gradient needs them."""

from torch import nn

from zoo.errors import ZooError

TOLD = "modified by an inplace operation"  # by torch, in the backward pass


def changed_in_place(error: RuntimeError, parts: tuple[nn.Module, ...]) -> ZooError | None:
    """Says which part is at fault for torch's error about a tensor that was changed in place.

    Args:
        error: What the backward pass raised.
        parts: The parts of the model. Those of `zoo` itself change nothing in place.

    Returns:
        The sentence, or None where the error is another, or no part comes from outside `zoo`.
    """
    outside = [type(part).__name__ for part in parts if not _of_zoo(type(part))]
    if TOLD not in str(error) or not outside:
        return None
    which = str(error).partition("operation: ")[2].partition(";")[0]
    return ZooError(
        f"{' or '.join(outside)} changed a tensor in place that the gradient needs ({which}): "
        "write x = x + y in the place of x += y and of methods that end in _, and clone a buffer "
        "before the loss uses it"
    )


def _of_zoo(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "zoo"
