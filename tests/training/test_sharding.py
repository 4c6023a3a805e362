"""Parameters split over two processes train as whole ones do on one."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh

import zoo
from tests.cli.test_two_processes_cli import CPU
from tests.support.parallel import (
    Step,
    gradients,
    group,
    heads,
    joined,
    objectives,
    on_ranks,
    parts_for,
)
from tests.support.runs import command, last_checkpoint, losses, variant
from zoo.backbones.backbone import Backbone
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.optim import Optimization
from zoo.support.distributed import (
    average_scalar_gradients,
    clip_sharded_gradients,
    gather_or_reshard_parameters,
    shard,
)
from zoo.training.averaging import EMA
from zoo.training.trainer import ZooTrainer

RANKS = 2
OPTIMIZER = Optimization(lr=1e-2, weight_decay=0.1)
SHARDED = [*CPU, "--trainer.devices", "2", "--trainer.strategy", "sharded"]


def step() -> Step:
    """A head over tokens, texts of other lengths on each rank, and a trained scale, a scalar."""
    return Step(heads()["MaxSim0"], objectives()["CSCLIP"])


def after_one_step(model: Step) -> dict[str, Tensor]:
    """Returns the parameters after a step of the optimiser on the gradients that are there."""
    built = OPTIMIZER.build(
        model.named_parameters(),
        lambda name: "head" if name.startswith("head.") else "image",
        10,
        1.0,
    )
    built["optimizer"].step()
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def work(rank: int, folder: Path) -> None:
    with group(rank, RANKS, folder):
        torch.save(sharded_step(rank), folder / f"rank{rank}.pt")


def sharded_step(rank: int) -> dict[str, Any]:
    """Returns a rank's loss, gradients, parameters after a step, and how many numbers it held."""
    model = step()
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    shard(model, init_device_mesh("cpu", (RANKS,)))
    held = sum(p.to_local().numel() for p in model.parameters() if p.ndim)
    loss = model(parts_for(model, RANKS)[rank])
    loss.backward()
    average_scalar_gradients(model)
    grads = {name: _whole(p.grad) for name, p in model.named_parameters() if p.grad is not None}
    after_one_step(model)
    gather_or_reshard_parameters(model, gathered=True)
    moved = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    gather_or_reshard_parameters(model, gathered=False)
    assert {name: parameter.shape for name, parameter in model.named_parameters()} == shapes
    return {"loss": loss.detach(), "grads": grads, "moved": moved, "held": held}


def _whole(gradient: Any) -> Tensor:
    whole: Tensor = gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient
    return whole


def test_a_sharded_step_is_that_of_one_process_on_the_joined_batch(tmp_path: Path) -> None:
    on_ranks(RANKS, work, tmp_path)
    ranks = [torch.load(tmp_path / f"rank{r}.pt") for r in range(RANKS)]
    whole = step()
    expected = gradients(whole, joined(parts_for(whole, RANKS)))
    torch.testing.assert_close(
        torch.stack([r["loss"] for r in ranks]).mean(), expected.pop("loss"), rtol=1e-9, atol=1e-12
    )
    moved = after_one_step(whole)
    largest = max(float(g.abs().max()) for g in expected.values())
    for found in ranks:
        assert found["grads"].keys() == expected.keys()
        for name, gradient in expected.items():
            error = (found["grads"][name] - gradient).abs().max() / gradient.abs().max().clamp(
                min=1e-6 * largest
            )
            assert error < 1e-6, name
        for name, parameter in moved.items():
            sure = (
                expected[name].abs() > 1e-6 * largest
            )  # Adam makes whole steps of what is rounding alone
            assert sure.any() or name == "head.bias", name  # a bias cancels in every softmax
            torch.testing.assert_close(
                found["moved"][name][sure], parameter[sure], rtol=1e-6, atol=1e-8
            )
    total = sum(p.numel() for p in whole.parameters() if p.ndim)
    assert sum(r["held"] for r in ranks) == total
    assert max(r["held"] for r in ranks) < 0.6 * total


@pytest.mark.slow
def test_a_sharded_run_is_that_of_one_process_and_goes_on_from_its_checkpoint(
    made_root: Path, tmp_path: Path
) -> None:
    """Through the command line: a linear head and a benchmark in `fit`.

    One epoch runs, and a second from the checkpoint.
    """
    parts = {"head": {"class_path": "zoo.heads.linear.Linear"}}
    engine = {
        "benchmarks": [f"pairs:{made_root / 'pairs.csv'}"],
        "data_root": str(made_root),
        "workers": 0,
    }
    recipe = variant(
        tmp_path,
        made_root,
        parts,
        {"evaluation": {"class_path": "zoo.evaluation.engine.Evaluation", "init_args": engine}},
    )
    common = ["fit", "--config", str(recipe), "--trainer.gradient_clip_val", "0.5"]
    one = command(tmp_path / "one", *common, *CPU)
    two = command(tmp_path / "two", *common, *SHARDED, ranks=2)
    expected = losses(one, column="val/loss")
    assert losses(two, column="val/loss") == pytest.approx(expected, rel=1e-5)
    metric = "benchmark/pairs/colours/i2t"
    assert losses(two, column=metric) == losses(one, column=metric)
    first = command(tmp_path / "first", *common, *SHARDED, "--trainer.max_steps", "2", ranks=2)
    again = command(
        tmp_path / "again", *common, *SHARDED, "--ckpt_path", str(last_checkpoint(first)), ranks=2
    )
    last = max(expected)
    assert losses(again, column="val/loss")[last] == pytest.approx(expected[last], rel=1e-5)
    whole, halves = (
        torch.load(last_checkpoint(folder), weights_only=True)["state_dict"]
        for folder in (one, two)
    )
    assert {name: t.shape for name, t in halves.items()} == {
        name: t.shape for name, t in whole.items()
    }
    assert zoo.load(last_checkpoint(two)).score(
        [str(made_root / "pictures" / "000.png")], ["a red square"]
    ).shape == (1, 1)


@pytest.mark.parametrize("strategy", ["fsdp", "fsdp_cpu_offload"])
def test_lightnings_fsdp_is_refused_with_what_to_use(strategy: str) -> None:
    with pytest.raises(ZooError, match=r"cannot split scalars.*use sharded"):
        ZooTrainer(strategy=strategy, logger=False)


def clipped_gradients(rank: int, folder: Path, limit: float, by_value: bool) -> None:
    with group(rank, RANKS, folder):
        model = step()
        shard(model, init_device_mesh("cpu", (RANKS,)))
        model(parts_for(model, RANKS)[rank]).backward()
        average_scalar_gradients(model)
        clip_sharded_gradients(model, limit, by_value)
        grads = {n: _whole(p.grad) for n, p in model.named_parameters() if p.grad is not None}
        torch.save(grads, folder / f"rank{rank}.pt")


@pytest.mark.parametrize(("limit", "by_value"), [(0.1, False), (1e6, False), (1e-3, True)])
def test_gradients_of_split_parameters_are_clipped_as_those_of_whole_ones(
    limit: float, by_value: bool, tmp_path: Path
) -> None:
    """A norm of 0.1 clips all gradients, one of a million none."""
    on_ranks(RANKS, clipped_gradients, tmp_path, limit, by_value)
    whole = step()
    whole(joined(parts_for(whole, RANKS))).backward()
    if by_value:
        torch.nn.utils.clip_grad_value_(whole.parameters(), limit)
    else:
        norm = torch.nn.utils.clip_grad_norm_(whole.parameters(), limit)
        assert (norm > limit) == (limit < 1)
    for rank in range(RANKS):
        found = torch.load(tmp_path / f"rank{rank}.pt")
        for name, parameter in whole.named_parameters():
            if parameter.grad is not None:
                torch.testing.assert_close(
                    found[name], parameter.grad, rtol=1e-6, atol=1e-9, msg=name
                )


def test_an_average_of_split_parameters_is_refused_before_training() -> None:
    trainer = ZooTrainer(strategy="sharded", accelerator="cpu", devices=2, logger=False)
    with pytest.raises(ZooError, match=r"EMA cannot average .*: use ddp, or leave EMA out"):
        EMA().setup(trainer, ZooModule(Backbone("zoo-tiny")), "fit")
