"""RunFolder: the folder of a run, with its configuration and the record that identifies it.

It is claimed before any logger exists, and removed if the run is refused before it trains.
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
from zoo.support.configurable import differences
from zoo.support.distributed import sum_over_ranks
from zoo.support.files import advice_on, write_bytes
from zoo.support.lightning_internals import has_version, set_version
from zoo.support.renames import translate_data, translate_recipe
from zoo.training.metrics_log import MetricsLog

CONFIG, RECORD = "config.yaml", "run.json"
RUN_FILES = (CONFIG, RECORD, "metrics.csv", f"{CHECKPOINTS}/{LAST}", f"{CHECKPOINTS}/{BEST}")
IGNORED_DATA_SETTINGS = (
    "workers",
)  # arguments of a datamodule that do not change the training data
SCHEDULE_SETTINGS = ("accumulate_grad_batches", "gradient_clip_val", "precision")
TORCHRUN_PREFIX = "torchrun "
NO_JOB = "none"  # torchrun's name of an unnamed job
HOURS = "train/device_hours"  # wall time of all devices since the run began
NUMBERED = CSVLogger | TensorBoardLogger  # loggers that number the folders of runs
MAX_LISTED = 3  # candidates that a message lists, and differences of each

log = logging.getLogger(__name__)
Settings = dict[str, Any]


class RunFolder(SaveConfigCallback):
    """Writes config.yaml and run.json into the folder of a run.

    The folder is `version_N` in the logger's folder, or in `runs` without a logger.

    Attributes:
        record: The settings that identify the run, set before training.
        claimed_folder: The folder that `claim` took, None on all ranks but the first.
        training_began: Whether training began in the folder.
        images_since_start: Images with their captions that this process trained on, summed over
            ranks; None if the data does not count them, and until training ends.
        deletes_earlier_run: Whether existing files in the folder may be deleted.
        resumed_from_step: The step of the checkpoint that was resumed; 0 for a new run.
        hours_before: Device hours up to that checkpoint.
    """

    record: Settings = {}  # noqa: RUF012
    claimed_folder: Path | None = None
    deletes_earlier_run = training_began = False
    resumed_from_step = 0
    hours_before = 0.0
    images_since_start: int | None = None
    _record_written = False
    _n_images: Tensor | None = None

    def claim(self, trainer: Trainer, checkpoint: Path | None) -> None:
        """Claims the folder before any logger exists, so that no other process takes it too.

        Lightning's loggers choose the next free number before any callback is set up, without
        creating the folder. A logger that names its run when it starts (wandb) is not changed.

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
                self.claimed_folder = claim_version_folder(RUNS)
            elif chooses_next_version(logger):
                self.claimed_folder = claim_version_folder(folder_of_logger_runs(trainer))
                set_version(logger, self.claimed_folder)
            else:
                self.claimed_folder = choose_run_folder(trainer)
                self.claimed_folder.mkdir(parents=True, exist_ok=True)
                if not self.deletes_earlier_run and not is_checkpoint_in(
                    checkpoint, self.claimed_folder
                ):
                    self._claim_chosen_folder(self.claimed_folder / RECORD)
        except OSError as error:
            raise ZooError(
                f"{error.filename or folder_of_logger_runs(trainer)} could not be created "
                f"({error.strerror}): {advice_on(error)}"
            ) from error

    def _claim_chosen_folder(self, file: Path) -> None:
        """Writes run.json into the folder that the user chose, unless another run did so first."""
        try:
            with file.open("x", encoding="utf-8") as record_file:
                json.dump(self.record, record_file, indent=1)
        except FileExistsError as error:
            self.claimed_folder = None
            raise ZooError(
                f"another run has just started in {file.parent}: choose another "
                "--trainer.logger.version"
            ) from error
        self._record_written = True

    def remove_if_not_trained(self) -> None:
        """Removes the folder of a run that was refused before it trained."""
        if self.claimed_folder is None or self.training_began:
            return
        if self._record_written:
            (self.claimed_folder / RECORD).unlink(missing_ok=True)
        remove_run_folder_if_empty(self.claimed_folder)

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Broadcasts the folder to all ranks, and sets it in the logger and the checkpoints."""
        self.began = time.monotonic()
        folder = self.claimed_folder
        if folder is None and trainer.is_global_zero:
            folder = choose_run_folder(trainer)
        self.folder = Path(trainer.strategy.broadcast(str(folder)))
        for logger in trainer.loggers[:1]:
            if chooses_next_version(logger):
                set_version(logger, self.folder)
        for callback in trainer.checkpoint_callbacks:
            if isinstance(callback, ModelCheckpoint) and callback.dirpath is None:
                callback.dirpath = str(self.folder / CHECKPOINTS)

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: Settings
    ) -> None:
        """Warns if the resumed run has other model settings than the checkpoint."""
        self._earlier_run: Settings = checkpoint.get("run", {})
        self.hours_before = self._earlier_run.get("device_hours", 0.0)
        if trainer.state.fn != "fit" or not trainer.is_global_zero:
            return
        current = {"hyper_parameters": pl_module.constructor_config()}  # type: ignore[operator]
        changed = differences(recipe_of(checkpoint), recipe_of(current), "model.")
        if changed:
            log.warning("the run resumes with other settings: %s", "; ".join(changed))

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Fills the folder, and warns if the run resumes with another schedule.

        Args:
            trainer: The trainer.
            pl_module: The module.

        Raises:
            ZooError: The folder cannot be written to; the error is raised on every rank.
        """
        self.resumed_from_step = trainer.global_step
        error_message = ""
        if trainer.is_global_zero:
            try:
                self._replace_run_files()
            except ZooError as error:
                error_message = str(error)
        error_message = trainer.strategy.broadcast(error_message)
        if error_message:
            raise ZooError(error_message)
        self.training_began = True
        planned = self._trainer_settings(trainer)
        changed = differences(
            getattr(self, "_earlier_run", {}).get("plan", planned), planned, "trainer."
        )
        if changed and trainer.is_global_zero:
            log.warning("the run resumes with another schedule: %s", "; ".join(changed))

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *args: object
    ) -> None:
        """Counts images, and logs the device hours since the first start of the run."""
        pl_module.log(HOURS, self._device_hours(trainer), batch_size=1)
        if isinstance(batch, Batch):
            n_images = batch.count_captioned_rows()
            self._n_images = n_images if self._n_images is None else self._n_images + n_images

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Sums the images over all ranks."""
        if self._n_images is not None:
            self.images_since_start = int(sum_over_ranks(self._n_images))

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: Settings
    ) -> None:
        """Adds the folder, schedule and device hours of the run to the checkpoint."""
        checkpoint["run"] = {
            "folder": str(self.folder),
            "plan": self._trainer_settings(trainer),
            "device_hours": self._device_hours(trainer),
        }

    def _device_hours(self, trainer: Trainer) -> float:
        seconds = time.monotonic() - self.began
        return self.hours_before + trainer.world_size * seconds / 3600

    def _trainer_settings(self, trainer: Trainer) -> Settings:
        settings = {name: getattr(trainer, name) for name in SCHEDULE_SETTINGS}
        return {"steps": int(trainer.estimated_stepping_batches), **settings}

    def _replace_run_files(self) -> None:
        """Writes config.yaml and run.json; the config of an earlier part of the run is kept."""
        folder, config_file = self.folder, self.folder / CONFIG
        self.config.overwrite = False
        if self.deletes_earlier_run:
            for name in RUN_FILES:
                (folder / name).unlink(missing_ok=True)
        if config_file.exists():
            n_earlier = len(list(folder.glob("config_*.yaml")))
            os.replace(config_file, folder / f"config_{n_earlier}.yaml")
        config = self.parser.dump(self.config, skip_unset=False, skip_validation=True)
        write_bytes(config_file, config.encode())
        write_bytes(folder / RECORD, json.dumps(self.record, indent=1).encode())


def claim_version_folder(root: Path) -> Path:
    """Creates and returns the folder `version_N` under `root` with the next free number.

    Each of several simultaneous processes gets its own folder.

    Raises:
        OSError: The folder cannot be created.
    """
    while True:
        folder = next_version_folder(root)
        root.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir()
        except FileExistsError:
            continue  # another process was faster
        return folder


def remove_run_folder_if_empty(folder: Path) -> None:
    """Removes a claimed folder, and then the folder of runs, if they are empty."""
    with suppress(OSError):
        folder.rmdir()
        folder.parent.rmdir()


def chooses_next_version(logger: Logger) -> bool:
    """Returns whether a logger takes the next free number for its folder."""
    return isinstance(logger, NUMBERED) and not has_version(logger)


def is_checkpoint_in(checkpoint: Path | None, folder: Path) -> bool:
    """Returns whether a checkpoint belongs to the run in a folder."""
    return checkpoint is not None and checkpoint.resolve().is_relative_to(folder.resolve())


def folder_of_logger_runs(trainer: Trainer) -> Path:
    """Returns the folder of the first logger's runs, `runs` without a logger."""
    if not trainer.loggers:
        return RUNS
    logger = trainer.loggers[0]
    return Path(logger.save_dir or trainer.default_root_dir) / str(logger.name)


def choose_run_folder(trainer: Trainer) -> Path:
    """Returns the run folder of the first logger, the next one under `runs` without a logger."""
    if not trainer.loggers:
        return next_version_folder(RUNS)
    version = trainer.loggers[0].version
    name = version if isinstance(version, str) else f"version_{version}"
    return folder_of_logger_runs(trainer) / name


def next_version_folder(root: Path) -> Path:
    """Returns the folder `version_N` under `root` with the next free number."""
    numbers = [path.name.removeprefix("version_") for path in root.glob("version_*")]
    return root / f"version_{max((int(n) for n in numbers if n.isdigit()), default=-1) + 1}"


def must_delete_run(
    trainer: Trainer, checkpoint: Path | None, overwrite: bool, record: Settings
) -> bool:
    """Checks that a run's folder has no other run in it.

    Args:
        trainer: The trainer, with its loggers.
        checkpoint: The checkpoint to resume, None for a new run. A run may resume in its folder.
        overwrite: Whether an existing run may be deleted.
        record: The settings that identify the run.

    Returns:
        Whether an existing run is to be deleted.

    Raises:
        ZooError: The folder has another run, or Lightning's CSVLogger would delete the metrics of
            the resumed run.
    """
    logger = trainer.loggers[0] if trainer.loggers else None
    if getattr(logger, "_version", None) is None:
        return False
    folder = choose_run_folder(trainer)
    if not folder.is_dir() or not any(folder.iterdir()):
        return False
    if is_checkpoint_in(checkpoint, folder):
        if isinstance(logger, CSVLogger) and not isinstance(logger, MetricsLog):
            raise ZooError(
                f"{folder} has metrics of the resumed run, which Lightning's CSVLogger would "
                "delete: set trainer.logger to zoo.training.metrics_log.MetricsLog, or choose "
                "another version"
            )
        return False
    if overwrite or (
        _is_restart_of_job(record, read_record(folder))
        and not (folder / CHECKPOINTS / LAST).exists()
    ):
        return True
    if any((folder / CHECKPOINTS).glob("*.ckpt")):
        advice = f"resume that run with --ckpt_path {folder}, or delete it with --overwrite"
    else:
        advice = "or delete that run, which has no checkpoint, with --overwrite"
    raise ZooError(f"{folder} already has a run: choose another --trainer.logger.version, {advice}")


def read_record(folder: Path) -> Settings:
    """Returns the run.json of a run, empty if it cannot be read."""
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(record, dict):
        return {}
    model, data = (record.get(name) for name in ("model", "data"))
    return {**record, "model": translate_recipe(model), "data": translate_data(data)}


def list_last_checkpoints(root: Path) -> list[Path]:
    """Returns all last checkpoints under a folder of runs, the newest first."""
    return sorted(root.glob(f"**/{LAST}"), key=lambda path: path.stat().st_mtime, reverse=True)


def find_checkpoint_of_same_run(root: Path, record: Settings, which: str) -> Path:
    """Finds the checkpoint for `--ckpt_path last` or `best` of `zoo fit`.

    Args:
        root: The folder of runs.
        record: Recipe and data of the run to resume.
        which: `last` or `best`.

    Returns:
        The checkpoint of the newest run with that recipe and data.

    Raises:
        ZooError: There is none; the message lists the newest other runs and how they differ.
    """
    candidates = []
    for checkpoint in list_last_checkpoints(root):
        found_record = read_record(checkpoint.parent.parent)
        changes = (
            differences(identifying_settings(found_record), identifying_settings(record))
            if found_record
            else ["has no recipe"]
        )
        if not changes:
            result = checkpoint if which == "last" else best_of(checkpoint)
            log.info("--ckpt_path %s: %s", which, result)
            return result
        candidates.append(
            f"{checkpoint} ({'; '.join(changes[:MAX_LISTED])}"
            f"{'; ...' if changes[MAX_LISTED:] else ''})"
        )
    if not candidates:
        raise ZooError(
            f"--ckpt_path {which}: the folder {root} has no run of `zoo fit`: give the path of a "
            "checkpoint, or omit the flag to start a new run"
        )
    raise ZooError(
        f"--ckpt_path {which}: no run under {root} has this recipe and data; the newest are "
        f"{', '.join(candidates[:MAX_LISTED])}: give the path of the one to resume, or omit the "
        "flag to start a new run"
    )


def find_checkpoint_of_restarted_run(root: Path, record: Settings) -> Path | None:
    """Finds the checkpoint from which a job resumes that SLURM or torchrun restarted.

    Args:
        root: The folder of runs.
        record: Recipe, data and job of this run.

    Returns:
        The newest checkpoint that this job wrote earlier with this recipe and data, or None.
    """
    for checkpoint in list_last_checkpoints(root):
        earlier_record = read_record(checkpoint.parent.parent)
        if _is_restart_of_job(record, earlier_record) and not differences(
            identifying_settings(earlier_record), identifying_settings(record)
        ):
            return checkpoint
    return None


def find_job_id() -> str | None:
    """Returns the SLURM or torchrun job that this process belongs to, None outside of a job.

    Raises:
        ZooError: torchrun may restart the job, but the job has no unique name.
    """
    slurm: int | None = SLURMEnvironment.job_id()
    if slurm is not None:
        return str(slurm)
    torchrun_id = os.environ.get("TORCHELASTIC_RUN_ID", NO_JOB)
    if torchrun_id != NO_JOB:
        return f"{TORCHRUN_PREFIX}{torchrun_id}"
    if int(os.environ.get("TORCHELASTIC_MAX_RESTARTS") or 0) > 0:
        raise ZooError(
            "with torchrun --max_restarts, a restarted run could not identify its own checkpoint: "
            "give torchrun a --rdzv_id that is unique to this job"
        )
    return None


def _is_restart_of_job(record: Settings, earlier_record: Settings) -> bool:
    """Returns whether the other run was an earlier start of this job.

    torchrun counts restarts only on the node whose process failed, and not when a node joins, so
    the name of its job has to suffice.
    """
    slurm_restarted = int(os.environ.get("SLURM_RESTART_COUNT") or 0) > 0
    job: str = record["job"] or ""
    return earlier_record.get("job") == job and (slurm_restarted or job.startswith(TORCHRUN_PREFIX))


def identifying_settings(record: Settings) -> Settings:
    """Returns the settings that identify a run: recipe and data."""
    return {name: record.get(name) for name in ("model", "data")}


def refuse_finished_run(checkpoint: Path, trainer: Trainer) -> None:
    """Refuses to resume a run that has completed all of its steps.

    Args:
        checkpoint: The checkpoint to resume.
        trainer: The trainer, with the limits of steps and epochs.

    Raises:
        ZooError: No steps remain.
    """
    state = read_checkpoint(checkpoint)
    steps: int = state["global_step"]
    epochs: int = state["loops"]["fit_loop"]["epoch_progress"]["current"]["processed"]
    for name, count, limit in (
        ("max_steps", steps, trainer.max_steps),
        ("max_epochs", epochs, trainer.max_epochs),
    ):
        if limit is not None and 0 <= limit <= count:
            raise ZooError(
                f"the run of {checkpoint} is finished: it has {steps:,} steps, and "
                f"--trainer.{name} is {limit}. Raise it to train further, or omit --ckpt_path to "
                "start a new run"
            )
