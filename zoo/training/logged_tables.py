"""LoggedTables: logs benchmark results during training, as tables and figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger

from zoo.caption_data import benchmarks_of, data_of
from zoo.results.half_truth_pictures import draw_accuracy, draw_gaps
from zoo.results.half_truths import diagnostics
from zoo.results.presets.preset import Official
from zoo.results.report import Results
from zoo.results.tables import TextTable, metrics_table

EXAMPLES = 16
HEADER = ("benchmark", "subset", "case", "image", "right", "wrong that scored higher", "by")


def can_show_tables(loggers: Sequence[Logger]) -> bool:
    """Returns whether any logger can show tables."""
    return any(isinstance(logger, TensorBoardLogger | WandbLogger) for logger in loggers)


class LoggedTables(Callback):
    """Logs tables of the benchmarks to TensorBoard and wandb after every validation.

    These are the metrics with intervals, the wrong answers with the largest margin and, for the
    half-truth benchmark, figures of accuracy by condition and of gaps.
    """

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Logs the results of the validation, on the first rank."""
        results = getattr(benchmarks_of(data_of(trainer)), "results", None)
        if trainer.sanity_checking or not trainer.is_global_zero or results is None:
            return
        tables = {"benchmarks": tabulate_metrics(results), "missed": worst_errors(results)}
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


def tabulate_metrics(results: Results) -> TextTable:
    """Returns the metrics of the first preset as a table."""
    return metrics_table(results.metrics)


def worst_errors(results: Results) -> TextTable:
    """Returns the wrong answers with the largest margins, the worst first.

    Args:
        results: The results.
    """
    errors = []
    cases = results.cases
    for row in cases.filter(cases["right"].is_valid()).to_pylist():
        if row["right"] or row["scores"] is None:
            continue
        scores, match = np.array(row["scores"], float), np.array(row["match"], bool)
        texts = row["texts"]
        if len(texts) != len(scores) or match.all() or not match.any():
            continue  # with several images, there is not one text per score
        right, wrong = (int(np.where(m, scores, -np.inf).argmax()) for m in (match, ~match))
        margin = scores[wrong] - scores[right]
        cells = (row["benchmark"], row["subset"], row["case"], ", ".join(row["images"]))
        errors.append((margin, (*cells, texts[right], texts[wrong], f"{margin:.2f}")))
    errors.sort(key=lambda one: -one[0])
    return TextTable(HEADER, tuple(cells for _, cells in errors[:EXAMPLES]))


def half_truth_pictures(results: Results) -> dict[str, Any]:
    """Returns the half-truth figures by title, empty if the benchmark was not run."""
    if not any(b["benchmark"] == "half_truth" for b in results.header["benchmarks"].values()):
        return {}
    diagnosis = diagnostics(results, Official())[0]
    return {"accuracy by condition": draw_accuracy(diagnosis), "gaps": draw_gaps(diagnosis)}


def _pixels(figure: Any) -> Any:
    """Returns a figure as an array of pixels, which a logger can store as an image."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())
