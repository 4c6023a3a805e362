"""Search: settings of a row that Optuna looks for, by the validation captions of its training."""

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from zoo.checkpoints.files import CHECKPOINTS
from zoo.cli.fit import data_of, settings_of
from zoo.cli.studies.file import folder_name
from zoo.cli.studies.locks import lock_file
from zoo.cli.studies.ranges import EXAMPLE, Search
from zoo.cli.studies.runs import Run, WorkFolder, fit_arguments, flags
from zoo.cli.studies.work import Failed, Work
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.datamodules.captions import CaptionDataModule
from zoo.errors import ZooError, import_optional, suggest_names
from zoo.results.plan import make_plan
from zoo.sources.images import identity
from zoo.support.files import write_bytes
from zoo.support.spec import differences

FOLDER = "search"
METRICS = "metrics.csv"
DIRECTIONS = {"min": "minimize", "max": "maximize"}
# which model is measured says nothing of the images
ANY_MODEL = {"model": {"backbone": {"class_path": "Backbone", "init_args": {"name": "zoo-tiny"}}}}

Trial = dict[str, Any]


def search(work: Work, again: bool = False, any_version: bool = False) -> list[Path]:
    """Looks for the best settings of each row, and writes an overlay of the best of each.

    Args:
        work: What does the runs.
        again: Whether trials that were of another search are deleted.
        any_version: Whether trials of another version of the code are taken as they are.

    Returns:
        The overlays.

    Raises:
        ZooError: The study says no ranges, Optuna is not installed, or a benchmark asks about
            images by which settings would be chosen.
    """
    study, asked = work.study, work.study.search
    if asked is None:
        raise ZooError(
            f"{study.name} has no ranges to search: write them under `search:`, as in {EXAMPLE}"
        )
    optuna: Any = import_optional("optuna", "search")
    cells, written = study.cells(), []
    for row in asked.recipes or cells:
        of = Run(row, study.seeds[0], cells[row])
        refuse_benchmarks_images(work.place, of)
        found = RowSearch(work, of, asked, optuna)
        with lock_file(work.place.root / "locks" / FOLDER / folder_name(row), wait=True):
            found.begin(again, any_version)
            found.do()
        written.append(found.write_best())
    return written


class RowSearch:
    """The trials of a row, which are kept in a file.

    What a trial tries is drawn by its number and the trials before it, so that a search that was
    killed goes on as if it had not been.

    Args:
        work: What does the runs.
        row: A run of the row.
        asked: What is searched.
        optuna: The package.

    Attributes:
        trials: `params` of each trial, with a `value` where it is done, null where it failed.
    """

    def __init__(self, work: Work, row: Run, asked: Search, optuna: Any) -> None:
        self.work, self.row, self.asked, self.optuna = work, row, asked, optuna
        self.file = work.place.root / FOLDER / f"{folder_name(row.row)}.json"
        self.ranges = {name: _distribution(optuna, name, of) for name, of in asked.ranges.items()}
        told = {"ranges": asked.ranges, "metric": asked.metric, "mode": asked.mode}
        self.of = {**work.records.identity(row), "search": told}
        self.trials: list[Trial] = []
        optuna.logging.set_verbosity(optuna.logging.WARNING)

    def begin(self, again: bool, any_version: bool) -> None:
        """Reads the trials that are there.

        Raises:
            ZooError: They are of other settings, data, ranges or code.
        """
        if not self.file.is_file():
            return
        kept = json.loads(self.file.read_text("utf-8"))
        before, now = dict(kept["of"]), dict(self.of)
        if any_version:
            before["code"] = now["code"]
        changed = list(differences(before, now))
        if changed and not again:
            raise ZooError(
                f"{self.file} holds trials of another search ({'; '.join(changed[:3])}): name "
                "another --work, or lose them by --again"
            )
        if changed:
            self.work.say(f"{self.row.row}: searched anew")
            for number in range(len(kept["trials"])):
                self.work.forget(self._run(number, {}))
            return
        self.trials = kept["trials"]

    def do(self) -> None:
        """Does the trials that are left."""
        for number in range(self.asked.trials):
            if number == len(self.trials):
                self.trials.append({"params": self._suggest_settings(number)})
                self._keep()
            trial = self.trials[number]
            if "value" not in trial:
                trial["value"] = self._value(self._run(number, trial["params"]))
                self._keep()
                if trial["value"] is not None:
                    self.work.say(
                        f"{self.row.row}, trial {number + 1}/{self.asked.trials}: "
                        f"{self.asked.metric} {trial['value']:.4g} by "
                        f"{_format_settings(trial['params'])}"
                    )

    def write_best(self) -> Path:
        """Writes the best settings as an overlay, and returns its file.

        Raises:
            ZooError: No trial came to its end.
        """
        done = [trial for trial in self.trials if trial["value"] is not None]
        if not done:
            raise ZooError(
                f"{self.work.study.name}: no trial of {self.row.row} came to its end: their logs "
                "say why"
            )
        pick = min if self.asked.mode == "min" else max
        best = pick(done, key=lambda trial: trial["value"])
        value = f"{self.asked.metric} {best['value']:.4g}"
        said = f"# The best of {len(self.trials)} trials of {self.row.row}: {value}.\n"
        file = self.work.place.root / f"best_{folder_name(self.row.row)}.yaml"
        overlay = yaml.safe_dump(nest_settings(best["params"]), sort_keys=False)
        write_bytes(file, (said + overlay).encode())
        self.work.say(f"{self.row.row}: {value} by {_format_settings(best['params'])}")
        return file

    def _run(self, number: int, params: Mapping[str, Any]) -> Run:
        layers = (*self.row.layers, nest_settings(params))
        return Run(f"{FOLDER} {self.row.row} {number}", self.row.seed, layers)

    def _suggest_settings(self, number: int) -> dict[str, Any]:
        """Returns what a trial tries, by those before it."""
        made, states = self.optuna.trial.create_trial, self.optuna.trial.TrialState
        study = self.optuna.create_study(
            sampler=self.optuna.samplers.TPESampler(seed=number),
            direction=DIRECTIONS[self.asked.mode],
        )
        for trial in self.trials:
            failed = trial["value"] is None
            study.add_trial(
                made(
                    params=trial["params"],
                    distributions=self.ranges,
                    value=trial["value"],
                    state=states.FAIL if failed else states.COMPLETE,
                )
            )
        return dict(study.ask(self.ranges).params)

    def _value(self, run: Run) -> float | None:
        """Trains a trial and returns what it came to, None where it fails."""
        try:
            self.work.do(run, wait=True, measured=False)
            value = last_value(self.work.place.run(run) / METRICS, self.asked.metric)
        except Failed as error:
            self.work.say(f"{run.row} failed: {error}")
            return None
        shutil.rmtree(self.work.place.run(run) / CHECKPOINTS, ignore_errors=True)
        return value

    def _keep(self) -> None:
        said = {"of": self.of, "trials": self.trials}
        write_bytes(self.file, (json.dumps(said, indent=1) + "\n").encode())


def nest_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings by dotted names as a recipe has them."""
    made: dict[str, Any] = {}
    for name, value in values.items():
        *above, last = name.split(".")
        inside = made
        for part in above:
            inside = inside.setdefault(part, {})
        inside[last] = value
    return made


def last_value(metrics: Path, name: str) -> float:
    """Returns the last value of a metric that a run logged.

    Args:
        metrics: The run's metrics.csv.
        name: The metric.

    Raises:
        ZooError: The run logged none.
    """
    with metrics.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    values = [row[name] for row in rows if row.get(name)]
    if not values:
        known = [column for column in (rows[0] if rows else {}) if column.startswith("val/")]
        raise ZooError(
            f"{metrics} has no {name}{suggest_names(name, known)}: name a metric that validation "
            "logs, and "
            "see that the study validates"
        )
    return float(values[-1])


def refuse_benchmarks_images(place: WorkFolder, run: Run) -> None:
    """Refuses validation captions of images that the study's benchmarks ask about.

    Args:
        place: The work folder.
        run: A run of the row.

    Raises:
        ZooError: A benchmark asks about one of them, or there are no validation captions.
    """
    data = data_of(settings_of(["fit", *fit_arguments(run, place)]).data)
    source = data.sources[1] if isinstance(data, CaptionDataModule) else None
    if source is None:
        raise ZooError(
            f"{place.study.name}: {run.row} has no validation captions, by which settings are "
            "chosen: give data.val, data.val_images or data.val_share"
        )
    asked = flags(
        {
            name: of
            for name, of in place.fill_folders(place.study.validate, run).items()
            if name.startswith("benchmarks")
        }
    )
    config = ["--config", json.dumps(ANY_MODEL), "--data_root", place.data_root]
    measured = data_of(settings_of(["validate", *config, *asked]).data)
    assert isinstance(measured, EvaluationDataModule)
    evaluation = measured.evaluation
    plan = make_plan(evaluation.benchmarks, evaluation.roots, evaluation.finder)
    chosen_by = {identity(image) for image in source.images}
    both = chosen_by & set(map(identity, plan.images))
    if both:
        raise ZooError(
            f"{place.study.name}: {len(both):,} of {len(chosen_by):,} validation images of "
            f"{run.row} are asked about by its benchmarks ({min(both)}), so that settings would be "
            "chosen by what they are measured on: hold out training images by data.val null and "
            "data.val_share"
        )


def _format_settings(params: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in params.items()
    )


def _distribution(optuna: Any, name: str, of: Any) -> Any:
    """Returns the range of a setting as Optuna has it.

    Raises:
        ZooError: It is none.
    """
    found = optuna.distributions
    try:
        if "choices" in of:
            return found.CategoricalDistribution(tuple(of["choices"]))
        whole = isinstance(of["low"], int) and isinstance(of["high"], int)
        kind = found.IntDistribution if whole else found.FloatDistribution
        return kind(of["low"], of["high"], log=bool(of.get("log", False)))
    except (TypeError, KeyError, ValueError) as error:
        raise ZooError(
            f"the range of {name} is {json.dumps(of)}, which is none ({error}): give low and high, "
            "log: true where it is searched by factors, or choices"
        ) from error
