"""MetricsLog: Lightning's CSV logger, whose metrics.csv is whole whenever the run is killed, and goes on where a run does."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.csv_logs import ExperimentWriter

from zoo.support.files import write_beside


class MetricsLog(CSVLogger):
    """metrics.csv in the folder of a run, its arguments those of Lightning's CSVLogger. Nothing is made before there is a row."""

    @property
    @rank_zero_experiment
    def experiment(self) -> ExperimentWriter:
        if self._experiment is None:
            self._experiment = Rows(self.log_dir)
        assert isinstance(self._experiment, Rows)
        return self._experiment


class Rows(ExperimentWriter):
    """Rows of numbers in a file, which are added to those that it has.

    Args:
        log_dir: the folder, made with the first row.
    """

    def __init__(self, log_dir: str) -> None:
        self.log_dir, self.hparams = log_dir, {}
        self.metrics: list[dict[str, float]] = []
        self.file = Path(log_dir) / self.NAME_METRICS_FILE
        self.metrics_file_path = str(self.file)
        self.metrics_keys: list[str] = []

    def log_hparams(self, params: dict[str, object]) -> None:
        os.makedirs(self.log_dir, exist_ok=True)
        super().log_hparams(params)

    def save(self) -> None:
        """Adds the rows in one piece; where they bring columns, the file is written anew and takes the old one's place."""
        if not self.metrics:
            return
        fresh = {name for row in self.metrics for name in row} - set(self.metrics_keys)
        if fresh:
            before = self._rows_there()
            known = {name for row in before for name in row}
            self.metrics_keys = sorted({*self.metrics_keys, *known, *fresh})
            write_beside(self.file, self._text([*before, *self.metrics], header=True))
        else:
            with open(self.file, "ab", buffering=0) as file:
                file.write(self._text(self.metrics))
        self.metrics = []

    def _rows_there(self) -> list[dict[str, str]]:
        """The rows in the file, without one that a kill left half-written."""
        if not self.file.exists():
            return []
        text = self.file.read_text("utf-8")
        return list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1])))

    def _text(self, rows: Sequence[Mapping[str, object]], header: bool = False) -> bytes:
        out = io.StringIO()
        writer = csv.DictWriter(out, self.metrics_keys, lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
        return out.getvalue().encode()
