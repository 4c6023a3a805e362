"""All code for distributed training: collectives, sampling per rank and parameter sharding.

The loss of a rank is scaled so that DDP's mean over ranks is the loss of the global batch. The
backward pass of `gather` therefore *sums* the gradients of all ranks for each slice.
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
from zoo.support.gpu import begin_reading, copy_without_waiting

T = TypeVar("T")
# error messages of gloo, NCCL and the store when another rank has ended
_LOST_RANK = re.compile(
    r"connection (was |is )?(\w+ )?(closed|reset|refused)|broken pipe|timed? ?out"
    r"|remote process exited|communicator was aborted|network error",
    re.IGNORECASE,
)


def world_size() -> int:
    """Returns the number of ranks, 1 outside a process group."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Returns the rank of this process, 0 outside a process group."""
    return dist.get_rank() if dist.is_available() and dist.is_initialized() else 0


def leave_group() -> None:
    """Destroys the process group, if any. Otherwise its threads may abort the exiting process."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def lost_connection_message(error: BaseException) -> str | None:
    """Returns the network error of a rank that lost the connection to another rank.

    Args:
        error: The error that ended this rank.

    Returns:
        The part of the message about the connection, or None for other errors.
    """
    of_network = "gloo" in str(error) or isinstance(error, getattr(dist, "DistError", ()))
    match = _LOST_RANK.search(str(error)) if of_network else None
    return None if match is None else match[0]


def _collective(name: str, before: str) -> Callable[[Tensor, Tensor], object]:
    """Returns a collective by its name since torch 2.14, or by its previous name."""
    collective: Callable[[Tensor, Tensor], object] = getattr(
        dist, name if hasattr(dist, name) else before
    )
    return collective


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        gathered = x.new_empty(world_size() * len(x), *x.shape[1:])
        _collective("all_gather_single", "all_gather_into_tensor")(gathered, x.contiguous())
        return gathered

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        grad = grad.contiguous()
        n = len(grad) // world_size()
        if dist.get_backend() == "nccl":
            own_grad = grad.new_empty(n, *grad.shape[1:])
            _collective("reduce_scatter_single", "reduce_scatter_tensor")(own_grad, grad)
            return own_grad
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
        return _all_to_all(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return _all_to_all(grad)


def _all_to_all(x: Tensor) -> Tensor:
    # `empty_like` keeps strides, which would interleave the received slices
    x = x.contiguous()
    received = torch.empty_like(x)
    dist.all_to_all_single(received, x)
    return received


def transpose(x: Tensor) -> Tensor:
    """Transposes a matrix whose rows are distributed over ranks.

    Each score is sent only to the one rank that needs it.

    Args:
        x: This rank's n rows against the m columns of each rank, `[n, W m]`.

    Returns:
        This rank's columns as rows, `[m, W n]`.
    """
    if world_size() == 1:
        return x.T
    n, m = len(x), x.shape[1] // world_size()
    by_owner = x.reshape(n, world_size(), m).permute(1, 2, 0)  # [W, m, n]
    # [W, m, n]: this rank's columns, ordered by the rank of the rows
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
    """Returns the maximum of a number over all ranks."""
    return elementwise_max_over_ranks([value], device)[0]


def elementwise_max_over_ranks(values: Sequence[int | Tensor], device: torch.device) -> list[int]:
    """Returns the maximum of each number over all ranks. All ranks pass the same count."""
    return begin_elementwise_max_over_ranks(values, device)()


def begin_elementwise_max_over_ranks(
    values: Sequence[int | Tensor], device: torch.device
) -> Callable[[], list[int]]:
    """Begins to compute the maximum of each number over all ranks.

    Args:
        values: This rank's numbers, as many as those of every rank. Tensors are scalars on the
            device: they need not be computed yet.
        device: The rank's device.

    Returns:
        A function that waits for the maxima and returns them. On a GPU they are ready when the GPU
        has computed all that it was given before this call.
    """
    tensors = [value for value in values if isinstance(value, Tensor)]
    if world_size() == 1 and not tensors:
        numbers = [int(value) for value in values]
        return lambda: numbers
    host_values = torch.tensor([0 if isinstance(value, Tensor) else value for value in values])
    largest = copy_without_waiting(host_values, device)
    if tensors:
        tensor_rows = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        for i, tensor in zip(tensor_rows, tensors, strict=True):
            largest[i] = tensor
    if world_size() > 1:
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return begin_reading(largest)


def gather_objects(value: Any) -> list[Any]:
    """Returns the values of all ranks, in rank order, on every rank."""
    if world_size() == 1:
        return [value]
    gathered: list[Any] = [None] * world_size()
    dist.all_gather_object(gathered, value)
    return gathered


def gather_results(make: Callable[[], T]) -> list[T]:
    """Calls a function on every rank, and returns all results, in rank order, on every rank.

    Args:
        make: Returns the value of this rank.

    Raises:
        ZooError: On every rank, if any rank raised it. Otherwise the others would wait forever.
    """
    own_value: T | ZooError
    try:
        own_value = make()
    except ZooError as error:
        own_value = error
    all_values: list[T | ZooError] = gather_objects(own_value)
    failed = next((value for value in all_values if isinstance(value, ZooError)), None)
    if failed is not None:
        raise failed
    return [value for value in all_values if not isinstance(value, ZooError)]


class RankSampler(DistributedSampler[Any]):
    """Distributes the items of a data set over ranks without the padding of DistributedSampler.

    Args:
        data: The data set.
        rank: The rank.
        world: Number of ranks.
    """

    def __init__(self, data: Sized, rank: int, world: int) -> None:
        super().__init__(data, world, rank, shuffle=False)  # type: ignore[arg-type]
        self.n = len(data)
        self.num_samples = len(range(rank, self.n, world))

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.rank, self.n, self.num_replicas))


def shard(module: nn.Module, mesh: DeviceMesh, methods: Sequence[str] = ()) -> None:
    """Shards parameters, gradients and optimizer state over devices (FSDP 2).

    The module is a single unit that is gathered once per step. With one unit per tower, ranks could
    call a tower different numbers of times, depending on text lengths, and deadlock. Scalars cannot
    be sharded; `average_scalar_gradients` averages their gradients.

    Args:
        module: The module to shard.
        mesh: The devices, in one dimension.
        methods: Names of methods that are treated like `forward`: parameters are gathered before
            them, and gradients are averaged over ranks and sharded again.
    """
    from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method

    fully_shard(module, mesh=mesh, ignored_params={p for p in module.parameters() if p.ndim == 0})
    for method in methods:
        register_fsdp_forward_method(module, method)


def average_scalar_gradients(module: nn.Module) -> None:
    """Averages the gradients of a sharded module's scalars over ranks.

    Call it after every backward pass.
    """
    for parameter in module.parameters():
        if parameter.ndim == 0 and parameter.grad is not None:
            dist.all_reduce(parameter.grad)
            parameter.grad /= world_size()


def clip_sharded_gradients(module: nn.Module, limit: float, by_value: bool = False) -> None:
    """Clips the gradients of a sharded module as torch clips those of one that is not sharded.

    Args:
        module: The sharded module, on every rank, after `average_scalar_gradients`.
        limit: The largest norm of all gradients together.
        by_value: Whether `limit` is the largest absolute value of each number instead.
    """
    gradients = [p.grad for p in module.parameters() if p.grad is not None]
    # a method of DTensor; scalars are not split, and every rank has the same
    shards = [g.to_local() for g in gradients if hasattr(g, "to_local")]
    scalars = [g for g in gradients if not hasattr(g, "to_local")]
    if by_value:
        for gradient in shards + scalars:
            gradient.clamp_(-limit, limit)
        return
    device = gradients[0].device
    of_shards, of_scalars = (
        torch.stack([*(g.square().sum() for g in tensors), torch.zeros((), device=device)]).sum()
        for tensors in (shards, scalars)
    )
    norm = (sum_over_ranks(of_shards) + of_scalars).sqrt()
    factor = (limit / (norm + 1e-6)).clamp(max=1)
    for gradient in shards + scalars:
        gradient.mul_(factor)


def full_tensor(tensor: Tensor) -> Tensor:
    """Returns an unsharded parameter. For sharded parameters, all ranks must call this."""
    # a method of DTensor, whose class is slow to import
    gather_all = getattr(tensor, "full_tensor", None)
    return tensor if gather_all is None else gather_all()


def gather_or_reshard_parameters(module: Any, gathered: bool) -> None:
    """Gathers the parameters of a sharded module for use outside `forward`, or reshards them.

    Args:
        module: The sharded module, on every rank.
        gathered: Whether to gather the parameters; False to shard them again.
    """
    if gathered:
        module.unshard()
    else:
        module.reshard()
