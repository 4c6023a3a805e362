"""`zoo fit` and `zoo validate`: LightningCLI with named recipes and one-line errors.

Flags override the settings of a checkpoint.
"""

import logging
import os
import signal
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import SUPPRESS, ArgumentParser, Namespace, set_parsing_settings
from lightning import Callback, LightningDataModule
from lightning.pytorch.callbacks import Checkpoint
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import CSVLogger

from zoo.backbones.model_folders import PairScorerSource
from zoo.caption_data import BenchmarkedData, CaptionData, benchmarks_of
from zoo.checkpoints.files import NAMES, RUNS, recipe_of
from zoo.cli.library_internals import subcommand_parsers
from zoo.cli.parser import PAIR_SCORER_FLAG, ZooParser, order_flags
from zoo.error_translation import to_user_error
from zoo.errors import Stopped, ZooError
from zoo.module import ZooModule
from zoo.optim import Optimization
from zoo.results.report import print_results
from zoo.support.class_names import import_all, import_path
from zoo.support.distributed import leave_group
from zoo.support.files import remove_leftovers
from zoo.support.garbage_collection import collector_off, imports_frozen
from zoo.support.lightning_internals import set_version
from zoo.support.log import enable_log_output, filter_notices
from zoo.support.ranges import describe_restriction
from zoo.training.callbacks import BestCheckpoint, LastCheckpoint
from zoo.training.logged_tables import LoggedTables, can_show_tables
from zoo.training.run_folder import (
    IGNORED_DATA_SETTINGS,
    RunFolder,
    chooses_next_version,
    claim_version_folder,
    find_checkpoint_of_restarted_run,
    find_checkpoint_of_same_run,
    find_job_id,
    folder_of_logger_runs,
    must_delete_run,
    refuse_finished_run,
    remove_run_folder_if_empty,
)
from zoo.training.summary import log_summary
from zoo.training.trainer import ZooTrainer

log = logging.getLogger(__name__)
RESUME_HINT = "run the same command with --ckpt_path last to resume from the last checkpoint"
LARGEST_SEED = 2**32 - 1  # the largest seed that NumPy accepts
LOGGER = {
    "class_path": "zoo.training.MetricsLog",
    "init_args": {"save_dir": str(RUNS), "name": None, "flush_logs_every_n_steps": 1},
}


class ZooCLI(LightningCLI):
    """LightningCLI with only the command that runs.

    Args:
        command: `fit` or `validate`; parsers of other commands are not built.
        **arguments: Arguments of LightningCLI.

    Attributes:
        claimed_folder: The numbered folder that the logger of an evaluation writes to.
    """

    claimed_folder: Path | None = None

    def __init__(self, command: str, **arguments: Any) -> None:
        self.command = command
        super().__init__(ZooModule, LightningDataModule, **arguments)

    def subcommands(self) -> dict[str, set[str]]:  # type: ignore[override]
        """Returns Lightning's arguments of the command."""
        return {self.command: LightningCLI.subcommands()[self.command]}

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Adds `last_checkpoint`, `best_checkpoint`, `overwrite` and `get`.

        `validate` takes them as well, so that it can read the config of a run.
        """
        parser.add_lightning_class_args(LastCheckpoint, "last_checkpoint")
        parser.add_lightning_class_args(BestCheckpoint, "best_checkpoint")
        parser.add_argument(
            "--overwrite",
            action="store_true",
            help="overwrite the results of an earlier run or evaluation",
        )
        if isinstance(parser, ZooParser) and parser.command == "validate":
            parser.add_argument(
                "--get", action="store_true", help="first fetch missing files of benchmarks"
            )
            parser.add_argument(PAIR_SCORER_FLAG, type=dict[str, Any] | None, help=SUPPRESS)

    @collector_off()
    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """Parses, and rejects two errors that jsonargparse accepts silently.

        These are a seed out of range, and an unknown name with an empty mapping.
        """
        super().parse_arguments(parser, args)
        command = self.config.subcommand
        seed = self.config[command].seed_everything
        if seed is not True and not 0 <= seed <= LARGEST_SEED:
            allowed = describe_restriction("SeedInt", f"v>=0 and v<={LARGEST_SEED}")
            parser.error(f"seed_everything: {seed} is not {allowed}")
        for settings in subcommand_parsers(self.parser)[command].recipes:
            problem = find_unknown_empty(settings, self.config[command])
            if problem is not None:
                parser.error(f"Subcommand '{command}': {problem}")

    def before_instantiate_classes(self) -> None:
        """Checks the optimizer, and sets the seeds of data and model to `seed_everything`.

        Seeds that are given stay.
        """
        settings = self.config[self.subcommand]
        if self.subcommand == "fit" and settings.model is not None:
            Optimization(**settings.model.optimizer.as_dict()).check_algorithm()
        for part in (settings.model, settings.data.get("init_args")):
            if part is not None and "seed" in part and part.seed is None:
                part.seed = settings.seed_everything or 0

    @collector_off()
    def instantiate_classes(self) -> None:
        """Builds the data, checks its files, and then builds model and trainer.

        A missing file is thus reported before any weights are downloaded.
        """
        data_settings = self.config[self.subcommand].data
        fetches = self.subcommand == "validate" and self.config.validate["get"]
        if fetches and not _is_launched_rank():
            data = self._build_data_and_fetch(data_settings)
        else:
            data = build_data(data_settings)
        if isinstance(data, BenchmarkedData):
            data.check_files()
        if self._pair_scorer is not None:
            self.datamodule = data
            return
        settings = self.config.clone()  # the parsed settings are saved with the run
        settings[self.subcommand].data = data
        self.config_init = self.parser.instantiate(settings)
        self.datamodule = data
        self.model = self.config_init[self.subcommand].model
        self.trainer = self.instantiate_trainer()

    @property
    def _pair_scorer(self) -> PairScorerSource | None:
        """The scorer of pairs that `zoo validate --model` names, None if the model has towers."""
        source = self.config[self.subcommand].get("pair_scorer")
        return source and PairScorerSource(**{**source, "folder": Path(source["folder"])})

    def _run_pair_scorer(self, source: PairScorerSource) -> None:
        """Evaluates a scorer of pairs in this process, without a trainer, on the first rank only.

        Raises:
            ZooError: There are no benchmarks, or the scorer cannot be loaded.
        """
        from zoo.datamodules.benchmarks import EvaluationDataModule
        from zoo.evaluation.embedding_cache import EmbeddingCache
        from zoo.evaluation.pair_scorers import load_pair_scorer

        settings, data = self.config[self.subcommand], self.datamodule
        if _is_launched_rank():
            return
        if not isinstance(data, EvaluationDataModule):
            raise ZooError(f"{source.name} scores pairs: name what to score by --benchmarks")
        device = "cpu" if settings.trainer.accelerator == "cpu" else None
        if data.cache not in (None, EmbeddingCache()):
            log.warning("--cache has no effect, since %s has no embeddings to store", source.name)
        scorer = load_pair_scorer(source, device)
        if data.evaluation.out is None:
            self.claimed_folder = data.evaluation.out = claim_version_folder(RUNS)
        results = data.evaluation.run_plain_model(scorer)
        if not data.quiet:
            print_results(results, long=data.long)

    def _build_data_and_fetch(self, settings: Namespace) -> LightningDataModule:
        """Builds the data of `zoo validate --get`, and fetches its missing files.

        Raises:
            ZooError: The data are not those of benchmarks, or the disk is too small.
        """
        from zoo.cli.data_get import fetch_missing_files
        from zoo.datamodules.benchmarks import EvaluationDataModule

        if not issubclass(import_path(settings.class_path), EvaluationDataModule):
            raise ZooError("--get fetches the files of benchmarks: name these by --benchmarks")
        roots = settings.init_args.data_root
        root = Path(roots if isinstance(roots, str) else roots[0])
        root.mkdir(parents=True, exist_ok=True)
        data = build_data(settings)
        assert isinstance(data, EvaluationDataModule)
        fetch_missing_files(data.evaluation, root, log.info)
        return data

    def before_fit(self) -> None:
        """Rejects what cannot be trained, and deletes temporary files of killed runs.

        This happens before other processes are launched, so that errors are printed once.
        """
        root = self._logger_save_dir()
        for folder in (root, *root.glob("*/"), *root.glob("**/checkpoints/")):
            remove_leftovers(folder)
        if isinstance(self.datamodule, CaptionData):
            self.datamodule.check_devices(self.trainer.world_size)
        self.model.check_data(self.datamodule)
        callbacks: list[Callback] = self.trainer.callbacks  # type: ignore[attr-defined]
        if self.trainer.fast_dev_run:  # type: ignore[attr-defined]
            callbacks[:] = [c for c in callbacks if not isinstance(c, Checkpoint)]
        if can_show_tables(self.trainer.loggers):
            callbacks.append(LoggedTables())
        resumes = self._resolve_checkpoint_and_folder() is not None
        evaluation = benchmarks_of(self.datamodule)
        if evaluation is not None:  # a resumed run continues its own results
            evaluation.overwrite |= resumes or self.config[self.subcommand].overwrite
            evaluation.check_output_folder()
        best = next(
            (callback for callback in callbacks if isinstance(callback, BestCheckpoint)), None
        )
        if (
            best is not None
            and str(best.monitor).startswith("val/")
            and isinstance(self.datamodule, CaptionData)
            and not self.datamodule.validates
        ):
            callbacks.remove(best)
            log.warning(
                "there are no validation captions, and best.ckpt cannot be chosen by %s: only "
                "last.ckpt is saved",
                best.monitor,
            )

    def _logger_save_dir(self) -> Path:
        """Returns the folder of runs."""
        loggers = self.trainer.loggers
        return Path(loggers[0].save_dir or self.trainer.default_root_dir) if loggers else RUNS

    def _resolve_checkpoint_and_folder(self) -> Path | None:
        """Returns the checkpoint to resume from, and rejects the folder of another run."""
        settings = self.config_init[self.subcommand]
        parser = subcommand_parsers(self.parser)[self.config.subcommand]
        config = self.config[self.subcommand].clone()
        config.overwrite = False
        config_text = parser.dump(config, skip_unset=False, skip_validation=True)
        data = yaml.safe_load(config_text)["data"]
        for name in IGNORED_DATA_SETTINGS:
            data.get("init_args", {}).pop(name, None)
        recipe = recipe_of({"hyper_parameters": self.model.constructor_config()})
        record = {"model": recipe, "data": data, "job": find_job_id()}
        root = self._logger_save_dir()
        path_or_name = settings.ckpt_path
        path = None if path_or_name is None else Path(path_or_name)
        if path_or_name in NAMES:
            path = find_checkpoint_of_same_run(root, record, path_or_name)
        elif path_or_name is None:
            path = find_checkpoint_of_restarted_run(root, record)
        if path is not None:
            refuse_finished_run(path, self.trainer)
            settings.ckpt_path = str(path)
        for callback in self.trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, RunFolder):
                callback.record, callback.config_text = record, config_text
                callback.deletes_earlier_run = must_delete_run(
                    self.trainer, path, settings.overwrite, record
                )
                if self.trainer.is_global_zero:
                    callback.claim(self.trainer, path)
        return path

    def before_validate(self) -> None:
        """Removes the outputs that an evaluation does not write.

        These are checkpoints, and the CSV log if `out` names the folder of results.
        """
        callbacks: list[Callback] = self.trainer.callbacks  # type: ignore[attr-defined]
        callbacks[:] = [c for c in callbacks if not isinstance(c, Checkpoint)]
        evaluation = benchmarks_of(self.datamodule)
        if evaluation is not None and evaluation.out is not None:
            self.trainer.loggers = [
                logger for logger in self.trainer.loggers if not isinstance(logger, CSVLogger)
            ]
        for logger in self.trainer.loggers[:1]:
            if chooses_next_version(logger) and self.trainer.is_global_zero:
                self.claimed_folder = claim_version_folder(folder_of_logger_runs(self.trainer))
                set_version(logger, self.claimed_folder)

    def after_fit(self) -> None:
        """Logs a summary of the run and the next commands, on one process."""
        if self.trainer.is_global_zero:
            log_summary(self.trainer)

    def _run_subcommand(self, subcommand: str) -> None:
        """Runs the command; if the user interrupts it, the error names how to resume."""
        if (pair_scorer := self._pair_scorer) is not None:
            try:
                self._run_pair_scorer(pair_scorer)
            finally:
                self._remove_claimed_folder_if_empty()
            return
        try:
            super()._run_subcommand(subcommand)
        except SystemExit as stop:
            if not isinstance(stop.__context__, KeyboardInterrupt):
                raise
            raise KeyboardInterrupt(*filter(None, [self._resume_hint()])) from stop
        except RuntimeError as error:
            if not str(error).startswith("DataLoader worker") or "Terminated" not in str(error):
                raise
            # SIGTERM reached the whole process group, and the step outlasted the patience of the
            # workers (`zoo.support.worker`)
            raise Stopped(
                signal.SIGTERM, self._resume_hint(), self.trainer.is_global_zero
            ) from error
        finally:
            self._release_unused()

    def _resume_hint(self) -> str:
        """Returns how to resume, or '' if the run has written no checkpoint."""
        callbacks = self.trainer.callbacks  # type: ignore[attr-defined]
        saved = any(isinstance(c, LastCheckpoint) and c.last_model_path for c in callbacks)
        return RESUME_HINT if saved else ""

    def _release_unused(self) -> None:
        """Removes the claimed folder if nothing was written to it."""
        self._remove_claimed_folder_if_empty()
        for callback in self.trainer.callbacks:  # type: ignore[attr-defined]
            if isinstance(callback, RunFolder):
                callback.remove_if_not_trained()

    def _remove_claimed_folder_if_empty(self) -> None:
        if self.claimed_folder is not None:
            remove_run_folder_if_empty(self.claimed_folder)

    def _parse_ckpt_path(self) -> None:
        """Does nothing, since `order_flags` already applies a checkpoint's recipe below the flags.

        Lightning would override the flags with it.
        """


class ParseOnlyCLI(ZooCLI):
    """A ZooCLI that only parses."""

    def instantiate_classes(self) -> None:
        """Builds nothing."""

    def _run_subcommand(self, subcommand: str) -> None:
        pass


def run(argv: list[str]) -> int:
    """Runs `fit` or `validate`.

    Args:
        argv: The subcommand and its flags.

    Returns:
        The exit status, 0.

    Raises:
        ZooError: The user can fix the error.
    """
    run_cli(ZooCLI, argv)
    return 0


def parse_settings(argv: list[str]) -> Namespace:
    """Returns the settings that result from recipes, flags and defaults, without building them.

    Args:
        argv: The subcommand and its flags.

    Returns:
        The settings of the subcommand.

    Raises:
        ZooError: The user can fix the error.
    """
    cli = run_cli(ParseOnlyCLI, argv)
    settings: Namespace = cli.config[argv[0]]
    return settings


def _is_launched_rank() -> bool:
    """Returns whether another process of this run fetches the data, by a launcher's variables."""
    names = ("LOCAL_RANK", "RANK", "SLURM_PROCID")
    return any(os.environ.get(name, "0") != "0" for name in names)


def build_data(settings: Namespace) -> LightningDataModule:
    """Builds the datamodule of parsed settings."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(LightningDataModule, "data")
    data: LightningDataModule = parser.instantiate(Namespace(data=settings)).data
    return data


def run_cli(cli: type[ZooCLI], argv: list[str]) -> ZooCLI:
    """Runs `fit` or `validate` with a subclass of ZooCLI.

    Args:
        cli: The class.
        argv: The subcommand and its flags.

    Returns:
        The instance.

    Raises:
        ZooError: The user can fix the error.
    """
    filter_notices()
    enable_log_output()
    # a YAML may name a class only for an argument whose type is a base class
    set_parsing_settings(instantiate_subclass_spec_in_any=False)
    try:
        with imports_frozen():
            arguments = order_flags(argv)
            import_all()
        return cli(
            argv[0],
            subclass_mode_data=True,
            trainer_class=ZooTrainer,
            trainer_defaults={"logger": LOGGER},
            parser_class=ZooParser,
            parser_kwargs={
                "allow_abbrev": False,
                argv[0]: {"default_env": False, "allow_abbrev": False, "command": argv[0]},
            },
            save_config_callback=RunFolder if argv[0] == "fit" else None,
            seed_everything_default=0,
            auto_configure_optimizers=False,
            load_from_checkpoint_support=False,  # ZooModule records its own arguments
            args=arguments,
        )
    except Exception as error:
        user_error = to_user_error(error)
        if user_error is None or user_error is error:
            raise
        raise user_error from error
    finally:
        leave_group()


def find_unknown_empty(
    settings: dict[str, Any], known: Namespace, above: str = "", owner: str | None = None
) -> str | None:
    """Finds an empty mapping under an unknown name in a YAML.

    Args:
        settings: The settings of the YAML.
        known: The settings parsed from it.
        above: The dotted prefix of both, with a trailing dot.
        owner: The path of the class that takes these arguments.

    Returns:
        The message of jsonargparse for an unknown name, or None if there is none.
    """
    for name, value in settings.items():
        no_arguments = name == "init_args" and "class_path" in settings
        if value == {} and name not in known and not no_arguments:
            if owner is not None:
                return f"Problem with given class_path '{owner}': Option '{name}' is not accepted"
            return f"does not accept option '{above}{name}'"
        nested = known.get(name)
        if isinstance(value, dict) and isinstance(nested, Namespace):
            owner_path = known.get("class_path") if name == "init_args" else None
            problem = find_unknown_empty(value, nested, f"{above}{name}.", owner_path)
            if problem is not None:
                return problem
    return None
