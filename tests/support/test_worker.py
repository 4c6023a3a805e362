"""Processes that load batches live through signals that are meant for the one that trains."""

import os
import signal
from collections.abc import Iterator

import pytest
import torch
from torch.utils.data import Dataset, _utils

from zoo.support import worker
from zoo.support.worker import Loader


class Numbers(Dataset[int]):
    """The numbers from 0 to 3."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> int:
        return i


@pytest.fixture
def main_process_hears() -> Iterator[None]:
    worker.signal_received[0] = 1
    yield
    worker.signal_received[0] = 0


def test_a_signal_that_comes_while_a_loading_process_starts_does_not_end_it(
    monkeypatch: pytest.MonkeyPatch, main_process_hears: None
) -> None:
    begin = _utils.signal_handling._set_worker_signal_handlers

    def struck() -> None:
        begin()
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(_utils.worker.signal_handling, "_set_worker_signal_handlers", struck)
    loader = Loader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context="fork")
    assert torch.cat(list(loader)).tolist() == [0, 1, 2, 3]


def test_signals_are_heard_again_once_the_processes_run() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    list(Loader(Numbers(), num_workers=1, multiprocessing_context="fork"))
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
