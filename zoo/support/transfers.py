"""Copies between the CPU and a GPU that do not wait for what the GPU still computes."""

from collections.abc import Callable

import torch
from torch import Tensor


def copy_without_waiting(tensor: Tensor, device: torch.device) -> Tensor:
    """Copies a tensor from the CPU to a device; the CPU goes on at once.

    A plain copy to a GPU first waits for all that the GPU was given to compute.

    Args:
        tensor: A tensor on the CPU.
        device: Where to copy it.

    Returns:
        The copy, or the tensor itself if it is already on the device.
    """
    if device.type == "cuda" and torch.cuda.is_available():
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def begin_reading(numbers: Tensor) -> Callable[[], list[int]]:
    """Begins to copy whole numbers from a device to the CPU.

    Args:
        numbers: The numbers, `[n]`.

    Returns:
        A function that waits for the copy and returns the numbers. On a GPU it waits only for what
        the GPU was given before this call.
    """
    if numbers.device.type != "cuda" or not torch.cuda.is_available():
        return numbers.tolist
    on_host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
    on_host.copy_(numbers, non_blocking=True)
    copied = torch.cuda.Event()
    copied.record()

    def read() -> list[int]:
        copied.synchronize()
        values: list[int] = on_host.tolist()
        return values

    return read
