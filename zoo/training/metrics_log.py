"""MetricsLog: Lightning's CSV logger with a metrics.csv that stays valid if a run is killed.

A resumed run appends to the file of its first part.
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
    """Writes metrics to metrics.csv in the folder of a run, `save_dir/name/version`.

    The file is created with its first row.

    Args:
        save_dir: The folder of all runs.
        name: A folder within `save_dir`. If it is None or empty, the path has no such folder.
        version: The run's folder: a name, or a number N for `version_N`. None takes the next free
            number.
        prefix: A prefix for the names of metrics.
        flush_logs_every_n_steps: Number of steps between two writes to the file.
    """

    _rows: "MetricsWriter | None" = None

    @property
    @rank_zero_experiment
    def experiment(self) -> ExperimentWriter:
        """The writer of metrics.csv, on the first rank."""
        if self._rows is None:
            self._rows = MetricsWriter(self.log_dir)
        return self._rows

    def finalize(self, status: str) -> None:
        """Writes the last rows, if there are any."""
        if self._rows is not None:
            self.save()


class MetricsWriter(ExperimentWriter):
    """A writer that appends rows of metrics to a file.

    Args:
        log_dir: The folder, created with the first row.
    """

    def __init__(self, log_dir: str) -> None:
        self.log_dir, self.hparams = log_dir, {}
        self.metrics: list[dict[str, float]] = []
        self.file = Path(log_dir) / self.NAME_METRICS_FILE
        self.metrics_file_path = str(self.file)
        self.metrics_keys: list[str] = []

    def log_hparams(self, params: dict[str, object]) -> None:
        """Stores hyper-parameters, and creates the folder for them."""
        os.makedirs(self.log_dir, exist_ok=True)
        super().log_hparams(params)

    def save(self) -> None:
        """Appends the rows in one write; if they have new columns, the file is replaced."""
        if not self.metrics:
            return
        new_columns = {name for row in self.metrics for name in row} - set(self.metrics_keys)
        if new_columns:
            old_rows = self._read_rows()
            old_columns = {name for row in old_rows for name in row}
            self.metrics_keys = sorted({*self.metrics_keys, *old_columns, *new_columns})
            write_bytes(self.file, self._to_csv([*old_rows, *self.metrics], header=True))
        else:
            with open(self.file, "ab", buffering=0) as file:
                file.write(self._to_csv(self.metrics))
        self.metrics = []

    def _read_rows(self) -> list[dict[str, str]]:
        """Returns the rows in the file, without a last one that is only partly written."""
        if not self.file.exists():
            return []
        text = self.file.read_text("utf-8")
        return list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1])))

    def _to_csv(self, rows: Sequence[Mapping[str, object]], header: bool = False) -> bytes:
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, self.metrics_keys, lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
        return buffer.getvalue().encode()
