"""The schedule and the parameter groups."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from zoo.errors import ZooError
from zoo.optim import Optimization


@pytest.mark.parametrize("warmup", ["linear", "cosine"])
def test_the_schedule_equals_its_formula_at_every_step(warmup: str) -> None:
    factor = Optimization(warmup_steps=4, warmup=warmup, final_share=0.1).build_schedule(
        total_steps=20, epochs=5
    )  # type: ignore[arg-type]
    for step in range(20):
        if step < 4:
            x = (step + 1) / 4
            expected = x if warmup == "linear" else 0.5 - 0.5 * math.cos(math.pi * x)
        else:
            expected = 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * (step - 4) / 16))
        assert factor(step) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("warmup", "expected"),
    [("linear", [0.1, 0.4, 0.7, 1.0]), ("cosine", [0.1, 0.325, 0.775, 1.0])],
)
def test_warm_up_starts_at_a_given_share_of_the_peak(warmup: str, expected: list[float]) -> None:
    settings = Optimization(warmup_steps=4, warmup=warmup, initial_share=0.1)  # type: ignore[arg-type]
    factor = settings.build_schedule(total_steps=20, epochs=1)
    assert [factor(step) for step in range(4)] == pytest.approx(expected, abs=1e-12)
    assert factor(4) == 1.0
    one_step = Optimization(warmup_steps=1, initial_share=0.1).build_schedule(
        total_steps=20, epochs=1
    )
    assert [one_step(0), one_step(1)] == [0.1, 1.0]


def test_the_rate_rises_to_its_peak_and_falls_to_nothing() -> None:
    factor = Optimization(warmup_epochs=1).build_schedule(total_steps=100, epochs=25)
    assert factor(3) == 1.0
    assert max(map(factor, range(100))) == 1.0
    assert factor(99) < 0.001


@pytest.mark.parametrize(
    ("given", "length"),
    [({"warmup_epochs": 1.0}, 4), ({"warmup_share": 0.1}, 10), ({"warmup_steps": 7}, 7), ({}, 0)],
)
def test_warm_up_is_counted_in_steps_whatever_it_is_given_in(
    given: dict[str, float], length: int
) -> None:
    assert Optimization(**given).warmup_length(total_steps=100, epochs=25) == length  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [{"weight_decay": -1}, {"betas": (0.9, 1.0)}, {"warmup_share": 1.5}, {"warmup_steps": -2}],
)
def test_numbers_that_cannot_be_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(ZooError, match=rf"Optimization\({next(iter(given))}="):
        Optimization(**given)  # type: ignore[arg-type]


def test_two_lengths_of_warm_up_are_refused() -> None:
    with pytest.raises(ZooError, match="warmup_steps and warmup_epochs"):
        Optimization(warmup_steps=1, warmup_epochs=1.0)


def test_gains_biases_and_the_scale_have_no_decay_and_towers_their_own_rates() -> None:
    tower = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    named = [
        *(("image." + n, p) for n, p in tower.named_parameters()),
        ("scale", nn.Parameter(torch.zeros(()))),
    ]
    groups = Optimization(lr=1.0, lr_image=0.5, weight_decay=0.2).groups(
        named, lambda n: "image" if n.startswith("image") else "head"
    )
    found = {(g["part"], len(g["params"])): (g["lr"], g["weight_decay"]) for g in groups}
    assert found == {("image", 1): (0.5, 0.2), ("image", 3): (0.5, 0.0), ("head", 1): (1.0, 0.0)}


def test_every_parameter_decays_where_asked_also_after_settings_are_restated() -> None:
    named = [("gain", nn.Parameter(torch.ones(3))), ("scale", nn.Parameter(torch.zeros(())))]
    matrix = ("w", nn.Parameter(torch.ones(2, 2)))

    def decays(optimizer: torch.optim.Optimizer) -> list[float]:
        return [group["weight_decay"] for group in optimizer.param_groups]

    every = Optimization(weight_decay=0.2, weight_decay_on="all")
    built = every.build([*named, matrix], lambda name: "head", total_steps=10, epochs=1.0)
    assert decays(built["optimizer"]) == [0.2, 0.2, 0.2]
    schedule = built["lr_scheduler"]["scheduler"]
    Optimization(weight_decay=0.3).override_loaded_settings(built["optimizer"], schedule)
    assert decays(built["optimizer"]) == [0.0, 0.0, 0.3]
    every.override_loaded_settings(built["optimizer"], schedule)
    assert decays(built["optimizer"]) == [0.2, 0.2, 0.2]


def test_training_nothing_is_refused() -> None:
    frozen = nn.Parameter(torch.zeros(2, 2), requires_grad=False)
    with pytest.raises(ZooError, match="every parameter is frozen"):
        Optimization().groups([("w", frozen)], lambda n: "image")


def test_what_is_built_has_its_betas_and_eps_and_is_stepped_by_step() -> None:
    optimization = Optimization(betas=(0.5, 0.6), eps=1e-2)
    named = [("scale", nn.Parameter(torch.zeros(()))), ("w", nn.Parameter(torch.zeros(2, 2)))]
    built = optimization.build(named, lambda name: "head", total_steps=10, epochs=1.0)
    for group in built["optimizer"].param_groups:
        assert (group["betas"], group["eps"]) == ((0.5, 0.6), 1e-2)
    assert built["lr_scheduler"]["interval"] == "step"


def test_one_kernel_for_an_update_changes_last_digits_alone() -> None:
    def trained(fused: bool) -> torch.Tensor:
        torch.manual_seed(0)
        layer = nn.Linear(5, 3)
        setting = Optimization(lr=0.1, fused=fused)
        built = setting.build(layer.named_parameters(), lambda name: "head", 10, 1)
        assert bool(built["optimizer"].param_groups[0]["fused"]) is fused
        for step in range(5):
            layer.zero_grad()
            layer(torch.ones(2, 5) * step).square().sum().backward()
            built["optimizer"].step()
        return layer.weight.detach()

    torch.testing.assert_close(trained(True), trained(False), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"algorithm": "SGDD"},
            r"class torch.optim.SGDD does not exist \(did you mean SGD or ASGD\?\)",
        ),
        (
            {"algorithm": "nowhere.Lion"},
            "class nowhere.Lion does not exist .*No module named 'nowhere'",
        ),
        ({"algorithm": "torch.nn.Linear"}, "not a subclass of torch.optim.Optimizer"),
        ({"algorithm": "SGD", "betas": (0.5, 0.6)}, r"betas does not apply .* \[0.9, 0.98\]"),
        (
            {"algorithm": "RMSprop", "eps": 0.1},
            "eps does not apply .* and set eps in model.optimizer.arguments",
        ),
        ({"algorithm": "Rprop"}, "weight_decay does not apply to Rprop: set it to 0"),
        ({"algorithm": "Rprop", "weight_decay": 0, "fused": True}, "fused does not apply"),
        ({"arguments": {"lr": 1}}, "arguments has lr: set model.optimizer.lr instead"),
        ({"arguments": {"betas": [0, 0]}}, "set model.optimizer.betas instead"),
        (
            {"algorithm": "SGD", "arguments": {"momentm": 0.9}},
            r"SGD takes no 'momentm' \(did you mean momentum",
        ),
        ({"algorithm": "SGD", "arguments": {"momentum": -1}}, "Invalid momentum value: -1"),
        ({"algorithm": "LBFGS", "weight_decay": 0}, "LBFGS rejects these settings"),
    ],
)
def test_settings_that_an_optimiser_does_not_take_are_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ZooError, match=message):
        Optimization(**settings).check_algorithm()


def test_sgd_with_momentum_equals_its_formula() -> None:
    """The decay is added to the gradient, of the matrix alone."""
    settings = Optimization(
        lr=0.1, weight_decay=0.5, algorithm="SGD", arguments={"momentum": 0.9}, decay="none"
    )
    matrix, vector = nn.Parameter(torch.tensor([[2.0]])), nn.Parameter(torch.tensor([3.0]))
    built = settings.build([("m", matrix), ("v", vector)], lambda name: "head", 10, 1.0)
    m, v, m_velocity, v_velocity = 2.0, 3.0, 0.0, 0.0
    for _ in range(3):
        matrix.grad, vector.grad = torch.tensor([[1.0]]), torch.tensor([1.0])
        built["optimizer"].step()
        m_velocity, v_velocity = 0.9 * m_velocity + (1 + 0.5 * m), 0.9 * v_velocity + 1
        m, v = m - 0.1 * m_velocity, v - 0.1 * v_velocity
    assert [matrix.item(), vector.item()] == pytest.approx([m, v], rel=1e-6)


def test_betas_are_passed_to_every_class_that_takes_them() -> None:
    weight = nn.Parameter(torch.zeros(2, 2))
    for algorithm in ("Adam", "NAdam", "timm.optim.lion.Lion"):
        settings = Optimization(betas=(0.5, 0.6), algorithm=algorithm)
        built = settings.build([("w", weight)], lambda name: "head", 10, 1.0)
        assert type(built["optimizer"]).__name__ == algorithm.rpartition(".")[2]
        assert built["optimizer"].param_groups[0]["betas"] == (0.5, 0.6)
    adafactor = Optimization(algorithm="Adafactor").build(
        [("w", weight)], lambda name: "head", 9, 1
    )
    assert adafactor["optimizer"].param_groups[0]["eps"] == (None, 1e-3)
