"""The only file that knows ranks.

It gathers with gradients, sums over ranks, deals data without padding and shards parameters. A
rank's loss is scaled so that the mean over ranks, which DDP takes, is the loss of the joined
batch. The backward pass of `gather` therefore *sums* what every rank's loss says about a slice.
"""

import re
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.utils.data import DistributedSampler

from zoo.errors import ZooError

T = TypeVar("T")
# what gloo, NCCL and the store by which ranks meet say of a rank that is gone
_GONE = re.compile(
    r"connection (was |is )?(\w+ )?(closed|reset|refused)|broken pipe|timed? ?out"
    r"|remote process exited|communicator was aborted|network error",
    re.IGNORECASE,
)


def world_size() -> int:
    """Returns the number of ranks, 1 outside a process group."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Returns this process's rank, 0 outside a process group."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def leave_group() -> None:
    """Ends the process group, if any: its threads abort a process that ends with them."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def rank_lost(error: BaseException) -> str | None:
    """Returns what the network says of another rank that ended or is not reached.

    Args:
        error: What ended this rank.

    Returns:
        The words, None where the error is of another kind.
    """
    of_network = "gloo" in str(error) or isinstance(error, getattr(dist, "DistError", ()))
    found = _GONE.search(str(error)) if of_network else None
    return None if found is None else found[0]


def _collective(name: str, before: str) -> Callable[[Tensor, Tensor], object]:
    """Returns a collective by its name in torch from 2.14 on, or by the one before."""
    found: Callable[[Tensor, Tensor], object] = getattr(
        dist, name if hasattr(dist, name) else before
    )
    return found


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        out = x.new_empty(world_size() * len(x), *x.shape[1:])
        _collective("all_gather_single", "all_gather_into_tensor")(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        grad = grad.contiguous()
        n = len(grad) // world_size()
        if dist.get_backend() == "nccl":
            own = grad.new_empty(n, *grad.shape[1:])
            _collective("reduce_scatter_single", "reduce_scatter_tensor")(own, grad)
            return own
        dist.all_reduce(grad)
        return grad[rank() * n : (rank() + 1) * n]


def gather(x: Tensor) -> Tensor:
    """Gathers tensors of all ranks, with gradients to every rank's slice.

    Args:
        x: This rank's tensor, `[n, ...]`, of the same shape on every rank.

    Returns:
        All ranks' tensors in rank order, `[W n, ...]`.
    """
    if world_size() == 1:
        return x
    if x.dtype is torch.bool:
        return gather(x.to(torch.uint8)).bool()
    gathered: Tensor = _Gather.apply(x)
    return gathered


class _Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return _exchange(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return _exchange(grad)


def _exchange(x: Tensor) -> Tensor:
    # before `empty_like`, which keeps strides: received slices would land interleaved
    x = x.contiguous()
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x)
    return out


def transpose(x: Tensor) -> Tensor:
    """Transposes a matrix whose rows are spread over ranks.

    Only scores travel, and each goes to the one rank that needs it.

    Args:
        x: This rank's n rows against the m columns of each rank, `[n, W m]`.

    Returns:
        This rank's columns as rows, `[m, W n]`.
    """
    if world_size() == 1:
        return x.T
    n, m = len(x), x.shape[1] // world_size()
    by_owner = x.reshape(n, world_size(), m).permute(1, 2, 0)  # [W, m, n]
    # [W, m, n]: this rank's columns, rank by rank of rows
    received: Tensor = _Exchange.apply(by_owner)
    return received.permute(1, 0, 2).reshape(m, world_size() * n)


def sum_over_ranks(x: Tensor) -> Tensor:
    """Returns the sum of a tensor over all ranks, without gradient."""
    total = x.detach().clone()
    if world_size() > 1:
        dist.all_reduce(total)
    return total


def mean_over_ranks(x: Tensor) -> Tensor:
    """Returns the mean of a tensor over all ranks, without gradient."""
    return sum_over_ranks(x) / world_size()


def max_over_ranks(value: int, device: torch.device) -> int:
    """Returns the largest of the ranks' numbers."""
    return largest_over_ranks([value], device)[0]


def largest_over_ranks(values: Sequence[int], device: torch.device) -> list[int]:
    """Returns each number's largest over ranks; every rank gives as many."""
    if world_size() == 1:
        return list(values)
    largest = torch.tensor(values, device=device)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    found: list[int] = largest.tolist()
    return found


def gather_objects(value: Any) -> list[Any]:
    """Returns every rank's value, in rank order, on every rank."""
    if world_size() == 1:
        return [value]
    out: list[Any] = [None] * world_size()
    dist.all_gather_object(out, value)
    return out


def gather_made(make: Callable[[], T]) -> list[T]:
    """Returns what every rank makes, in rank order, on every rank.

    Args:
        make: Makes this rank's value.

    Raises:
        ZooError: On every rank, where one rank raised it: the others would wait for that rank.
    """
    made: T | ZooError
    try:
        made = make()
    except ZooError as error:
        made = error
    every: list[T | ZooError] = gather_objects(made)
    failed = next((value for value in every if isinstance(value, ZooError)), None)
    if failed is not None:
        raise failed
    return [value for value in every if not isinstance(value, ZooError)]


class RankSampler(DistributedSampler[Any]):
    """Deals a data set to ranks by turns, and repeats no item where DistributedSampler pads.

    Args:
        data: The data set.
        rank: The rank whose items these are.
        world: How many ranks there are.
    """

    def __init__(self, data: Sized, rank: int, world: int) -> None:
        super().__init__(data, world, rank, shuffle=False)  # type: ignore[arg-type]
        self.n = len(data)
        self.num_samples = len(range(rank, self.n, world))

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.rank, self.n, self.num_replicas))


def shard(module: nn.Module, mesh: DeviceMesh, methods: Sequence[str] = ()) -> None:
    """Splits parameters, gradients and optimiser state over devices (FSDP 2).

    The module is one unit, gathered once a step however often a tower runs: texts of other lengths
    make other numbers of calls on each rank, and a rank that gathers alone waits for ever. Scalars
    cannot be split: `average_scalars` does for them what is done for the rest.

    Args:
        module: What is split.
        mesh: The devices, in one dimension.
        methods: Names of methods that count as `forward`. Parameters are gathered before them;
            gradients are averaged over ranks and split again.
    """
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    fully_shard(module, mesh=mesh, ignored_params={p for p in module.parameters() if p.ndim == 0})
    for method in methods:
        register_fsdp_forward_method(module, method)


def average_scalars(module: nn.Module) -> None:
    """Averages the gradients of a sharded module's scalars over ranks.

    Called after every backward pass.
    """
    for parameter in module.parameters():
        if parameter.ndim == 0 and parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= world_size()


def full_tensor(tensor: Tensor) -> Tensor:
    """Returns a parameter as it is on one device; where it is split, every rank must ask."""
    # of a DTensor, whose class takes long to import
    gather_all = getattr(tensor, "full_tensor", None)
    return tensor if gather_all is None else gather_all()


def gather_parameters(module: Any, whole: bool) -> None:
    """Gathers a sharded module's parameters for use outside its `forward`, or splits them again.

    Args:
        module: The sharded module, on every rank.
        whole: Whether parameters are gathered.
    """
    if whole:
        module.unshard()
    else:
        module.reshard()
