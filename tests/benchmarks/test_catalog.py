import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from zoo.benchmarks import catalog
from zoo.benchmarks.base import Benchmark, Part, Reading
from zoo.benchmarks.catalog import ARGUMENT, BUILT_IN, benchmark
from zoo.errors import ZooError


class Mine(Benchmark):
    """A benchmark from outside."""

    name = "mine"

    def __init__(self, size: int = 1) -> None:
        self.size = size

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("all", (), None, ""),)

    def read(self, root: Path) -> Reading:
        return Reading([], [], [])


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_name_makes_the_benchmark_of_that_name(name):
    spec = f"{name}:x.csv" if name in ("pairs", "half_truth") else name
    made = benchmark(spec)
    assert made.name == name
    assert all(part.how for part in made.parts)


@pytest.mark.parametrize(("name", "argument"), ARGUMENT.items())
def test_what_stands_behind_the_colon_is_an_argument(name, argument):
    value = "flickr8k" if name == "retrieval" else "some/file"
    assert getattr(benchmark(f"{name}:{value}"), argument) == value


def test_options_reach_the_class():
    assert benchmark("aro", {"seed": 7}).seed == 7


@pytest.mark.parametrize(
    "path", ["tests.benchmarks.test_catalog.Mine", "tests.benchmarks.test_catalog:Mine"]
)
def test_a_class_path_needs_no_registration(path):
    assert benchmark(path, {"size": 3}).size == 3


def test_an_installed_package_offers_one_by_entry_point(monkeypatch):
    entry = EntryPoint("theirs", "tests.benchmarks.test_catalog:Mine", "zoo.benchmarks")
    monkeypatch.setattr(
        catalog, "entry_points", lambda group: [entry] if group == "zoo.benchmarks" else []
    )
    assert benchmark("theirs").name == "mine"
    with pytest.raises(ZooError, match="near: theirs"):
        benchmark("their")


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("sugarcrep", {}, "near: sugarcrepe"),
        ("aro", {"sed": 1}, "near: seed"),
        ("pairs", {}, "pairs:FILE"),
        ("no.such.Thing", {}, "module no.such, which cannot be found"),
        ("tests.benchmarks.test_catalog.Min", {}, "near: Mine"),
        ("zoo.errors.ZooError", {}, "no subclass"),
    ],
)
def test_mistakes_get_near_names(name, options, named):
    with pytest.raises(ZooError, match=named):
        benchmark(name, options)


def test_benchmarks_import_no_torch():
    code = (
        "import importlib, sys; from zoo.benchmarks import catalog, doctor; "
        "[importlib.import_module(path.partition(':')[0]) for path in catalog.BUILT_IN.values()]; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
