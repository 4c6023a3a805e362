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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.checkpoints.files import CHECKPOINTS, read_checkpoint
from zoo.cli.studies.locks import held
from zoo.cli.studies.records import BEGUN, TRAINED, WHOLE, Records
from zoo.cli.studies.runs import FIRST, Place, Run, fit_arguments, validate_arguments
from zoo.errors import ZooError
from zoo.support.files import write_beside

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
    with log.open("ab") as out:
        out.write(f"$ zoo {shlex.join(arguments)}\n".encode())
        out.flush()
        child = subprocess.Popen(
            [sys.executable, "-m", "zoo.cli", *arguments],
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

    def __init__(self, place: Place, say: Callable[[str], None] = print) -> None:
        self.place, self.study, self.say = place, place.study, say
        self.records = Records(place)

    def begin(self) -> None:
        """Takes the work folder.

        Raises:
            ZooError: It is of another study, or holds other things.
        """
        file, prepared = self.place.root / PLAN, dict(self.study.prepare)
        if file.is_file():
            there = json.loads(file.read_text("utf-8"))
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
        elif self.place.root.is_dir() and any(self.place.root.iterdir()):
            raise ZooError(
                f"{self.place.root} holds other things than a study: name an empty folder by --work"
            )
        said = {"study": self.study.name, "prepare": prepared}
        write_beside(file, (json.dumps(said, indent=1) + "\n").encode())

    def prepare(self) -> None:
        """Makes what is not there, by one process at a time.

        Raises:
            ZooError: A command failed.
        """
        for made, how in self.place.filled(self.study.prepare).items():
            if Path(made).exists():
                continue
            with held(self.place.root / "locks" / "prepare", wait=True) as lock:
                if Path(made).exists() or lock is None:
                    continue
                self.say(f"{made}: {how}")
                log = self.place.root / "logs" / "prepare.log"
                Path(made).parent.mkdir(parents=True, exist_ok=True)
                status = command(shlex.split(how)[1:], log, lock)
                if status or not Path(made).exists():
                    raise ZooError(
                        f"{self.study.name}: `{how}` did not make {made} "
                        f"({_reason(log, status)}): {log} has what it printed"
                    )

    def do(self, run: Run, wait: bool = False, measured: bool = True) -> bool:
        """Trains and measures a run, from where it is.

        Args:
            run: The run.
            wait: Whether to wait where another process does it.
            measured: Whether it is measured.

        Returns:
            Whether it is done; False where another process does it.

        Raises:
            Failed: It ended before it was whole.
        """
        with self._locked(run, wait) as lock:
            if lock is None:
                return False
            stage = self.records.stage(run)
            if stage == WHOLE:
                return True
            if stage != TRAINED:
                first = self.place.first(run)
                if first is not None:
                    self.do(first, wait=True)
                self._train(run, lock)
            if measured:
                self._measure(run, lock)
        return True

    def forget(self, run: Run) -> None:
        """Deletes all of a run."""
        shutil.rmtree(self.place.run(run), ignore_errors=True)
        shutil.rmtree(self.place.measured(run), ignore_errors=True)
        self.records.file(run).unlink(missing_ok=True)

    @contextmanager
    def _locked(self, run: Run, wait: bool) -> Iterator[int | None]:
        file = self.place.root / "locks" / run.folder
        with held(file, wait=False) as lock:
            if lock is not None or not wait:
                yield lock
                return
        self.say(f"{run} is done by another process: waiting for it")
        with held(file, wait=True) as lock:
            yield lock

    def _train(self, run: Run, lock: int) -> None:
        self.records.write(run, {**self.records.identity(run), "stage": BEGUN})
        last, folder, more = self.place.last(run), self.place.run(run), list[str]()
        if last.is_file():
            more = ["--ckpt_path", str(folder)]
        elif folder.is_dir():  # it ended before its first checkpoint
            more = ["--overwrite"]
        if not (last.is_file() and _finished(last)):
            self._timed(run, "fit", [*fit_arguments(run, self.place), *more], lock)
        self.records.write(run, {"stage": TRAINED})

    def _measure(self, run: Run, lock: int) -> None:
        arguments = validate_arguments(run, self.place)
        if self.place.measured(run).exists():
            arguments.append("--overwrite")
        self._timed(run, "validate", arguments, lock)
        self.records.write(run, {"stage": WHOLE})
        if not self.study.keep_checkpoints and run.row != FIRST:
            shutil.rmtree(self.place.run(run) / CHECKPOINTS, ignore_errors=True)

    def _timed(self, run: Run, name: str, arguments: list[str], lock: int) -> None:
        """Runs a command, and adds the seconds that it took to those of the run."""
        log, began = self.place.log(run), time.monotonic()
        status = command([name, *arguments], log, lock)
        seconds = self.records.there(run).get("seconds", {})
        seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - began, 1)
        self.records.write(run, {"seconds": seconds})
        if status:
            raise Failed(f"{_reason(log, status)} (all of it in {log})")


def _finished(last: Path) -> bool:
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
