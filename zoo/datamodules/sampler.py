"""Sampler: the order of samples, and a loader that resumes in it.

Samples are dealt so that a global batch holds the same ones on any number of ranks.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import Dataset, DistributedSampler

from zoo.backbones.preparation import Decoder
from zoo.batch import MISSING, Batch
from zoo.errors import ZooError
from zoo.sources.seeds import seed_of, stable_hash
from zoo.support.worker import Loader

# epoch, entry and, from the sampler, the number of the batch in its epoch
Place = tuple[int, ...]


class GlobalBatchSampler(DistributedSampler[Place]):
    """Yields (epoch, entry, batch) places of this rank's rows, batch by batch.

    Entry -1 fills up the last batch. The order is a function of (seed, epoch). It is a
    DistributedSampler, since Lightning would wrap any other in one that pads with repeated samples.

    Args:
        n: Number of entries of the data set.
        batch_size: Rows of the batch of all ranks, which `world` must divide.
        seed: Seed of the order.
        rank: Number of this rank.
        world: Number of ranks.
        fixed: Whether the order is a function of the seed alone, as validation wants.

    Raises:
        ZooError: The ranks do not divide the batch.
    """

    def __init__(
        self,
        n: int,
        batch_size: int,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
        fixed: bool = False,
    ) -> None:
        super().__init__(range(n), world, rank, shuffle=True, seed=seed)  # type: ignore[arg-type]
        self.n, self.local, self.fixed = n, local_batch_size(batch_size, world), fixed
        self.batches = -(-n // batch_size)
        self.num_samples, self.total_size = self.batches * self.local, self.batches * batch_size
        self._resume = (0, 0)

    def resume_at(self, epoch: int, batches: int) -> None:
        """Leaves out the first batches of that epoch, and of no other."""
        self.epoch, self._resume = epoch, (epoch, batches)

    @property
    def skipped_batches(self) -> int:
        """The number of batches of the present epoch that are left out."""
        epoch, batches = self._resume
        return batches if epoch == self.epoch else 0

    def __iter__(self) -> Iterator[Place]:
        epoch = 0 if self.fixed else self.epoch
        generator = torch.Generator()
        generator.manual_seed(stable_hash(seed_of(self.seed, epoch, 0, "order")))
        order = torch.full((self.total_size,), MISSING)
        order[: self.n] = torch.randperm(self.n, generator=generator)
        mine = order.view(self.batches, self.num_replicas, self.local)[
            self.skipped_batches :, self.rank
        ]
        # batch by batch, since an epoch of numbers of Python's would take a hundred times the room
        return (
            (epoch, entry, number)
            for number, batch in enumerate(mine, self.skipped_batches)
            for entry in batch.tolist()
        )


def local_batch_size(batch_size: int, world: int) -> int:
    """Returns the rows of one rank.

    Args:
        batch_size: Rows of the batch of all ranks.
        world: Number of ranks.

    Raises:
        ZooError: There are no rows, or the ranks do not divide them.
    """
    if batch_size < 1:
        raise ZooError(f"batch_size {batch_size} is not a number of rows: give at least 1")
    if batch_size % world:
        below, above = batch_size // world * world, -(-batch_size // world) * world
        choice = f"{below} or {above}" if below else f"{above}"
        raise ZooError(
            f"batch_size {batch_size} counts the rows of all devices, "
            f"and {world} devices do not divide it: give {choice}"
        )
    return batch_size // world


@dataclass(frozen=True)
class SampleOrder:
    """What makes a place in an epoch mean the same samples.

    Attributes:
        batch_size: Rows of the batch of all ranks.
        seed: Seed of the order.
        rows: Number of rows of an epoch.
        decoder: What decodes images, whose pixels are not quite another's.
    """

    batch_size: int
    seed: int
    rows: int
    decoder: Decoder = "torchvision"

    def refuse_other(self, resumed: Mapping[str, int | str]) -> None:
        """Holds a run that is resumed to this order.

        Args:
            resumed: What the run's checkpoint says of its order.

        Raises:
            ZooError: The run had another.
        """
        for name, now in vars(self).items():
            if resumed.get(name, now) != now:
                was, now = (f"{n:,}" if isinstance(n, int) else n for n in (resumed[name], now))
                raise ZooError(
                    f"the run that is resumed had {name} {was}, and now it is {now}: "
                    "resume with the same data, or start anew from the weights by "
                    "--model.backbone.pretrained"
                )


class BatchLoader(Loader):
    """A loader of global batches that can be stopped and resumed between any two of them.

    Lightning keeps `state_dict` in its checkpoints. Errors of workers arrive as they were raised.

    Args:
        data: The data set.
        sampler: The order of its entries.
        collate: Makes a batch of rows.
        workers: Number of processes that load.
        pin_memory: Whether batches are put into pinned memory.
        seen: Called with every batch, in the main process.
    """

    sampler: GlobalBatchSampler

    def __init__(
        self,
        data: Dataset[Any],
        sampler: GlobalBatchSampler,
        collate: Callable[[list[Any]], Batch],
        workers: int = 0,
        pin_memory: bool = False,
        seen: Callable[[Batch], None] | None = None,
    ) -> None:
        super().__init__(
            data,
            batch_size=sampler.local,
            sampler=sampler,
            collate_fn=collate,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=pin_memory,
            # so that starting an epoch takes nothing from the global random state
            generator=torch.Generator(),
        )
        self.seen = seen
        self.done = 0

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        self.done = self.sampler.skipped_batches
        try:
            for batch in super().__iter__():
                self.done += 1
                if self.seen is not None:
                    self.seen(batch)
                yield batch
            return
        except ZooError as error:
            # torch wraps a worker's error in the text of its traceback
            reason = str(error).rstrip().rsplit(f"{type(error).__name__}: ", 1)[-1]
            # The traceback holds the workers' iterator, in a cycle. Without it the workers end now,
            # and not some time later in another process.
            error.__traceback__ = self._iterator = None
        raise ZooError(reason)

    def state_dict(self) -> dict[str, int]:
        """Returns the epoch and how many of its batches were handed out."""
        return {"epoch": self.sampler.epoch, "batches": self.done}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Goes on after the batches that `state_dict` counted."""
        self.sampler.resume_at(state["epoch"], state["batches"])
