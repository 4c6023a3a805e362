"""The table of data sets."""

import re
from pathlib import PurePosixPath

import pytest

from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.catalog import build_benchmark
from zoo.benchmarks.download_commands import download_command
from zoo.downloads.files import listed_files
from zoo.downloads.images import COCO, VISUAL_GENOME, plan_images
from zoo.downloads.sets import fetchable_names, find_sets, published_sets
from zoo.results.suites import self_contained_benchmarks
from zoo.sources.images import coco_ref, visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.class_names import class_of


@pytest.mark.parametrize("name", self_contained_benchmarks())
def test_the_instructions_of_a_benchmark_are_the_command_if_it_can_be_fetched(name: str) -> None:
    commands = {
        command
        for subset in build_benchmark(name).subsets
        for command in re.findall(
            r"`zoo data get (\S+) --data_root DATA_ROOT`", subset.instructions
        )
    }
    assert bool(commands) == (name in fetchable_names())
    for command in commands:
        assert {s.name for s in find_sets(command)} <= {s.name for s in find_sets(name)}


@pytest.mark.parametrize("name", sorted(published_sets()))
def test_a_set_has_a_licence_a_source_and_files_that_its_benchmarks_read(name: str) -> None:
    item = published_sets()[name]
    assert item.licence
    assert item.source
    assert item.files or item.hub
    for benchmark in item.benchmarks:  # a subset that does not exist would be refused
        assert item in find_sets(benchmark)
    for file in item.files:
        assert re.fullmatch(r"https://[\w.-]+/[\w./-]+(\?[\w&=-]+)?", file.url)
        assert re.fullmatch(r"(sha256:\w{64}|md5:\w{32}|git:\w{40})?", file.checksum)
        assert not PurePosixPath(file.path).is_absolute()
        assert ".." not in PurePosixPath(file.path).parts
        if "githubusercontent" in file.url:
            assert re.search(r"/[0-9a-f]{40}/", file.url)
            assert file.checksum
    paths = {file.path for file in item.files}
    assert {a.path for a in item.archives} <= paths or item.hub
    if name in ("cola", "fg_ovd", "bla", "comvg", "hard_positives", "imagecode", "valse"):
        assert all(paths & set(subset.files) for subset in build_benchmark(name).subsets)


def test_every_listed_file_belongs_to_a_set() -> None:
    fetched = {file for item in published_sets().values() for file in item.files}
    assert {file for files in listed_files().values() for file in files} <= fetched


def test_all_corpora_of_vl_checklist_and_crepe_are_fetched() -> None:
    for name in ("vl_checklist", "sugarcrepe"):
        wanted = {path for subset in build_benchmark(name).subsets for path in subset.files}
        assert wanted <= {file.path for file in published_sets()[name].files}
    subsets = build_benchmark("crepe").subsets
    files = {path for subset in subsets for path in subset.files}
    assert sum(n for a in published_sets()["crepe"].archives for _, n in a.complete) == len(files)


def test_a_benchmark_names_the_sets_that_it_needs() -> None:
    assert [s.name for s in find_sets("winoground_tags")] == ["winoground", "winoground_tags"]
    assert [s.name for s in find_sets("retrieval")] == ["coco_captions", "flickr8k"]
    assert [s.name for s in find_sets("retrieval:flickr8k")] == ["flickr8k"]
    two = find_sets("aro:VG-Relation:COCO-Order")
    assert [s.name for s in two] == ["aro_relation", "aro_coco_order"]
    assert len(find_sets("aro")) == 4
    assert [s.name for s in find_sets("coco_captions")] == ["coco_captions"]
    assert download_command("a", "my root") == "`zoo data get a --data_root 'my root'`"
    cls: type[Benchmark] = class_of("sugarcrepe", "benchmarks", Benchmark)
    assert published_sets()["sugarcrepe"].licence == cls.licence


def test_images_are_fetched_one_by_one_until_most_of_a_folder_is_needed() -> None:
    numbers = range(1, 2502)
    few = plan_images([coco_ref(f"{n:012}.jpg") for n in numbers[:2500]], ("val2017",), False)
    assert (len(few.files), few.folders) == (2500, ())
    assert few.bytes == 2500 * (815_585_330 // 5000)
    assert few.files[0].path == "coco/val2017/000000000001.jpg"
    most = plan_images([coco_ref(f"{n:012}.jpg") for n in numbers], ("val2017",), False)
    assert (most.files, most.folders, most.bytes) == ((), (COCO["val2017"],), 0)
    one = plan_images([visual_genome_ref("7.jpg")], ("val2017",), True)
    assert (one.files, one.folders) == ((), VISUAL_GENOME)


def test_an_image_is_looked_for_in_every_folder_that_may_have_it() -> None:
    missing = [coco_ref("9.jpg".zfill(16)), visual_genome_ref("7.jpg"), ImageRef("flickr", "5")]
    plan = plan_images(missing, ("val2017", "train2017"), False)
    places = [[f.path, *(a.path for a in f.alternatives)] for f in plan.files]
    assert places == [
        ["coco/val2017/000000000009.jpg", "coco/train2017/000000000009.jpg"],
        ["visual_genome/VG_100K/7.jpg", "visual_genome/VG_100K_2/7.jpg"],
    ]
    assert plan.unavailable == (ImageRef("flickr", "5"),)
