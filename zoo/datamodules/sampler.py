"""The order of samples, and a loader that can be resumed.

A global batch holds the same samples on any number of ranks.
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
from zoo.support.worker import TimedLoader

# epoch, entry and, from the sampler, the number of the batch in its epoch
SamplePosition = tuple[int, ...]


class GlobalBatchSampler(DistributedSampler[SamplePosition]):
    """Yields (epoch, entry, batch) places of this rank's rows, batch by batch.

    Entry -1 fills the last batch. The order is a function of (seed, epoch). It is a
    DistributedSampler, since Lightning wraps other samplers in one that repeats samples as padding.

    Args:
        n: Number of entries of the data set.
        batch_size: Rows of the batch over all ranks, a multiple of `world`.
        seed: Seed of the order.
        rank: Number of this rank.
        world: Number of ranks.
        fixed: Whether the order only depends on the seed, for validation.

    Raises:
        ZooError: batch_size is not a multiple of `world`.
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
        """Skips the first batches of one epoch."""
        self.epoch, self._resume = epoch, (epoch, batches)

    @property
    def skipped_batches(self) -> int:
        """The number of skipped batches of the current epoch."""
        epoch, batches = self._resume
        return batches if epoch == self.epoch else 0

    def __iter__(self) -> Iterator[SamplePosition]:
        epoch = 0 if self.fixed else self.epoch
        generator = torch.Generator()
        generator.manual_seed(stable_hash(seed_of(self.seed, epoch, 0, "order")))
        order = torch.full((self.total_size,), MISSING)
        order[: self.n] = torch.randperm(self.n, generator=generator)
        rank_order = order.view(self.batches, self.num_replicas, self.local)[
            self.skipped_batches :, self.rank
        ]
        # batch by batch, since Python integers of a whole epoch need a hundred times the memory
        return (
            (epoch, entry, number)
            for number, batch in enumerate(rank_order, self.skipped_batches)
            for entry in batch.tolist()
        )


def local_batch_size(batch_size: int, world: int) -> int:
    """Returns the number of rows per rank.

    Args:
        batch_size: Rows of the batch over all ranks.
        world: Number of ranks.

    Raises:
        ZooError: batch_size is below 1, or not a multiple of `world`.
    """
    if batch_size < 1:
        raise ZooError(f"batch_size {batch_size} is not a number of rows: give at least 1")
    if batch_size % world:
        smaller, larger = batch_size // world * world, -(-batch_size // world) * world
        choice = f"{smaller} or {larger}" if smaller else f"{larger}"
        raise ZooError(
            f"batch_size {batch_size} is the number of rows over all devices, and is not a "
            f"multiple of {world} devices: give {choice}"
        )
    return batch_size // world


@dataclass(frozen=True)
class SampleOrder:
    """The settings that determine the samples at a position in an epoch.

    Attributes:
        batch_size: Rows of the batch over all ranks.
        seed: Seed of the order.
        n_rows: Number of rows of an epoch.
        decoder: The decoder of images; the pixels of decoders differ slightly.
    """

    batch_size: int
    seed: int
    n_rows: int
    decoder: Decoder = "torchvision"

    def check_same_settings(self, resumed: Mapping[str, int | str]) -> None:
        """Checks that a resumed run had this order.

        Args:
            resumed: The order that the run's checkpoint recorded.

        Raises:
            ZooError: The run had another order.
        """
        for name, value in vars(self).items():
            if resumed.get(name, value) != value:
                before, value = (
                    f"{n:,}" if isinstance(n, int) else n for n in (resumed[name], value)
                )
                raise ZooError(
                    f"the resumed run had {name} {before}, and now it is {value}: resume with the "
                    "same data, or start a new run from the weights with "
                    "--model.backbone.pretrained"
                )


class BatchLoader(TimedLoader):
    """A loader of global batches that can be stopped and resumed between any two of them.

    Lightning saves `state_dict` in its checkpoints. Errors of workers are raised unchanged.

    Args:
        data: The data set.
        sampler: The order of its entries.
        collate: Builds a batch from rows.
        workers: Number of processes that load data.
        pin_memory: Whether batches are copied to pinned memory.
        on_batch: A function that is called with every batch in the main process.
    """

    sampler: GlobalBatchSampler

    def __init__(
        self,
        data: Dataset[Any],
        sampler: GlobalBatchSampler,
        collate: Callable[[list[Any]], Batch],
        workers: int = 0,
        pin_memory: bool = False,
        on_batch: Callable[[Batch], None] | None = None,
    ) -> None:
        super().__init__(
            data,
            batch_size=sampler.local,
            sampler=sampler,
            collate_fn=collate,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=pin_memory,
            # so that the start of an epoch does not change the global random state
            generator=torch.Generator(),
        )
        self.on_batch = on_batch
        self.loaded_batches = 0

    def __iter__(self) -> Iterator[Batch]:  # type: ignore[override]
        self.loaded_batches = self.sampler.skipped_batches
        try:
            for batch in super().__iter__():
                self.loaded_batches += 1
                if self.on_batch is not None:
                    self.on_batch(batch)
                yield batch
            return
        except ZooError as error:
            # torch wraps a worker's error in the text of its traceback
            reason = str(error).rstrip().rsplit(f"{type(error).__name__}: ", 1)[-1]
            # The traceback refers to the workers' iterator, in a cycle. Without it the workers end
            # now, and not at some later time.
            error.__traceback__ = self._iterator = None
        raise ZooError(reason)

    def state_dict(self) -> dict[str, int]:
        """Returns the epoch and how many of its batches were loaded."""
        return {"epoch": self.sampler.epoch, "batches": self.loaded_batches}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Resumes after the batches that `state_dict` counted."""
        self.sampler.resume_at(state["epoch"], state["batches"])
