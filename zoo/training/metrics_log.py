"""MetricsLog: Lightning's CSV logger with a metrics.csv that is whole whenever a run is killed.

A run that goes on adds to the file of its first part.
"""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.loggers.csv_logs import ExperimentWriter

from zoo.support.files import write_bytes


class MetricsLog(CSVLogger):
    """metrics.csv in the folder of a run, `save_dir/name/version`, made with its first row.

    Args:
        save_dir: The folder of all runs.
        name: A folder within it; None or an empty name leaves this level out.
        version: The run's own folder: a name, or N for `version_N`. None takes the next number
            that is free.
        prefix: What the names of metrics begin with.
        flush_logs_every_n_steps: Steps between two writes.
    """

    @property
    @rank_zero_experiment
    def experiment(self) -> ExperimentWriter:
        """The writer of the file, on the first rank."""
        if self._experiment is None:
            self._experiment = Rows(self.log_dir)
        assert isinstance(self._experiment, Rows)
        return self._experiment


class Rows(ExperimentWriter):
    """Rows of numbers in a file, which are added to those that it has.

    Args:
        log_dir: The folder, made with the first row.
    """

    def __init__(self, log_dir: str) -> None:
        self.log_dir, self.hparams = log_dir, {}
        self.metrics: list[dict[str, float]] = []
        self.file = Path(log_dir) / self.NAME_METRICS_FILE
        self.metrics_file_path = str(self.file)
        self.metrics_keys: list[str] = []

    def log_hparams(self, params: dict[str, object]) -> None:
        """Keeps hyper-parameters for the folder, which is made for them."""
        os.makedirs(self.log_dir, exist_ok=True)
        super().log_hparams(params)

    def save(self) -> None:
        """Adds the rows in one piece; where they bring columns, a new file replaces the old one."""
        if not self.metrics:
            return
        fresh = {name for row in self.metrics for name in row} - set(self.metrics_keys)
        if fresh:
            before = self._rows_there()
            known = {name for row in before for name in row}
            self.metrics_keys = sorted({*self.metrics_keys, *known, *fresh})
            write_bytes(self.file, self._text([*before, *self.metrics], header=True))
        else:
            with open(self.file, "ab", buffering=0) as file:
                file.write(self._text(self.metrics))
        self.metrics = []

    def _rows_there(self) -> list[dict[str, str]]:
        """Returns the rows in the file, without one that a kill left half-written."""
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
