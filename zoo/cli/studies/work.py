"""Work: a study's runs, trained and measured by `zoo fit` and `zoo validate`, each in a process.

A process of its own a run: what one leaves behind, takes of memory or dies of touches no other.
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
from zoo.cli.studies.file import FIRST, words
from zoo.cli.studies.locks import lock_file
from zoo.cli.studies.records import BEGUN, TRAINED, WHOLE, Records, digests
from zoo.cli.studies.runs import DATA_ROOT, Run, WorkFolder, fit_arguments, validate_arguments
from zoo.errors import ZooError
from zoo.support.files import write_bytes
from zoo.support.trust import FLAG, current_trust

PLAN = "study.json"
TOLD = "zoo: "  # what the line begins with in which a command says its mistake


class Failed(Exception):
    """A run ended before it was whole; the message says of what."""


def command(arguments: list[str], log: Path, lock: int) -> int:
    """Runs a command of zoo in a process of its own, and ends it where this one is ended.

    Args:
        arguments: The command and its arguments.
        log: Where it adds what it prints.
        lock: A handle that it inherits, and with it the lock.

    Returns:
        The exit status; less than 0 is minus the signal that killed it.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    trust = [FLAG] if current_trust().all_code else []
    with log.open("ab") as out:
        out.write(f"$ zoo {shlex.join(arguments)}\n".encode())
        out.flush()
        child = subprocess.Popen(
            # without the working folder on the import path
            [sys.executable, "-P", "-m", "zoo.cli", *arguments, *trust],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            pass_fds=(lock,),
        )
        try:
            return child.wait()
        except BaseException:
            child.terminate()  # it writes the checkpoint from which it goes on
            child.wait()
            raise


class Work:
    """Does the runs of a study that are not whole.

    Args:
        place: The work folder.
        say: Prints a line.
    """

    def __init__(self, place: WorkFolder, say: Callable[[str], None] = print) -> None:
        self.place, self.study, self.say = place, place.study, say
        self.records = Records(place)
        self._failed: dict[str, Failed] = {}

    def begin(self) -> None:
        """Takes the work folder.

        Raises:
            ZooError: It is of another study, or holds other things, or what was made of other data.
        """
        there = self.check()
        said = {
            "study": self.study.name,
            "prepare": {**there.get("prepare", {}), **self.study.prepare},
            "made_from": there.get("made_from", {}),
        }
        self._plan(said)

    def check(self) -> dict[str, Any]:
        """Makes sure that the work folder is of this study, and returns what it says of itself.

        Raises:
            ZooError: It is of another study, or holds other things, or what was made of other data.
        """
        file, prepared = self.place.root / PLAN, dict(self.study.prepare)
        there: dict[str, Any] = {}
        if file.is_file():
            try:
                there = json.loads(file.read_text("utf-8"))
                there = {"study": "", "prepare": {}, **there}
            except (ValueError, TypeError) as error:
                raise ZooError(
                    f"{file} cannot be read ({error}): delete it, and what `prepare` made of the "
                    "study is taken as it is"
                ) from error
            if there["study"] != self.study.name:
                raise ZooError(
                    f"{self.place.root} is the work folder of the study {there['study']}: name "
                    f"another --work for {self.study.name}"
                )
            changed = {
                made: how
                for made, how in there["prepare"].items()
                if made in prepared and prepared[made] != how
            }
            for made, how in changed.items():
                raise ZooError(
                    f"{self.place.root} holds {made} as `{how}` made it, and {self.study.name} "
                    f"says `{prepared[made]}`: name another --work, or delete that folder"
                )
            for made, data in there.get("made_from", {}).items():
                now = self._made_from(made) if made in prepared else data
                if now != data and self._path(made).exists():
                    path = next(p for p in {**data, **now} if data.get(p) != now.get(p))
                    raise ZooError(
                        f"{self._path(made)} was made of {self.place.fill_folders(path)} as it was "
                        "before: delete what was made, or name another --work"
                    )
        elif self.place.root.is_dir() and any(self.place.root.iterdir()):
            raise ZooError(
                f"{self.place.root} holds other things than a study: name an empty folder by --work"
            )
        return there

    def is_prepared(self) -> bool:
        """Returns whether all that the study prepares is there."""
        return all(self._path(made).exists() for made in self.study.prepare)

    def prepare(self) -> None:
        """Makes what is not there, by one process at a time.

        Raises:
            ZooError: A command failed.
        """
        for name, command_of in self.study.prepare.items():
            made, how = self._path(name), self.place.fill_folders(words(command_of))
            if made.exists():
                continue
            with lock_file(self.place.root / "locks" / "prepare", wait=True) as lock:
                if made.exists() or lock is None:
                    continue
                self.say(f"{made}: {shlex.join(how)}")
                log = self.place.root / "logs" / "prepare.log"
                made.parent.mkdir(parents=True, exist_ok=True)
                data = self._made_from(name)
                status = command(how[1:], log, lock)
                if status or not made.exists():
                    raise ZooError(
                        f"{self.study.name}: `{shlex.join(how)}` did not make {made} "
                        f"({_reason(log, status)}): {log} has what it printed"
                    )
                there = json.loads((self.place.root / PLAN).read_text("utf-8"))
                self._plan({**there, "made_from": {**there["made_from"], name: data}})

    def do(self, run: Run, wait: bool = False, measured: bool = True) -> bool:
        """Trains and measures a run, from where it is.

        Args:
            run: The run.
            wait: Whether to wait where another process does it.
            measured: Whether it is measured.

        Returns:
            Whether it is done; False where another process does it.

        Raises:
            Failed: It ended before it was whole, now or when it was done before by this process.
        """
        if str(run) in self._failed:
            raise self._failed[str(run)]
        with self._lock_run(run, wait) as lock:
            if lock is None:
                return False
            try:
                self._do(run, lock, measured)
            except (Failed, ZooError) as error:
                self._failed[str(run)] = Failed(str(error))
                raise self._failed[str(run)] from error
        return True

    def forget(self, run: Run) -> None:
        """Deletes all of a run.

        Raises:
            ZooError: Another process does it.
        """
        with lock_file(self._lock(run), wait=False) as lock:
            if lock is None:
                raise ZooError(
                    f"{run} is done by another process, and cannot be done anew: end that first"
                )
            self.records.file(run).unlink(missing_ok=True)
            shutil.rmtree(self.place.run(run), ignore_errors=True)
            shutil.rmtree(self.place.results_folder(run), ignore_errors=True)

    def _do(self, run: Run, lock: int, measured: bool) -> None:
        stage = self.records.stage(run)
        if stage == WHOLE:
            return
        if stage != TRAINED:
            first = self.place.start_run(run)
            if first is not None:
                try:
                    self.do(first, wait=True)
                except Failed as error:
                    raise Failed(f"{first}, which it starts from, failed: {error}") from error
            self._train(run, lock)
        if measured:
            self._measure(run, lock)

    def _plan(self, said: Mapping[str, Any]) -> None:
        write_bytes(self.place.root / PLAN, (json.dumps(said, indent=1) + "\n").encode())

    def _path(self, made: str) -> Path:
        return Path(self.place.fill_folders(made))

    def _made_from(self, made: str) -> dict[str, str]:
        """Returns the digests of the files under the data root from which something is made."""
        own = [
            word for word in words(self.study.prepare[made]) if DATA_ROOT in word and word != made
        ]
        named: dict[str, str] = self.place.name_folders(digests(self.place.fill_folders(own)))
        return named

    @contextmanager
    def _lock_run(self, run: Run, wait: bool) -> Iterator[int | None]:
        file = self._lock(run)
        with lock_file(file, wait=False) as lock:
            if lock is not None or not wait:
                yield lock
                return
        self.say(f"{run} is done by another process: waiting for it")
        with lock_file(file, wait=True) as lock:
            yield lock

    def _lock(self, run: Run) -> Path:
        return self.place.root / "locks" / run.folder

    def _train(self, run: Run, lock: int) -> None:
        last, folder, more = self.place.last_checkpoint(run), self.place.run(run), list[str]()
        begun = bool(self.records.stage(run))  # else nobody knows what lies there
        if not begun:
            self.records.write(run, {**self.records.identity(run), "stage": BEGUN})
        goes_on = begun and last.is_file()
        if goes_on:
            more = ["--ckpt_path", str(folder)]
        elif folder.is_dir():  # it ended before its first checkpoint
            more = ["--overwrite"]
        if not (goes_on and _is_finished(last)):
            self._run_timed(run, "fit", [*fit_arguments(run, self.place), *more], lock)
        self.records.write(run, {"stage": TRAINED})

    def _measure(self, run: Run, lock: int) -> None:
        arguments = validate_arguments(run, self.place)
        if self.place.results_folder(run).exists():
            arguments.append("--overwrite")
        self._run_timed(run, "validate", arguments, lock)
        self.records.write(run, {"stage": WHOLE})
        if not self.study.keep_checkpoints and run.row != FIRST:
            shutil.rmtree(self.place.run(run) / CHECKPOINTS, ignore_errors=True)

    def _run_timed(self, run: Run, name: str, arguments: list[str], lock: int) -> None:
        """Runs a command, and adds the seconds that it took to those of the run."""
        log, began = self.place.log(run), time.monotonic()
        status = command([name, *arguments], log, lock)
        seconds = self.records.read_record(run).get("seconds", {})
        seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - began, 1)
        self.records.write(run, {"seconds": seconds})
        if status:
            raise Failed(f"{_reason(log, status)} (all of it in {log})")


def _is_finished(last: Path) -> bool:
    """Returns whether a checkpoint is that of a run's end."""
    state = read_checkpoint(last)
    return bool(state["global_step"] >= state["run"]["plan"]["steps"])


def _reason(log: Path, status: int) -> str:
    """Returns what a command said last, or the signal that killed it."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    lines = [line for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    told = [line.removeprefix(TOLD) for line in lines if line.startswith(TOLD)]
    return (told or lines or ["it said nothing"])[-1].strip()
