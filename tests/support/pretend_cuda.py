"""Tensors that hold numbers in host memory and report `cuda:0`, to run CUDA's code without a GPU.

Operations on them are computed on the CPU, under the dispatch of CUDA: autocast casts as on CUDA,
and code that asks for the device takes CUDA's branch. What would fail or be slow on a GPU is
recorded: devices that are mixed, synchronisations of the host, and reductions in half precision.
Backward passes need a GPU: their graph can be inspected, not run. Attention runs as torch's
composite of other operations, not as one kernel. torch must be a build with CUDA.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

import torch
import torch.nested._internal.sdpa
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass

import zoo

CUDA = torch.device("cuda:0")
HALF = (torch.bfloat16, torch.float16)
TO_DEVICE, TO_HOST = "blocking copy to the device", "copy to the host"
# operations whose value or whose shape the host waits for
WAITS = {
    "_local_scalar_dense": "item",
    "is_nonzero": "item",
    "equal": "equal",
    "nonzero": "nonzero",
    "masked_select": "masked_select",
    "_unique": "unique",
    "_unique2": "unique",
    "unique_dim": "unique",
    "unique_consecutive": "unique",
    "unique_dim_consecutive": "unique",
    "bincount": "bincount",
    "repeat_interleave.Tensor": "repeat_interleave",
}
INDEXING = {"index", "index_put", "index_put_", "_unsafe_index", "_index_put_impl_"}
REDUCTIONS = {
    *("_softmax", "_safe_softmax", "_log_softmax", "logsumexp", "log_sigmoid_forward"),
    *("exp", "sum", "mean", "prod", "cumsum", "norm", "linalg_vector_norm", "var_mean"),
    *("nll_loss_forward", "nll_loss2d_forward", "binary_cross_entropy_with_logits"),
    *("native_layer_norm", "_fused_rms_norm"),
}
# operations that launch no kernel: views, and memory without numbers
VIEWS = {
    *("view", "_unsafe_view", "_reshape_alias", "t", "transpose", "permute", "expand", "slice"),
    *("select", "unsqueeze", "squeeze", "detach", "alias", "as_strided", "split", "unbind"),
    *("split_with_sizes", "chunk", "lift_fresh", "unfold", "diagonal"),
    *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"),
}
_ZOO, _SITE, _TORCH = (
    str(path)
    for path in (
        Path(zoo.__file__).parent,
        Path(torch.__file__).parents[1],
        Path(torch.__file__).parent,
    )
)


@dataclass
class Record:
    """What was seen on the device.

    Attributes:
        mixes: Operations that mix devices, and the function that called them.
        synchronisations: What makes the host wait for the device, and the function.
        half_precision: Reductions of numbers in half precision, and the function.
    """

    mixes: Counter[tuple[str, str]] = field(default_factory=Counter)
    synchronisations: Counter[tuple[str, str]] = field(default_factory=Counter)
    half_precision: Counter[tuple[str, str]] = field(default_factory=Counter)


class PretendedTensor(Tensor):
    """A tensor that reports `cuda:0`.

    Attributes:
        host: The tensor with its numbers, on the CPU.
    """

    host: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, host: Tensor) -> "PretendedTensor":
        tensor: PretendedTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            host.size(),
            strides=host.stride(),
            storage_offset=host.storage_offset(),
            dtype=host.dtype,
            device=CUDA,
        )
        tensor.host = host
        return tensor

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if not all(issubclass(cls, kind) for kind in types):
            return NotImplemented  # a nested tensor runs operations on its parts
        raise RuntimeError(f"{function.name()} on a pretended tensor outside of PretendedCuda")

    def data_ptr(self) -> int:
        """Returns the address of the numbers."""
        return self.host.data_ptr()

    def tolist(self) -> Any:
        """Returns the numbers as a list, like `Tensor.tolist`."""
        return self.cpu().tolist()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copy = self.detach().clone()
        if isinstance(self, nn.Parameter):
            copy = nn.Parameter(copy, self.requires_grad)
        memo[id(self)] = copy
        return copy

    def __repr__(self) -> str:  # type: ignore[override]
        return f"PretendedTensor({self.host!r})"


class PretendedCuda(TorchDispatchMode):
    """A context in which `cuda:0` exists, and what is done on it is recorded.

    Modules and tensors are moved by `.to("cuda")`. They can be used only in the context. On leaving
    it, everything is as it was before.

    Attributes:
        record: What was seen since the context was entered, or since `take_record`.
    """

    def __init__(self) -> None:
        super().__init__()
        # a mode of this kind keeps factories from initialising CUDA
        self._mode_key = torch._C._TorchDispatchModeKey.FAKE
        self.record = Record()
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        torch._C._ensureCUDADeviceGuardSet()
        with ExitStack() as exits:
            for owner, name, value in (
                (torch.cuda.amp.common, "amp_definitely_not_available", False),
                (torch.cuda, "is_bf16_supported", True),
                (torch.cuda, "get_device_name", "pretended"),
                # the choice of an attention kernel asks the driver
                (torch.nested._internal.sdpa, "_select_sdp_backend", SDPBackend.FLASH_ATTENTION),
            ):
                exits.enter_context(patch.object(owner, name, lambda *_, value=value, **__: value))
            # `torch.tensor(..., device=...)` then copies by an operation that a mode sees
            exits.callback(torch._C._set_only_lift_cpu_tensors, torch._C._only_lift_cpu_tensors())
            torch._C._set_only_lift_cpu_tensors(True)
            # modules get new parameters, since those of the CPU cannot take other data
            future = torch.__future__
            exits.callback(
                future.set_overwrite_module_params_on_conversion,
                future.get_overwrite_module_params_on_conversion(),
            )
            future.set_overwrite_module_params_on_conversion(True)
            super().__enter__()
            exits.push(super().__exit__)
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exits.__exit__(kind, error, trace)

    def take_record(self) -> Record:
        """Returns what was seen so far, and starts a new record."""
        record, self.record = self.record, Record()
        return record

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if function is torch.ops.prim.device.default:
            return CUDA
        tensors = list(_tensors_in((args, kwargs)))
        if any(is_traceable_wrapper_subclass(tensor) for tensor in tensors):
            return NotImplemented  # a nested tensor runs operations on its parts
        is_pretended = any(isinstance(tensor, PretendedTensor) for tensor in tensors)
        device = kwargs.get("device")
        on_cuda = is_pretended if device is None else torch.device(device).type == "cuda"
        if is_pretended or on_cuda:
            self._note(function, args, kwargs, tensors)
        if on_cuda and device is not None:
            kwargs["device"] = torch.device("cpu")
        run = _STAND_INS.get(function.name(), function)
        outputs = run(*_map_tensors(_host_of, args), **_map_tensors(_host_of, kwargs))
        arguments = {id(_host_of(tensor)): tensor for tensor in tensors}

        def pretend(output: Tensor) -> Tensor:
            if id(output) in arguments:  # an operation in place
                return arguments[id(output)]
            return PretendedTensor(output) if on_cuda else output

        return _map_tensors(pretend, outputs)

    def _note(
        self, function: Any, args: Any, kwargs: Mapping[str, Any], tensors: Sequence[Tensor]
    ) -> None:
        """Records an operation that reads from the device or writes to it."""
        name, base = _names(function)
        for reason in (
            *_waits_for_numbers(name, base, args),
            *_waits_for_copies(base, args, kwargs),
        ):
            self.record.synchronisations[reason, _place()] += 1
        indices = _indices(args) if base in INDEXING else []
        operands = [t for t in tensors if not any(t is index for index in indices)]
        # numbers of the CPU may be mixed in, and copies and indices may come from it
        is_mixed = any(isinstance(t, PretendedTensor) for t in tensors) and any(
            t.ndim and not isinstance(t, PretendedTensor) for t in operands
        )
        if is_mixed and base not in ("_to_copy", "copy_"):
            self.record.mixes[name, _place()] += 1
        if base in REDUCTIONS and any(t.dtype in HALF for t in tensors):
            self.record.half_precision[name, _place()] += 1


class OperationCount(TorchDispatchMode):
    """Counts operations on the CPU by what they would do on a GPU.

    Attributes:
        kernels: How often each operation ran that launches a kernel.
        waits: How often the host would wait for numbers, by the reason.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kernels: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name, base = _names(function)
        if base not in VIEWS:
            self.kernels[base] += 1
        self.waits.update(_waits_for_numbers(name, base, args))
        return function(*args, **dict(kwargs or {}))


def leaves_of_graph(output: Tensor) -> set[int]:
    """Returns the ids of the tensors that a backward pass would reach.

    Args:
        output: A tensor with a graph.
    """
    waiting, leaves = [output.grad_fn], set()
    visited = set(waiting)
    while waiting:
        node: Any = waiting.pop()
        if hasattr(node, "variable"):
            leaves.add(id(node.variable))
        following = {f for f, _ in node.next_functions if f is not None} - visited
        visited |= following
        waiting.extend(following)
    return leaves


def _names(function: Any) -> tuple[str, str]:
    """Returns the name of an operation with and without its overload."""
    name = function.name().removeprefix("aten::")
    return name, name.partition(".")[0]


def _waits_for_numbers(name: str, base: str, args: Any) -> Iterator[str]:
    """Yields why the host waits for numbers in an operation on the device."""
    if name in WAITS or base in WAITS:
        yield WAITS[name if name in WAITS else base]
    if base in INDEXING and any(i.dtype in (torch.bool, torch.uint8) for i in _indices(args)):
        yield "boolean index"


def _waits_for_copies(base: str, args: Any, kwargs: Mapping[str, Any]) -> Iterator[str]:
    """Yields why the host waits for a copy in an operation."""
    if base in INDEXING and isinstance(args[0], PretendedTensor):
        if any(index.ndim and not isinstance(index, PretendedTensor) for index in _indices(args)):
            yield TO_DEVICE
    elif base in ("_to_copy", "copy_"):
        source, target = (args[1], args[0]) if base == "copy_" else (args[0], None)
        device = kwargs.get("device", source.device) if target is None else target.device
        blocks = not (kwargs.get("non_blocking") or (target is not None and any(args[2:])))
        if isinstance(source, PretendedTensor) and torch.device(device).type == "cpu":
            yield TO_HOST
        elif source.device.type == "cpu" and torch.device(device).type == "cuda" and blocks:
            yield TO_DEVICE


def _attend_within_texts(
    query: Tensor, key: Tensor, value: Tensor, starts: Tensor, *rest: Any, scale: float | None
) -> tuple[Tensor, ...]:
    """Computes attention within each text of a sequence, as `_flash_attention_forward` does."""
    _, _, _, _, is_causal, _ = rest
    texts = [
        F.scaled_dot_product_attention(
            *(x[start:end].transpose(0, 1) for x in (query, key, value)),
            is_causal=is_causal,
            scale=scale,
        ).transpose(0, 1)
        for start, end in pairwise(starts.tolist())
    ]
    return torch.cat(texts), *(query.new_empty(0) for _ in range(4))


# kernels that a CPU does not have
_STAND_INS: dict[str, Any] = {"aten::_flash_attention_forward": _attend_within_texts}


def _host_of(tensor: Tensor) -> Tensor:
    return tensor.host if isinstance(tensor, PretendedTensor) else tensor


def _tensors_in(value: Any) -> Iterator[Tensor]:
    """Yields the tensors in the arguments of an operation."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors_in(part)
    elif isinstance(value, dict):
        yield from _tensors_in(list(value.values()))


def _map_tensors(change: Callable[[Tensor], Tensor], value: Any) -> Any:
    """Returns arguments or outputs of an operation with their tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)([_map_tensors(change, part) for part in value])
    if isinstance(value, dict):
        return {name: _map_tensors(change, part) for name, part in value.items()}
    return value


def _indices(args: Any) -> list[Tensor]:
    return [index for index in args[1] if isinstance(index, Tensor)]


def _place() -> str:
    """Returns the nearest running function outside of torch and this module."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith((_TORCH, __file__)) and frame.f_back is not None:
        frame = frame.f_back
    path = frame.f_code.co_filename
    for root in (_ZOO, _SITE):
        path = path.removeprefix(f"{root}/")
    return f"{path}:{frame.f_code.co_qualname.partition('.<locals>')[0]}"
