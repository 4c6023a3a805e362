"""The machine, the device and the versions that the rows of `gpu.py` ran on."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from gpu_rows import Setting

import zoo

PACKAGES = {"open_clip": "open_clip_torch", "lightning": "lightning"}


def describe(setting: Setting) -> dict[str, Any]:
    """Returns device, driver and versions, after a product on the device."""
    device = torch.device(setting.device)
    x = torch.ones(64, 64, device=device)
    if (x @ x).sum().item() != 64**3:
        raise RuntimeError(f"a product of ones on {device} is wrong")
    on_gpu = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name() if on_gpu else f"a CPU ({platform.machine()})",
        "GPUs": torch.cuda.device_count() if on_gpu else 0,
        "driver": driver() if on_gpu else None,
        "cores": len(os.sched_getaffinity(0)),
        "torch": torch.__version__,
        "CUDA of torch": torch.version.cuda,
        **{name: package_version(package) for name, package in PACKAGES.items()},
        "clip-zoo": zoo.__version__,
        "commit": commit(),
    }


def package_version(package: str) -> str | None:
    """Returns the version of a package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def driver() -> str | None:
    """Returns the version of the driver, None without nvidia-smi."""
    return output_of("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")


def commit() -> str | None:
    """Returns the commit of this checkout, marked if files were changed, or None."""
    return output_of("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def output_of(*command: str) -> str | None:
    """Returns the first line that a command prints, None if it fails."""
    try:
        printed = subprocess.run(
            command,
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return printed.splitlines()[0] if printed else None
