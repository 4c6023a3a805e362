"""Submission of a study's runs to SLURM as one job array, with submitit."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from zoo.cli.studies.runs import WorkFolder
from zoo.errors import ZooError
from zoo.support.trust import FLAG, current_trust


def parse_slurm_settings(entries: Sequence[str]) -> dict[str, Any]:
    """Parses `--slurm NAME=VALUE ...` into parameters for submitit.

    Raises:
        ZooError: An entry is not of the form NAME=VALUE.
    """
    parameters = {}
    for text in entries:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise ZooError(
                f"--slurm {text}: give NAME=VALUE, a parameter of submitit's executor, such as "
                "slurm_partition=gpu"
            )
        parameters[name] = yaml.safe_load(value)
    return parameters


def submit(
    place: WorkFolder,
    arguments: Sequence[str],
    numbers: Sequence[int],
    executor_parameters: Mapping[str, Any],
) -> list[str]:
    """Submits one job per run.

    A job that is preempted or reaches its time limit is requeued, and resumes from its run's last
    checkpoint.

    Args:
        place: The work folder, which the nodes share.
        arguments: The arguments of `zoo study`, without `--slurm`.
        numbers: The numbers of the runs.
        executor_parameters: Parameters for submitit; `cluster` selects another executor, such as
            `local`.

    Returns:
        The ids of the jobs.

    Raises:
        ZooError: submitit does not know a parameter.
    """
    import submitit

    trust = [FLAG] if current_trust().all_code else []

    class Task(submitit.helpers.Checkpointable):  # type: ignore[misc]
        """Does one run; it is pickled with its arguments."""

        def __call__(self, number: int) -> int:
            """Executes the run with this number, and fails if the run fails."""
            command = [sys.executable, "-P", "-m", "zoo.cli", "study", *arguments]
            command += ["--run_number", str(number), *trust]
            return subprocess.run(command, check=True).returncode

    parameters = dict(executor_parameters)
    cluster = parameters.pop("cluster", "slurm")
    try:
        executor = submitit.AutoExecutor(place.root / "slurm", cluster=cluster)
        executor.update_parameters(name=place.study.name, **parameters)
    except (RuntimeError, NameError, TypeError, ValueError, AssertionError) as error:
        raise ZooError(
            f"submitit cannot submit the study ({' '.join(str(error).split())}): correct --slurm, "
            "or use `zoo study ... --run_number $SLURM_ARRAY_TASK_ID` in your own job script"
        ) from error
    return [str(job.job_id) for job in executor.map_array(Task(), list(numbers))]


def without_slurm(argv: Sequence[str]) -> list[str]:
    """Returns the arguments of `zoo study` without `--slurm` and its values."""
    remaining, of_slurm = [], False
    for argument in argv:
        if argument.startswith("-"):
            of_slurm = argument.partition("=")[0] == "--slurm"
        if not of_slurm:
            remaining.append(argument)
    return remaining
