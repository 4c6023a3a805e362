"""LoggedTables: what benchmarks found while training, as tables and pictures in loggers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger

from zoo.caption_data import benchmarks_of, data_of
from zoo.results.half_truth_pictures import accuracy, gaps
from zoo.results.half_truths import diagnostics
from zoo.results.presets.shipped import Official
from zoo.results.report import Results
from zoo.results.tables import TextTable, metrics_table

EXAMPLES = 16
HEADER = ("benchmark", "subset", "case", "image", "right", "wrong that scored higher", "by")


def wanted_by(loggers: Sequence[Logger]) -> bool:
    """Returns whether any logger shows tables."""
    return any(isinstance(logger, TensorBoardLogger | WandbLogger) for logger in loggers)


class LoggedTables(Callback):
    """After every validation gives TensorBoard and wandb tables of the benchmarks.

    These are the metrics with intervals, the cases that were missed by most, and of half-truths
    their accuracies by condition and gaps.
    """

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Shows what the validation found, on the first rank."""
        results = getattr(benchmarks_of(data_of(trainer)), "results", None)
        if trainer.sanity_checking or not trainer.is_global_zero or results is None:
            return
        tables = {"benchmarks": metrics_of(results), "missed": worst_errors(results)}
        pictures = {
            f"half-truths, {name}": figure for name, figure in half_truth_pictures(results).items()
        }
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                for name, table in tables.items():
                    logger.experiment.add_text(name, table.markdown(), trainer.global_step)
                for name, figure in pictures.items():
                    logger.experiment.add_figure(name, figure, trainer.global_step)
            elif isinstance(logger, WandbLogger):
                step = trainer.global_step
                for name, table in tables.items():
                    rows = [list(row) for row in table.rows]
                    logger.log_table(name, list(table.header), rows, step=step)
                for name, figure in pictures.items():
                    logger.log_image(name, [_pixels(figure)], step=step)


def metrics_of(results: Results) -> TextTable:
    """Returns the metrics of the first preset as a table."""
    return metrics_table(results.metrics)


def worst_errors(results: Results) -> TextTable:
    """Returns the answers that were wrong by most, the worst first.

    Args:
        results: The results.
    """
    found = []
    cases = results.cases
    for row in cases.filter(cases["right"].is_valid()).to_pylist():
        if row["right"] or row["scores"] is None:
            continue
        scores, match = np.array(row["scores"], float), np.array(row["match"], bool)
        texts = row["texts"]
        if len(texts) != len(scores) or match.all() or not match.any():
            continue  # answers over several images have no text for each score
        right, wrong = (int(np.where(m, scores, -np.inf).argmax()) for m in (match, ~match))
        by = scores[wrong] - scores[right]
        cells = (row["benchmark"], row["subset"], row["case"], ", ".join(row["images"]))
        found.append((by, (*cells, texts[right], texts[wrong], f"{by:.2f}")))
    found.sort(key=lambda one: -one[0])
    return TextTable(HEADER, tuple(cells for _, cells in found[:EXAMPLES]))


def half_truth_pictures(results: Results) -> dict[str, Any]:
    """Returns the pictures of half-truths, by what they show; none where none were asked."""
    if not any(b["benchmark"] == "half_truth" for b in results.header["benchmarks"].values()):
        return {}
    first = diagnostics(results, Official())[0]
    return {"accuracy by condition": accuracy(first), "gaps": gaps(first)}


def _pixels(figure: Any) -> Any:
    """Returns a figure as an array of pixels, which a logger keeps as an image."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())
