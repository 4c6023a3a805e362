"""Runs towers in chunks, and finds the parameters that outputs depend on."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from zoo.batch import Encoded, concatenate


def encode_in_chunks(
    run: Callable[[Tensor], Encoded], rows: Tensor, chunk: int | None, trained: bool
) -> Encoded:
    """Encodes rows, optionally in chunks, and without a graph if nothing is trained.

    Args:
        run: Encodes the items of some rows.
        rows: The rows of all items.
        chunk: How many are encoded at once; None encodes all at once.
        trained: Whether the tower is trained. Its chunks then run under activation checkpointing.
    """
    chunks = torch.split(rows, chunk) if chunk else [rows]
    if not torch.is_grad_enabled() or not trained:
        with torch.no_grad():
            return concatenate([run(part) for part in chunks])
    if chunk is None:
        return run(rows)
    return concatenate([checkpoint(run, part, use_reentrant=False) for part in chunks])


def parameters_in_graph(outputs: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yields the trained parameters that outputs depend on, the leaves of their graph."""
    waiting = [t.grad_fn for t in outputs if t.grad_fn is not None]
    visited = set(waiting)
    while waiting:
        node = waiting.pop()
        if hasattr(node, "variable"):
            yield node.variable
        following = {f for f, _ in node.next_functions if f is not None} - visited
        visited |= following
        waiting.extend(following)
