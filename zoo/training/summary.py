"""The summary of a run: its duration, checkpoints and metrics, and the next commands."""

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
from zoo.support.class_names import is_registered_class
from zoo.support.files import write_bytes
from zoo.support.metrics_csv import read_curves
from zoo.support.trust import FLAG
from zoo.training.callbacks import BestCheckpoint, LastCheckpoint
from zoo.training.curves import CURVES, best_and_last_lines, draw_curves
from zoo.training.run_folder import RunFolder

MAX_METRICS = 6  # metrics whose best and last values are logged; curves.png has all

log = logging.getLogger(__name__)


def log_summary(trainer: Trainer) -> None:
    """Logs the summary of a completed run, and draws its curves if benchmarks were measured.

    Args:
        trainer: The trainer, on the first rank.
    """
    for line in summary_lines(trainer):
        log.info(line)


def summary_lines(trainer: Trainer) -> Iterator[str]:
    """Yields the lines of the summary.

    Args:
        trainer: The trainer.
    """
    last_checkpoint = ""
    for callback in trainer.callbacks:  # type: ignore[attr-defined]
        if isinstance(callback, RunFolder) and callback.training_began:
            seconds = time.monotonic() - callback.began
            took = timedelta(seconds=round(seconds))
            since_step = (
                f" since step {callback.resumed_from_step:,}" if callback.resumed_from_step else ""
            )
            yield (
                f"trained to {trainer.global_step:,} steps in {took}{since_step}, "
                f"in {callback.folder}"
            )
            images = _describe_images(trainer, callback.images_since_start, since_step)
            yield f"used {_describe_hours(trainer, seconds, since_step)}{images}"
        elif isinstance(callback, LastCheckpoint):
            last_checkpoint = callback.last_model_path
        elif isinstance(callback, BestCheckpoint) and callback.best_model_path:
            yield f"best checkpoint: {callback.best_model_path}{_describe_score(trainer, callback)}"
    if last_checkpoint:
        yield f"last checkpoint: {last_checkpoint}"
    if isinstance(trainer.logger, CSVLogger):
        metrics = Path(trainer.logger.log_dir) / trainer.logger.experiment.NAME_METRICS_FILE
        yield f"metrics by step: {metrics}"
        if benchmarks_of(data_of(trainer)) is not None and metrics.is_file():
            yield from _draw_and_describe_curves(metrics)
    if last_checkpoint:
        quoted = shlex.quote(last_checkpoint)
        trust = f" {FLAG}" if _has_custom_classes(trainer) else ""
        yield (
            "to evaluate it: zoo validate --benchmarks sugarcrepe,aro --data_root DIR "
            f"--ckpt_path {quoted} --out MEASURED{trust}"
        )
        yield f"to export it: zoo export {quoted} EXPORTED --results MEASURED{trust}"


def _has_custom_classes(trainer: Trainer) -> bool:
    """Returns whether the objective or head is not part of zoo or an installed package."""
    parts = (getattr(trainer.lightning_module, name, None) for name in ("objective", "head"))
    classes = (type(part) for part in parts if part is not None)
    return any(not is_registered_class(f"{c.__module__}.{c.__qualname__}") for c in classes)


def _describe_score(trainer: Trainer, callback: BestCheckpoint) -> str:
    """Describes the value of the best checkpoint, its step and the images of its validation."""
    if callback.best_model_score is None:
        return ""
    step = "" if callback.best_step is None else f" at step {callback.best_step:,}"
    _, val = getattr(data_of(trainer), "sources", (None, None))
    images = ""
    if val is not None and str(callback.monitor).startswith("val/"):
        images = f", on {len(val.image_ids):,} images"
    return f" ({callback.monitor} {float(callback.best_model_score):.4f}{step}{images})"


def _describe_hours(trainer: Trainer, seconds: float, since: str) -> str:
    if isinstance(trainer.accelerator, CUDAAccelerator):
        return f"{trainer.world_size * seconds / 3600:.3g} GPU hours{since}"
    other_processes = " and other processes" if trainer.world_size > 1 else ""
    hours = time.process_time() / 3600
    return f"{hours:.3g} CPU hours{since}, excluding data loaders{other_processes}"


def _describe_images(trainer: Trainer, n_images: int | None, since: str) -> str:
    """Describes how many images with captions were seen, if the data has a batch size."""
    rows = getattr(data_of(trainer), "batch_size", None)
    if not isinstance(rows, int) or n_images is None:
        return ""
    rows = min(rows, getattr(data_of(trainer), "rows_per_epoch", rows))
    return f", and {n_images:,} images with their captions were seen{since}, in batches of {rows:,}"


def _draw_and_describe_curves(metrics: Path) -> Iterator[str]:
    """Yields lines about the curves, and draws them next to the metrics if the disk has space."""
    curves_by_metric = read_curves(metrics)
    metric_lines = list(best_and_last_lines(curves_by_metric))
    yield from metric_lines[:MAX_METRICS]
    figure_file = metrics.with_name(CURVES)
    try:
        write_bytes(figure_file, draw_curves(curves_by_metric))
    except ZooError as error:
        log.warning("the curves could not be written: %s", error)
        return
    and_more = (
        f", with {len(metric_lines) - MAX_METRICS} more metrics"
        if len(metric_lines) > MAX_METRICS
        else ""
    )
    yield f"curves{and_more}: {figure_file}"
