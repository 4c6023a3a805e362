"""`zoo merge`: checkpoints between a tuned model and its start, and what they score."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from zoo.api import Model, evaluate
from zoo.checkpoints.files import find_checkpoint
from zoo.checkpoints.load import load_checkpoint
from zoo.checkpoints.merge import checkpoint_of, merge
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.results.report import CASES, RESULTS, Results
from zoo.results.trajectory import METRICS, PICTURE, Trajectory, show, write
from zoo.support.arguments import Parser, split_list

MOST = 1_000  # steps between two alphas; each is a checkpoint


def main(argv: list[str]) -> int:
    """Writes interpolated checkpoints, and what they score where benchmarks are named.

    Args:
        argv: What follows `zoo merge`.

    Returns:
        The exit status, 0.

    Raises:
        ZooError: An argument or a file is wrong, or another merge would lose what it wrote.
    """
    given = parser().parse_args(argv)
    alphas = parse_alphas(given.alphas)
    given.ckpt_path = find_checkpoint(given.ckpt_path)
    out = given.out or given.ckpt_path.parent / "merged"
    _refuse_what_is_there(out, alphas, given.overwrite)
    if given.benchmarks is not None:
        # before anything is written, since the checkpoints are many and large
        Evaluation(list(split_list(given.benchmarks, "--benchmarks")), given.data_root).prepare()
    files = merge(given.ckpt_path, alphas, out, given.base)
    for file in files:
        print(file)
    if given.benchmarks is not None:
        found = measure(files, split_list(given.benchmarks, "--benchmarks"), given.data_root, True)
        trajectory = Trajectory(alphas, [results.scalars() for results in found])
        write(trajectory, out)
        show(trajectory)
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(
        prog="zoo merge",
        description="Interpolate a tuned model with the weights that it started from (WiSE-FT).",
    )
    parser.add_argument(
        "--ckpt_path",
        type=Path,
        required=True,
        help="the tuned model: a checkpoint of `zoo fit`, the folder of its run, `last` or `best`",
    )
    parser.add_argument(
        "--alphas",
        default="0,0.1,...,1",
        help="shares of the tuned weights: 0 is the start, 1 the tuned model",
    )
    parser.add_argument(
        "--base",
        help="a tag or a file of the weights it started "
        "from; without it, what the checkpoint's recipe names",
    )
    parser.add_argument(
        "--out", type=Path, help="a folder; without it, `merged` beside the checkpoint"
    )
    parser.add_argument("--benchmarks", help="measure each, by commas")
    parser.add_argument(
        "--data_root", default=".", help="where the benchmarks' files and images lie"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="write over what the folder holds of such a merge"
    )
    return parser


def _refuse_what_is_there(out: Path, alphas: Sequence[float], overwrite: bool) -> None:
    """Raises ZooError, before any work, where another merge would lose what it wrote."""
    files = [checkpoint_of(out, alpha) for alpha in alphas]
    results = [file.with_suffix("") / name for file in files for name in (RESULTS, CASES)]
    kept = [*files, *results, out / METRICS, out / PICTURE]
    there = next((path for path in kept if path.exists()), None)
    if there is not None and not overwrite:
        raise ZooError(
            f"{there} exists: name another folder by --out, or add --overwrite if it may be lost"
        )


def parse_alphas(text: str) -> list[float]:
    """Returns the alphas that a text names.

    Args:
        text: Numbers by commas. Dots stand for the numbers between (`0,0.1,...,1`).

    Returns:
        The numbers, ascending, each once.

    Raises:
        ZooError: The text has anything else than numbers from 0 to 1.
    """
    names = split_list(text, "--alphas")
    alphas: list[float] = []
    for i, name in enumerate(names):
        if name == "...":
            if i < 2 or i + 1 == len(names):
                raise ZooError(
                    f"--alphas {text} has dots without two numbers before and one after: write "
                    "them as in 0,0.1,...,1"
                )
            step, last = (
                _number(names[i - 1], text) - _number(names[i - 2], text),
                _number(names[i + 1], text),
            )
            count = (last - alphas[-1]) / step if step else 0.0
            if count > MOST:
                raise ZooError(
                    f"--alphas {text} would be {count:.3g} checkpoints: give at most {MOST:,} steps"
                )
            if not (count > 0 and math.isclose(count, round(count), abs_tol=1e-6)):
                raise ZooError(
                    f"--alphas {text} does not come to {names[i + 1]} "
                    f"in steps of {step:g}: write out the numbers"
                )
            start = alphas[-1]
            alphas += [round(start + k * step, 9) for k in range(1, round(count))]
        else:
            alphas.append(_number(name, text))
    return sorted(set(alphas))


def _number(name: str, text: str) -> float:
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", name):
        raise ZooError(
            f"--alphas {text} has {name!r}, which is no number: "
            "give shares of the tuned weights from 0 to 1"
        )
    if not 0 <= float(name) <= 1:
        raise ZooError(
            f"--alphas {text} has {name}, which is outside [0, 1]: give shares of the tuned weights"
        )
    return float(name)


def measure(
    files: Sequence[Path], benchmarks: Sequence[str], data_root: str, overwrite: bool = False
) -> list[Results]:
    """Measures each checkpoint.

    Each one's results.json and cases.parquet go into a folder of its name beside it.

    Args:
        files: The checkpoints.
        benchmarks: Names of the benchmarks.
        data_root: Where the benchmarks' files and images lie.
        overwrite: Whether results that these folders hold may be lost.

    Returns:
        The results of each checkpoint.
    """
    return [
        evaluate(
            Model(load_checkpoint(file)),
            benchmarks,
            data_root,
            file.with_suffix(""),
            overwrite=overwrite,
        )
        for file in files
    ]
