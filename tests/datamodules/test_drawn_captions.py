"""Captions that are drawn again in every epoch."""

from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from PIL import Image

from tests.datamodules.small import fingerprint
from tests.datamodules.test_captions import attached, epoch_of
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.dataset import CaptionDataset
from zoo.errors import ZooError
from zoo.negatives.base import NegativeGenerator
from zoo.positives.sub_captions import SubCaptions
from zoo.sources.readers.csv_table import CsvTable
from zoo.units.record import UnitRecord


class Shouted(NegativeGenerator):
    """Writes the caption in capitals."""

    name = "shouted"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the caption in capitals."""
        return caption.upper()


def build_data(folder: Path, **options: Any) -> CaptionDataModule:
    """Returns data with eight images and a caption of four sentences each."""
    rows = ["filepath,title"]
    for i in range(8):
        Image.new("RGB", (8, 8), (i, i, i)).save(folder / f"{i}.png")
        rows.append(f"{i}.png,Image {i} one. Two {i}. Three {i}. Four {i}.")
    (folder / "captions.csv").write_text("\n".join(rows))
    return CaptionDataModule(
        CsvTable(folder / "captions.csv"),
        [str(folder)],
        batch_size=4,
        negatives=Shouted(),
        caption_generator=SubCaptions(),
        **{"workers": 0, **options},
    )


def read_rows(data: CaptionDataModule, epoch: int) -> list[tuple[int, str | None, Any]]:
    """Returns sample, caption and negative of all rows of an epoch, in order of the sampler."""
    loader = data.train_dataloader()
    loader.sampler.set_epoch(epoch)
    assert isinstance(loader.dataset, CaptionDataset)
    rows = [loader.dataset[place][0] for place in loader.sampler]
    return [(row.sample, row.caption, row.negatives[0]) for row in rows]


def test_captions_are_drawn_as_by_a_loop_over_samples_in_every_epoch(tmp_path: Path) -> None:
    data = attached(build_data(tmp_path, seed=5))
    epochs = [read_rows(data, epoch) for epoch in range(3)]
    for epoch, rows in enumerate(epochs):
        for i, caption, negative in rows:
            own = f"Image {i} one. Two {i}. Three {i}. Four {i}."
            draws = Random(f"5/{epoch}/{i}/drawn_caption")
            expected = SubCaptions().positive(own, [own], draws) or own
            assert (caption, negative) == (expected, expected.upper())
    assert len({frozenset(rows) for rows in epochs}) == 3


def test_drawn_captions_do_not_depend_on_workers_and_resume(tmp_path: Path) -> None:
    whole = [fingerprint(batch) for batch in epoch_of(attached(build_data(tmp_path)), 1)]
    workers = attached(build_data(tmp_path, workers=2))
    assert [fingerprint(batch) for batch in epoch_of(workers, 1)] == whole
    loader = attached(build_data(tmp_path)).train_dataloader()
    loader.sampler.resume_at(1, 1)
    assert [fingerprint(batch) for batch in loader] == whole[1:]


def test_captions_are_drawn_once_without_resampling(tmp_path: Path) -> None:
    data = attached(build_data(tmp_path, resample=False))
    first, second = (dict(r[:2] for r in read_rows(data, epoch)) for epoch in (0, 1))
    assert first == second
    assert data.texts.draw_caption(data.sources[0].samples[3], 7, 3).caption == first[3]


def test_k_texts_per_row_are_drawn_separately(tmp_path: Path) -> None:
    data = attached(build_data(tmp_path, positives=[SubCaptions(), SubCaptions()]))
    texts = data.texts.positives(data.sources[0].samples[0], 0, 0)
    own = "Image 0 one. Two 0. Three 0. Four 0."
    assert texts == [
        SubCaptions().positive(own, [own], Random(f"0/0/0/positive/{k}")) for k in range(2)
    ]
    batch = next(iter(data.train_dataloader()))
    assert batch.positives.shape == (4, 2)
    assert torch.equal(batch.captions >= 0, torch.ones(4, dtype=torch.bool))


def test_units_of_whole_captions_are_not_used_for_negatives_of_drawn_ones(tmp_path: Path) -> None:
    data = attached(build_data(tmp_path))
    sample = data.sources[0].samples[0]
    seen: list[UnitRecord | None] = []

    class Watching(Shouted):
        def negative(
            self, caption: str, rng: Random, record: UnitRecord | None = None
        ) -> str | None:
            seen.append(record)
            return None

    record = UnitRecord(sample.caption_id, sample.image_id, sample.caption, (), ())
    texts = type(data.texts)(
        generators=[Watching()],
        records={sample.caption_id: record},
        caption_generator=SubCaptions(max_sentences=1),
    )
    texts.negatives(sample, 0, 0)
    texts.negatives(texts.draw_caption(sample, 0, 0), 0, 0)
    assert seen == [record, None]


def test_checking_the_length_of_whole_captions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"set truncation to true"):
        build_data(tmp_path, truncation=False)
