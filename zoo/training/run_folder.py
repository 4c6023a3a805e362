"""RunFolder: the folder of a run, with what it was started from.

It is claimed before any logger exists, and removed again if the run is refused before it trains.
"""

import json
import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from lightning import LightningModule, Trainer
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import SaveConfigCallback
from lightning.pytorch.loggers import CSVLogger, Logger, TensorBoardLogger
from torch import Tensor

from zoo.batch import Batch
from zoo.checkpoints.files import BEST, CHECKPOINTS, LAST, RUNS, best_of, read_checkpoint, recipe_of
from zoo.errors import ZooError
from zoo.support.distributed import sum_over_ranks
from zoo.support.files import mend_of, write_bytes
from zoo.support.spec import differences
from zoo.training.metrics_log import MetricsLog

CONFIG, RECORD = "config.yaml", "run.json"
OF_A_RUN = (CONFIG, RECORD, "metrics.csv", f"{CHECKPOINTS}/{LAST}", f"{CHECKPOINTS}/{BEST}")
NOT_OF_DATA = ("workers",)  # arguments of a datamodule that change nothing of what is trained on
OF_THE_TRAINER = ("accumulate_grad_batches", "gradient_clip_val", "precision")
OF_TORCHRUN = "torchrun "
NO_JOB = "none"  # what torchrun calls a job that was given no name
HOURS = "train/device_hours"  # wall time of all devices since the run began
NUMBERED = CSVLogger | TensorBoardLogger  # loggers that number the folders of runs
SHOWN = 3  # candidates that a message names, and differences of each

log = logging.getLogger(__name__)
Settings = dict[str, Any]


class RunFolder(SaveConfigCallback):
    """Fills the folder of a run with config.yaml and run.json.

    It is `version_N` of the logger's folder, or of `runs` where there is no logger.

    Attributes:
        record: What tells runs apart, set before training.
        claimed: The folder that `claim` took, None on all ranks but the first.
        made: Whether training began in the folder.
        images_seen: Images with their captions that the steps of this process saw, on all ranks;
            None where the data does not count them, and until training ends.
        replaces: Whether what lies in the folder may be lost.
        goes_on_from: The step of the checkpoint that training goes on from; 0 where it began.
        hours_before: Device hours up to that checkpoint.
    """

    record: Settings = {}  # noqa: RUF012
    claimed: Path | None = None
    replaces = made = False
    goes_on_from = 0
    hours_before = 0.0
    images_seen: int | None = None
    _recorded = False
    _seen: Tensor | None = None

    def claim(self, trainer: Trainer, checkpoint: Path | None) -> None:
        """Takes the folder before any logger exists, so that no other process takes it too.

        Lightning's loggers choose the next free number before any callback is set up, and do not
        create the folder then. A logger that names its run when it starts (wandb) is left alone.

        Args:
            trainer: The trainer, on the first rank. The version of its first logger is set.
            checkpoint: The checkpoint that the run resumes from, None for a new run.

        Raises:
            ZooError: The folder cannot be created, or another process has just taken it.
        """
        logger = trainer.loggers[0] if trainer.loggers else None
        if logger is not None and not isinstance(logger, NUMBERED):
            return
        try:
            if logger is None:
                self.claimed = claim_version(RUNS)
            elif is_numbered(logger):
                self.claimed = claim_version(folder_of_runs(trainer))
                set_version(logger, self.claimed)
            else:
                self.claimed = folder_of(trainer)
                self.claimed.mkdir(parents=True, exist_ok=True)
                if not self.replaces and not lies_in(checkpoint, self.claimed):
                    self._record_first(self.claimed / RECORD)
        except OSError as error:
            raise ZooError(
                f"{error.filename or folder_of_runs(trainer)} could not be created "
                f"({error.strerror}): {mend_of(error)}"
            ) from error

    def _record_first(self, file: Path) -> None:
        """Writes run.json into a folder that the user named, unless another process was faster."""
        try:
            with file.open("x", encoding="utf-8") as out:
                json.dump(self.record, out, indent=1)
        except FileExistsError as error:
            self.claimed = None
            raise ZooError(
                f"another run has just started in {file.parent}: name another "
                "--trainer.logger.version"
            ) from error
        self._recorded = True

    def release(self) -> None:
        """Removes the folder where the run was refused before it trained."""
        if self.claimed is None or self.made:
            return
        if self._recorded:
            (self.claimed / RECORD).unlink(missing_ok=True)
        remove_unused(self.claimed)

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Tells every rank the folder of the first, and gives it to logger and checkpoints."""
        self.began = time.monotonic()
        folder = self.claimed
        if folder is None and trainer.is_global_zero:
            folder = folder_of(trainer)
        self.folder = Path(trainer.strategy.broadcast(str(folder)))
        for logger in trainer.loggers[:1]:
            if is_numbered(logger):
                set_version(logger, self.folder)
        for callback in trainer.checkpoint_callbacks:
            if isinstance(callback, ModelCheckpoint) and callback.dirpath is None:
                callback.dirpath = str(self.folder / CHECKPOINTS)

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: Settings
    ) -> None:
        """Warns of model settings that the run goes on with and the checkpoint did not have."""
        self._before: Settings = checkpoint.get("run", {})
        self.hours_before = self._before.get("device_hours", 0.0)
        if trainer.state.fn != "fit" or not trainer.is_global_zero:
            return
        now = {"hyper_parameters": pl_module.recipe()}  # type: ignore[operator]
        changed = differences(recipe_of(checkpoint), recipe_of(now), "model.")
        if changed:
            log.warning("the run goes on with other settings: %s", "; ".join(changed))

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Fills the folder, and warns where the run goes on under another schedule.

        Args:
            trainer: The trainer.
            pl_module: The module.

        Raises:
            ZooError: The folder cannot be written to; it is raised on every rank.
        """
        self.goes_on_from = trainer.global_step
        fault = ""
        if trainer.is_global_zero:
            try:
                self._fill()
            except ZooError as error:
                fault = str(error)
        fault = trainer.strategy.broadcast(fault)
        if fault:
            raise ZooError(fault)
        self.made = True
        planned = self._plan(trainer)
        changed = differences(
            getattr(self, "_before", {}).get("plan", planned), planned, "trainer."
        )
        if changed and trainer.is_global_zero:
            log.warning("the run goes on under another schedule: %s", "; ".join(changed))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *args: object
    ) -> None:
        """Counts images, and logs what the run took, including what its checkpoint took."""
        pl_module.log(HOURS, self._hours(trainer), batch_size=1)
        if isinstance(batch, Batch):
            seen = batch.filled_rows()
            self._seen = seen if self._seen is None else self._seen + seen

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Adds up the images of all ranks."""
        if self._seen is not None:
            self.images_seen = int(sum_over_ranks(self._seen))

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: Settings
    ) -> None:
        """Adds folder, schedule and device hours of the run."""
        checkpoint["run"] = {
            "folder": str(self.folder),
            "plan": self._plan(trainer),
            "device_hours": self._hours(trainer),
        }

    def _hours(self, trainer: Trainer) -> float:
        seconds = time.monotonic() - self.began
        return self.hours_before + trainer.world_size * seconds / 3600

    def _plan(self, trainer: Trainer) -> Settings:
        settings = {name: getattr(trainer, name) for name in OF_THE_TRAINER}
        return {"steps": int(trainer.estimated_stepping_batches), **settings}

    def _fill(self) -> None:
        """Writes config.yaml and run.json; those of an earlier part of the run are kept."""
        folder, before = self.folder, self.folder / CONFIG
        self.config.overwrite = False
        if self.replaces:
            for name in OF_A_RUN:
                (folder / name).unlink(missing_ok=True)
        if before.exists():
            earlier = len(list(folder.glob("config_*.yaml")))
            os.replace(before, folder / f"config_{earlier}.yaml")
        write_bytes(before, self.parser.dump(self.config, skip_unset=False).encode())
        write_bytes(folder / RECORD, json.dumps(self.record, indent=1).encode())


def claim_version(root: Path) -> Path:
    """Creates and returns the folder `version_N` under `root` with the next free number.

    Of several processes that ask at once, each gets a folder that no other has.

    Raises:
        OSError: The folder cannot be created.
    """
    while True:
        folder = next_version(root)
        root.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir()
        except FileExistsError:
            continue  # another process was faster
        return folder


def remove_unused(folder: Path) -> None:
    """Removes a folder that was claimed, and the folder of runs, where both are empty."""
    with suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()


def is_numbered(logger: Logger) -> bool:
    """Returns whether a logger takes the next free number for its folder."""
    return isinstance(logger, NUMBERED) and logger._version is None


def set_version(logger: Logger, folder: Path) -> None:
    """Makes a logger write into the folder `version_N`."""
    logger._version = int(folder.name.removeprefix("version_"))  # type: ignore[attr-defined]


def lies_in(checkpoint: Path | None, folder: Path) -> bool:
    """Returns whether a checkpoint is one of the run in a folder."""
    return checkpoint is not None and checkpoint.resolve().is_relative_to(folder.resolve())


def folder_of_runs(trainer: Trainer) -> Path:
    """Returns the folder that holds the runs of the first logger, else `runs`."""
    if not trainer.loggers:
        return RUNS
    logger = trainer.loggers[0]
    return Path(logger.save_dir or trainer.default_root_dir) / str(logger.name)


def folder_of(trainer: Trainer) -> Path:
    """Returns the folder of a run, as the first logger has it, else the next one under `runs`."""
    if not trainer.loggers:
        return next_version(RUNS)
    version = trainer.loggers[0].version
    name = version if isinstance(version, str) else f"version_{version}"
    return folder_of_runs(trainer) / name


def next_version(root: Path) -> Path:
    """Returns the folder `version_N` under `root` of the next number that no other has."""
    numbers = [path.name.removeprefix("version_") for path in root.glob("version_*")]
    return root / f"version_{max((int(n) for n in numbers if n.isdigit()), default=-1) + 1}"


def check_free(
    trainer: Trainer, checkpoint: Path | None, overwrite: bool, record: Settings
) -> bool:
    """Makes sure that a run's folder holds no other run.

    Args:
        trainer: The trainer, with its loggers.
        checkpoint: What the run goes on from, None for a new run. In its own folder it may go on.
        overwrite: Whether what lies there may be lost.
        record: What tells runs apart.

    Returns:
        Whether what lies there is to be lost.

    Raises:
        ZooError: Another run lies there, or Lightning's CSVLogger would delete the metrics of the
            run that goes on.
    """
    logger = trainer.loggers[0] if trainer.loggers else None
    if getattr(logger, "_version", None) is None:
        return False
    folder = folder_of(trainer)
    if not folder.is_dir() or not any(folder.iterdir()):
        return False
    if lies_in(checkpoint, folder):
        if isinstance(logger, CSVLogger) and not isinstance(logger, MetricsLog):
            raise ZooError(
                f"{folder} has metrics of the run that goes on, which Lightning's CSVLogger would "
                "delete: set trainer.logger to zoo.training.metrics_log.MetricsLog, or name "
                "another version"
            )
        return False
    if overwrite or (
        _is_restart(record, read_record(folder)) and not (folder / CHECKPOINTS / LAST).exists()
    ):
        return True
    if any((folder / CHECKPOINTS).glob("*.ckpt")):
        mend = f"go on with that run by --ckpt_path {folder}, or lose it by --overwrite"
    else:
        mend = "or lose it by --overwrite, since it ended before its first checkpoint"
    raise ZooError(f"{folder} holds a run already: name another --trainer.logger.version, {mend}")


def read_record(folder: Path) -> Settings:
    """Returns what run.json says of a run, nothing where there is none that can be read."""
    try:
        found = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def runs_under(root: Path) -> list[Path]:
    """Returns the last checkpoints under a folder of runs, the newest first."""
    return sorted(root.glob(f"**/{LAST}"), key=lambda path: path.stat().st_mtime, reverse=True)


def same_run(root: Path, record: Settings, which: str) -> Path:
    """Finds what `--ckpt_path last` or `best` means in `fit`.

    Args:
        root: The folder of runs.
        record: Recipe and data of the run that is to go on.
        which: `last` or `best`.

    Returns:
        The checkpoint of the newest run with that recipe and data.

    Raises:
        ZooError: There is none; the newest others are listed, with what is different about them.
    """
    others = []
    for last in runs_under(root):
        there = read_record(last.parent.parent)
        other = (
            differences(identifying_settings(there), identifying_settings(record))
            if there
            else ["says no recipe"]
        )
        if not other:
            found = last if which == "last" else best_of(last)
            log.info("--ckpt_path %s: %s", which, found)
            return found
        others.append(f"{last} ({'; '.join(other[:SHOWN])}{'; ...' if other[SHOWN:] else ''})")
    if not others:
        raise ZooError(
            f"--ckpt_path {which}: there is no {LAST} under {root}: give the path of one, or leave "
            "the flag out to start anew"
        )
    raise ZooError(
        f"--ckpt_path {which}: no run under {root} has this recipe and data; the newest are "
        f"{', '.join(others[:SHOWN])}: give the path of the one that is meant, or leave the flag "
        "out to start anew"
    )


def requeued_run(root: Path, record: Settings) -> Path | None:
    """Finds what a job goes on from that SLURM or torchrun started again.

    Args:
        root: The folder of runs.
        record: Recipe, data and job of this run.

    Returns:
        The newest checkpoint of this recipe and data that this job wrote before, or None.
    """
    for last in runs_under(root):
        there = read_record(last.parent.parent)
        if _is_restart(record, there) and not differences(
            identifying_settings(there), identifying_settings(record)
        ):
            return last
    return None


def job() -> str | None:
    """Returns the job by which SLURM or torchrun starts processes again, None outside of one.

    Raises:
        ZooError: torchrun is to start them again, and no job tells this run from others.
    """
    slurm: int | None = SLURMEnvironment.job_id()
    if slurm is not None:
        return str(slurm)
    given = os.environ.get("TORCHELASTIC_RUN_ID", NO_JOB)
    if given != NO_JOB:
        return f"{OF_TORCHRUN}{given}"
    if int(os.environ.get("TORCHELASTIC_MAX_RESTARTS") or 0) > 0:
        raise ZooError(
            "torchrun --max_restarts starts a run again, which could not tell its own checkpoint "
            "from another run's: give torchrun a --rdzv_id of this job alone"
        )
    return None


def _is_restart(record: Settings, there: Settings) -> bool:
    """Returns whether the other run is of this job, which was started again.

    torchrun counts restarts on the node alone whose process failed, and none where a node joins, so
    that its job says enough.
    """
    again = int(os.environ.get("SLURM_RESTART_COUNT") or 0) > 0
    job: str = record["job"] or ""
    return there.get("job") == job and (again or job.startswith(OF_TORCHRUN))


def identifying_settings(record: Settings) -> Settings:
    """Returns what makes two runs the same: recipe and data."""
    return {name: record.get(name) for name in ("model", "data")}


def refuse_finished(checkpoint: Path, trainer: Trainer) -> None:
    """Refuses to go on with a run that has done all of its steps.

    Args:
        checkpoint: What the run would go on from.
        trainer: The trainer, which says how many steps and epochs there are.

    Raises:
        ZooError: No step is left.
    """
    state = read_checkpoint(checkpoint)
    steps: int = state["global_step"]
    epochs: int = state["loops"]["fit_loop"]["epoch_progress"]["current"]["processed"]
    for name, done, most in (
        ("max_steps", steps, trainer.max_steps),
        ("max_epochs", epochs, trainer.max_epochs),
    ):
        if most is not None and 0 <= most <= done:
            raise ZooError(
                f"the run of {checkpoint} is finished, with {steps:,} steps: nothing is left of "
                f"--trainer.{name} {most}; raise it to train on, or leave --ckpt_path out to start "
                "anew"
            )
