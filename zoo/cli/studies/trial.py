"""Trial: what a study can be told before its first run.

A few steps of each row tell how long its runs take and how much they keep; reading the benchmarks
tells whether anything can be measured.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from zoo.cli.fit import ZooCLI, data_of, run_as, settings_of
from zoo.cli.user_code import user_code
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.support.files import write_bytes
from zoo.training.run_folder import RunFolder

WARM_UP = 1  # steps that are not timed
SOME_MODEL = ("--model.backbone.name", "zoo-tiny")  # which is parsed and not built
NOTHING_ELSE = {
    "trainer": {
        "logger": False,
        "limit_val_batches": 0,
        "num_sanity_val_steps": 0,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
}


class Pace(Callback):
    """Times steps and ends the training after some.

    The first is not timed, unless training has no other.

    Args:
        steps: How many steps are timed.

    Attributes:
        told: Planned steps, seconds of a step, and bytes of a checkpoint.
    """

    def __init__(self, steps: int) -> None:
        self.steps, self.told, self._began = steps, dict[str, float](), 0.0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Reads how many steps are planned, and how large a checkpoint is."""
        held = [*pl_module.parameters(), *pl_module.buffers()]
        trained = [p for p in pl_module.parameters() if p.requires_grad]
        size = sum(t.numel() * t.element_size() for t in held)
        moments = 2 * sum(p.numel() * p.element_size() for p in trained)  # AdamW's two
        self.told = {"steps": float(trainer.estimated_stepping_batches), "bytes": size + moments}
        self._began = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, *args: Any, **kwargs: Any
    ) -> None:
        """Counts a step."""
        taken = time.monotonic() - self._began
        if trainer.global_step <= WARM_UP:
            self.told["seconds"] = taken / max(trainer.global_step, 1)
        else:
            self.told["seconds"] = taken / (trainer.global_step - WARM_UP)
        if trainer.global_step == WARM_UP:
            self._began = time.monotonic()
        if trainer.global_step >= WARM_UP + self.steps:
            trainer.should_stop = True


class TrialCLI(ZooCLI):
    """A ZooCLI whose `fit` takes a few steps and writes nothing."""

    pace: Pace

    def before_fit(self) -> None:
        """Puts the timer in the place of all that writes."""
        callbacks: list[Callback] = self.trainer.callbacks  # type: ignore[attr-defined]
        callbacks[:] = [c for c in callbacks if not isinstance(c, Checkpoint | RunFolder)]
        callbacks.append(self.pace)
        self.model.refuse_what_cannot_be(self.datamodule)

    def after_fit(self) -> None:
        """Says nothing."""


def run_steps(arguments: list[str], steps: int) -> dict[str, float]:
    """Returns what a few steps of a run tell: `steps` planned, `seconds` of one, `bytes` kept.

    Args:
        arguments: Those of `zoo fit`.
        steps: How many steps are timed.

    Raises:
        ZooError: The run cannot be trained.
    """
    pace = Pace(steps)
    cli = type("PacedCLI", (TrialCLI,), {"pace": pace})
    run_as(cli, ["fit", *arguments, "--config", json.dumps(NOTHING_ELSE)])
    return pace.told


def looked_for(arguments: list[str]) -> None:
    """Reads the benchmarks that runs are measured by, and finds their images.

    Args:
        arguments: Those of `zoo validate`, without a model.

    Raises:
        ZooError: A flag or name is mistaken, or nothing can be scored with what is there.
    """
    settings = settings_of(["validate", *arguments, *SOME_MODEL])
    data = data_of(settings.data)
    if isinstance(data, EvaluationDataModule):
        data.check_files()


def main(argv: list[str]) -> int:
    """Tries what a file of arguments names, and writes a file of what that tells.

    It holds `{"fit": [...], "steps": N}` or `{"validate": [...]}`.
    """
    from zoo.errors import ZooError

    asked = json.loads(Path(argv[0]).read_text("utf-8"))
    try:
        if "validate" in asked:
            told = dict[str, float]()
            looked_for(asked["validate"])
        else:
            told = run_steps(asked["fit"], asked["steps"])
    except ZooError as error:
        print(f"zoo: {error}", file=sys.stderr)
        return 1
    write_bytes(Path(argv[1]), json.dumps(told).encode())
    return 0


if __name__ == "__main__":
    with user_code(sys.argv[1:]) as words:
        sys.exit(main(words))
