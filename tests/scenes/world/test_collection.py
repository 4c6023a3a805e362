import csv
import json

import pytest

from zoo.benchmarks import HalfTruth, Pairs, Retrieval, WorldPairs
from zoo.cli.scenes import main
from zoo.errors import ZooError
from zoo.scenes.cache import hash_scenes, read_captions, read_lines, render_collection
from zoo.scenes.world.collection import World
from zoo.scenes.world.collection import WorldPairs as PairsCollection
from zoo.scenes.world.foils import SUBSETS
from zoo.scenes.world.graph import WorldGraph


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    assert render_collection(folder, 12, World(size=32, split="test"), 1, workers=0) == 12
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    assert render_collection(folder, 10, PairsCollection(size=32), 1, workers=0) == 20
    return folder


def test_a_folder_is_read_by_the_benchmarks(folder):
    assert len(read_captions(folder)) == 60
    assert len(Retrieval(str(folder)).read(folder).cases[0].texts) == 60
    subsets = {case.subset for case in Pairs(str(folder / "foils.csv")).read(folder).cases}
    assert subsets == set(SUBSETS)
    cases = HalfTruth(str(folder / "units.test.jsonl"), preset="paper").read(folder).cases
    assert {"+Obj", "+Attr", "Ant", "Swap"} <= {case.subset for case in cases}


def test_an_interrupted_folder_is_completed_to_the_same_hash(folder, tmp_path):
    assert render_collection(tmp_path, 5, World(size=32, split="test"), 1, workers=0) == 5
    assert render_collection(tmp_path, 12, World(size=32, split="test"), 1, workers=0) == 7
    assert hash_scenes(tmp_path) == hash_scenes(folder)


def test_the_hash_depends_on_pixels_and_captions(folder, tmp_path):
    render_collection(tmp_path, 12, World(seed=1, size=32, split="test"), 1, workers=0)
    assert hash_scenes(tmp_path) != hash_scenes(folder)


def test_splits_have_no_scene_in_common():
    graphs = [
        {json.dumps(graph.to_dict()["objects"]) for _, graph in World(split=split).graphs(20)}
        for split in ("train", "val", "test")
    ]
    assert all(map(graphs[0].isdisjoint, graphs[1:]))


def test_training_scenes_have_no_foils(tmp_path):
    render_collection(tmp_path, 2, World(size=16), 1, workers=0)
    assert not (tmp_path / "foils.csv").exists()
    assert (tmp_path / "units.train.jsonl").exists()


def test_the_table_of_foils_names_images_of_the_folder(folder):
    with (folder / "foils.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all((folder / row["image"]).is_file() for row in rows)


def test_captions_of_a_pair_have_the_same_words_and_describe_different_scenes(pairs):
    cases = WorldPairs(str(pairs)).read(pairs).cases
    assert [case.subset for case in cases] == ["attribute", "order"] * 5
    for case in cases:
        first, second = (sorted(text.replace("an ", "a ").split()) for text in case.texts)
        assert case.texts[0] != case.texts[1]
        assert len(first) == len(second)
    graphs = [WorldGraph.from_dict(row) for row in read_lines(pairs, "scenes.jsonl")]
    for first, second in zip(graphs[::2], graphs[1::2], strict=True):
        assert first.seed == second.seed
        changed = [a != b for a, b in zip(first.objects, second.objects, strict=True)]
        assert sum(changed) == 2


def test_scenes_are_drawn_and_their_hash_is_checked_from_the_command_line(tmp_path, capsys):
    out = str(tmp_path / "scenes")
    command = ["world", "--out", out, "--n", "3", "--size", "16", "--split", "val"]
    assert main([*command, "--workers", "0"]) == 0
    assert "3 rendered now" in capsys.readouterr().out
    assert main(["hash", out]) == 0
    found = capsys.readouterr().out.strip()
    assert main(["hash", out, "--expected", found]) == 0
    with pytest.raises(ZooError, match="has the hash"):
        main(["hash", out, "--expected", "0"])
    pairs = str(tmp_path / "pairs")
    assert main(["world_pairs", "--out", pairs, "--n", "2", "--size", "16", "--workers", "0"]) == 0
