"""What is particular to a GPU: precision of fp32 products, copies that do not wait, few kernels.

Since torch 2.9 every backend has its own `fp32_precision`. The older functions raise RuntimeError
once anything has set the new one, so that they are used only where torch has no other.

A plain copy between CPU and GPU first waits for all that the GPU was given to compute.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from zoo.errors import ZooError

# values by which torch names a precision of fp32 products that is less than fp32
INEXACT = frozenset({"tf32", "bf16", "high", "medium"})
EXACT = "ieee"  # the value of `fp32_precision` for fp32


@contextmanager
def exact_fp32_products() -> Iterator[None]:
    """Computes products of fp32 matrices in fp32, without TF32 or bf16."""
    if not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(precision)
        return
    torch_backends: Any = torch.backends
    backends = [torch_backends.cuda.matmul, torch_backends.mkldnn.matmul]
    # backends that follow the shared precision have the same value, and have to follow it again
    shared = torch_backends.fp32_precision
    precisions = [backend.fp32_precision for backend in backends]
    try:
        for backend in backends:
            backend.fp32_precision = EXACT
        yield
    finally:
        for backend, precision in zip(backends, precisions, strict=True):
            backend.fp32_precision = "none" if precision == shared else precision


def fp32_precisions() -> dict[str, str]:
    """Returns how products and convolutions of fp32 tensors are computed on each kind of device."""
    if not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        return {
            "products": torch.get_float32_matmul_precision(),
            "convolutions": "tf32" if torch.backends.cudnn.allow_tf32 else EXACT,
        }
    backends: Any = torch.backends
    return {
        "products": backends.cuda.matmul.fp32_precision,
        "products on a CPU": backends.mkldnn.matmul.fp32_precision,
        "convolutions": backends.cudnn.conv.fp32_precision,
    }


def move_module(module: nn.Module, device: torch.device | str | None) -> torch.device:
    """Moves a module to a device.

    Args:
        module: The module.
        device: The device; None takes a GPU if there is one.

    Returns:
        The device.

    Raises:
        ZooError: The device is not available.
    """
    try:
        chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        module.to(chosen)
    # what torch raises on unknown or absent devices
    except (RuntimeError, AssertionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ZooError(f"device {device!r} cannot be used ({reason}): give cpu or cuda") from error
    return chosen


def copy_without_waiting(tensor: Tensor, device: torch.device) -> Tensor:
    """Copies a tensor from the CPU to a device; the CPU continues at once.

    Args:
        tensor: A tensor on the CPU.
        device: Where to copy it.

    Returns:
        The copy, or the tensor itself if it is already on the device.
    """
    if device.type != "cuda":
        return tensor.to(device)
    if torch.cuda.is_available():
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


@torch.no_grad()
def interpolate_weights(
    averages: Iterable[Tensor], weights: Iterable[Tensor], share: float
) -> None:
    """Moves averages towards weights, by few kernels however many weights there are.

    Args:
        averages: The averages, changed in place: average + share (weight - average).
        weights: The weights, in the same order.
        share: The share of the way, from 0 to 1.
    """
    pairs = list(zip(averages, weights, strict=True))
    for scalars in (True, False):  # apart, since sharding splits all but scalars
        selection = [pair for pair in pairs if (pair[0].ndim == 0) == scalars]
        if selection:
            mine, theirs = zip(*selection, strict=True)
            torch._foreach_lerp_(mine, theirs, share)


@contextmanager
def without_cudnn_attention() -> Iterator[None]:
    """Leaves out cuDNN's attention, which makes a new plan for each shape.

    A plan takes longer than the whole step, and torch takes this attention first on some GPUs.
    """
    enabled = torch.backends.cuda.cudnn_sdp_enabled()
    torch.backends.cuda.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        torch.backends.cuda.enable_cudnn_sdp(enabled)


@contextmanager
def without_flash_attention_on_cpu() -> Iterator[None]:
    """Leaves out torch's flash attention where a CPU computes in bfloat16.

    The backward pass of that kernel is slower than plain attention's.
    """
    enabled = torch.backends.cuda.flash_sdp_enabled()  # the switch holds for CPUs too
    torch.backends.cuda.enable_flash_sdp(enabled and not torch.is_autocast_enabled("cpu"))
    try:
        yield
    finally:
        torch.backends.cuda.enable_flash_sdp(enabled)
