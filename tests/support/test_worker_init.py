"""Processes that work for another one."""

import subprocess
import sys
import time
from pathlib import Path

from zoo.support.worker_init import initialize_worker

PARENT = """
import os, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from zoo.support.worker_init import initialize_worker

if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, get_context("spawn"), {initializer})
    print(pool.submit(os.getpid).result(), flush=True)
    time.sleep(600)
"""


def runs(process: str) -> bool:
    """Whether a process is there that has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_helper_ends_with_its_parent_though_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(initializer=initialize_worker.__name__))
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    helper = parent.stdout.readline().strip()
    assert runs(helper)
    parent.kill()
    parent.communicate()
    last = time.monotonic() + 60
    while runs(helper) and time.monotonic() < last:
        time.sleep(0.05)
    assert not runs(helper)
