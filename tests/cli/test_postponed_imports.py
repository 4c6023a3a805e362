"""Packages that `zoo fit` does not import, since it does not need them."""

import subprocess
import sys

import pytest

FIT = """
import sys
from zoo.cli.postponed_imports import scipy_signal_postponed

with scipy_signal_postponed():
    import torchmetrics
    import zoo.cli.fit
print({"scipy.signal", "scipy.stats", "scipy.special"} & set(sys.modules))
import scipy.signal
print(scipy.signal.convolve([1, 2], [1, 1]).tolist(), scipy.signal is sys.modules["scipy.signal"])
"""
BLOCK = """
import sys
from zoo.cli.postponed_imports import scipy_signal_postponed

with scipy_signal_postponed():
    import scipy.signal
    from scipy import signal as postponed
    assert hasattr(postponed, "hamming")
    from scipy.signal import convolve
    print(convolve([1, 2], [1, 1]).tolist(), postponed.convolve is convolve)
imported = sys.modules["scipy.signal"]
assert imported is not postponed
with scipy_signal_postponed():
    import scipy.signal
print(scipy.signal is imported)
"""


def printed(program: str) -> list[str]:
    """Returns the lines that a program prints in a new process."""
    finished = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return finished.stdout.splitlines()


@pytest.mark.slow
def test_fit_imports_no_package_of_scipy_and_leaves_it_usable() -> None:
    assert printed(FIT) == ["set()", "[1, 3, 2] True"]


def test_scipy_signal_is_imported_when_it_is_used_in_the_block_and_then_stays() -> None:
    assert printed(BLOCK) == ["[1, 3, 2] True", "True"]
