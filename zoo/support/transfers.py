"""Copies between the CPU and a GPU that do not wait for what the GPU still computes."""

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
