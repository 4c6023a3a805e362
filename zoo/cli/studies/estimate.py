"""Estimate: how long the runs take that are left, and how much disk their checkpoints."""

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
from zoo.cli.studies.runs import Run, asked_of, fit_arguments
from zoo.cli.studies.work import Work
from zoo.errors import ZooError
from zoo.support.files import write_bytes
from zoo.support.trust import FLAG, current_trust

GIGA = 1e9
FILE = "trial.json"


class Estimate:
    """What is known of the time and disk of a study's runs.

    Runs that are whole tell it of others of their row; before there are any, a trial does.

    Args:
        work: What does the runs.
        runs: The runs.
    """

    def __init__(self, work: Work, runs: list[Run]) -> None:
        self.work, self.runs = work, runs
        self.trials: dict[str, Any] = {}  # what a trial of each row told

    def is_complete(self, run: Run) -> bool:
        """Returns whether a run is whole."""
        return self.work.records.stage(run) == WHOLE

    def begin(self, steps: int) -> None:
        """Says what is to be done, and what it takes of time and disk.

        Args:
            steps: Steps of a row by which that is told; 0 for no trial.

        Raises:
            ZooError: A row cannot be trained, nothing can be measured, or there is too little room.
        """
        left = [run for run in self.runs if not self.is_complete(run)]
        there = len(self.runs) - len(left)
        said = f"{len(self.runs)} runs" + (f", of which {there} are whole" if there else "")
        if not left:
            self.work.say(said)
            return
        if steps:
            if not there:
                self._refuse_what_cannot_be_measured(left[0])
            self._try(left, steps)
        seconds, of_all = self._seconds_left(left)
        if seconds is not None:
            about = f"about {_format_seconds(seconds)}" + ("" if of_all else ", without measuring")
            said += f": {about} for the {len(left)} that are left, one after the other"
        need, free = self._disk(left), shutil.disk_usage(self.work.place.root).free
        if need:
            said += f"; {need / GIGA:.1f} GB for checkpoints, {free / GIGA:.1f} GB are free"
        self.work.say(said)
        if need > free:
            raise ZooError(
                f"{self.work.place.root} has room for {free / GIGA:.1f} GB, and the runs keep "
                f"{need / GIGA:.1f} GB: name a --work with more, or write keep_checkpoints: false "
                "into the study"
            )

    def describe_completed(self, run: Run) -> str:
        """Returns what is said of a run that is whole now: its time, and how long is left."""
        seconds = sum(self.work.records.read_record(run).get("seconds", {}).values())
        left = [other for other in self.runs if not self.is_complete(other)]
        more, _ = self._seconds_left(left)
        ahead = f", about {_format_seconds(more)} left" if left and more is not None else ""
        return f"{_format_seconds(seconds)}{ahead}"

    def _seconds_left(self, left: list[Run]) -> tuple[float | None, bool]:
        """Returns the seconds of runs, None where nothing is known, and whether all is counted."""
        taken: dict[str, list[float]] = {}
        for run in self.runs:
            if self.is_complete(run):
                told = self.work.records.read_record(run).get("seconds", {})
                taken.setdefault(run.row, []).append(sum(told.values()))
        known = {row: median(of) for row, of in taken.items()}
        rows = [median(of) for row, of in taken.items() if row != FIRST]
        seconds, of_all = 0.0, True
        for run in left:
            if run.row in known:
                seconds += known[run.row]
            elif run.row in self.trials:
                trial = self.trials[run.row]
                seconds += trial["steps"] * trial["seconds"]
                of_all = False
            elif rows:
                seconds += median(rows)
            else:
                return None, False
        return seconds, of_all

    def _disk(self, left: list[Run]) -> float:
        """Returns the bytes of checkpoints of the runs: the last of each, and the best."""
        kept = 1.0 if self.work.study.keep_checkpoints else 0.0
        sizes = [2 * float(self.trials.get(run.row, {}).get("bytes", 0.0)) for run in left]
        firsts = [size for run, size in zip(left, sizes, strict=True) if run.row == FIRST]
        return max(kept * sum(sizes), sum(firsts) + max(sizes, default=0.0))

    def _try(self, left: list[Run], steps: int) -> None:
        """Takes a few steps of each row that is not known yet, and keeps what they told.

        A row that starts from a first tower is tried from nothing.

        Raises:
            ZooError: A row cannot be trained.
        """
        file = self.work.place.root / FILE
        kept = _read(file)
        rows = {run.row: run for run in reversed(left)}
        known = {row: self._known_by(run) for row, run in rows.items()}
        self.trials = {row: kept[row] for row in rows if kept.get(row, {}).get("of") == known[row]}
        untried = [run for row, run in reversed(rows.items()) if row not in self.trials]
        for number, run in enumerate(untried, 1):
            began = time.monotonic()
            told = self.trials[run.row] = {"of": known[run.row], **self._run_trial(run, steps)}
            write_bytes(file, json.dumps({**kept, **self.trials}, indent=1).encode())
            self.work.say(
                f"trial {number}/{len(untried)}, {run.row}: {told['seconds']:.2f} s a step "
                f"({time.monotonic() - began:.0f} s)"
            )

    def _known_by(self, run: Run) -> str:
        """Returns a digest of what a trial of a row depends on."""
        identity = self.work.records.identity(Run(run.row, self.work.study.seeds[0], run.layers))
        told = json.dumps([identity[name] for name in ("settings", "data", "code")])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def _run_trial(self, run: Run, steps: int) -> dict[str, float]:
        arguments = fit_arguments(run, self.work.place)
        if self.work.study.first:
            arguments += ["--model.backbone.pretrained", "null"]
        found, reason = _trial_in_process({"fit": arguments, "steps": steps})
        if reason:
            raise ZooError(
                f"{self.work.study.name}: {run.row} cannot be trained, a trial of {steps} steps "
                f"says: {reason}"
            )
        return found

    def _refuse_what_cannot_be_measured(self, run: Run) -> None:
        _, reason = _trial_in_process({"validate": asked_of(run, self.work.place)})
        if reason:
            raise ZooError(
                f"{self.work.study.name}: nothing can be measured by what `validate:` says: "
                f"{reason}"
            )


def _trial_in_process(asked: dict[str, Any]) -> tuple[dict[str, float], str]:
    """Returns what a trial in a process of its own tells, and why it failed; one of them empty."""
    with TemporaryDirectory() as folder:
        question, answer = Path(folder) / "asked.json", Path(folder) / "told.json"
        question.write_text(json.dumps(asked), "utf-8")
        ended = subprocess.run(
            [
                *(sys.executable, "-P", "-m", "zoo.cli.studies.trial"),
                *(str(question), str(answer)),
                *([FLAG] if current_trust().all_code else []),
            ],
            capture_output=True,
            text=True,
        )
        if not ended.returncode:
            return json.loads(answer.read_text("utf-8")), ""
    lines = [line for line in ended.stderr.splitlines() if line.strip()] or ["no word"]
    return {}, lines[-1].removeprefix("zoo: ")


def _read(file: Path) -> dict[str, Any]:
    """Returns what a file of trials keeps, nothing where it cannot be read."""
    try:
        kept: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept


def _format_seconds(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
