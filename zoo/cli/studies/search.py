"""Hyperparameter search: Optuna tunes settings of a row on its validation captions."""

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from zoo.checkpoints.files import CHECKPOINTS
from zoo.cli.fit import build_data, parse_settings
from zoo.cli.studies.file import folder_name
from zoo.cli.studies.locks import lock_file
from zoo.cli.studies.ranges import EXAMPLE, Search
from zoo.cli.studies.runs import Run, WorkFolder, fit_arguments, format_flags
from zoo.cli.studies.work import RunFailed, StudyExecutor
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.datamodules.captions import CaptionDataModule
from zoo.errors import ZooError, import_optional, suggest_names
from zoo.results.plan import make_plan
from zoo.sources.images import image_identity
from zoo.support.configurable import differences
from zoo.support.files import write_bytes

FOLDER = "search"
METRICS = "metrics.csv"
IDENTITY = "identity"  # the attribute that holds what the trials depend on
DIRECTIONS = {"min": "minimize", "max": "maximize"}
# a placeholder: the images do not depend on the model
PLACEHOLDER_MODEL = {
    "model": {"backbone": {"class_path": "Backbone", "init_args": {"name": "zoo-tiny"}}}
}


def search_best_settings(
    work: StudyExecutor, delete_mismatched: bool = False, any_version: bool = False
) -> list[Path]:
    """Searches for the best settings of each row, and writes them as one overlay per row.

    Args:
        work: Executes the runs.
        delete_mismatched: Whether to delete the trials of a different search.
        any_version: Whether to accept trials of another version of the code.

    Returns:
        The overlay files.

    Raises:
        ZooError: The study has no ranges, Optuna is not installed, or a benchmark uses validation
            images by which the settings would be chosen.
    """
    study, spec = work.study, work.study.search
    if spec is None:
        raise ZooError(
            f"{study.name} has no ranges to search: add them under `search:`, as in {EXAMPLE}"
        )
    optuna: Any = import_optional("optuna", "search")
    cells, overlays = study.row_layers(), []
    for row in spec.recipes or cells:
        row_run = Run(row, study.seeds[0], cells[row])
        refuse_benchmark_images_in_validation(work.place, row_run)
        with lock_file(work.place.root / "locks" / FOLDER / folder_name(row), wait=True):
            row_search = RowSearch(work, row_run, spec, optuna)
            row_search.claim_stored_trials(delete_mismatched, any_version)
            row_search.run_remaining_trials()
        overlays.append(row_search.write_best_overlay())
    return overlays


class RowSearch:
    """The trials of a row, which Optuna stores in a journal.

    The settings of a trial depend only on its number and the trials before it, so an interrupted
    search resumes with the same trials.

    Args:
        work: Executes the runs.
        row: A run of the row.
        spec: The search section of the study.
        optuna: The package.
    """

    def __init__(self, work: StudyExecutor, row: Run, spec: Search, optuna: Any) -> None:
        self.work, self.row, self.spec, self.optuna = work, row, spec, optuna
        self.file = work.place.root / FOLDER / f"{folder_name(row.row)}.journal"
        self.ranges = {
            name: _build_distribution(optuna, name, bounds) for name, bounds in spec.ranges.items()
        }
        searched = {"ranges": spec.ranges, "metric": spec.metric, "mode": spec.mode}
        self.identity = {**work.records.identity(row), "search": searched}
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.optuna_study = self._open_study()

    def claim_stored_trials(self, delete_mismatched: bool, any_version: bool) -> None:
        """Checks that the stored trials are of this search.

        Raises:
            ZooError: They were made with other settings, data, ranges or code.
        """
        stored_identity = self.optuna_study.user_attrs.get(IDENTITY)
        if stored_identity is not None:
            if any_version:
                stored_identity["code"] = self.identity["code"]
            changed = list(differences(stored_identity, self.identity))
            if changed and not delete_mismatched:
                raise ZooError(
                    f"{self.file} has trials of a different search ({'; '.join(changed[:3])}): "
                    "choose another --work_dir, or delete them with --rerun_mismatched"
                )
            if not changed:
                return
            self.work.print_line(f"{self.row.row}: search restarted")
            for trial in self.optuna_study.trials:
                self.work.delete_run(self._build_run(trial.number, {}))
            self.file.unlink()
            self.optuna_study = self._open_study()
        self.optuna_study.set_user_attr(IDENTITY, self.identity)

    def run_remaining_trials(self) -> None:
        """Runs the remaining trials."""
        for number in range(self.spec.trials):
            if number == len(self.optuna_study.trials):
                self.optuna_study.sampler = self.optuna.samplers.TPESampler(seed=number)
                self.optuna_study.ask(self.ranges)
            trial = self.optuna_study.trials[number]
            if trial.state.is_finished():
                continue
            value = self._run_trial(self._build_run(number, trial.params))
            if value is None:
                self.optuna_study.tell(number, state=self.optuna.trial.TrialState.FAIL)
                continue
            self.optuna_study.tell(number, value)
            self.work.print_line(
                f"{self.row.row}, trial {number + 1}/{self.spec.trials}: {self.spec.metric} "
                f"{value:.4g} with {_format_settings(trial.params)}"
            )

    def write_best_overlay(self) -> Path:
        """Writes the best settings as an overlay, and returns its file.

        Raises:
            ZooError: All trials failed.
        """
        trials = self.optuna_study.trials
        completed = [trial for trial in trials if trial.value is not None]
        if not completed:
            raise ZooError(
                f"{self.work.study.name}: all trials of {self.row.row} failed: see their logs"
            )
        pick = min if self.spec.mode == "min" else max
        best = pick(completed, key=lambda trial: trial.value)
        value = f"{self.spec.metric} {best.value:.4g}"
        header = f"# The best of {len(trials)} trials of {self.row.row}: {value}.\n"
        file = self.work.place.root / f"best_{folder_name(self.row.row)}.yaml"
        overlay = yaml.safe_dump(nest_settings(best.params), sort_keys=False)
        write_bytes(file, (header + overlay).encode())
        self.work.print_line(f"{self.row.row}: {value} with {_format_settings(best.params)}")
        return file

    def _open_study(self) -> Any:
        """Returns Optuna's study of the row, with the trials that are stored."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        storages = self.optuna.storages
        backend = storages.journal.JournalFileBackend(str(self.file))
        return self.optuna.create_study(
            storage=storages.JournalStorage(backend),
            study_name=self.row.row,
            direction=DIRECTIONS[self.spec.mode],
            load_if_exists=True,
        )

    def _build_run(self, number: int, params: Mapping[str, Any]) -> Run:
        layers = (*self.row.layers, nest_settings(params))
        return Run(f"{FOLDER} {self.row.row} {number}", self.row.seed, layers)

    def _run_trial(self, run: Run) -> float | None:
        """Trains a trial and returns its value, None if it fails."""
        try:
            self.work.execute_run(run, wait=True, validate=False)
            value = last_value(self.work.place.run_folder(run) / METRICS, self.spec.metric)
        except RunFailed as error:
            self.work.print_line(f"{run.row} failed: {error}")
            return None
        shutil.rmtree(self.work.place.run_folder(run) / CHECKPOINTS, ignore_errors=True)
        return value


def nest_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings with dotted names as nested mappings, as in a recipe."""
    settings: dict[str, Any] = {}
    for name, value in values.items():
        *parents, key = name.split(".")
        mapping = settings
        for part in parents:
            mapping = mapping.setdefault(part, {})
        mapping[key] = value
    return settings


def last_value(metrics_file: Path, name: str) -> float:
    """Returns the last value that a run logged for a metric.

    Args:
        metrics_file: The run's metrics.csv.
        name: The metric.

    Raises:
        ZooError: The run did not log the metric.
    """
    with metrics_file.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    values = [row[name] for row in rows if row.get(name)]
    if not values:
        val_columns = [column for column in (rows[0] if rows else {}) if column.startswith("val/")]
        raise ZooError(
            f"{metrics_file} has no {name}{suggest_names(name, val_columns)}: choose a metric that "
            "validation logs, and check that the study has validation data"
        )
    return float(values[-1])


def refuse_benchmark_images_in_validation(place: WorkFolder, run: Run) -> None:
    """Refuses validation captions whose images the study's benchmarks use.

    Args:
        place: The work folder.
        run: A run of the row.

    Raises:
        ZooError: A benchmark uses one of the images, or there are no validation captions.
    """
    data = build_data(parse_settings(["fit", *fit_arguments(run, place)]).data)
    source = data.sources[1] if isinstance(data, CaptionDataModule) else None
    if source is None:
        raise ZooError(
            f"{place.study.name}: {run.row} has no validation captions to choose settings by: set "
            "data.val, data.val_images or data.val_share"
        )
    benchmark_flags = format_flags(
        {
            name: value
            for name, value in place.expand_placeholders(place.study.validate, run).items()
            if name.startswith("benchmarks")
        }
    )
    config = ["--config", json.dumps(PLACEHOLDER_MODEL), "--data_root", place.data_root]
    data_of_benchmarks = build_data(parse_settings(["validate", *config, *benchmark_flags]).data)
    assert isinstance(data_of_benchmarks, EvaluationDataModule)
    evaluation = data_of_benchmarks.evaluation
    plan = make_plan(evaluation.benchmarks, evaluation.roots, evaluation.finder)
    validation_images = {image_identity(image) for image in source.images}
    shared = validation_images & set(map(image_identity, plan.images))
    if shared:
        raise ZooError(
            f"{place.study.name}: {len(shared):,} of {len(validation_images):,} validation images "
            f"of {run.row} are also images of its benchmarks ({min(shared)}), so settings would be "
            "chosen on test images: set data.val to null and hold out training images with "
            "data.val_share (of COCO, those of `splits: [train]`, with expected_images null)"
        )


def _format_settings(params: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )


def _build_distribution(optuna: Any, name: str, bounds: Any) -> Any:
    """Returns the range of a setting as a distribution of Optuna.

    Raises:
        ZooError: The range is not valid.
    """
    optuna_distributions = optuna.distributions
    try:
        if "choices" in bounds:
            return optuna_distributions.CategoricalDistribution(tuple(bounds["choices"]))
        is_integer = isinstance(bounds["low"], int) and isinstance(bounds["high"], int)
        kind = (
            optuna_distributions.IntDistribution
            if is_integer
            else optuna_distributions.FloatDistribution
        )
        return kind(bounds["low"], bounds["high"], log=bool(bounds.get("log", False)))
    except (TypeError, KeyError, ValueError) as error:
        raise ZooError(
            f"the range of {name}, {json.dumps(bounds)}, is not valid ({error}): give low and "
            "high, with log: true for a logarithmic scale, or choices"
        ) from error
