"""The order of samples, and a loader that can be resumed.

A global batch holds the same samples on any number of ranks.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, DistributedSampler

from zoo.backbones.preparation import Decoder
from zoo.batch import MISSING, Batch
from zoo.errors import ZooError
from zoo.sources.seeds import seed_of, stable_hash
from zoo.support.worker import TimedLoader

# epoch, entry and, from the sampler, the number of the batch in its epoch
SamplePosition = tuple[int, ...]


@dataclass(frozen=True)
class Mixture:
    """The shares of several readers in the rows of every epoch.

    An epoch has as many rows as there are entries, and each reader has its weight as the expected
    share of them. Every reader has its own passes over its entries, each pass in another order; an
    epoch continues the pass that the one before began. So no entry is drawn again before all
    other entries of its reader have been drawn.

    Attributes:
        sizes: The number of entries of each reader; entries are numbered reader by reader.
        weights: The weight of each reader, above 0; only their ratios matter.
    """

    sizes: tuple[int, ...]
    weights: tuple[float, ...]

    def draw_rows(self, seed: int, epoch: int) -> tuple[Tensor, Tensor]:
        """Returns the entries of an epoch, reader by reader, and the pass of each, both `[N]`.

        Args:
            seed: Seed of the draws.
            epoch: The epoch.
        """
        counts = self._counts(seed, epoch)
        entries, passes, first_entry = [], [], 0
        for reader, (size, count) in enumerate(zip(self.sizes, counts, strict=True)):
            begin = sum(self._counts(seed, earlier)[reader] for earlier in range(epoch))
            for number in range(begin // size, -(-(begin + count) // size)):
                order = _permutation(size, seed_of(seed, number, reader, "pass"))
                start = number * size
                order = order[max(begin - start, 0) : begin + count - start]
                entries.append(order + first_entry)
                passes.append(torch.full((len(order),), number))
            first_entry += size
        return torch.cat(entries), torch.cat(passes)

    def _counts(self, seed: int, epoch: int) -> list[int]:
        """Returns the number of rows of each reader: its share, rounded up or down at random."""
        n, offset = sum(self.sizes), Random(seed_of(seed, epoch, 0, "shares")).random()
        total = list(accumulate(self.weights))
        ends = [min(n, int(n * (end / total[-1]) + offset)) for end in total]
        return [end - begin for begin, end in pairwise([0, *ends])]


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
        mixture: The shares of several readers. An entry that an epoch draws more than once has
            another epoch in its places, so that its random draws differ.

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
        mixture: Mixture | None = None,
    ) -> None:
        super().__init__(range(n), world, rank, shuffle=True, seed=seed)  # type: ignore[arg-type]
        self.n, self.local, self.fixed = n, local_batch_size(batch_size, world), fixed
        self.batches = -(-n // batch_size)
        self.num_samples, self.total_size = self.batches * self.local, self.batches * batch_size
        self.mixture, self._resume = mixture, (0, 0)

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
        order = torch.full((self.total_size,), MISSING)
        order[: self.n] = _permutation(self.n, seed_of(self.seed, epoch, 0, "order"))
        rank_order = order.view(self.batches, self.num_replicas, self.local)[
            self.skipped_batches :, self.rank
        ]
        # batch by batch, since Python integers of a whole epoch need a hundred times the memory
        numbered_batches = enumerate(rank_order, self.skipped_batches)
        if self.mixture is None:
            return (
                (epoch, entry, number)
                for number, batch in numbered_batches
                for entry in batch.tolist()
            )
        entries, passes = self.mixture.draw_rows(self.seed, epoch)
        # row -1, which fills the last batch, is the last one
        entries = torch.cat([entries, torch.tensor([MISSING])])
        passes = torch.cat([passes, torch.tensor([epoch])])
        return (
            (number_of_pass, entry, number)
            for number, batch in numbered_batches
            for number_of_pass, entry in zip(
                passes[batch].tolist(), entries[batch].tolist(), strict=True
            )
        )


def _permutation(n: int, seed: str) -> Tensor:
    generator = torch.Generator()
    generator.manual_seed(stable_hash(seed))
    return torch.randperm(n, generator=generator)


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
        train_weights: The weights of several readers, empty without weights.
        rows_per_reader: The number of entries of each weighted reader.
    """

    batch_size: int
    seed: int
    n_rows: int
    decoder: Decoder = "torchvision"
    train_weights: tuple[float, ...] = ()
    rows_per_reader: tuple[int, ...] = ()

    def check_same_settings(self, resumed: Mapping[str, Any]) -> None:
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
