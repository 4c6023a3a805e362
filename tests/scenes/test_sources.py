"""Rendered scenes as a source of captions and as a benchmark."""

from pathlib import Path

import pytest

from zoo.benchmarks.scene_swaps import SceneSwaps
from zoo.datamodules.units import read_checked_units
from zoo.errors import ZooError
from zoo.scenes.cache import read_lines
from zoo.sources.readers.scenes import Scenes
from zoo.sources.source import read_source
from zoo.support.configurable import to_config
from zoo.units.sampler import UnitSampler


def test_samples_are_the_captions_of_a_split_with_images_that_are_there(rendered):
    samples = Scenes(str(rendered), split="train").read()
    rows = [row for row in read_lines(rendered, "captions.jsonl") if row["split"] == "train"]
    assert [(s.caption_id, s.caption, s.image_id) for s in samples] == [
        (r["caption_id"], r["caption"], r["image_id"]) for r in rows
    ]
    assert all(s.image.source == "file" and Path(s.image.key).is_file() for s in samples)
    assert [s.negatives for s in samples] == [
        (r["attribute_swap"],) if r["attribute_swap"] else () for r in rows
    ]
    lines = (rendered / "captions.jsonl").read_text().splitlines()
    assert samples[0].caption_id in lines[int(samples[0].origin.rpartition(":")[2]) - 1]
    assert len(Scenes(str(rendered)).read()) == 250


def test_a_source_is_named_in_plain_data_and_checks_its_split():
    assert to_config(Scenes("folder", "val"))["init_args"] == {"folder": "folder", "split": "val"}
    with pytest.raises(ZooError, match="split='dev'"):
        Scenes("folder", "dev")


def test_swaps_are_cases_of_a_true_and_a_false_caption(rendered):
    reading = SceneSwaps(rendered.name).read(rendered.parent)
    rows = {r["caption_id"]: r for r in read_lines(rendered, "captions.jsonl")}
    expected = [
        r["caption_id"]
        for r in rows.values()
        if r["attribute_swap"] and r["split"] in ("test", "held_out")
    ]
    assert [case.id for case in reading.cases] == expected
    assert {case.subset for case in reading.cases} == {"test", "held_out"}
    for case in reading.cases:
        assert case.texts == (rows[case.id]["caption"], rows[case.id]["attribute_swap"])
        assert case.match.tolist() == [[True, False]]
        assert case.subset == rows[case.id]["split"]
        assert Path(case.images[0].key).is_file()
    assert reading.files == [rendered / "captions.jsonl"]


def test_a_missing_folder_is_absent_with_how_to_get_it(tmp_path):
    reading = SceneSwaps("nowhere").read(tmp_path)
    assert reading.cases == []
    assert [subset.name for subset in reading.missing_subsets] == ["test", "held_out"]
    assert all("zoo scenes render" in part.instructions for part in reading.missing_subsets)


def test_units_of_all_splits_of_a_folder_serve_one_split(rendered: Path) -> None:
    units = UnitSampler(str(rendered / "units.jsonl"))
    train = read_source(Scenes(str(rendered), split="train"))
    records = read_checked_units(
        units, [train.samples], lambda: [read_source(train.reader.all_splits()).samples]
    )
    assert len(records.caption_ids) > len(train.samples)
