"""Wrong captions of a user's file as negatives, and errors for files that have none."""

import json
from pathlib import Path

import pytest
from PIL import Image

from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.checks import check_texts
from zoo.errors import ZooError
from zoo.sources.readers import CsvTable, JsonLines
from zoo.sources.readers.base import Reader


def check(reader: Reader, folder: Path) -> list[str]:
    Image.new("RGB", (8, 8)).save(folder / "cup.png")
    data = CaptionDataModule(reader, source_negatives=True, image_roots=[folder], batch_size=1)
    return list(check_texts(data.sources[0], data.texts))


def test_a_column_of_wrong_captions_is_read_as_negatives(tmp_path: Path) -> None:
    file = tmp_path / "captions.csv"
    file.write_text("image,caption,foil\ncup.png,a red cup,a blue cup\ncup.png,a cup,\n")
    read = [sample.negatives for sample in CsvTable(file, negative_column="foil").read()]
    assert read == [("a blue cup",), ()]
    assert [sample.negatives for sample in CsvTable(file).read()] == [(), ()]
    with pytest.raises(ZooError, match=r"no column 'foils' .did you mean foil"):
        CsvTable(file, negative_column="foils").read()


def test_a_table_without_negatives_names_the_argument(tmp_path: Path) -> None:
    file = tmp_path / "captions.csv"
    file.write_text("image,caption,foil\ncup.png,a red cup,a blue cup\n")
    with pytest.raises(ZooError, match=r"CsvTable has none: name the column .* negative_column"):
        check(CsvTable(file), tmp_path)


def test_a_misspelled_field_is_named_with_the_expected_one(tmp_path: Path) -> None:
    file = tmp_path / "captions.jsonl"
    line = {"image": "cup.png", "caption": "a red cup", "negative": ["a blue cup"]}
    file.write_text(json.dumps(line))
    wanted = r"give the field negatives \(the first line has image, caption, negative\), or set"
    with pytest.raises(ZooError, match=wanted):
        check(JsonLines(file), tmp_path)
