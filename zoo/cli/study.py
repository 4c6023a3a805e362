"""`zoo study`: trains, evaluates and compares the recipes x overlays x seeds of a study file."""

import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from zoo.cli.command_parser import CommandParser
from zoo.cli.studies.checks import check_rows, check_weight_files, model_warnings
from zoo.cli.studies.estimate import Estimate
from zoo.cli.studies.file import Study, folder_name, read_study
from zoo.cli.studies.records import WHOLE, Records, refuse_mismatched_runs
from zoo.cli.studies.runs import Run, WorkFolder, study_runs, with_initial_runs
from zoo.cli.studies.search import search_best_settings
from zoo.cli.studies.slurm import parse_slurm_settings, submit, without_slurm
from zoo.cli.studies.tables import (
    check_presets_and_models,
    compare_rows,
    delete_tables,
    report,
    write_published_differences,
    write_tables,
)
from zoo.cli.studies.work import RunFailed, StudyExecutor
from zoo.errors import ZooError
from zoo.results.comparison.comparison import print_comparison
from zoo.results.tables import print_parts
from zoo.support.arguments import integer_at_least

STUDIES_FOLDER = Path("studies")


def main(argv: list[str]) -> int:
    """Executes the remaining runs of a study, prints its table, and returns the exit status."""
    args = parser().parse_args(argv)
    study = read_study(args.study, args.objective)
    root = (args.work_dir or STUDIES_FOLDER / folder_name(study.name)).absolute()
    place = WorkFolder(root, _resolve_data_root(study, args.data_root, root), study)
    runs = study_runs(study)
    if args.run_number is not None and args.run_number >= len(runs):
        raise ZooError(
            f"--run_number {args.run_number}: the runs of {study.name} are numbered 0 to "
            f"{len(runs) - 1}: "
            f"`zoo study {' '.join(args.study)} --list` lists them"
        )
    check_presets_and_models(study)
    slurm_settings = None if args.slurm is None else parse_slurm_settings(args.slurm)
    work = StudyExecutor(place, print_now)
    work.check_work_folder()
    if args.list:
        _print_runs(place, runs)
        return 0
    if args.table:
        refuse_mismatched_runs(work.records, runs, args.any_version)
        failed = {}
    else:
        selected = runs if args.run_number is None else [runs[args.run_number]]
        selected_and_initial_runs = with_initial_runs(selected, place)
        prepare(
            work, [run for run in selected_and_initial_runs if work.records.stage(run) != WHOLE]
        )
        if args.search:
            for file in search_best_settings(work, args.rerun_mismatched, args.any_version):
                print_now(str(file))
            return 0
        if args.rerun_mismatched:
            delete_outdated_runs(work, with_initial_runs(selected, place))
        refuse_mismatched_runs(work.records, with_initial_runs(selected, place), args.any_version)
        if slurm_settings is not None:
            remaining = [i for i, run in enumerate(runs) if work.records.stage(run) != WHOLE]
            _submit(place, argv, remaining, slurm_settings)
            return 0
        failed = execute_runs(work, selected, None if args.run_number is not None else args.trial)
        if args.run_number is not None:
            return int(bool(failed))
    return print_outcome(place, runs, failed)


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo study",
        formatter_class=RawDescriptionHelpFormatter,
        description="Train, evaluate and compare the runs of a study file: one run per "
        "combination of recipe, overlay and seed.\nFinished runs are not repeated, and an "
        "interrupted run resumes from its last checkpoint.\n\n"
        "  zoo study methods_on_coco --data_root DATA_ROOT\n"
        "  zoo study methods_on_coco small_with_scenes --data_root DATA_ROOT  # on a small scale\n"
        "  zoo study world_objectives scenes_first_try --objective my_package.MyLoss  # your loss\n"
        "  zoo study methods_on_coco --data_root DATA_ROOT --list  # list the runs",
    )
    parser.add_argument(
        "study",
        nargs="+",
        metavar="STUDY",
        help="a study file, or a name of `zoo ls studies`; further files or names override its "
        "settings",
    )
    parser.add_argument(
        "--data_root", metavar="DIR", help="the folder of images, captions and annotations"
    )
    parser.add_argument(
        "--work_dir",
        type=Path,
        metavar="DIR",
        help="the folder for runs, results and the table (default: studies/STUDY)",
    )
    parser.add_argument(
        "--objective",
        action="append",
        default=[],
        metavar="NAME",
        help="a custom objective (MODULE.CLASS) that is also trained; may be repeated",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the runs with their numbers and progress"
    )
    parser.add_argument(
        "--run_number",
        type=integer_at_least(0),
        metavar="K",
        help="execute only the run with this number (see --list), and print no table. This is for "
        "the tasks of a job array",
    )
    parser.add_argument(
        "--table", action="store_true", help="only print the table of the finished runs"
    )
    parser.add_argument(
        "--trial",
        type=integer_at_least(0),
        default=5,
        metavar="N",
        help="first train this many steps to estimate time and disk space; 0 skips this (default: "
        "%(default)s)",
    )
    parser.add_argument(
        "--slurm",
        nargs="*",
        metavar="NAME=VALUE",
        help="submit the remaining runs to SLURM. Values are parameters of submitit, such as "
        "slurm_partition=gpu",
    )
    parser.add_argument(
        "--search",
        action="store_true",
        help="do not execute the runs, but search for the best settings on validation captions. "
        "The study file contains the ranges to search. For each recipe with its overlays, the "
        "best settings are written to a new overlay",
    )
    version_group = parser.add_mutually_exclusive_group()
    version_group.add_argument(
        "--rerun_mismatched",
        action="store_true",
        help="delete and repeat runs that were made with other settings, data or code than the "
        "current ones",
    )
    version_group.add_argument(
        "--any_version",
        action="store_true",
        help="accept runs that were made with another version of the code",
    )
    return parser


def print_now(line: str) -> None:
    """Prints a line, also into a pipe, at once."""
    print(line, flush=True)


def _resolve_data_root(study: Study, given: str | None, root: Path) -> str:
    """Returns the data root of the command line, or else that of the study.

    Raises:
        ZooError: Neither is given, or that of the command line is not a folder.
    """
    if given is not None and not Path(given).expanduser().is_dir():
        if not study.fetch:
            raise ZooError(f"data root {given} is not a folder: give an existing one")
        Path(given).expanduser().mkdir(parents=True)
    named = given or study.data_root
    if named is None:
        raise ZooError(
            f"{study.name} reads files under a data root: give the folder of images and captions "
            "with --data_root DIR"
        )
    return str(Path(named.replace("${work}", str(root))).expanduser().absolute())


def prepare(work: StudyExecutor, remaining_runs: Sequence[Run]) -> None:
    """Checks the remaining rows, and creates the files that the study prepares.

    Rows that need such files are checked once these exist.

    Args:
        work: Executes the runs.
        remaining_runs: Runs that are not finished.

    Raises:
        ZooError: A row cannot be trained or measured, or another process uses the folder.
    """
    check_weight_files(work.place, remaining_runs)
    if remaining_runs:
        work.fetch_data()
    is_prepared = work.has_prepared_files()
    check_rows(work.place, remaining_runs, builds=is_prepared)
    work.claim_work_folder()
    if not is_prepared:
        work.prepare_files()
        check_rows(work.place, remaining_runs, builds=True)


def _submit(
    place: WorkFolder,
    argv: Sequence[str],
    remaining_numbers: Sequence[int],
    given: Mapping[str, Any],
) -> None:
    if not remaining_numbers:
        print_now("all runs are finished: remove --slurm to see the table")
        return
    ids = submit(place, without_slurm(argv), remaining_numbers, given)
    print_now(f"{len(ids)} jobs: {', '.join(ids)}; `zoo study ... --table` prints the table")


def delete_outdated_runs(work: StudyExecutor, runs: Sequence[Run]) -> None:
    """Deletes runs made from other settings, data or code.

    Args:
        work: Executes the runs.
        runs: The runs.
    """
    for run in runs:
        changed, by_code = work.records.differences(run)
        if changed or by_code:
            print_now(f"{run}: deleted, and will be repeated")
            delete_tables(work.place.root)
            work.delete_run(run)


def execute_runs(work: StudyExecutor, runs: list[Run], trial_steps: int | None) -> dict[str, str]:
    """Executes runs one after the other.

    Args:
        work: Executes a run.
        runs: The runs; finished ones are skipped.
        trial_steps: Steps of the trial that precedes the runs; None for a task of a job array,
            which has no trial and waits for runs of other processes.

    Returns:
        The errors of failed runs.
    """
    estimate = Estimate(work, runs)
    if trial_steps is not None:
        estimate.print_and_check_estimate(trial_steps)
    failed: dict[str, str] = {}
    pending = [run for run in runs if not estimate.is_complete(run)]
    for warning in model_warnings(work.place, pending):
        print(warning, file=sys.stderr, flush=True)
    done_elsewhere: list[Run] = []
    for number, run in enumerate(pending, 1):
        try:
            if work.execute_run(run, wait=trial_steps is None):
                print_now(f"[{number}/{len(pending)}] {run}: {estimate.describe_progress(run)}")
            else:
                print_now(f"[{number}/{len(pending)}] {run}: done by another process")
                done_elsewhere.append(run)
        except RunFailed as error:
            print_now(f"[{number}/{len(pending)}] {run} failed: {error}")
            failed[str(run)] = str(error)
    for run in done_elsewhere:
        try:
            work.execute_run(run, wait=True)
        except RunFailed as error:
            failed[str(run)] = str(error)
    return failed


def _print_runs(place: WorkFolder, runs: Sequence[Run]) -> None:
    records, table = Records(place), Table(box=None, pad_edge=False)
    for column in ("K", "run", "status", "fit (s)", "validate (s)"):
        table.add_column(column, no_wrap=True)
    for number, run in enumerate(runs):
        record = records.read_record(run)
        seconds = record.get("seconds", {})
        durations = [str(seconds.get(name, "")) for name in ("fit", "validate")]
        table.add_row(str(number), str(run), records.stage(run) or "to do", *durations)
    Console(highlight=False, markup=False).print(table)


def print_outcome(place: WorkFolder, runs: list[Run], failed: Mapping[str, str]) -> int:
    """Prints and writes the tables of the finished runs, and prints why others failed.

    Args:
        place: The work folder.
        runs: The runs of the study.
        failed: The errors of failed runs.

    Returns:
        The exit status.
    """
    status = _print_and_write_tables(place, runs)
    for run, reason in failed.items():
        print(f"zoo: {run} failed: {reason}", file=sys.stderr)
    return 1 if failed else status


def _print_and_write_tables(place: WorkFolder, runs: list[Run]) -> int:
    comparison = compare_rows(place, runs)
    if comparison is None:
        print(
            f"zoo: fewer than two rows of {place.study.name} have a finished run, so no table "
            "is printed: run the same command with --list to see their progress",
            file=sys.stderr,
        )
        return 1
    print_comparison(comparison)
    files = write_tables(comparison, place.root)
    against_published = write_published_differences(place, runs, comparison)
    if against_published is not None:
        table, published_files = against_published
        print_parts([*map(Text, table.preamble), table.rich()])
        files += published_files
    for file in files:
        print_now(str(file))
    try:
        print_now(str(report(place, runs)))
    except ZooError as error:
        print(f"zoo: the report was not written: {error}", file=sys.stderr)
    return 0
