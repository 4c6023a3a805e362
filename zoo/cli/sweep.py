"""`zoo validate --models`: measures several models on the same benchmarks, and compares them.

It is a study (`zoo study`) of models without training, so that it resumes and compares like one. A
model that has results on some of the benchmarks is measured on the others only.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from zoo.benchmarks.base import Benchmark
from zoo.cli.data_get import fetch_missing_files
from zoo.cli.rescore import recompute_results
from zoo.cli.studies.checks import build_evaluation, check_rows, check_weight_files
from zoo.cli.studies.estimate import find_evaluation_problem
from zoo.cli.studies.file import Study
from zoo.cli.studies.records import TRAINED, WHOLE, Records, refuse_mismatched_runs
from zoo.cli.studies.runs import Run, WorkFolder, study_runs, validate_arguments
from zoo.cli.studies.tables import check_presets_and_models
from zoo.cli.studies.work import StudyExecutor
from zoo.cli.study import delete_outdated_runs, execute_runs, print_now, print_outcome
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.results.added_benchmarks import join_results, missing_benchmarks
from zoo.results.reader import read_header, read_results
from zoo.support.arguments import split_list
from zoo.support.configurable import to_config

NAME = "models"
OTHER_MODELS = ("model", "ckpt_path")  # flags that name one model
DATA_ROOT = "data_root"  # the flag that takes several values
FILE_SUFFIX = ".txt"
ADDED = "added"  # the folder of results that are not yet added to the others


def main(words: Sequence[str]) -> int:
    """Measures the models that are not measured yet, prints a table, and returns the exit status.

    Args:
        words: The arguments after `zoo validate`.

    Raises:
        ZooError: A flag is missing or contradicts `--models`, a model is not known, nothing can be
            measured, or the folder has results of other settings.
    """
    flags = _parse_flags(words)
    models = parse_models(str(flags.pop("models")))
    one_model = next((name for name in OTHER_MODELS if name in flags), None)
    if one_model is not None:
        raise ZooError(f"--models and --{one_model} both name models: remove one of them")
    if len(models) < 2:
        raise ZooError(f"--models names one model: use --model {next(iter(models.values()))}")
    for name in ("benchmarks", "out"):
        if not isinstance(flags.get(name), str):
            raise ZooError(f"--models requires --{name}: add it")
    fetches, overwrite = flags.pop("get", False), flags.pop("overwrite", False)
    out, roots = str(flags.pop("out")), flags.pop(DATA_ROOT, ["."])
    if fetches and roots:
        Path(roots[0]).expanduser().mkdir(parents=True, exist_ok=True)
    data_roots = _resolve_data_roots(roots)
    comparison = {
        key: flags[name]
        for key, name in (("reference_models", "reference_models"), ("preset", "presets"))
        if name in flags
    }
    study = Study(NAME, {}, {}, models, validate=flags, compare=comparison)
    study.row_layers()  # checks the names
    place = WorkFolder(
        Path(out).absolute(),
        data_roots[0],
        study,
        "--out",
        "--overwrite",
        more_data_roots=tuple(data_roots[1:]),
    )
    check_presets_and_models(study)
    runs = study_runs(study)
    work = SweepExecutor(place, build_evaluation(place, runs[0]))
    work.check_work_folder()
    remaining = [
        run
        for run in runs
        if work.records.stage(run) != WHOLE or (overwrite and any(work.records.differences(run)))
    ]
    check_weight_files(place, remaining)
    check_rows(place, remaining, builds=True)
    if not overwrite:
        refuse_mismatched_runs(work.records, runs, any_version=False)
    if fetches and remaining:
        fetch_missing_files(work.evaluation, Path(data_roots[0]), print_now)
    if len(remaining) == len(runs) and (problem := find_evaluation_problem(place, runs[0])):
        raise ZooError(problem)
    work.claim_work_folder()
    if overwrite:
        delete_outdated_runs(work, runs)
    return print_outcome(place, runs, execute_runs(work, runs, trial_steps=0))


class SweepRecords(Records):
    """The records of a sweep, which do not depend on its benchmarks.

    Args:
        place: The work folder.
        benchmarks: The benchmarks of the sweep.
    """

    def __init__(self, place: WorkFolder, benchmarks: Sequence[Benchmark]) -> None:
        super().__init__(_without_benchmarks(place))
        self.benchmarks = benchmarks

    def has_results(self, run: Run) -> bool:
        """Returns whether a model was measured on any benchmarks."""
        return super().stage(run) == WHOLE

    def missing_benchmarks(self, run: Run) -> list[Benchmark]:
        """Returns the benchmarks on which a model with results was not measured."""
        return missing_benchmarks(self.benchmarks, read_header(self.place.results_folder(run)))

    def stage(self, run: Run) -> str:
        """Returns the stage that a run reached, which is whole if no benchmark is missing."""
        stage = super().stage(run)
        return TRAINED if stage == WHOLE and self.missing_benchmarks(run) else stage


class SweepExecutor(StudyExecutor):
    """Measures models on the benchmarks that their results do not have.

    Args:
        place: The work folder.
        evaluation: The evaluation of every model.
    """

    records: SweepRecords

    def __init__(self, place: WorkFolder, evaluation: Evaluation) -> None:
        super().__init__(place, print_now)
        self.evaluation = evaluation
        self.records = SweepRecords(place, evaluation.benchmarks)

    def _validate(self, run: Run, lock: int) -> None:
        if not self.records.has_results(run):
            super()._validate(run, lock)
            return
        measured, added = self.place.results_folder(run), self.place.root / ADDED / run.folder
        arguments = validate_arguments(run, _without_benchmarks(self.place))
        arguments[arguments.index("--out") + 1] = str(added)
        for benchmark in self.records.missing_benchmarks(run):
            arguments += _benchmark_flags(benchmark)
        self._run_and_record_duration(run, "validate", [*arguments, "--overwrite"], lock)
        recompute_results(
            join_results(read_results(measured), read_results(added)),
            self.evaluation.presets,
            measured,
            self.evaluation.roots,
            self.evaluation.familiar_with,
            self.evaluation.exclude_images,
        )
        shutil.rmtree(added)


def _without_benchmarks(place: WorkFolder) -> WorkFolder:
    """Returns the work folder of a sweep without its benchmarks."""
    flags = {
        name: value
        for name, value in place.study.validate.items()
        if name.partition(".")[0] != "benchmarks"
    }
    return replace(place, study=replace(place.study, validate=flags))


def _benchmark_flags(benchmark: Benchmark) -> Iterator[str]:
    """Yields the flags of `zoo validate` that name a benchmark and its arguments."""
    config = to_config(benchmark)
    yield from ("--benchmarks", config["class_path"])
    for name, value in config["init_args"].items():
        yield from (f"--benchmarks.{name}", value if isinstance(value, str) else json.dumps(value))


def parse_models(text: str) -> dict[str, str]:
    """Returns models by the names of their rows.

    Args:
        text: Models separated by commas, or a .txt file with one per line, in which `#` begins a
            comment. NAME=MODEL names a row; other rows have the name of the model.

    Raises:
        ZooError: The file cannot be read, or two rows have the same name.
    """
    if text.endswith(FILE_SUFFIX):
        try:
            lines = Path(text).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a text file"
            raise ZooError(
                f"--models {text} cannot be read ({reason}): give a text file with one model per "
                "line, or models separated by commas"
            ) from error
        entries = [line.partition("#")[0].strip() for line in lines]
    else:
        entries = list(split_list(text, "--models"))
    models: dict[str, str] = {}
    for entry in filter(None, entries):
        name, joint, model = entry.partition("=")
        if not joint or Path(entry).exists():
            name = model = entry
        if not (name and model):
            raise ZooError(f"--models has {entry!r}: give MODEL or NAME=MODEL")
        if name in models:
            raise ZooError(f"--models names {name} twice: give each row a name, as in NAME=MODEL")
        models[name] = _absolute_path(model)
    if not models:
        raise ZooError(f"--models {text} names no model: give one per line")
    return models


def _absolute_path(model: str) -> str:
    """Returns a model with an absolute path if it is one, since runs are other processes."""
    name, colon, file = model.partition(":")
    if colon and Path(file).exists():
        return f"{name}:{Path(file).absolute()}"
    is_path = Path(model).exists() and ("/" in model or Path(model).suffix)
    return str(Path(model).absolute()) if is_path else model


def _resolve_data_roots(folders: Sequence[str]) -> list[str]:
    """Returns the absolute paths of data roots, each once.

    Raises:
        ZooError: There are none, or one is not a folder.
    """
    if not folders:
        raise ZooError("--data_root names no folder: give at least one")
    for folder in folders:
        if not Path(folder).expanduser().is_dir():
            raise ZooError(f"data root {folder} is not a folder: give an existing folder")
    return list(dict.fromkeys(str(Path(folder).expanduser().absolute()) for folder in folders))


def _parse_flags(words: Sequence[str]) -> dict[str, Any]:
    """Returns flags by name: true for a flag without a value, and a list for the data roots."""
    flags: dict[str, Any] = {}
    at = 0
    while at < len(words):
        word = words[at]
        if not word.startswith("--"):
            raise ZooError(f"{word} does not belong to a flag: with --models, give one value each")
        name, joint, value = word.removeprefix("--").partition("=")
        at += 1
        values = [value]
        if not joint:
            values = list(takewhile(lambda word: not word.startswith("--"), words[at:]))
            values = values if name == DATA_ROOT else values[:1]
            at += len(values)
        if name == DATA_ROOT:
            flags[name] = [*flags.get(name, []), *values]
        elif name in flags:
            raise ZooError(f"--{name} is given twice: with --models, give it once")
        else:
            flags[name] = values[0] if values else True
    return flags
