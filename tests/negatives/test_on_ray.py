"""Negatives by processes of Ray: real ones, two, on this machine; see `make test-ray`."""

import time
from pathlib import Path
from random import Random
from typing import ClassVar

import pytest

from zoo.cli.negatives import main
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import UnitRecord

pytest.importorskip("ray.data", reason="Ray is not installed: `make test-ray` brings it")


class SlowAtFirst(NegativeGenerator):
    """Draws a number, and takes a second for the first caption."""

    name: ClassVar[str] = "slow"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        time.sleep(caption == "0")
        return f"not {caption} but {rng.random()}"


def test_two_workers_of_which_one_is_slow_write_the_file_of_one_process(tmp_path: Path) -> None:
    captions = tmp_path / "captions.txt"
    captions.write_text("".join(f"{i}\n" for i in range(100)))
    command = ["export", str(captions), "--generator", f"{__name__}.SlowAtFirst"]
    alone, by_two = tmp_path / "alone.jsonl", tmp_path / "two.jsonl"
    assert main([*command, "--out", str(alone)]) == 0
    by_ray = ["--ray.workers", "2", "--ray.captions", "7"]
    assert main([*command, *by_ray, "--out", str(by_two)]) == 0
    assert by_two.read_bytes() == alone.read_bytes()
