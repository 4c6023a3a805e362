"""Checks of a study's rows before anything is prepared, rendered or trained."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from zoo.backbones.catalogue.entry import entries
from zoo.backbones.catalogue.model import model_warning
from zoo.cli.fit import build_data, parse_settings
from zoo.cli.parser import PLACEHOLDER_MODEL
from zoo.cli.studies.runs import (
    Run,
    WorkFolder,
    evaluation_arguments,
    fit_arguments,
    model_arguments,
)
from zoo.datamodules import EvaluationDataModule
from zoo.error_translation import to_user_error
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.module.compatibility import check_data_provided
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP

PREFIX = "zoo: "  # begins the line in which a parser reports an error


def check_rows(place: WorkFolder, runs: Sequence[Run], builds: bool) -> None:
    """Checks the training and evaluation settings of every row, as the commands would.

    No captions, images or weights are read, and no backbone is built.

    Args:
        place: The work folder of the study.
        runs: The runs; one per row is checked.
        builds: Whether to build data, objective and head and check that they fit together, which
            may need files that the study prepares.

    Raises:
        ZooError: A row cannot be trained or measured. The message names the row.
    """
    for run in {run.row: run for run in reversed(runs)}.values():
        with _errors_that_name_the_row(place, run):
            model = PLACEHOLDER_MODEL if run.is_trained else model_arguments(run, place)
            validate = _parse(["validate", *evaluation_arguments(run, place), *model])
            fit = _parse(["fit", *fit_arguments(run, place)]) if run.is_trained else None
            if builds:
                if fit is not None:
                    _build_parts(fit)
                build_data(validate.data)


def check_weight_files(place: WorkFolder, runs: Sequence[Run]) -> None:
    """Checks that the weights that only a person can download are there, before data is fetched.

    Args:
        place: The work folder of the study.
        runs: The runs; one per row is checked.

    Raises:
        ZooError: Files are missing. The message names all of them, with their addresses.
    """
    missing = []
    for run in {run.row: run for run in reversed(runs)}.values():
        model = "" if run.is_trained else place.expand_placeholders(run.model or "", run)
        name, _, file = model.partition(":")
        if file and name in entries() and not Path(file).expanduser().exists():
            url = entries()[name].url
            missing.append(f"{file} ({run.row})" + (f" from {url}" if url else ""))
    if missing:
        raise ZooError(
            f"download these weights by hand first: {'; '.join(sorted(missing))}. To leave "
            "rows out, see the page 'Evaluate a published model'"
        )


def model_warnings(place: WorkFolder, runs: Sequence[Run]) -> list[str]:
    """Returns the warnings of published models, which runs print only into their logs.

    Args:
        place: The work folder of the study.
        runs: The runs; a model of several is named once.
    """
    models = (place.expand_placeholders(run.model, run) for run in runs if run.model is not None)
    return list(dict.fromkeys(filter(None, map(model_warning, models))))


def build_evaluation(place: WorkFolder, run: Run) -> Evaluation:
    """Builds the evaluation by which a run is measured; no file is read.

    Raises:
        ZooError: A setting of the evaluation is invalid.
    """
    with _errors_that_name_the_row(place, run):
        words = ["validate", *evaluation_arguments(run, place), *PLACEHOLDER_MODEL]
        data = build_data(_parse(words).data)
    assert isinstance(data, EvaluationDataModule)
    return data.evaluation


@contextmanager
def _errors_that_name_the_row(place: WorkFolder, run: Run) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        message = to_user_error(error)
        if message is None:
            raise
        raise ZooError(f"{place.study.name}, {run.row}: {message}") from error


def _parse(argv: list[str]) -> Namespace:
    """Returns the settings of a command; raises the errors that its parser would print."""
    printed = StringIO()
    try:
        with redirect_stderr(printed):
            return parse_settings(argv)
    except SystemExit as error:
        lines = [line for line in printed.getvalue().splitlines() if line.startswith(PREFIX)]
        message = lines[-1].removeprefix(PREFIX) if lines else printed.getvalue().strip()
        raise ZooError(message) from error


def _build_parts(settings: Namespace) -> None:
    """Builds data, objective and head, and checks that the data provides what the others need."""
    data = build_data(settings.data)
    objective = _build(Objective, settings.model.get("objective")) or CLIP()
    head = _build(Head, settings.model.get("head")) or Cosine()
    check_data_provided(objective, head, data)


def _build(base: type, settings: Namespace | None) -> Any:
    if settings is None:
        return None
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(base, "part")
    return parser.instantiate(Namespace(part=settings)).part
