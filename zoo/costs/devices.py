"""Devices: what their makers say of them, as data with sources."""

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
        name: What its maker calls it.
        memory_gb: Memory in 10^9 bytes.
        tflops: Dense products at most, in 10^12 floating-point operations a second, by arithmetic.
        link_gb_a_second: 10^9 bytes a second to the other devices of its machine, in one direction.
        sources: Where these figures were read.
    """

    name: str
    memory_gb: float
    tflops: dict[Arithmetic, float]
    link_gb_a_second: float
    sources: tuple[str, ...]


@cache
def devices() -> dict[str, Device]:
    """Returns the devices that are known, by their short names."""
    held = json.loads(FILE.read_text("utf-8"))
    return {name: Device(**{**it, "sources": tuple(it["sources"])}) for name, it in held.items()}


def device_of(name: str) -> Device:
    """Returns a device by its short name.

    Args:
        name: As `zoo plan --device` takes it.

    Raises:
        ZooError: It is not known.
    """
    if name.lower() not in devices():
        raise ZooError(
            f"--device {name} is no device whose figures are "
            f"known{suggest_names(name, devices())}: "
            f"choose one of {', '.join(devices())}"
        )
    return devices()[name.lower()]
