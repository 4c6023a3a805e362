"""Trials before a study's first run.

A few training steps of each row measure its speed and the size of its checkpoints; reading the
benchmarks shows whether anything can be measured.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from zoo.cli.fit import ZooCLI, build_data, parse_settings, run_cli
from zoo.cli.parser import PLACEHOLDER_MODEL
from zoo.cli.user_code import allow_user_code
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.support.files import write_bytes
from zoo.training.run_folder import RunFolder

WARM_UP = 1  # steps that are not timed
WRITES_NOTHING = {
    "trainer": {
        "logger": False,
        "limit_val_batches": 0,
        "num_sanity_val_steps": 0,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
}


class Pace(Callback):
    """Times training steps, and ends training after a number of them.

    The first step is not timed, unless it is the only one.

    Args:
        steps: Number of timed steps.

    Attributes:
        measurements: Planned `steps`, `seconds` per step, and `bytes` of a checkpoint.
    """

    def __init__(self, steps: int) -> None:
        self.steps, self.measurements, self._began = steps, dict[str, float](), 0.0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Records the number of planned steps and the size of a checkpoint."""
        tensors = [*pl_module.parameters(), *pl_module.buffers()]
        trained = [p for p in pl_module.parameters() if p.requires_grad]
        size = sum(t.numel() * t.element_size() for t in tensors)
        moments = 2 * sum(p.numel() * p.element_size() for p in trained)  # AdamW has two
        self.measurements = {
            "steps": float(trainer.estimated_stepping_batches),
            "bytes": size + moments,
        }
        self._began = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, *args: Any, **kwargs: Any
    ) -> None:
        """Times a step, and stops training after the last timed one."""
        elapsed = time.monotonic() - self._began
        if trainer.global_step <= WARM_UP:
            self.measurements["seconds"] = elapsed / max(trainer.global_step, 1)
        else:
            self.measurements["seconds"] = elapsed / (trainer.global_step - WARM_UP)
        if trainer.global_step == WARM_UP:
            self._began = time.monotonic()
        if trainer.global_step >= WARM_UP + self.steps:
            trainer.should_stop = True


class TrialCLI(ZooCLI):
    """A ZooCLI whose `fit` takes a few steps and writes nothing."""

    pace: Pace

    def before_fit(self) -> None:
        """Replaces the callbacks that write files by the timer."""
        callbacks: list[Callback] = self.trainer.callbacks  # type: ignore[attr-defined]
        callbacks[:] = [c for c in callbacks if not isinstance(c, Checkpoint | RunFolder)]
        callbacks.append(self.pace)
        self.model.check_data(self.datamodule)

    def after_fit(self) -> None:
        """Prints nothing."""


def run_steps(arguments: list[str], steps: int) -> dict[str, float]:
    """Trains a run for a few steps and returns `steps` planned, `seconds` per step and `bytes`.

    Args:
        arguments: The arguments of `zoo fit`.
        steps: Number of timed steps.

    Raises:
        ZooError: The run cannot be trained.
    """
    pace = Pace(steps)
    cli = type("PacedCLI", (TrialCLI,), {"pace": pace})
    run_cli(cli, ["fit", *arguments, "--config", json.dumps(WRITES_NOTHING)])
    return pace.measurements


def check_benchmarks(arguments: list[str]) -> None:
    """Reads the benchmarks on which runs are measured, and looks for their images.

    Args:
        arguments: The arguments of `zoo validate`, without a model.

    Raises:
        ZooError: A flag or name is wrong, or no case can be scored with the files found.
    """
    settings = parse_settings(["validate", *arguments, *PLACEHOLDER_MODEL])
    data = build_data(settings.data)
    if isinstance(data, EvaluationDataModule):
        data.check_files()


def main(argv: list[str]) -> int:
    """Runs the trial requested in one file and writes its measurements to another.

    The request is `{"fit": [...], "steps": N}` or `{"validate": [...]}`.
    """
    from zoo.errors import ZooError

    request = json.loads(Path(argv[0]).read_text("utf-8"))
    try:
        if "validate" in request:
            measurements = dict[str, float]()
            check_benchmarks(request["validate"])
        else:
            measurements = run_steps(request["fit"], request["steps"])
    except ZooError as error:
        print(f"zoo: {error}", file=sys.stderr)
        return 1
    write_bytes(Path(argv[1]), json.dumps(measurements).encode())
    return 0


if __name__ == "__main__":
    with allow_user_code(sys.argv[1:]) as words:
        sys.exit(main(words))
