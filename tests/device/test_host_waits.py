"""How often the host would wait for a GPU in a step of a real `fit`, and where.

The fit runs on the CPU. What would wait on a GPU is counted, but for what is on the host there as
well: the loader's data, the optimiser's counters and the lengths of texts.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.support.made import make_root
from tests.support.pretend_cuda import INDEXING, WAITS
from zoo.backbones.backbone import Backbone
from zoo.datamodules.captions import CaptionDataModule
from zoo.module import ZooModule
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.cs_clip import CSCLIP
from zoo.sources.readers.csv_table import CsvTable
from zoo.training.averaging import EMA
from zoo.training.callbacks import LastCheckpoint
from zoo.training.metrics_log import MetricsLog
from zoo.training.stopping import StepLoop
from zoo.training.trainer import ZooTrainer
from zoo.units.sampler import UnitSampler

# functions whose tensors are on the host though the model is on a GPU
ON_HOST = (
    "zoo/datamodules/",
    "zoo/support/worker.py",
    "torch/utils/data/",
    "torch/optim/",
    "zoo/batch.py:lengths_on_host",
    "zoo/backbones/towers.py:group_by_length",
    "zoo/training/console_output.py",  # read every half minute
    "lightning/fabric/utilities/apply_func.py",  # of values that the module has copied
)
# within an epoch of 12 steps, past the first steps, which are logged more often
STEPS = range(61, 71)
LOGGED = 69  # counted from 0: every tenth step


class Waits(TorchDispatchMode):
    """Counts what the host waits for, by step, by phase and by place.

    Attributes:
        phase: `passes` from the start of the forward to the end of the backward pass, else `rest`.
        step: The step, None outside of those that are counted.
        seen: How often each was seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.phase, self.step = "rest", None
        self.seen: Counter[tuple[int, str, str]] = Counter()

    def note(self, what: str) -> None:
        """Counts a wait in the function that called the operation."""
        if self.step is None:
            return
        places = list(_places(sys._getframe(2)))
        if not any(place.startswith(ON_HOST) for place in places):
            self.seen[self.step, self.phase, f"{what} in {places[0] if places else '?'}"] += 1

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = function.name().removeprefix("aten::")
        base = name.partition(".")[0]
        if name in WAITS or base in WAITS:
            self.note(name)
        elif base in INDEXING and any(
            isinstance(i, Tensor) and i.dtype == torch.bool for i in args[1]
        ):
            self.note("boolean index")
        return function(*args, **dict(kwargs or {}))


def _places(frame: FrameType | None) -> Any:
    """Yields the running functions of this project and torch, up to the first of Lightning."""
    while frame is not None:
        file = frame.f_code.co_filename.replace("\\", "/")
        for folder in ("/zoo/", "/lightning/", "/torch/optim/", "/torch/utils/data/"):
            if folder in file and "/tests/" not in file:
                part = folder[1:] + file.rpartition(folder)[2]
                function = frame.f_code.co_qualname.partition(".<locals>")[0]
                yield f"{part}:{function.rpartition('.')[2]}"
                if folder == "/lightning/":
                    return
                break
        frame = frame.f_back


class Phases(Callback):
    """Tells the counter which step and phase it is in."""

    def __init__(self, waits: Waits) -> None:
        self.waits = waits

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self.waits.step = trainer.global_step if trainer.global_step in STEPS else None
        self.waits.phase = "passes"

    def on_after_backward(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.waits.phase = "rest"


def waits_of_a_fit(folder: Path, module: ZooModule) -> Waits:
    """Trains, with checkpoints, an average, a logger and signals; returns what was counted."""
    root = make_root(folder / "root")  # 12 captions
    data = CaptionDataModule(
        CsvTable(str(root / "captions.tsv")),
        [str(root)],
        batch_size=1,
        workers=0,
        negatives=NegCLIPSwap(),
        units=UnitSampler(str(root / "units.jsonl")),
    )
    waits = Waits()

    def counted(name: str, original: Any) -> Any:
        def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            waits.note(name)
            return original(self, *args, **kwargs)

        return method

    trainer = ZooTrainer(
        accelerator="cpu",
        devices=1,
        max_steps=STEPS.stop + 1,
        max_epochs=-1,
        precision="bf16-mixed",
        default_root_dir=folder,
        logger=MetricsLog(str(folder), None),
        log_every_n_steps=50,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Phases(waits), EMA(), LastCheckpoint(every_n_steps=10_000)],
    )
    with ExitStack() as stack:
        # what `Tensor.item` dispatches is seen by the mode, what these do is not
        for name in ("tolist", "cpu", "numpy"):
            stack.enter_context(patch.object(Tensor, name, counted(name, getattr(Tensor, name))))
        stack.enter_context(patch.object(StepLoop, "agrees_later", True))  # as on a GPU
        stack.enter_context(waits)
        trainer.fit(module, data)
    return waits


@pytest.mark.slow
def test_a_step_waits_for_the_device_once_and_a_logged_one_three_times(tmp_path: Path) -> None:
    """Once for the loss of the step before, which is then computed; for its metrics and speed."""
    torch.manual_seed(0)
    waits = waits_of_a_fit(tmp_path, ZooModule(Backbone("zoo-tiny"), CSCLIP()))
    assert [key for key in waits.seen if key[1] == "passes"] == []
    for step in STEPS:
        seen = {what: n for (s, _, what), n in waits.seen.items() if s == step}
        expected = {"tolist in zoo/training/stopping.py:run_step_end_hooks": 1}
        if step == LOGGED:
            expected["cpu in zoo/module/zoo_module.py:on_after_backward"] = 1
            expected["cpu in zoo/module/zoo_module.py:on_train_batch_end"] = 1
        assert seen == expected, step


class ReadsItsLoss(CSCLIP):
    """An objective that reads a number in its forward pass."""

    def forward(self, batch: Any, scores: Any) -> Any:
        loss = super().forward(batch, scores)
        assert loss.total.item() > 0
        return loss


@pytest.mark.slow
def test_a_number_that_is_read_between_forward_and_backward_is_found(tmp_path: Path) -> None:
    torch.manual_seed(0)
    waits = waits_of_a_fit(tmp_path, ZooModule(Backbone("zoo-tiny"), ReadsItsLoss()))
    (what,) = {what for _, phase, what in waits.seen if phase == "passes"}
    assert what.startswith("_local_scalar_dense")
