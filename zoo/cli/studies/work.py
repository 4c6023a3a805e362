"""Execution of a study's runs with `zoo fit` and `zoo validate`, each in a separate process.

With one process per command, the memory, state or crash of one run cannot affect another.
"""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zoo.checkpoints.files import CHECKPOINTS, read_checkpoint
from zoo.cli.studies.file import FIRST, split_command
from zoo.cli.studies.locks import lock_file
from zoo.cli.studies.records import BEGUN, TRAINED, WHOLE, Records, digests
from zoo.cli.studies.runs import (
    DATA_ROOT,
    PLAN,
    Run,
    WorkFolder,
    fit_arguments,
    validate_arguments,
)
from zoo.errors import ZooError
from zoo.support.files import write_bytes
from zoo.support.trust import FLAG, current_trust

ERROR_PREFIX = "zoo: "  # begins the line in which a command reports an error


class RunFailed(Exception):
    """A run ended before it was complete; the message is the reason."""


def run_zoo_command(arguments: list[str], log: Path, lock: int) -> int:
    """Runs a zoo command in a separate process, which is terminated together with this one.

    Args:
        arguments: The command and its arguments.
        log: The file to which its output is appended.
        lock: The handle of a lock, which the process inherits.

    Returns:
        The exit status; a negative status is minus the signal that killed the process.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    trust = [FLAG] if current_trust().all_code else []
    with log.open("ab") as log_file:
        log_file.write(f"$ zoo {shlex.join(arguments)}\n".encode())
        log_file.flush()
        child = subprocess.Popen(
            # -P keeps the working folder off the import path
            [sys.executable, "-P", "-m", "zoo.cli", *arguments, *trust],
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=subprocess.STDOUT,
            pass_fds=(lock,),
        )
        try:
            return child.wait()
        except BaseException:
            child.terminate()  # it writes the checkpoint from which it resumes
            child.wait()
            raise


class StudyExecutor:
    """Executes the incomplete runs of a study.

    Args:
        place: The work folder.
        say: Function that prints a line.
    """

    def __init__(self, place: WorkFolder, say: Callable[[str], None] = print) -> None:
        self.place, self.study, self.print_line = place, place.study, say
        self.records = Records(place)
        self._failed: dict[str, RunFailed] = {}

    def claim_work_folder(self) -> None:
        """Claims the work folder for this study.

        Raises:
            ZooError: It belongs to another study, has unrelated files, or was prepared from other
                data.
        """
        plan = self.check_work_folder()
        new_plan = {
            "study": self.study.name,
            "rows": [*self.study.models, *self.study.row_layers()],
            "prepare": {**plan.get("prepare", {}), **self.study.prepare},
            "made_from": plan.get("made_from", {}),
        }
        self._write_study_plan(new_plan)

    def check_work_folder(self) -> dict[str, Any]:
        """Checks that the work folder belongs to this study, and returns its plan.

        Raises:
            ZooError: It belongs to another study, has unrelated files, or was prepared from other
                data.
        """
        file, prepared = self.place.root / PLAN, dict(self.study.prepare)
        plan: dict[str, Any] = {}
        if file.is_file():
            try:
                plan = json.loads(file.read_text("utf-8"))
                plan = {"study": "", "prepare": {}, **plan}
            except (ValueError, TypeError) as error:
                raise ZooError(
                    f"{file} cannot be read ({error}): delete it; files that `prepare` made are "
                    "then used as they are"
                ) from error
            if plan["study"] != self.study.name:
                raise ZooError(
                    f"{self.place.root} is the work folder of the study {plan['study']}: choose "
                    f"another {self.place.folder_flag} for {self.study.name}"
                )
            changed = {
                path: old_command
                for path, old_command in plan["prepare"].items()
                if path in prepared and prepared[path] != old_command
            }
            for path, old_command in changed.items():
                raise ZooError(
                    f"{path} in {self.place.root} was made by `{old_command}`, but "
                    f"{self.study.name} has `{prepared[path]}`: choose another --work_dir, or "
                    "delete "
                    "that folder"
                )
            for path, data in plan.get("made_from", {}).items():
                current = self._source_digests(path) if path in prepared else data
                if current != data and self._prepared_path(path).exists():
                    changed_path = next(
                        p for p in {**data, **current} if data.get(p) != current.get(p)
                    )
                    raise ZooError(
                        f"{self._prepared_path(path)} was made from "
                        f"{self.place.expand_placeholders(changed_path)}, which has changed: "
                        "delete "
                        f"{self._prepared_path(path)}, or choose another --work_dir"
                    )
        elif self.place.root.is_dir() and any(self.place.root.iterdir()):
            raise ZooError(
                f"{self.place.root} is not empty and not the work folder of a study: choose an "
                f"empty folder with {self.place.folder_flag}"
            )
        return plan

    def fetch_data(self) -> None:
        """Fetches missing data that the study names, by `zoo data get`.

        What cannot be fetched is reported there, and the study continues with the existing data.
        """
        if self.study.fetch is not None:
            arguments = ["data", "get", self.study.fetch, "--data_root", self.place.data_root]
            self.print_line(f"zoo {shlex.join(arguments)}")
            subprocess.run([sys.executable, "-P", "-m", "zoo.cli", *arguments], check=False)

    def has_prepared_files(self) -> bool:
        """Returns whether all files that the study prepares exist."""
        return all(self._prepared_path(path).exists() for path in self.study.prepare)

    def prepare_files(self) -> None:
        """Creates missing files with the `prepare` commands, in one process at a time.

        Raises:
            ZooError: A command failed.
        """
        for name, command_of in self.study.prepare.items():
            path = self._prepared_path(name)
            arguments = self.place.expand_placeholders(split_command(command_of))
            if path.exists():
                continue
            with lock_file(self.place.root / "locks" / "prepare", wait=True) as lock:
                if path.exists() or lock is None:
                    continue
                self.print_line(f"{path}: {shlex.join(arguments)}")
                log = self.place.root / "logs" / "prepare.log"
                path.parent.mkdir(parents=True, exist_ok=True)
                data = self._source_digests(name)
                status = run_zoo_command(arguments[1:], log, lock)
                if status or not path.exists():
                    raise ZooError(
                        f"{self.study.name}: `{shlex.join(arguments)}` did not make {path} "
                        f"({_find_failure_reason(log, status)}): see {log}"
                    )
                plan = json.loads((self.place.root / PLAN).read_text("utf-8"))
                self._write_study_plan({**plan, "made_from": {**plan["made_from"], name: data}})

    def execute_run(self, run: Run, wait: bool = False, validate: bool = True) -> bool:
        """Trains and measures a run, starting from the stage that it reached.

        Args:
            run: The run.
            wait: Whether to wait if another process executes the run.
            validate: Whether to validate the run after training.

        Returns:
            Whether it is done; False if another process executes it.

        Raises:
            RunFailed: The run failed, now or earlier in this process.
        """
        if str(run) in self._failed:
            raise self._failed[str(run)]
        with self._lock_run(run, wait) as lock:
            if lock is None:
                return False
            try:
                self._execute_stages(run, lock, validate)
            except (RunFailed, ZooError) as error:
                self._failed[str(run)] = RunFailed(str(error))
                raise self._failed[str(run)] from error
        return True

    def delete_run(self, run: Run) -> None:
        """Deletes the record, checkpoints and results of a run.

        Raises:
            ZooError: Another process executes it.
        """
        with lock_file(self._lock_path(run), wait=False) as lock:
            if lock is None:
                raise ZooError(
                    f"{run} is being executed by another process: stop that process before "
                    "repeating the run"
                )
            self.records.file(run).unlink(missing_ok=True)
            shutil.rmtree(self.place.run_folder(run), ignore_errors=True)
            shutil.rmtree(self.place.results_folder(run), ignore_errors=True)

    def _execute_stages(self, run: Run, lock: int, validate: bool) -> None:
        stage = self.records.stage(run)
        if stage == WHOLE:
            return
        if not run.is_trained:
            if not stage:
                identity = self.records.identity(run)
                fields = {**identity, "data_root": self.place.data_root, "stage": TRAINED}
                self.records.update_record(run, fields)
        elif stage != TRAINED:
            initial_run = self.place.initial_run(run)
            if initial_run is not None:
                try:
                    self.execute_run(initial_run, wait=True)
                except RunFailed as error:
                    raise RunFailed(
                        f"{initial_run}, which it starts from, failed: {error}"
                    ) from error
            self._train(run, lock)
        if validate:
            self._validate_and_clean_up(run, lock)

    def _write_study_plan(self, plan: Mapping[str, Any]) -> None:
        write_bytes(self.place.root / PLAN, (json.dumps(plan, indent=1) + "\n").encode())

    def _prepared_path(self, name: str) -> Path:
        return Path(self.place.expand_placeholders(name))

    def _source_digests(self, name: str) -> dict[str, str]:
        """Returns the digests of the files under the data root that a `prepare` command reads."""
        inputs = [
            word
            for word in split_command(self.study.prepare[name])
            if DATA_ROOT in word and word != name
        ]
        sources: dict[str, str] = self.place.restore_placeholders(
            digests(self.place.expand_placeholders(inputs))
        )
        return sources

    @contextmanager
    def _lock_run(self, run: Run, wait: bool) -> Iterator[int | None]:
        file = self._lock_path(run)
        with lock_file(file, wait=False) as lock:
            if lock is not None or not wait:
                yield lock
                return
        self.print_line(f"{run} is being executed by another process: waiting for it")
        with lock_file(file, wait=True) as lock:
            yield lock

    def _lock_path(self, run: Run) -> Path:
        return self.place.root / "locks" / run.folder

    def _train(self, run: Run, lock: int) -> None:
        checkpoint, folder = self.place.last_checkpoint(run), self.place.run_folder(run)
        extra: list[str] = []
        has_record = bool(self.records.stage(run))  # a folder without a record is not trusted
        if not has_record:
            self.records.update_record(run, {**self.records.identity(run), "stage": BEGUN})
        resumes = has_record and checkpoint.is_file()
        if resumes:
            extra = ["--ckpt_path", str(folder)]
        elif folder.is_dir():  # it stopped before its first checkpoint
            extra = ["--overwrite"]
        if not (resumes and _is_finished(checkpoint)):
            self._run_and_record_duration(
                run, "fit", [*fit_arguments(run, self.place), *extra], lock
            )
        self.records.update_record(run, {"stage": TRAINED})

    def _validate(self, run: Run, lock: int) -> None:
        arguments = validate_arguments(run, self.place)
        if self.place.results_folder(run).exists():
            arguments.append("--overwrite")
        self._run_and_record_duration(run, "validate", arguments, lock)

    def _validate_and_clean_up(self, run: Run, lock: int) -> None:
        self._validate(run, lock)
        self.records.update_record(run, {"stage": WHOLE})
        if run.is_trained and not self.study.keep_checkpoints and run.row != FIRST:
            shutil.rmtree(self.place.run_folder(run) / CHECKPOINTS, ignore_errors=True)

    def _run_and_record_duration(
        self, run: Run, name: str, arguments: list[str], lock: int
    ) -> None:
        """Runs a command, and adds its duration to the run's record."""
        log, began = self.place.log_file(run), time.monotonic()
        status = run_zoo_command([name, *arguments], log, lock)
        seconds = self.records.read_record(run).get("seconds", {})
        seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - began, 1)
        self.records.update_record(run, {"seconds": seconds})
        if status:
            raise RunFailed(f"{_find_failure_reason(log, status)} (full log: {log})")


def _is_finished(checkpoint: Path) -> bool:
    """Returns whether a checkpoint was written at the end of its run."""
    state = read_checkpoint(checkpoint)
    return bool(state["global_step"] >= state["run"]["plan"]["steps"])


def _find_failure_reason(log: Path, status: int) -> str:
    """Returns the last error that a command printed, or the signal that killed it."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    errors = [line.removeprefix(ERROR_PREFIX) for line in lines if line.startswith(ERROR_PREFIX)]
    return (errors or lines or ["it printed nothing"])[-1].strip()
