import builtins
import errno
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from zoo.errors import ZooError
from zoo.scenes.cache import read_captions, read_lines, render_scenes
from zoo.scenes.graph import COLORS, SHAPES, SceneGraph
from zoo.scenes.related import HELD_OUT, RelatedScenes, split_of
from zoo.support import files
from zoo.support.files import write_bytes
from zoo.units.reader import read_units

SMALL = {"size": 24, "samples": 2, "workers": 0}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_folder_holds_images_graphs_captions_and_units_that_agree(rendered):
    graphs = [SceneGraph.from_dict(row) for row in read_lines(rendered, "scenes.jsonl")]
    captions = read_lines(rendered, "captions.jsonl")
    units = read_units(rendered / "units.jsonl")
    assert len(graphs) == 50
    assert [row["caption_id"] for row in captions] == list(units)
    for row in captions:
        assert units[row["caption_id"]].caption == row["caption"]
        assert units[row["caption_id"]].image_id == row["image_id"]
        with Image.open(rendered / row["image_id"]) as image:
            assert image.size == (24, 24)
    parts = {split: read_units(rendered / f"units.{split}.jsonl") for split in RelatedScenes.splits}
    assert sum(map(len, parts.values())) == len(units)
    for split, records in parts.items():
        assert {row["caption_id"] for row in captions if row["split"] == split} == set(records)


def test_held_out_pairs_are_in_no_image_and_no_text_of_the_other_splits(rendered):
    pairs = {f"{color} {shape}" for color, shape in HELD_OUT}
    for split in ("train", "val", "test"):
        text = (rendered / f"units.{split}.jsonl").read_text()
        text += json.dumps(
            [row for row in read_lines(rendered, "captions.jsonl") if row["split"] == split]
        )
        assert not any(pair in text for pair in pairs)
    for row in read_lines(rendered, "scenes.jsonl"):
        has = any((o["color"], o["shape"]) in HELD_OUT for o in row["objects"])
        assert has == (row["split"] == "held_out")


def test_the_default_held_out_pairs_leave_every_colour_and_shape_to_training():
    assert {c for c in COLORS for s in SHAPES if (c, s) not in HELD_OUT} == set(COLORS)
    assert {s for c in COLORS for s in SHAPES if (c, s) not in HELD_OUT} == set(SHAPES)


def test_splits_have_the_stated_shares_and_do_not_depend_on_the_number_of_scenes():
    splits = [split_of(i) for i in range(25)]
    assert {s: splits.count(s) for s in RelatedScenes.splits} == {
        "train": 18,
        "val": 1,
        "test": 3,
        "held_out": 3,
    }
    assert [split_of(i) for i in range(25, 50)] == splits


@pytest.mark.usefixtures("renderer")
def test_a_folder_grows_without_rendering_anew(tmp_path):
    assert render_scenes(tmp_path, n=26, **SMALL) == 26
    before = contents(tmp_path)
    assert render_scenes(tmp_path, n=28, **SMALL) == 2
    assert all(
        data == contents(tmp_path)[name] for name, data in before.items() if name.endswith(".png")
    )
    assert len(read_lines(tmp_path, "scenes.jsonl")) == 28


def test_processes_and_this_one_make_the_same_folder(tmp_path, rendered):
    assert render_scenes(tmp_path, n=50, size=24, samples=2, workers=2) == 50
    assert contents(tmp_path) == contents(rendered)


def test_other_settings_are_refused_by_name(rendered):
    with pytest.raises(ZooError, match="was rendered with size 24, not 32"):
        render_scenes(rendered, n=50, size=32, samples=2, workers=0)
    with pytest.raises(ZooError, match="was rendered with seed 0, not 1"):
        render_scenes(rendered, n=50, seed=1, **SMALL)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"n": 0}, "with n 0"),
        ({"n_objects": (1, 2)}, "give at least 2"),
        ({"n_objects": (3, 2)}, "below the minimum"),
    ],
)
def test_impossible_settings_are_refused_before_anything_is_written(tmp_path, wrong, says):
    with pytest.raises(ZooError, match=says):
        render_scenes(tmp_path / "new", **{"n": 25, **SMALL, **wrong})
    assert not (tmp_path / "new").exists()


class Full:
    """A file on a disk with room for so many bytes."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.file.write(data[: self.room])
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def open_full(room, path, mode):
    return Full(builtins.open(path, mode), room)


@pytest.mark.parametrize("room", [0, 1, 100])
def test_a_full_disk_leaves_the_old_file_whole_and_no_half_of_the_new(tmp_path, monkeypatch, room):
    (tmp_path / "old.png").write_bytes(b"old")
    monkeypatch.setattr(files, "open", partial(open_full, room), raising=False)
    for name in ("old.png", "new.png"):
        with pytest.raises(
            ZooError, match=rf"{name} could not be written \(No space left on device\)"
        ):
            write_bytes(tmp_path / name, b"x" * 101)
    assert contents(tmp_path) == {"old.png": b"old"}


def test_rendering_goes_on_after_a_full_disk(tmp_path, monkeypatch, rendered):
    written = []

    def full_after_ten(path, mode):
        written.append(path)
        return open_full(50 if len(written) > 10 else 1 << 30, path, mode)

    monkeypatch.setattr(files, "open", full_after_ten, raising=False)
    with pytest.raises(ZooError, match="run the same command again"):
        render_scenes(tmp_path, n=50, **SMALL)
    monkeypatch.undo()
    assert not (tmp_path / "captions.jsonl").exists()
    assert render_scenes(tmp_path, n=50, **SMALL) == 50 - 9  # the manifest and nine images had room
    assert contents(tmp_path) == contents(rendered)


def test_a_killed_run_leaves_whole_images_and_is_continued(tmp_path, rendered):
    code = (
        "from zoo.scenes.cache import render_scenes; "
        f"render_scenes({str(tmp_path)!r}, n=50, size=24, samples=2, workers=0)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while (
        len(list(tmp_path.glob("images/*.png"))) < 5
        and process.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for path in tmp_path.glob("images/*.png"):
        with Image.open(path) as image:
            assert np.asarray(image).shape == (24, 24, 3)
    render_scenes(tmp_path, n=50, **SMALL)
    assert contents(tmp_path) == contents(rendered)


def test_a_folder_that_is_not_finished_says_how_to_finish_it(tmp_path):
    with pytest.raises(ZooError, match="Run the same `zoo scenes` command with the same --out"):
        read_lines(tmp_path, "captions.jsonl")


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "captions.jsonl").write_text('{"caption": "a"}\n{"caption": \n')
    with pytest.raises(ZooError, match=r"captions\.jsonl:2"):
        read_lines(tmp_path, "captions.jsonl")
    with pytest.raises(ZooError, match=r"captions\.jsonl:1: field 'image_id' is missing"):
        read_captions(tmp_path)


@pytest.mark.usefixtures("renderer")
def test_a_folder_does_not_lose_scenes(tmp_path):
    render_scenes(tmp_path, 3, size=16, samples=1, workers=0)
    before = (tmp_path / "captions.jsonl").read_text()
    with pytest.raises(ZooError, match="has 3 scenes, more than the requested 2"):
        render_scenes(tmp_path, 2, size=16, samples=1, workers=0)
    assert (tmp_path / "captions.jsonl").read_text() == before
