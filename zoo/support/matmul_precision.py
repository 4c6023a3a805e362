"""The precision of products of fp32 matrices, by the API of torch that is in use.

Since torch 2.9 every backend has its own `fp32_precision`. The older functions raise RuntimeError
once anything has set the new one, so that they are used only where torch has no other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

EXACT = "ieee"


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
