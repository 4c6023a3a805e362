"""The summary of a run: what it took, what it came to and what comes next."""

import logging
import shlex
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from lightning import Trainer
from lightning.pytorch.accelerators import CUDAAccelerator
from lightning.pytorch.loggers import CSVLogger

from zoo.caption_data import benchmarks_of, data_of
from zoo.errors import ZooError
from zoo.support.files import write_bytes
from zoo.support.metrics_csv import curves
from zoo.training.callbacks import BestCheckpoint, LastCheckpoint
from zoo.training.curves import CURVES, ends, picture
from zoo.training.run_folder import RunFolder

SHOWN = 6  # metrics whose best and last values are told; curves.png has all

log = logging.getLogger(__name__)


def tell(trainer: Trainer) -> None:
    """Logs the summary of a run that ended, and draws its curves where benchmarks were measured.

    Args:
        trainer: The trainer, on the first rank.
    """
    for line in lines(trainer):
        log.info(line)


def lines(trainer: Trainer) -> Iterator[str]:
    """Yields the lines of the summary.

    Args:
        trainer: The trainer.
    """
    last = ""
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, RunFolder) and callback.made:
            seconds = time.monotonic() - callback.began
            took = timedelta(seconds=round(seconds))
            since = f" since step {callback.goes_on_from:,}" if callback.goes_on_from else ""
            yield f"trained to {trainer.global_step:,} steps in {took}{since}, in {callback.folder}"
            images = _images(trainer, callback.images_seen, since)
            yield f"it took {_hours(trainer, seconds, since)}{images}"
        elif isinstance(callback, LastCheckpoint):
            last = callback.last_model_path
        elif isinstance(callback, BestCheckpoint) and callback.best_model_path:
            score = callback.best_model_score
            reached = "" if score is None else f" ({callback.monitor} {float(score):.4f})"
            yield f"the best: {callback.best_model_path}{reached}"
    if last:
        yield f"the last checkpoint: {last}"
    if isinstance(trainer.logger, CSVLogger):
        metrics = Path(trainer.logger.log_dir) / trainer.logger.experiment.NAME_METRICS_FILE
        yield f"its metrics, step by step: {metrics}"
        if benchmarks_of(data_of(trainer)) is not None and metrics.is_file():
            yield from _curves(metrics)
    if last:
        quoted = shlex.quote(last)
        yield (
            "to measure it: zoo validate --benchmarks sugarcrepe,aro --data_root DIR "
            f"--ckpt_path {quoted} --out MEASURED"
        )
        yield f"to give it to others: zoo export {quoted} EXPORTED --measured MEASURED"


def _hours(trainer: Trainer, seconds: float, since: str) -> str:
    if isinstance(trainer.accelerator, CUDAAccelerator):
        return f"{trainer.world_size * seconds / 3600:.3g} GPU hours{since}"
    others = " and of other processes" if trainer.world_size > 1 else ""
    return f"{time.process_time() / 3600:.3g} CPU hours{since}, without those of loaders{others}"


def _images(trainer: Trainer, seen: int | None, since: str) -> str:
    """Says how many images with their captions the steps saw, where the data has a batch size."""
    rows = getattr(data_of(trainer), "batch_size", None)
    if not isinstance(rows, int) or seen is None:
        return ""
    return f", and {seen:,} images with their captions were seen{since}, in batches of {rows:,}"


def _curves(metrics: Path) -> Iterator[str]:
    """Draws the curves beside the metrics; a full disk costs the picture alone."""
    found = curves(metrics)
    told = list(ends(found))
    yield from told[:SHOWN]
    drawn = metrics.with_name(CURVES)
    try:
        write_bytes(drawn, picture(found))
    except ZooError as error:
        log.warning("the curves are not drawn: %s", error)
        return
    more = f", with {len(told) - SHOWN} further metrics" if len(told) > SHOWN else ""
    yield f"its curves{more}: {drawn}"
