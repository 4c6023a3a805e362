"""`zoo study`: recipes x overlays x seeds, trained, measured and compared, as a file says."""

import argparse
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from zoo.cli.studies.checks import check_rows
from zoo.cli.studies.estimate import Estimate
from zoo.cli.studies.file import Study, folder_name, read_study
from zoo.cli.studies.records import WHOLE, Records, refuse_others
from zoo.cli.studies.runs import Run, WorkFolder, runs_of, with_firsts
from zoo.cli.studies.search import search
from zoo.cli.studies.slurm import settings, submit, without_slurm
from zoo.cli.studies.tables import check_names, compare_rows, forget, report, write
from zoo.cli.studies.work import Failed, Work
from zoo.errors import ZooError
from zoo.results.comparison.layout import show
from zoo.support.arguments import Parser, whole_number

FOLDER = Path("studies")


def main(argv: list[str]) -> int:
    """Does what of a study is not done, prints its table, and returns the exit status."""
    given = parser().parse_args(argv)
    study = read_study(given.study, given.objective)
    root = (given.work or FOLDER / folder_name(study.name)).absolute()
    place = WorkFolder(root, _data_root(study, given.data_root, root), study)
    runs = runs_of(study)
    if given.only is not None and given.only >= len(runs):
        raise ZooError(
            f"--only {given.only}: {study.name} has the runs 0 to {len(runs) - 1}: `zoo study "
            f"{' '.join(given.study)} --list` lists them"
        )
    check_names(study)
    to_slurm = None if given.slurm is None else settings(given.slurm)
    work = Work(place, _say)
    if given.list:
        work.check()
        _list(place, runs)
        return 0
    if given.table:
        work.check()
        refuse_others(work.records, runs, given.any_version)
        failed = {}
    else:
        asked = runs if given.only is None else [runs[given.only]]
        of_rows = with_firsts(asked, place)
        _begin(work, [run for run in of_rows if work.records.stage(run) != WHOLE])
        if given.search:
            for file in search(work, given.again, given.any_version):
                _say(str(file))
            return 0
        if given.again:
            _forget_others(work, with_firsts(asked, place))
        refuse_others(work.records, with_firsts(asked, place), given.any_version)
        if to_slurm is not None:
            left = [i for i, run in enumerate(runs) if work.records.stage(run) != WHOLE]
            _submit(place, argv, left, to_slurm)
            return 0
        failed = _do(work, asked, given)
        if given.only is not None:
            return int(bool(failed))
    status = _print_table(place, runs)
    for run, reason in failed.items():
        print(f"zoo: {run} failed: {reason}", file=sys.stderr)
    return 1 if failed else status


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo study",
        formatter_class=RawDescriptionHelpFormatter,
        description="Train, measure and compare what a study file says: recipes x overlays x "
        "seeds.\nRuns that are whole are not done again, and a killed one goes on from its last "
        "checkpoint.\n\n"
        "  zoo study methods_on_coco --data_root DATA_ROOT\n"
        "  zoo study methods_on_coco small_with_scenes --data_root DATA_ROOT   # in small\n"
        "  zoo study scenes_first_try --objective my_package.MyLoss        # a loss of one's own\n"
        "  zoo study methods_on_coco --data_root DATA_ROOT --list          # which runs there are",
    )
    parser.add_argument(
        "study",
        nargs="+",
        metavar="STUDY",
        help="a study file or the name of a shipped one (`zoo ls studies`), and files that are "
        "laid over it",
    )
    parser.add_argument("--data_root", metavar="DIR", help="where images and captions lie")
    parser.add_argument(
        "--work",
        type=Path,
        metavar="DIR",
        help="the folder of runs, results and table (default: studies/STUDY)",
    )
    parser.add_argument(
        "--objective",
        action="append",
        default=[],
        metavar="NAME",
        help="a further objective that the study's layers are run with, by its dotted path; may be "
        "given again",
    )
    parser.add_argument(
        "--list", action="store_true", help="list the runs by number, with how far they are"
    )
    parser.add_argument(
        "--only",
        type=whole_number(0),
        metavar="K",
        help="do the run of this number alone, as the task of a job array, and make no table",
    )
    parser.add_argument(
        "--table", action="store_true", help="make the table of the runs that are whole"
    )
    parser.add_argument(
        "--trial",
        type=whole_number(0),
        default=5,
        metavar="N",
        help="steps by which time and disk are told beforehand; 0 for none (default: %(default)s)",
    )
    parser.add_argument(
        "--slurm",
        nargs="*",
        metavar="NAME=VALUE",
        help="send the runs that are left to SLURM by submitit, with parameters of its executor",
    )
    parser.add_argument(
        "--search",
        action="store_true",
        help="look for the settings that the study gives ranges of, by validation captions, and "
        "write the best of each row as an overlay",
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument(
        "--again",
        action="store_true",
        help="delete runs that were of another file, other data or other code, and do them anew",
    )
    kept.add_argument(
        "--any_version",
        action="store_true",
        help="take runs of another version of the code as they are",
    )
    return parser


def _say(line: str) -> None:
    print(line, flush=True)


def _data_root(study: Study, given: str | None, root: Path) -> str:
    """Returns the data root of the command line, else the study's.

    Raises:
        ZooError: There is neither, or that of the command line is no folder.
    """
    if given is not None and not Path(given).expanduser().is_dir():
        raise ZooError(f"data root {given} is not a folder: give one that exists")
    named = given or study.data_root
    if named is None:
        raise ZooError(
            f"{study.name} reads files under a data root: say where images and captions lie by "
            "--data_root DIR"
        )
    return str(Path(named.replace("${work}", str(root))).expanduser().absolute())


def _begin(work: Work, left: Sequence[Run]) -> None:
    """Checks the rows that are left, and makes what the study prepares.

    What needs files that are not made yet is checked as soon as they are.
    """
    work.check()
    is_prepared = work.is_prepared()
    check_rows(work.place, left, builds=is_prepared)
    work.begin()
    if not is_prepared:
        work.prepare()
        check_rows(work.place, left, builds=True)


def _submit(
    place: WorkFolder, argv: Sequence[str], left: Sequence[int], given: Mapping[str, Any]
) -> None:
    if not left:
        _say("all runs are whole: leave --slurm out to see the table")
        return
    ids = submit(place, without_slurm(argv), left, given)
    _say(f"{len(ids)} jobs: {', '.join(ids)}; `zoo study ... --table` makes the table")


def _forget_others(work: Work, runs: Sequence[Run]) -> None:
    for run in runs:
        changed, by_code = work.records.differences(run)
        if changed or by_code:
            _say(f"{run}: done anew")
            forget(work.place.root)
            work.forget(run)


def _do(work: Work, runs: list[Run], given: argparse.Namespace) -> dict[str, str]:
    """Does runs one after the other, and returns why some failed."""
    estimate = Estimate(work, runs)
    if given.only is None:
        estimate.begin(given.trial)
    failed: dict[str, str] = {}
    waiting = [run for run in runs if not estimate.is_complete(run)]
    elsewhere: list[Run] = []
    for number, run in enumerate(waiting, 1):
        try:
            if work.do(run, wait=given.only is not None):
                _say(f"[{number}/{len(waiting)}] {run}: {estimate.describe_completed(run)}")
            else:
                _say(f"[{number}/{len(waiting)}] {run}: done by another process")
                elsewhere.append(run)
        except Failed as error:
            _say(f"[{number}/{len(waiting)}] {run} failed: {error}")
            failed[str(run)] = str(error)
    for run in elsewhere:
        try:
            work.do(run, wait=True)
        except Failed as error:
            failed[str(run)] = str(error)
    return failed


def _list(place: WorkFolder, runs: Sequence[Run]) -> None:
    records, table = Records(place), Table(box=None, pad_edge=False)
    for column in ("K", "run", "is", "seconds of fit", "of validate"):
        table.add_column(column, no_wrap=True)
    for number, run in enumerate(runs):
        there = records.read_record(run)
        seconds = there.get("seconds", {})
        took = [str(seconds.get(name, "")) for name in ("fit", "validate")]
        table.add_row(str(number), str(run), records.stage(run) or "to do", *took)
    Console(highlight=False, markup=False).print(table)


def _print_table(place: WorkFolder, runs: list[Run]) -> int:
    comparison = compare_rows(place, runs)
    if comparison is None:
        print(
            f"zoo: fewer than two rows of {place.study.name} have a whole run, so that there is no "
            "table: the same command with --list says how far they are",
            file=sys.stderr,
        )
        return 1
    show(comparison)
    for file in write(comparison, place.root):
        _say(str(file))
    try:
        _say(str(report(place, runs)))
    except ZooError as error:
        print(f"zoo: there is no report: {error}", file=sys.stderr)
    return 0
