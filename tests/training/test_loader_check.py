"""The warning of a run that waits for its loader: when it is given, and with which numbers."""

import logging
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from lightning import Trainer
from torch.utils.data import Dataset

from zoo.support.worker import TimedLoader, default_workers
from zoo.training import loader_check
from zoo.training.loader_check import LoaderCheck
from zoo.training.stopping import StepLoop


class SlowRows(Dataset[Any]):
    """Rows that take 20 ms each."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.02)
        return torch.tensor(index)


def test_a_loader_counts_the_seconds_that_its_batches_are_waited_for() -> None:
    loader = TimedLoader(SlowRows(), batch_size=1)
    for _ in loader:
        time.sleep(0.05)  # the step, which is not counted
    assert 0.1 <= loader.seconds_waited < 0.25


def warnings_of(
    step: float, loading: float, device: float, caplog: pytest.LogCaptureFixture
) -> list[str]:
    """Returns the warnings of a run of 30 steps with these seconds of each, on a false clock."""
    loader, now = TimedLoader(SlowRows(), batch_size=1, num_workers=0), 0.0
    loop = StepLoop.__new__(StepLoop)
    loop.seconds_waited_for_device = 0.0
    trainer = SimpleNamespace(
        train_dataloader=loader, is_global_zero=True, fit_loop=SimpleNamespace(epoch_loop=loop)
    )
    check = LoaderCheck(steps=10)
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(loader_check.time, "perf_counter", lambda: now)
        for _ in range(30):
            now += step + loading + device
            loader.seconds_waited += loading
            loop.seconds_waited_for_device += device
            check.on_train_batch_end(cast(Trainer, trainer), cast(Any, None), None, None, 0)
    return [record.getMessage() for record in caplog.records]


def test_a_run_that_waits_for_its_loader_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    (message,) = warnings_of(step=0.6, loading=0.4, device=0.0, caplog=caplog)
    assert message.startswith("training waits for the data loader: 40 % of the last 10 steps")
    assert "data.workers (now 0 per device)" in message


@pytest.mark.parametrize(
    ("step", "loading", "device"),
    [(0.9, 0.1, 0.0), (0.3, 0.4, 0.3)],
    ids=["a short wait", "a GPU that is busy meanwhile"],
)
def test_a_run_whose_device_is_busy_is_told_nothing(
    step: float, loading: float, device: float, caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings_of(step, loading, device, caplog) == []


def test_a_gpu_has_as_many_workers_as_there_are_cores_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert [default_workers(devices, on_gpu=True) for devices in (1, 2, 4, 8)] == [8, 7, 3, 2]
    assert default_workers(1, on_gpu=False) == 2
