"""The peak of a process's memory, on Linux."""

import ctypes
from pathlib import Path

M_MMAP_THRESHOLD = -3  # of glibc's mallopt


def reset_peak() -> int:
    """Sets the process's peak to what it holds now; returns that in KiB."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_now()


def peak_now() -> int:
    """Returns the process's peak in KiB."""
    line = next(
        line
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    return int(line.split()[1])


def return_memory() -> None:
    """Lets large blocks go back to the system as they are freed.

    As glibc does it by default, the heap grows with blocks long gone.
    """
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 16)
