"""ZooTrainer's `precision: auto`."""

import subprocess

import pytest
import torch

from zoo.training.trainer import ZooTrainer


@pytest.mark.parametrize("supported", [True, False])
def test_automatic_precision_follows_the_gpu(
    supported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda _: supported)
    trainer = ZooTrainer(accelerator="cpu", precision="auto", logger=False)
    assert trainer.precision == ("bf16-mixed" if supported else "32-true")


@pytest.mark.parametrize("answer", ["True", "False", pytest.param(None, marks=pytest.mark.slow)])
def test_automatic_precision_touches_no_gpu_before_this_process_is_forked(
    answer: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A forked process cannot use CUDA if its parent did; another process asks the GPU."""

    def initialize(*_: object) -> bool:
        raise AssertionError("CUDA is initialised before the fork")

    monkeypatch.setattr(torch.cuda, "is_available", initialize)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", initialize)
    supported = answer == "True"
    if answer is None:
        supported = bool(torch.cuda.device_count())
    else:  # in place of a process that imports torch
        told = subprocess.CompletedProcess([], 0, f"a notice\n{answer}\n")
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: told)
    trainer = ZooTrainer(
        accelerator="cpu", devices=2, strategy="ddp_fork", precision="auto", logger=False
    )
    assert trainer.precision == ("bf16-mixed" if supported else "32-true")
