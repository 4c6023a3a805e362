"""Learning rate, decay, betas and eps of every group of parameters at every step of a fit.

A fit that is resumed with other values is among them.
"""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch.optim import Optimizer

from zoo.backbones.backbone import Backbone
from zoo.datamodules.captions import CaptionDataModule
from zoo.errors import ZooError
from zoo.heads.linear import Linear
from zoo.module import ZooModule
from zoo.optim import Optimization
from zoo.sources.readers.csv_table import CsvTable

ACCUMULATED = 2  # batches a step; 12 captions in batches of 2 make 3 steps an epoch, of two
FIRST = Optimization(
    lr=0.5,
    lr_image=1.0,
    lr_head=0.25,
    weight_decay=0.3,
    betas=(0.7, 0.8),
    eps=1e-3,
    warmup_epochs=1,
    final_share=0.2,
)
SECOND = Optimization(lr=0.1, weight_decay=0.05, betas=(0.6, 0.9), eps=1e-4, warmup_steps=2)
# of the peak, by hand: 3 steps of warm-up, then half a cosine from 1 to 0.2 in 3 steps; 2 steps,
# then one from 1 to 0 in 4
SHARES = [1 / 3, 2 / 3, 1.0, 1.0, 0.2 + 0.8 * 0.75, 0.2 + 0.8 * 0.25]
AGAIN = [0.5, 1.0, 1.0, (1 + math.cos(math.pi / 4)) / 2, 0.5, (1 - math.cos(math.pi / 4)) / 2]


class Groups(Callback):
    """Keeps the settings of every group at every step."""

    def __init__(self) -> None:
        self.steps: list[list[dict[str, Any]]] = []

    def on_before_optimizer_step(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: Optimizer
    ) -> None:
        self.steps.append([{**group} for group in optimizer.param_groups])


def fitted(
    root: Path, optimization: Optimization, max_steps: int = -1, kept: Path | None = None
) -> tuple[ZooModule, Groups, Trainer]:
    groups = Groups()
    module = ZooModule(Backbone("zoo-tiny"), head=Linear(), optimizer=optimization)
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=2,
        max_steps=max_steps,
        accumulate_grad_batches=ACCUMULATED,
        callbacks=[groups],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    captions = CsvTable(root / "captions.tsv")
    trainer.fit(
        module,
        datamodule=CaptionDataModule(captions, [str(root)], batch_size=2, workers=0),
        ckpt_path=kept,
    )
    return module, groups, trainer


def hold(
    optimization: Optimization, groups: Groups, module: ZooModule, shares: list[float]
) -> None:
    named = dict(module.named_parameters())
    matrices = {id(p) for p in named.values() if p.ndim >= 2}
    trained = {id(p) for p in named.values() if p.requires_grad}
    peaks = {part: optimization.peak(part) for part in ("image", "text", "head")}
    part_of = {id(p): module.learning_rate_part(name) for name, p in named.items()}
    assert len(groups.steps) == len(shares)
    for step, share in zip(groups.steps, shares, strict=True):
        assert {id(p) for group in step for p in group["params"]} == trained
        for group in step:
            (part,) = {part_of[id(p)] for p in group["params"]}
            (decays,) = {id(p) in matrices for p in group["params"]}
            assert group["lr"] == pytest.approx(peaks[part] * share, rel=1e-9)
            assert group["weight_decay"] == (optimization.weight_decay if decays else 0.0)
            assert tuple(group["betas"]) == optimization.betas
            assert group["eps"] == optimization.eps


def test_every_group_has_its_settings_at_every_step(made_root: Path) -> None:
    module, groups, _ = fitted(made_root, FIRST)
    hold(FIRST, groups, module, SHARES)
    parts = {(group["part"], group["weight_decay"] > 0) for group in groups.steps[0]}
    assert parts == {(p, d) for p in ("image", "text", "head") for d in (True, False)}


def test_a_resumed_run_has_its_own_settings_from_its_first_step(
    made_root: Path, tmp_path: Path
) -> None:
    _, before, trainer = fitted(made_root, FIRST, max_steps=3)
    trainer.save_checkpoint(tmp_path / "half.ckpt")
    assert len(before.steps) == 3
    module, groups, _ = fitted(made_root, SECOND, kept=tmp_path / "half.ckpt")
    hold(SECOND, groups, module, AGAIN[3:])


def test_a_run_of_sgd_learns_and_is_resumed_with_sgd_alone(made_root: Path, tmp_path: Path) -> None:
    sgd = Optimization(lr=0.01, algorithm="SGD", arguments={"momentum": 0.9})
    untrained = ZooModule(Backbone("zoo-tiny"), head=Linear()).state_dict()
    module, _, trainer = fitted(made_root, sgd, max_steps=1)
    (optimizer,) = trainer.optimizers
    assert type(optimizer) is torch.optim.SGD
    assert any(not torch.equal(untrained[n], value) for n, value in module.state_dict().items())
    trainer.save_checkpoint(tmp_path / "half.ckpt")
    recipe = torch.load(tmp_path / "half.ckpt", weights_only=True)["hyper_parameters"]
    assert recipe["optimizer"]["algorithm"] == "SGD"
    with pytest.raises(
        ZooError, match=r"a run of SGD cannot be resumed with AdamW: set model\.opt"
    ):
        fitted(made_root, SECOND, kept=tmp_path / "half.ckpt")
    faster = dataclasses.replace(sgd, lr=0.2)
    _, groups, _ = fitted(made_root, faster, max_steps=2, kept=tmp_path / "half.ckpt")
    assert len(groups.steps) == 1
    assert {group["momentum"] for step in groups.steps for group in step} == {0.9}
    assert {group["initial_lr"] for step in groups.steps for group in step} == {0.2}


@pytest.mark.parametrize("precision", ["bf16-mixed", "32-true"])
def test_fused_adamw_with_clipping_is_refused_at_the_start_of_a_mixed_run(precision: str) -> None:
    """Lightning would refuse it at the first step; in fp32 it works."""
    module = ZooModule(Backbone("zoo-tiny"), optimizer=Optimization(fused=True))
    trainer = Trainer(
        accelerator="cpu", precision=precision, gradient_clip_val=1.0, max_steps=1, logger=False
    )
    module.trainer = trainer
    if precision == "32-true":
        module._refuse_clipping_fused()
        return
    with pytest.raises(ZooError, match=r"gradient_clip_val 1.0 .* bf16-mixed: set fused to false"):
        module._refuse_clipping_fused()
