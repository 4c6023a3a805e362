"""LoaderCheck: warns when training waits for the data loader."""

import logging
import time
from typing import Any

from lightning import LightningModule, Trainer

from zoo.batch import Batch
from zoo.support.worker import TimedLoader
from zoo.training.stopping import StepEnd, StepLoop

STEPS = 100
WAITING = 0.2  # the share of the time from which a run is slow because of its loader
IDLE = 0.05  # a device that is waited for in more than this share of the time is not idle

log = logging.getLogger(__name__)


class LoaderCheck(StepEnd):
    """Warns once, with numbers, when a share of the training time was spent waiting for batches.

    On a GPU the CPU runs ahead, so that a wait for a batch costs time only if the GPU is idle
    meanwhile: if no step waits for its results.

    Args:
        steps: Steps over which the share is measured.
    """

    def __init__(self, steps: int = STEPS) -> None:
        self.steps = steps
        self._warned = False
        self._batches = self._images = 0
        # of the first batch that is measured: the time, and the seconds waited until then
        self._began = self._waited = self._device_waited = 0.0

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts to measure again, since an epoch begins with a wait for its first batch."""
        self._restart()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts to measure again after a validation."""
        self._restart()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Counts images, and warns if enough steps were measured."""
        self._images += batch.primary if isinstance(batch, Batch) else 0
        self._batches += 1
        loader = trainer.train_dataloader
        if self._batches == 1:
            # the first batch of an epoch waits for the workers to start
            self._began, self._waited = time.perf_counter(), _seconds_waited(loader)
            self._device_waited, self._images = _seconds_device_waited(trainer), 0
        if self._batches <= self.steps or self._warned or not isinstance(loader, TimedLoader):
            return
        seconds = time.perf_counter() - self._began
        share = (_seconds_waited(loader) - self._waited) / seconds
        device_share = (_seconds_device_waited(trainer) - self._device_waited) / seconds
        if share >= WAITING and device_share <= IDLE:
            self._warned = True
            if trainer.is_global_zero:
                log.warning(
                    "training waits for the data loader: %.0f %% of the last %d steps, at %.0f "
                    "images per second and device. Raise data.workers (now %d per device), shrink "
                    "images once with data.image_cache, or both",
                    100 * share,
                    self.steps,
                    self._images / seconds,
                    loader.num_workers,
                )
        self._restart()

    def _restart(self) -> None:
        self._batches = 0


def _seconds_waited(loader: object) -> float:
    return loader.seconds_waited if isinstance(loader, TimedLoader) else 0.0


def _seconds_device_waited(trainer: Trainer) -> float:
    loop = trainer.fit_loop.epoch_loop
    return loop.seconds_waited_for_device if isinstance(loop, StepLoop) else 0.0
