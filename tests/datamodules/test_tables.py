"""Rows drawn from tables are those drawn from objects in memory, whatever is drawn."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.datamodules.test_captions import attached
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.dataset import BatchRow, CaptionDataset
from zoo.datamodules.texts import CaptionTexts
from zoo.negatives import EntityFoilInPlace, NegCLIPSwap, SwapOrFoil
from zoo.positives.other_caption import OtherCaption
from zoo.sources.readers.base import Reader
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.readers.negclip_tsv import NegClipTsv
from zoo.units.reader import read_units, write_units
from zoo.units.rules.rule import RuleExtractor
from zoo.units.sampler import UnitSampler

ANNOTATIONS = Path("coco") / "annotations" / "captions_val2017.json"


class Blank:
    """Stands where images are decoded."""

    blank = torch.zeros(3, 2, 2)

    def __call__(self, image: object, seed: str) -> torch.Tensor:
        return self.blank


def in_memory(data: CaptionDataModule, reader: Reader, units: Path | None) -> CaptionDataset:
    """The data set of samples and records that are objects, found by dictionaries."""
    samples = reader.read()
    of_image: dict[str, list[str]] = {}
    for sample in samples:
        of_image.setdefault(sample.image_id, []).append(sample.caption)
    texts = CaptionTexts(
        data.seed,
        data.generators,
        data.source_negatives,
        data.units,
        {} if units is None else read_units(units),
        data.positives,
        of_image,
    )
    entries: dict[Any, list[int]] = {}
    for i, sample in enumerate(samples):
        one = data.captions_per_image == "one"
        entries.setdefault(sample.image_id if one else i, []).append(i)
    companions = range(len(samples)) if data.hard_images else ()
    return CaptionDataset(
        samples, list(entries.values()), texts, Blank(), data.seed, companions=companions
    )


def drawn(data: CaptionDataset) -> list[tuple[object, ...]]:
    def of(row: BatchRow) -> tuple[object, ...]:
        texts = (list(x) for x in (row.negatives, row.positives, row.pairs))
        return (row.caption, *texts, row.image_id, row.sample)

    return [of(row) for epoch in (0, 3) for i in range(len(data)) for row in data[epoch, i]]


def compared(data: CaptionDataModule, reader: Reader, units: Path | None = None) -> int:
    attached(data)
    tables: Any = data.train_dataloader().dataset
    tables.images = Blank()
    rows = drawn(tables)
    assert rows == drawn(in_memory(data, reader, units))
    return len(rows)


@pytest.fixture(scope="module")
def units_by_rule(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Units of the first 200 captions of COCO; the others have none."""
    units = tmp_path_factory.mktemp("units") / "units.jsonl"
    samples = CocoCaptions(shared_data / ANNOTATIONS).read()
    captions = [(s.caption, s.caption_id, s.image_id) for s in samples]
    write_units(RuleExtractor().extract_all(captions[:200]), units)
    return units


@pytest.mark.parametrize("each", ["all", "one"])
def test_captions_with_units_by_rule(shared_data: Path, units_by_rule: Path, each: str) -> None:
    reader, units = CocoCaptions(shared_data / ANNOTATIONS), units_by_rule
    data = CaptionDataModule(
        reader,
        [str(shared_data / "coco")],
        workers=0,
        captions_per_image=each,  # type: ignore[arg-type]
        seed=5,
        negatives=SwapOrFoil(NegCLIPSwap(), EntityFoilInPlace(), 0.5),
        positives=OtherCaption(),
        units=UnitSampler(str(units), conjunction_share=0.5, p_rel=0.5),
    )
    assert compared(data, reader, units) == 2 * (480 if each == "all" else 96)


def test_captions_with_negatives_and_hard_images_of_their_own(
    shared_data: Path, tmp_path: Path
) -> None:
    (file,) = (shared_data / "neg_clip").glob("*.tsv")
    shortened = tmp_path / file.name
    with file.open() as rows:
        shortened.write_text("".join(islice(rows, 501)))
    reader = NegClipTsv(shortened)
    for sample in reader.read():
        (tmp_path / "val2014").mkdir(exist_ok=True)
        (tmp_path / "val2014" / f"{int(sample.image.key):012}.jpg").touch()
    data = CaptionDataModule(
        reader, [str(tmp_path)], workers=0, source_negatives=True, hard_images=True
    )
    assert compared(data, reader) == 4 * len(reader.read())


def test_a_table_of_one_s_own_images(made_root: Path) -> None:
    reader = CsvTable(made_root / "captions.tsv")
    data = CaptionDataModule(
        reader,
        [str(made_root)],
        workers=0,
        negatives=EntityFoilInPlace(),
        units=UnitSampler(str(made_root / "units.jsonl"), n_units=3),
    )
    assert compared(data, reader, made_root / "units.jsonl") == 24
