"""What studies share whose runs follow on a first one: their plan, and processes that do the runs.

A study keeps its plan in its work folder, so that it goes on as it was begun.
"""

import argparse
import json
import multiprocessing
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from scenes_training import write_json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Plan = TypeVar("Plan", bound=DataclassInstance)
Key = TypeVar("Key")
Run = Callable[[], str]


def parser_of(description: str | None, name: str, out: Path, plan: type) -> argparse.ArgumentParser:
    """Returns a parser with the arguments of every study, and one for each size of its plan.

    Args:
        description: What the study says of itself.
        name: Name of its work folder under `build`.
        out: Folder of its table and plot.
        plan: Its dataclass of sizes.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work_dir", type=lambda path: Path(path).absolute(), default=f"build/{name}"
    )
    parser.add_argument("--out", type=Path, default=out, help="folder of table and plot")
    parser.add_argument("--workers", type=int, default=2, help="processes of one core each")
    parser.add_argument("--small", action="store_true", help="a try; name another --out")
    parser.add_argument("--report-only", action="store_true")
    for field in fields(plan):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=type(field.default))
    return parser


def chosen(arguments: argparse.Namespace, whole: "Plan", small: "Plan") -> "Plan":
    """Returns the plan of a command: the whole or the small one, with the sizes that it names."""
    plan = small if arguments.small else whole
    named = ((field.name, getattr(arguments, field.name)) for field in fields(plan))
    return replace(plan, **{name: value for name, value in named if value is not None})


def keep_plan(work: Path, plan: "Plan") -> None:
    """Writes the plan into the work folder, and ends the study where that has another."""
    kept = work / "plan.json"
    if kept.exists() and (there := json.loads(kept.read_text())) != asdict(plan):
        raise SystemExit(f"{work} has runs of another plan, {there}: name another --work_dir")
    work.mkdir(parents=True, exist_ok=True)
    write_json(kept, asdict(plan))


def do(workers: int, first: Mapping[Key, Run], following: Callable[[Key], Iterable[Run]]) -> None:
    """Does runs in processes, a few at a time, and prints what each returns.

    Args:
        workers: Number of processes.
        first: Runs that others follow on.
        following: Gives the runs that follow on one of these.
    """
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        leads: dict[Future[str], Key] = {pool.submit(run): key for key, run in first.items()}
        waiting = set(leads)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                print(future.result(), flush=True)
                if future in leads:
                    waiting |= {pool.submit(run) for run in following(leads[future])}
