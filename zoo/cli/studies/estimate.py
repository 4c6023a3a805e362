"""Estimates of the time and disk space that a study's remaining runs need."""

import hashlib
import json
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from zoo.cli.studies.file import FIRST
from zoo.cli.studies.records import WHOLE
from zoo.cli.studies.runs import Run, WorkFolder, evaluation_arguments, fit_arguments
from zoo.cli.studies.work import StudyExecutor
from zoo.errors import ZooError
from zoo.support.files import write_bytes
from zoo.support.trust import FLAG, current_trust

GIGA = 1e9
FILE = "trial.json"


class Estimate:
    """The time and disk space that a study's runs need.

    They are estimated from the completed runs of the same row or, where there are none, from a
    trial of a few steps.

    Args:
        work: Executes the runs.
        runs: The runs.
    """

    def __init__(self, work: StudyExecutor, runs: list[Run]) -> None:
        self.work, self.runs = work, runs
        self.trials: dict[str, Any] = {}  # measurements of the trial of each row

    def is_complete(self, run: Run) -> bool:
        """Returns whether a run is complete."""
        return self.work.records.stage(run) == WHOLE

    def print_and_check_estimate(self, steps: int) -> None:
        """Prints how many runs remain, and the time and disk space that they need.

        Args:
            steps: Steps of the trial of each row; 0 for no trial.

        Raises:
            ZooError: A row cannot be trained, nothing can be measured, or the disk is too full.
        """
        remaining = [run for run in self.runs if not self.is_complete(run)]
        n_complete = len(self.runs) - len(remaining)
        message = f"{len(self.runs)} runs" + (
            f", {n_complete} of them complete" if n_complete else ""
        )
        if not remaining:
            self.work.print_line(message)
            return
        if steps:
            if not n_complete:
                self._check_evaluation(remaining[0])
            self._run_trials(remaining, steps)
        seconds, with_evaluation = self._seconds_left(remaining)
        if seconds is not None:
            duration = f"about {_format_seconds(seconds)}" + (
                "" if with_evaluation else ", without evaluation"
            )
            message += f": {duration} for the remaining {len(remaining)}, one after the other"
        need, free = self._checkpoint_bytes(remaining), shutil.disk_usage(self.work.place.root).free
        if need:
            message += f"; {need / GIGA:.1f} GB for checkpoints, {free / GIGA:.1f} GB are free"
        self.work.print_line(message)
        if need > free:
            raise ZooError(
                f"{self.work.place.root} has {free / GIGA:.1f} GB free, but the checkpoints of the "
                f"runs need {need / GIGA:.1f} GB: choose a --work_dir with more free space, or set "
                "keep_checkpoints: false in the study"
            )

    def describe_progress(self, run: Run) -> str:
        """Describes a run that was just completed: its time, and the time left for the others."""
        seconds = sum(self.work.records.read_record(run).get("seconds", {}).values())
        remaining = [unfinished for unfinished in self.runs if not self.is_complete(unfinished)]
        seconds_left, _ = self._seconds_left(remaining)
        ahead = (
            f", about {_format_seconds(seconds_left)} left"
            if remaining and seconds_left is not None
            else ""
        )
        return f"{_format_seconds(seconds)}{ahead}"

    def _seconds_left(self, remaining: list[Run]) -> tuple[float | None, bool]:
        """Estimates the seconds that the given runs need.

        Returns:
            The seconds, None if nothing is known, and whether they include evaluation.
        """
        durations: dict[str, list[float]] = {}
        for run in self.runs:
            if self.is_complete(run):
                run_seconds = self.work.records.read_record(run).get("seconds", {})
                durations.setdefault(run.row, []).append(sum(run_seconds.values()))
        seconds_by_row = {row: median(row_durations) for row, row_durations in durations.items()}
        rows = [median(row_durations) for row, row_durations in durations.items() if row != FIRST]
        seconds, with_evaluation = 0.0, True
        if not any(run.is_trained or run.row in seconds_by_row for run in remaining):
            return None, False
        for run in remaining:
            if run.row in seconds_by_row:
                seconds += seconds_by_row[run.row]
            elif not run.is_trained:
                with_evaluation = False
            elif run.row in self.trials:
                trial = self.trials[run.row]
                seconds += trial["steps"] * trial["seconds"]
                with_evaluation = False
            elif rows:
                seconds += median(rows)
            else:
                return None, False
        return seconds, with_evaluation

    def _checkpoint_bytes(self, remaining: list[Run]) -> float:
        """Returns the bytes of the runs' checkpoints: the last and the best of each run."""
        share_kept = 1.0 if self.work.study.keep_checkpoints else 0.0
        sizes = [2 * float(self.trials.get(run.row, {}).get("bytes", 0.0)) for run in remaining]
        initial_sizes = [
            size for run, size in zip(remaining, sizes, strict=True) if run.row == FIRST
        ]
        return max(share_kept * sum(sizes), sum(initial_sizes) + max(sizes, default=0.0))

    def _run_trials(self, remaining: list[Run], steps: int) -> None:
        """Trains each row without a stored trial for a few steps, and stores the measurements.

        A row that starts from another run's weights is tried from random weights.

        Raises:
            ZooError: A row cannot be trained.
        """
        file = self.work.place.root / FILE
        stored = _read(file)
        rows = {run.row: run for run in reversed(remaining) if run.is_trained}
        digests = {row: self._trial_digest(run) for row, run in rows.items()}
        self.trials = {
            row: stored[row] for row in rows if stored.get(row, {}).get("of") == digests[row]
        }
        untried = [run for row, run in reversed(rows.items()) if row not in self.trials]
        for number, run in enumerate(untried, 1):
            began = time.monotonic()
            trial = self.trials[run.row] = {"of": digests[run.row], **self._run_trial(run, steps)}
            write_bytes(file, json.dumps({**stored, **self.trials}, indent=1).encode())
            self.work.print_line(
                f"trial {number}/{len(untried)}, {run.row}: {trial['seconds']:.2f} s per step "
                f"({time.monotonic() - began:.0f} s)"
            )

    def _trial_digest(self, run: Run) -> str:
        """Returns a digest of what a trial of a row depends on."""
        identity = self.work.records.identity(Run(run.row, self.work.study.seeds[0], run.layers))
        text = json.dumps([identity[name] for name in ("settings", "data", "code")])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _run_trial(self, run: Run, steps: int) -> dict[str, float]:
        arguments = fit_arguments(run, self.work.place)
        if self.work.study.first:
            arguments += ["--model.backbone.pretrained", "null"]
        measurements, reason = _trial_in_process({"fit": arguments, "steps": steps})
        if reason:
            raise ZooError(
                f"{self.work.study.name}: {run.row} cannot be trained; a trial of {steps} steps "
                f"failed: {reason}"
            )
        return measurements

    def _check_evaluation(self, run: Run) -> None:
        if reason := find_evaluation_problem(self.work.place, run):
            raise ZooError(
                f"{self.work.study.name}: nothing can be measured with the settings under "
                f"`validate:`: {reason}"
            )


def find_evaluation_problem(place: WorkFolder, run: Run) -> str:
    """Returns why nothing can be measured, such as missing files; empty if something can.

    Args:
        place: The work folder.
        run: A run, whose model is not loaded.
    """
    return _trial_in_process({"validate": evaluation_arguments(run, place)})[1]


def _trial_in_process(request: dict[str, Any]) -> tuple[dict[str, float], str]:
    """Runs a trial in a separate process.

    Returns:
        Its measurements, empty if it failed, and the reason of the failure, else empty.
    """
    with TemporaryDirectory() as folder:
        request_file, measurements_file = (
            Path(folder) / "request.json",
            Path(folder) / "measurements.json",
        )
        request_file.write_text(json.dumps(request), "utf-8")
        process = subprocess.run(
            [
                *(sys.executable, "-P", "-m", "zoo.cli.studies.trial"),
                *(str(request_file), str(measurements_file)),
                *([FLAG] if current_trust().all_code else []),
            ],
            capture_output=True,
            text=True,
        )
        if not process.returncode:
            return json.loads(measurements_file.read_text("utf-8")), ""
    lines = [line for line in process.stderr.splitlines() if line.strip()] or ["it printed nothing"]
    return {}, lines[-1].removeprefix("zoo: ")


def _read(file: Path) -> dict[str, Any]:
    """Returns the trials in a file, empty if it cannot be read."""
    try:
        trials: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return trials


def _format_seconds(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
