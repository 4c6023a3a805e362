"""Runs of a study: their folders, and the commands that train and measure them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.cli.recipes import load_recipe, to_yaml_compatible_json
from zoo.cli.studies.file import FIRST, Layers, Study, fill_placeholders, folder_name
from zoo.results.report import RESULTS

DATA_ROOT = "${data_root}"
MEASURED = "measured"  # the folder of all results
PLAN = "study.json"  # describes a work folder


@dataclass(frozen=True)
class Run:
    """One training run and its evaluation, or the evaluation of a model as it is.

    Args:
        row: The row of the table that it belongs to.
        seed: Its seed.
        layers: Names of recipes and settings that are passed to `--config`, in order.
        model: A model as `--model` takes it; None if there is none.
        is_trained: Whether it is trained. Otherwise `model` is measured, or what the layers
            describe.
    """

    row: str
    seed: int
    layers: Layers
    model: str | None = None
    is_trained: bool = True

    def __str__(self) -> str:
        return f"{self.row}/seed_{self.seed}"

    @property
    def folder(self) -> str:
        """Its folder, relative to the folder of all runs."""
        return f"{folder_name(self.row)}/seed_{self.seed}"


@dataclass(frozen=True)
class WorkFolder:
    """The work folder of a study.

    Args:
        root: The folder's absolute path.
        data_root: The data root.
        study: The study.
        folder_flag: The flag of the command that names the work folder.
        repeat_flag: The flag of the command that deletes and repeats runs of other settings.
        more_data_roots: Further data roots, in which only benchmarks are searched.
    """

    root: Path
    data_root: str
    study: Study
    folder_flag: str = "--work_dir"
    repeat_flag: str = "--rerun_mismatched"
    more_data_roots: tuple[str, ...] = ()

    @property
    def data_roots(self) -> tuple[str, ...]:
        """The data root, and further ones."""
        return (self.data_root, *self.more_data_roots)

    def run_folder(self, run: Run) -> Path:
        """Returns the run folder that `zoo fit` writes."""
        return self.root / "runs" / run.folder

    def results_folder(self, run: Run) -> Path:
        """Returns the results folder of a run, which `zoo validate` writes."""
        return self.root / MEASURED / run.folder

    def log_file(self, run: Run) -> Path:
        """Returns the log file of a run's commands."""
        return self.root / "logs" / f"{run.folder}.log"

    def last_checkpoint(self, run: Run) -> Path:
        """Returns the checkpoint from which a run resumes."""
        # it imports torch, which takes seconds and which `zoo compare` does not need
        from zoo.checkpoints.files import CHECKPOINTS, LAST

        return self.run_folder(run) / CHECKPOINTS / LAST

    def checkpoint(self, run: Run) -> Path:
        """Returns the checkpoint that is measured."""
        from zoo.checkpoints.files import CHECKPOINTS

        return self.run_folder(run) / CHECKPOINTS / f"{self.study.checkpoint}.ckpt"

    def initial_run(self, run: Run) -> Run | None:
        """Returns the initial run that a run starts from, None if there is none."""
        if not self.study.first or run.row == FIRST or not run.is_trained:
            return None
        return Run(FIRST, self.study.initial_run_seed(run.seed), self.study.first)

    def expand_placeholders(self, value: Any, run: Run | None = None) -> Any:
        """Returns a value of the study file with its placeholders filled.

        Args:
            value: The value.
            run: The run; `${first}` is the checkpoint of its initial run, `${seed}` its seed.
        """
        checkpoint = self.last_checkpoint((run and self.initial_run(run)) or Run(FIRST, 0, ()))
        places = {"${work}": str(self.root), DATA_ROOT: self.data_root, "${first}": str(checkpoint)}
        if run is not None:
            places["${seed}"] = str(run.seed)
        return fill_placeholders(value, places)

    def restore_placeholders(self, value: Any) -> Any:
        """Returns plain settings in which paths of these folders are placeholders again."""
        places = {str(self.root): "${work}"}
        if self.data_root != str(self.root):
            places = {self.data_root: DATA_ROOT, **places}
        return fill_placeholders(value, places)


def work_folder_runs(folder: Path) -> list[tuple[str, Path]]:
    """Returns the measured runs in a work folder, in the order of the study.

    Args:
        folder: A work folder, or any other path.

    Returns:
        The name and the results folder of each run, empty for any other path.
    """
    try:
        rows = json.loads((folder / PLAN).read_text("utf-8")).get("rows", [])
    except (OSError, ValueError, AttributeError):
        return []
    runs = []
    for row in rows:
        results = sorted((folder / MEASURED / folder_name(row)).glob(f"*/{RESULTS}"))
        for file in results:
            runs.append((row if len(results) == 1 else f"{row}/{file.parent.name}", file.parent))
    return runs


def with_initial_runs(runs: Sequence[Run], place: WorkFolder) -> list[Run]:
    """Returns runs preceded by the initial runs that they start from, without duplicates."""
    initial_runs = [
        initial_run for run in runs if (initial_run := place.initial_run(run)) is not None
    ]
    return list({str(run): run for run in (*initial_runs, *runs)}.values())


def study_runs(study: Study) -> list[Run]:
    """Returns the runs of a study in the order of execution, initial runs first, then models.

    All rows of a seed come before the next seed, so that an early table has all rows. Models that
    are not trained are measured once, or once per seed if the cases depend on it.
    """
    seeds = dict.fromkeys(study.initial_run_seed(seed) for seed in study.seeds)
    initial_runs = [Run(FIRST, seed, study.first) for seed in seeds] if study.first else []
    rows = study.row_layers().items()
    models = [
        Run(row, seed, (), value, is_trained=False)
        if isinstance(value, str)
        else Run(row, seed, value, is_trained=False)
        for seed in (study.seeds if study.seeds_have_own_cases else study.seeds[:1])
        for row, value in study.models.items()
    ]
    trained = [Run(row, seed, layers) for seed in study.seeds for row, layers in rows]
    return [*initial_runs, *models, *trained]


def fit_arguments(run: Run, place: WorkFolder) -> list[str]:
    """Returns the arguments of `zoo fit` that train a run."""
    row, _, version = run.folder.rpartition("/")
    logger = {"save_dir": str(place.root / "runs"), "name": row, "version": version}
    logger_layer = {
        "trainer": {"logger": {"class_path": "zoo.training.MetricsLog", "init_args": logger}},
    }
    arguments = ["--data_root", place.data_root]
    arguments += _config_arguments((*run.layers, logger_layer), run, place)
    return [*arguments, "--seed_everything", str(run.seed)]


def _config_arguments(layers: Layers, run: Run, place: WorkFolder) -> list[str]:
    arguments = []
    for layer in layers:
        filled = place.expand_placeholders(layer, run)
        arguments += [
            "--config",
            filled if isinstance(filled, str) else to_yaml_compatible_json(filled),
        ]
    return arguments


def model_arguments(run: Run, place: WorkFolder) -> list[str]:
    """Returns the arguments of `zoo validate` that name what is measured."""
    if run.is_trained:
        return ["--ckpt_path", str(place.checkpoint(run)), *_custom_class_arguments(run, place)]
    if run.model is not None:
        return ["--model", place.expand_placeholders(run.model, run)]
    return _config_arguments(run.layers, run, place)


def _custom_class_arguments(run: Run, place: WorkFolder) -> list[str]:
    """Returns flags with the objective, head and backbone of a run that are classes outside zoo.

    Their names in flags allow the checkpoint of the run to name them, and no other class.
    """
    classes: dict[str, str] = {}
    for value in _config_arguments(run.layers, run, place)[1::2]:
        model = load_recipe(value)[1].get("model") or {}
        for part in ("objective", "head", "backbone"):
            described = model.get(part)
            name = described.get("class_path") if isinstance(described, dict) else described
            classes |= {part: name} if isinstance(name, str) else {}
    return [
        word
        for part, name in classes.items()
        if "." in name and not name.startswith("zoo.")
        for word in (f"--model.{part}", name)
    ]


def validate_arguments(run: Run, place: WorkFolder) -> list[str]:
    """Returns the arguments of `zoo validate` that measure a run."""
    arguments, measured = evaluation_arguments(run, place), str(place.results_folder(run))
    n = 1 + len(place.data_roots)  # words that name the data roots, which come first
    return [*arguments[:n], *model_arguments(run, place), *arguments[n:], "--out", measured]


def evaluation_arguments(run: Run, place: WorkFolder) -> list[str]:
    """Returns the arguments of `zoo validate` except the model and the output folder."""
    return [
        "--data_root",
        *place.data_roots,
        *format_flags(place.expand_placeholders(place.study.validate, run)),
    ]


def format_flags(values: Mapping[str, Any]) -> list[str]:
    """Returns flags as typed; a list is joined by commas, and true has no value."""
    words = []
    for name, value in values.items():
        words.append(f"--{name}")
        if value is not True:
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words.append("off" if value is False else text)
    return words
