"""`zoo merge`: interpolates a fine-tuned model with its initial weights, and evaluates it."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from zoo.api import Model, evaluate
from zoo.checkpoints.load import load_checkpoint
from zoo.checkpoints.merge import interpolated_checkpoint_path, write_interpolated_checkpoints
from zoo.checkpoints.model_sources import resolve_model
from zoo.cli.command_parser import CommandParser
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.results.presets.preset import preset_of
from zoo.results.report import CASES, RESULTS, Results
from zoo.results.trajectory import (
    METRICS,
    PICTURES,
    Trajectory,
    named_scores,
    print_trajectory,
    write_trajectory,
)
from zoo.support.arguments import split_list

MAX_STEPS = 1_000  # the most checkpoints that `...` may expand to


def main(argv: list[str]) -> int:
    """Writes interpolated checkpoints, and evaluates them if benchmarks are named.

    Args:
        argv: The arguments after `zoo merge`.

    Returns:
        The exit status, 0.

    Raises:
        ZooError: An argument or a file is invalid, or files of another merge would be overwritten.
    """
    args = parser().parse_args(argv)
    alphas = parse_alphas(args.alphas)
    if args.out is not None:
        _refuse_existing(args.out, alphas, args.overwrite)
    args.ckpt_path = _find_tuned_model(args.ckpt_path)
    out_folder = args.out or args.ckpt_path.parent / "merged"
    _refuse_existing(out_folder, alphas, args.overwrite)
    presets = split_list(args.presets, "--presets")
    for preset in presets:
        preset_of(preset)
    if args.benchmarks is not None:
        # check the benchmarks before many large checkpoints are written
        Evaluation(list(split_list(args.benchmarks, "--benchmarks")), args.data_root).prepare()
    files = write_interpolated_checkpoints(args.ckpt_path, alphas, out_folder, args.base)
    for file in files:
        print(file)
    if args.benchmarks is not None:
        results_by_alpha = evaluate_checkpoints(
            files, split_list(args.benchmarks, "--benchmarks"), args.data_root, True, presets
        )
        trajectory = Trajectory(alphas, [named_scores(results) for results in results_by_alpha])
        write_trajectory(trajectory, out_folder)
        print_trajectory(trajectory)
    return 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(
        prog="zoo merge",
        description="Interpolate between the initial and the fine-tuned weights of a model "
        "(WiSE-FT). With --benchmarks, the interpolated models are evaluated.",
    )
    parser.add_argument(
        "--ckpt_path",
        required=True,
        help="the fine-tuned model: a checkpoint file, a run's folder, `last` or `best` of the "
        "newest run, or an exported model (a folder, or hf-hub:USER/NAME)",
    )
    parser.add_argument(
        "--alphas",
        default="0,0.1,...,1",
        help="shares of the fine-tuned weights in the interpolation, from 0 (the initial weights) "
        "to 1 (the fine-tuned weights); `...` continues the sequence. One checkpoint is written "
        "per share",
    )
    parser.add_argument(
        "--base",
        help="the initial weights: a tag of open_clip, a file, a folder or hf-hub:USER/NAME "
        "(default: those in the recipe of the checkpoint)",
    )
    parser.add_argument(
        "--out", type=Path, help="the folder to write (default: `merged` next to the checkpoint)"
    )
    parser.add_argument(
        "--benchmarks", help="evaluate each checkpoint on these benchmarks, separated by commas"
    )
    parser.add_argument(
        "--presets",
        default="official",
        help="rules for ties and averages, separated by commas: names of `zoo ls presets`, preset "
        "files (YAML or JSON) or dotted paths of Preset classes",
    )
    parser.add_argument(
        "--data_root", default=".", help="the folder of images, captions and annotations"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="overwrite the files of an earlier merge"
    )
    return parser


def _find_tuned_model(name: str) -> Path:
    """Returns the checkpoint of the fine-tuned model."""
    source = resolve_model(name)
    if source.checkpoint is None:
        raise ZooError(
            f"--ckpt_path {name} was not written by `zoo fit` or `zoo export`, so it cannot be "
            "interpolated, with --base or without: give a run, a checkpoint or an export of one"
        )
    return source.checkpoint


def _refuse_existing(out: Path, alphas: Sequence[float], overwrite: bool) -> None:
    """Raises ZooError, before any work, if files of another merge would be overwritten."""
    files = [interpolated_checkpoint_path(out, alpha) for alpha in alphas]
    results = [file.with_suffix("") / name for file in files for name in (RESULTS, CASES)]
    outputs = [*files, *results, *(out / name for name in (METRICS, *PICTURES))]
    existing = next((path for path in outputs if path.exists()), None)
    if existing is not None and not overwrite:
        raise ZooError(
            f"{existing} already exists: choose another folder with --out, or add --overwrite"
        )


def parse_alphas(text: str) -> list[float]:
    """Parses a list of alphas.

    Args:
        text: Numbers separated by commas. `...` continues a sequence (`0,0.1,...,1`).

    Returns:
        The distinct numbers in ascending order.

    Raises:
        ZooError: The text contains anything but numbers from 0 to 1.
    """
    names = split_list(text, "--alphas")
    alphas: list[float] = []
    for i, name in enumerate(names):
        if name == "...":
            if i < 2 or i + 1 == len(names):
                raise ZooError(
                    f"--alphas {text}: `...` must follow two numbers and precede one, as in "
                    "0,0.1,...,1"
                )
            step, end = (
                _parse_alpha(names[i - 1], text) - _parse_alpha(names[i - 2], text),
                _parse_alpha(names[i + 1], text),
            )
            count = (end - alphas[-1]) / step if step else 0.0
            if count > MAX_STEPS:
                raise ZooError(
                    f"--alphas {text} would write {count:.3g} checkpoints: give at most "
                    f"{MAX_STEPS:,} steps"
                )
            if not (count > 0 and math.isclose(count, round(count), abs_tol=1e-6)):
                raise ZooError(
                    f"--alphas {text} does not reach {names[i + 1]} "
                    f"in steps of {step:g}: list the numbers"
                )
            start = alphas[-1]
            alphas += [round(start + k * step, 9) for k in range(1, round(count))]
        else:
            alphas.append(_parse_alpha(name, text))
    return sorted(set(alphas))


def _parse_alpha(name: str, text: str) -> float:
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", name):
        raise ZooError(
            f"--alphas {text}: {name!r} is not a number: give weights of the fine-tuned model "
            "from 0 to 1"
        )
    if not 0 <= float(name) <= 1:
        raise ZooError(
            f"--alphas {text}: {name} is outside [0, 1]: give weights of the fine-tuned model"
        )
    return float(name)


def evaluate_checkpoints(
    files: Sequence[Path],
    benchmarks: Sequence[str],
    data_root: str,
    overwrite: bool = False,
    presets: Sequence[str] = ("official",),
) -> list[Results]:
    """Evaluates each checkpoint.

    The results.json and cases.parquet of a checkpoint are written to a folder of the same name.

    Args:
        files: The checkpoints.
        benchmarks: Names of the benchmarks.
        data_root: The folder of the benchmarks' files and images.
        overwrite: Whether existing results may be overwritten.
        presets: Names of the presets.

    Returns:
        The results of each checkpoint.
    """
    return [
        evaluate(
            Model(load_checkpoint(file)),
            benchmarks,
            data_root,
            file.with_suffix(""),
            presets,
            overwrite,
            quiet=True,  # one table of all checkpoints is printed
        )
        for file in files
    ]
