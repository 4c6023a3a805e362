"""Where the tests find data."""

import atexit
import gc
import multiprocessing
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.made import make_root
from zoo.cli.postponed_imports import scipy_signal_postponed

if (
    "PYTEST_XDIST_WORKER" in os.environ
):  # tests run side by side: one thread each, before torch is imported
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# tests compute on the CPU, also where there is a GPU: `benchmarks/speed/gpu.py` is what checks one
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["ZOO_EMBEDDINGS"] = "off"  # tests measure what is encoded, and leave nothing behind

if "ZOO_TABLES" not in os.environ:  # processes that tests start inherit it
    os.environ["ZOO_TABLES"] = tempfile.mkdtemp(prefix="zoo-tables-")
    atexit.register(shutil.rmtree, os.environ["ZOO_TABLES"], ignore_errors=True)

with scipy_signal_postponed():  # as in the command
    import torchmetrics  # noqa: F401

# the same examples at every run, and no clock that a busy machine breaks
settings.register_profile(
    "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

# what every process of its own would spend seconds to import: such processes are forked from one
# that has it
multiprocessing.set_forkserver_preload(["zoo.cli.fit", "open_clip", "textblob"])


def pytest_collection_finish() -> None:
    # what imports and collecting made stays for good: the collector passes over it, so that it
    # comes by often and a trainer of one test is gone in the next
    gc.freeze()
    gc.collect()


SHARED = Path(os.environ.get("ZOO_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real images and annotations; its absence skips a test, under CI it fails it."""
    if not SHARED.is_dir():
        message = (
            f"{SHARED} is absent: set ZOO_TEST_DATA to a folder with real images and annotations"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return SHARED


@pytest.fixture(scope="session")
def made_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root of twelve drawn images with captions, units and a recipe, without a download."""
    return make_root(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="session")
def renderer() -> None:
    """Mitsuba, which renders scenes; its absence skips a test."""
    pytest.importorskip(
        "mitsuba", reason="scenes are rendered by mitsuba: pip install 'clip-zoo[scenes]'"
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """A headless Chromium; its absence skips a test."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="pages are looked at by playwright: pip install playwright"
    )
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("pages are looked at in Chromium, which is not installed: apt install chromium")
    with api.sync_playwright() as started:
        shown = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield shown
        shown.close()
