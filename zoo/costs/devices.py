"""Devices and their published specifications, with sources."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from zoo.errors import ZooError, suggest_names

FILE = Path(__file__).with_name("devices.json")

Arithmetic = Literal["bf16", "tf32", "fp32"]


@dataclass(frozen=True)
class Device:
    """A device.

    Attributes:
        name: The manufacturer's name.
        memory_gb: Memory in 10^9 bytes.
        tflops: Peak throughput of dense matrix products, in 10^12 floating-point operations per
            second, by arithmetic.
        link_gb_per_second: Bandwidth to the other devices of its machine, in 10^9 bytes per second
            in one direction.
        sources: Sources of these values.
    """

    name: str
    memory_gb: float
    tflops: dict[Arithmetic, float]
    link_gb_per_second: float
    sources: tuple[str, ...]


@cache
def devices() -> dict[str, Device]:
    """Returns the known devices by short name."""
    entries = json.loads(FILE.read_text("utf-8"))
    return {
        name: Device(**{**fields, "sources": tuple(fields["sources"])})
        for name, fields in entries.items()
    }


def device_of(name: str) -> Device:
    """Returns a device by its short name.

    Args:
        name: The name, as in `zoo plan --device`.

    Raises:
        ZooError: The device is unknown.
    """
    if name.lower() not in devices():
        raise ZooError(
            f"--device {name} is unknown{suggest_names(name, devices())}: "
            f"choose one of {', '.join(devices())}"
        )
    return devices()[name.lower()]
