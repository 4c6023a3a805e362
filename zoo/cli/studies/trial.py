"""Trial: a few steps of each row, which tell how long its runs take and how much they keep."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import Checkpoint

from zoo.cli.fit import ZooCLI, run_as
from zoo.support.files import write_beside
from zoo.training.run_folder import RunFolder

WARM_UP = 1  # steps that are not timed
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
        if trainer.global_step == WARM_UP:
            self._began = time.monotonic()
        if trainer.global_step >= WARM_UP + self.steps:
            timed = trainer.global_step - WARM_UP
            self.told["seconds"] = (time.monotonic() - self._began) / timed
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


def tried(arguments: list[str], steps: int) -> dict[str, float]:
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


def main(argv: list[str]) -> int:
    """Tries what a file of arguments names, `{"steps": N, "fit": [...]}`, and writes a file."""
    from zoo.errors import ZooError

    asked = json.loads(Path(argv[0]).read_text("utf-8"))
    try:
        told = tried(asked["fit"], asked["steps"])
    except ZooError as error:
        print(f"zoo: {error}", file=sys.stderr)
        return 1
    write_beside(Path(argv[1]), json.dumps(told).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
