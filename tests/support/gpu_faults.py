"""Rows of benchmarks/speed/gpu.py that fail in every way in which a process can."""

import ctypes
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any


def measure(setting: Any, out: str = "") -> dict[str, Any]:
    """Returns the number of rows that gpu.json has already, None before the first."""
    file = Path(out, "gpu.json")
    return {"rows before": len(json.loads(file.read_text())["rows"]) if file.exists() else 0}


def fail(setting: Any, **arguments: Any) -> None:
    raise RuntimeError("device-side assert\ntriggered")


def exit_at_once(setting: Any, **arguments: Any) -> None:
    print("the last words", flush=True)
    os._exit(3)


def kill_itself(setting: Any, **arguments: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def segfault(setting: Any, **arguments: Any) -> None:
    ctypes.string_at(0)


def hang(setting: Any, **arguments: Any) -> None:
    time.sleep(600)


def hang_with_a_child(setting: Any, file: str) -> None:
    """Hangs, after starting a process that leaves the group of this one."""
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path(file).write_text(str(child.pid))
    hang(setting)


def write_pid_and_hang(setting: Any, file: str) -> None:
    Path(file).write_text(f"{os.getpid()}\n")
    hang(setting)
