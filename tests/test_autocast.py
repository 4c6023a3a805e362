"""Under bf16-mixed, towers run in bf16.

Similarities, losses, gradients and weights stay in fp32.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.parallel import with_heads
from tests.support.runs import last_checkpoint, losses
from tests.test_chunks import HEADS, batch
from zoo.backbones.backbone import Backbone
from zoo.cli import main
from zoo.heads.base import Head
from zoo.heads.max_sim import MaxSim
from zoo.module import ZooModule
from zoo.objectives.base import Objective


def step(bf16: bool, objective: type[Objective], head: partial[Head]) -> tuple[Tensor, Tensor]:
    """Returns the loss and the gradient, as one vector."""
    torch.manual_seed(0)
    module = ZooModule(Backbone("zoo-tiny"), objective(), head()).eval()  # without dropout
    rows = batch(module.backbone)
    assert isinstance(rows.images, Tensor)
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        encoded, scores = module.score(replace(rows, images=rows.images.float()))
        loss = module.objective(encoded, scores).total
    loss.backward()
    return loss, torch.cat([p.grad.flatten() for p in module.parameters() if p.grad is not None])


@pytest.mark.parametrize(("objective", "head", "settings"), with_heads(HEADS, once=()))
def test_every_pair_learns_in_bf16_what_it_learns_in_fp32(
    objective: type[Objective], head: type[Head], settings: dict[str, Any]
) -> None:
    (expected, whole), (loss, half) = (
        step(bf16, objective, partial(head, bias=-1.0, **settings)) for bf16 in (False, True)
    )
    assert loss.dtype == half.dtype == torch.float32
    assert loss.item() == pytest.approx(expected.item(), rel=5e-3)
    assert not torch.equal(half, whole)
    # where two patches are nearly alike, the maximum falls on the other one in bf16
    least = 0.9 if head is MaxSim else 0.99
    assert torch.cosine_similarity(half, whole, dim=0) > least


def test_a_run_in_bf16_keeps_weights_in_fp32(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, flags in (("whole", []), ("half", ["--trainer.precision", "bf16-mixed"])):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        assert (
            main(
                [
                    "fit",
                    "--config",
                    str(made_root / "recipe.yaml"),
                    "--trainer.max_epochs",
                    "1",
                    *flags,
                ]
            )
            == 0
        )
    whole, half = (losses(tmp_path / folder) for folder in ("whole", "half"))
    assert half == pytest.approx(whole, rel=0.05)
    assert half != whole
    state = torch.load(last_checkpoint(tmp_path / "half"), weights_only=True)["state_dict"]
    assert {tensor.dtype for tensor in state.values() if tensor.is_floating_point()} == {
        torch.float32
    }
