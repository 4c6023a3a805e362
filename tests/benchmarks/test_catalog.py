import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.catalog import benchmark_names, build_benchmark, build_benchmarks
from zoo.errors import ZooError
from zoo.results.suites import self_contained_benchmarks
from zoo.support import class_names
from zoo.support.class_names import class_of
from zoo.support.configurable import to_config


class Mine(Benchmark):
    """A benchmark from outside."""

    name = "mine"

    def __init__(self, size: int = 1) -> None:
        self.size = size

    @property
    def subsets(self) -> tuple[Subset, ...]:
        return (Subset("all", (), None, ""),)

    def read(self, root: Path) -> Contents:
        return Contents([], [], [])


class WithoutSubsets(Benchmark):
    name = "mine"

    def read(self, root: Path) -> Contents:
        return Contents([], [], [])


class Nameless(Benchmark):
    @property
    def subsets(self) -> tuple[Subset, ...]:
        return ()

    def read(self, root: Path) -> Contents:
        return Contents([], [], [])


@pytest.mark.parametrize("name", benchmark_names())
def test_every_built_in_name_makes_the_benchmark_of_that_name(name):
    spec = f"{name}:x.csv" if name in ("pairs", "half_truth", "zero_shot_folder") else name
    made = build_benchmark(spec)
    assert made.name == name
    assert all(subset.instructions for subset in made.subsets)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("pairs", "file"),
        ("half_truth", "units"),
        ("retrieval", "source"),
        ("scene_swaps", "folder"),
        ("zero_shot_folder", "folder"),
    ],
)
def test_what_stands_behind_the_colon_is_an_argument(name, argument):
    value = "flickr8k" if name == "retrieval" else "some/file"
    assert getattr(build_benchmark(f"{name}:{value}"), argument) == value


def test_options_reach_the_class():
    assert build_benchmark("aro", {"seed": 7}).seed == 7


@pytest.mark.parametrize(
    "path", ["tests.benchmarks.test_catalog.Mine", "tests.benchmarks.test_catalog:Mine"]
)
def test_a_class_path_needs_no_registration(path):
    assert build_benchmark(path, {"size": 3}).size == 3


@pytest.fixture
def offering(monkeypatch, tmp_path):
    """Lets an installed package offer a benchmark, and returns a list with one item per search."""
    entry = EntryPoint("theirs", "tests.benchmarks.test_catalog:Mine", "zoo.benchmarks")
    searches = []

    def offered():
        searches.append("search")
        return EntryPoints([entry])

    monkeypatch.setattr(class_names, "entry_points", offered)
    monkeypatch.syspath_prepend(tmp_path)  # a place that no other test has looked into
    return searches


def test_an_installed_package_offers_one_by_entry_point(offering):
    assert build_benchmark("theirs").name == "mine"
    with pytest.raises(ZooError, match="did you mean theirs"):
        build_benchmark("their")


def test_packages_are_looked_through_once_until_one_is_installed(offering, tmp_path):
    for _ in range(3):
        build_benchmark("theirs")
    assert len(offering) == 1
    os.utime(tmp_path, ns=(1, 1))  # as an installation changes the time of the folder
    build_benchmark("theirs")
    assert len(offering) == 2


@pytest.mark.parametrize(
    ("name", "options", "named"),
    [
        ("sugarcrep", {}, "did you mean sugarcrepe"),
        ("aro", {"sed": 1}, "did you mean seed"),
        ("pairs", {}, "pairs:FILE"),
        ("no.such.Thing", {}, "module no.such, which cannot be found"),
        ("tests.benchmarks.test_catalog.Min", {}, "did you mean Mine"),
        ("zoo.errors.ZooError", {}, "is not a subclass of Benchmark"),
        (
            "tests.benchmarks.test_catalog.WithoutSubsets",
            {},
            "does not define subsets",
        ),
        (
            "tests.benchmarks.test_catalog.Nameless",
            {},
            "does not define name",
        ),
        (
            "tests.benchmarks.test_catalog.Mine:5",
            {},
            r"test_catalog.Mine takes no argument after a colon: write "
            r"--benchmarks tests.benchmarks.test_catalog.Mine --benchmarks.size 5$",
        ),
        ("tests.benchmarks.test_catalog.Mine:a.csv", {}, "takes no argument after a colon"),
        (
            "tests.benchmarks.test_catalog.Min:a.csv",
            {},
            "test_catalog has no Min .*did you mean Mine",
        ),
        ("tests.benchmarks.test_catalog:Min", {}, "test_catalog has no Min .*did you mean Mine"),
        ("no_such.Thing:a.csv", {}, "module no_such, which cannot be found"),
    ],
)
def test_mistakes_get_near_names(name, options, named):
    with pytest.raises(ZooError, match=named):
        build_benchmark(name, options)


def test_a_benchmark_that_was_built_is_held_to_what_a_benchmark_has():
    with pytest.raises(
        ZooError, match=r"^Nameless does not define name, which every Benchmark needs: add it"
    ):
        build_benchmarks([Nameless()])


def test_benchmarks_import_no_torch():
    code = (
        "import sys; from zoo.cli import doctor; "
        "from zoo.support.class_names import import_path, list_classes; "
        "assert [import_path(path) for _, path, _ in list_classes('benchmarks')]; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("name", "subsets"),
    [
        ("sugarcrepe:swap_obj", ["swap_obj"]),
        ("sugarcrepe:swap_obj:add_att", ["add_att", "swap_obj"]),
        ("aro:COCO-Order", ["COCO-Order"]),
        ("half_truth:a:b/units.jsonl:Rel:Attr:Swap", ["Rel:Attr", "Swap"]),
        ("scene_swaps:my/scenes:held_out", ["held_out"]),
    ],
)
def test_subsets_follow_their_colons(name, subsets):
    made = build_benchmark(name)
    assert [subset.name for subset in made.subsets] == subsets
    if made.colon_argument:
        assert getattr(made, made.colon_argument) == name.removeprefix(
            f"{made.name}:"
        ).removesuffix(f":{':'.join(subsets)}")


def test_subsets_asked_for_one_by_one_make_one_benchmark():
    names = ["sugarcrepe:swap_obj", "aro", "sugarcrepe:add_att", "pairs:a.csv:x", "pairs:b.csv:x"]
    made = build_benchmarks([*names, "pairs:a.csv:y"])
    assert [b.name for b in made] == ["sugarcrepe", "aro", "pairs", "pairs"]
    assert made[0].wanted == ("add_att", "swap_obj")
    assert [(b.file, b.wanted) for b in made[2:]] == [("a.csv", ["x", "y"]), ("b.csv", ["x"])]
    assert to_config(made[0])["init_args"]["subsets"] == ["swap_obj", "add_att"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "sugarcrepe:swap_ob",
            r"sugarcrepe has no subset 'swap_ob' \(did you mean swap_obj.*it has add_att",
        ),
        ("sugarcrepe:", "sugarcrepe has no subset ''"),
        ("aro:VG-Relations", "did you mean VG-Relation"),
        ("winoground:Object", "winoground has no subsets to choose from"),
    ],
)
def test_a_subset_that_a_benchmark_does_not_have_is_named(name, says):
    with pytest.raises(ZooError, match=says):
        build_benchmark(name)


def test_a_subset_of_pairs_is_looked_for_in_the_table(tmp_path):
    table = tmp_path / "p.csv"
    table.write_text("image,caption,foil,subset\na.jpg,a dog,a cat,x\na.jpg,a cow,a cat,y\n")
    (case,) = build_benchmark(f"pairs:{table}:y").read(tmp_path).cases
    assert case.texts == ("a cow", "a cat")
    with pytest.raises(ZooError, match=r"p\.csv has no subset 'z'.*it has x, y"):
        build_benchmark(f"pairs:{table}:z").read(tmp_path)


def test_a_subset_alone_has_the_cases_that_it_has_in_the_whole(tmp_path):
    (tmp_path / "sugarcrepe").mkdir()
    for subset in ("swap_obj", "swap_att"):
        entry = {"filename": f"{1:012}.jpg", "caption": "a", "negative_caption": subset}
        (tmp_path / "sugarcrepe" / f"{subset}.json").write_text(json.dumps({"0": entry}))
    whole, part = (
        build_benchmark(name).read(tmp_path) for name in ("sugarcrepe", "sugarcrepe:swap_att")
    )
    assert [c.texts for c in part.cases] == [c.texts for c in whole.cases if c.subset == "swap_att"]
    assert part.files == [tmp_path / "sugarcrepe" / "swap_att.json"]
    assert part.missing_subsets == []


@pytest.mark.parametrize("name", self_contained_benchmarks())
def test_what_is_published_says_whose_it_is_and_whether_a_revision_is_pinned(name: str) -> None:
    cls: type[Benchmark] = class_of(name, "benchmarks", Benchmark)
    made_here = name.startswith(("scene_", "world_", "image_half_truth"))
    assert bool(cls.licence and cls.citation) is not made_here
    for hub in (*([cls.hub] if cls.hub else []), *cls.copies):
        assert re.fullmatch(r"[0-9a-f]{40}", hub.revision) or hub in (cls.hub,)
        assert ("newest revision" in str(hub)) is not bool(hub.revision)
    if cls.hub is not None:
        assert all("`zoo data get " in subset.instructions for subset in cls().subsets)
