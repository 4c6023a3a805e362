"""SLURM: a study's runs as one array of jobs, which submitit sends."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from zoo.cli.studies.runs import WorkFolder
from zoo.errors import ZooError
from zoo.support.trust import FLAG, current_trust


def settings(given: Sequence[str]) -> dict[str, Any]:
    """Returns what `--slurm NAME=VALUE ...` gives to submitit.

    Raises:
        ZooError: Something is no NAME=VALUE.
    """
    found = {}
    for text in given:
        name, joint, value = text.partition("=")
        if not joint or not name:
            raise ZooError(
                f"--slurm {text}: give NAME=VALUE, a parameter of submitit's executor, as in "
                "slurm_partition=gpu"
            )
        found[name] = yaml.safe_load(value)
    return found


def submit(
    place: WorkFolder, arguments: Sequence[str], numbers: Sequence[int], given: Mapping[str, Any]
) -> list[str]:
    """Sends a job for each run.

    A job that is preempted or reaches its time limit is put in the queue again, and goes on from
    its run's last checkpoint.

    Args:
        place: The work folder, which the nodes share.
        arguments: Those of `zoo study`, without `--slurm`.
        numbers: The numbers of the runs.
        given: What submitit is told besides; `cluster` names another than SLURM, as `local`.

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
            """Does the run of a number, and fails where the run does."""
            command = [sys.executable, "-P", "-m", "zoo.cli", "study", *arguments]
            command += ["--only", str(number), *trust]
            return subprocess.run(command, check=True).returncode

    parameters = dict(given)
    cluster = parameters.pop("cluster", "slurm")
    try:
        executor = submitit.AutoExecutor(place.root / "slurm", cluster=cluster)
        executor.update_parameters(name=place.study.name, **parameters)
    except (RuntimeError, NameError, TypeError, ValueError, AssertionError) as error:
        raise ZooError(
            f"submitit cannot send the study ({' '.join(str(error).split())}): mend --slurm, or "
            "write `zoo study ... --only $SLURM_ARRAY_TASK_ID` into a job of your own"
        ) from error
    return [str(job.job_id) for job in executor.map_array(Task(), list(numbers))]


def without_slurm(argv: Sequence[str]) -> list[str]:
    """Returns the arguments of `zoo study` without `--slurm` and its values."""
    kept, of_slurm = [], False
    for argument in argv:
        if argument.startswith("-"):
            of_slurm = argument.partition("=")[0] == "--slurm"
        if not of_slurm:
            kept.append(argument)
    return kept
