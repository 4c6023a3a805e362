"""Several readers in `data.train`: one after the other, or in shares by weight."""

import json
import pickle
from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning.pytorch.callbacks import ModelCheckpoint
from PIL import Image

from tests.datamodules.small import Appended, Made, Watcher, fingerprint
from tests.datamodules.test_captions import attached, epoch_of, rows, trainer
from zoo.batch import Batch
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.sampler import GlobalBatchSampler, Mixture, SampleOrder
from zoo.errors import ZooError
from zoo.familiarity.captions import training_caption_reader
from zoo.sources.readers.base import Reader
from zoo.sources.readers.concatenation import Concatenation
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.sample_cache import cached_samples
from zoo.sources.source import read_source
from zoo.units.sampler import UnitSampler


def json_lines(folder: Path, n: int, **fields: Any) -> JsonLines:
    """Writes n images and a caption of each into a folder of its own; returns their reader."""
    folder.mkdir(parents=True)
    lines = []
    for i in range(n):
        Image.new("RGB", (8, 8), (i, len(folder.name), 7)).save(folder / f"{i}.png")
        caption = f"{i} of {folder.name}"
        lines.append({"image": f"{i}.png", "caption": caption, "caption_id": f"{folder.name}{i}"})
        lines[-1] |= {name: value(i) for name, value in fields.items()}
    (folder / "captions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return JsonLines(folder / "captions.jsonl")


def mixed(folder: Path, sizes: tuple[int, ...], **options: Any) -> CaptionDataModule:
    readers = [json_lines(folder / f"part{k}", size) for k, size in enumerate(sizes)]
    options = {"batch_size": 4, "workers": 0, "negatives": Appended(), **options}
    return CaptionDataModule(readers, [str(folder)], **options)


def drawn(batches: list[Batch]) -> list[int]:
    return [sample for sample, *_ in rows(batches)]


def test_readers_without_weights_are_read_one_after_the_other(tmp_path: Path) -> None:
    parts = [
        json_lines(tmp_path / "a", 3, companions=lambda i: [(i + 1) % 3]),
        json_lines(tmp_path / "b", 2, companions=lambda i: [1 - i], negatives=lambda i: ["no"]),
    ]
    together = cached_samples(Concatenation(parts))
    assert [s.caption for s in together] == ["0 of a", "1 of a", "2 of a", "0 of b", "1 of b"]
    assert [s.image.key for s in together] == [s.image.key for part in parts for s in part.read()]
    assert [s.companions for s in together] == [(1,), (2,), (0,), (4,), (3,)]
    assert [s.negatives for s in together][2:4] == [(), ("no",)]
    assert together.reader_starts.tolist() == [0, 3, 5]
    assert list(together) == Concatenation(parts).read()


def test_every_caption_of_a_list_is_a_row_of_each_epoch(tmp_path: Path) -> None:
    data = attached(mixed(tmp_path, (3, 6)))
    for epoch in (0, 1):
        assert sorted(drawn(epoch_of(data, epoch))) == list(range(9))


def test_tables_of_a_list_stay_in_their_files(tmp_path: Path) -> None:
    together = cached_samples(Concatenation([json_lines(tmp_path / n, 400) for n in "ab"]))
    pickled = pickle.dumps(together)
    assert len(pickled) < 2_000
    assert list(pickle.loads(pickled)) == list(together)


def test_an_image_id_is_one_image_even_if_two_readers_have_it(tmp_path: Path) -> None:
    numbered = [json_lines(tmp_path / name, 2, image_id=lambda i: f"{i}") for name in "ab"]
    again = JsonLines(tmp_path / "a" / "captions.jsonl")
    together = cached_samples(Concatenation([*numbered, again]))
    ids = [s.image_id for s in together]
    assert ids == ["0", "1", "0 (reader 2)", "1 (reader 2)", "0", "1"]
    assert [s.image.key for s in pickle.loads(pickle.dumps(together))][:1] == [
        str(tmp_path / "a" / "0.png")
    ]
    source = read_source(Concatenation([*numbered, again]))
    assert list(source.training_groups("one")) == [[0, 4], [1, 5], [2], [3]]
    by_reader = source.training_groups("one", by_reader=True)
    assert list(by_reader) == [[i] for i in range(6)]


def test_a_held_out_image_is_held_out_of_every_reader(tmp_path: Path) -> None:
    first = json_lines(tmp_path / "a", 6)
    again = JsonLines(first.file)
    data = attached(CaptionDataModule([first, again], [], val_images=2, workers=0, batch_size=4))
    train, val = data.sources
    assert val is not None
    assert (len(train.kept), len(val.kept)) == (8, 4)
    assert not set(train.image_ids.to_pylist()) & set(val.image_ids.to_pylist())


def test_units_negatives_and_hard_images_are_those_of_each_reader(tmp_path: Path) -> None:
    def companion(i: int) -> list[int]:
        return [1 - i]

    readers = [json_lines(tmp_path / name, 2, companions=companion) for name in "ab"]
    entities = [{"text": "dogs", "foils": [{"text": "cats", "edit": "object_change"}]}]
    record = {"image_id": "x", "entities": entities, "relations": [], "source": {}}
    (tmp_path / "units").mkdir()
    for name in "ab":
        line = {**record, "caption_id": f"{name}1", "caption": f"1 of {name}"}
        (tmp_path / "units" / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    data = attached(
        CaptionDataModule(
            readers,
            [],
            batch_size=4,
            workers=0,
            units=UnitSampler(str(tmp_path / "units"), n_units=1),
            negatives=Appended(),
            hard_images=True,
        )
    )
    (batch,) = epoch_of(data, 0)
    samples = batch.samples.tolist()
    assert sorted(samples[:4]) == [0, 1, 2, 3]
    partner = {0: 1, 1: 0, 2: 3, 3: 2}
    assert samples[4:] == [partner[sample] for sample in samples[:4]]
    assert [bool(unit >= 0) for unit in batch.units[:, 0]] == [s in (1, 3) for s in samples]
    assert [bool(n >= 0) for n in batch.negatives[:, 0]] == [s in (0, 2) for s in samples]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.floats(0.01, 100)), min_size=2, max_size=4),
    st.integers(0, 3),
)
def test_shares_follow_the_weights_and_no_entry_is_drawn_again_before_all_others(
    parts: list[tuple[int, float]], seed: int
) -> None:
    sizes, weights = zip(*parts, strict=True)
    mixture, n = Mixture(sizes, weights), sum(sizes)
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    seen = [Counter[int]() for _ in sizes]
    for epoch in range(4):
        entries, passes = mixture.draw_rows(seed, epoch)
        assert len(entries) == len(passes) == n
        for k, (start, size, weight) in enumerate(zip(starts, sizes, weights, strict=True)):
            own = (entries >= start) & (entries < start + size)
            assert abs(int(own.sum()) - n * weight / sum(weights)) < 1 + 1e-6
            for entry, number in zip(entries[own].tolist(), passes[own].tolist(), strict=True):
                assert number == seen[k][entry]  # the number of earlier draws of this entry
                seen[k][entry] += 1
            counts = [seen[k][start + i] for i in range(size)]
            assert max(counts) - min(counts) <= 1


def test_a_share_below_one_row_is_right_over_many_epochs() -> None:
    mixture = Mixture((4, 4), (0.95, 0.05))  # 0.4 of 8 rows
    rare = [int((mixture.draw_rows(0, epoch)[0] >= 4).sum()) for epoch in range(150)]
    assert set(rare) == {0, 1}
    assert 0.3 < sum(rare) / 150 < 0.5


def test_weighted_batches_have_the_same_rows_on_any_number_of_ranks() -> None:
    mixture = Mixture((5, 8), (3, 1))

    def batches(world: int, skip: int = 0) -> list[list[tuple[int, ...]]]:
        ranks = []
        for rank in range(world):
            sampler = GlobalBatchSampler(13, 4, 1, rank, world, mixture=mixture)
            sampler.resume_at(2, skip)
            places, local = list(sampler), 4 // world
            ranks.append([places[i : i + local] for i in range(0, len(places), local)])
        return [list(chain(*parts)) for parts in zip(*ranks, strict=True)]

    assert batches(2) == batches(4) == batches(1)
    assert batches(2, skip=2) == batches(1)[2:]
    assert [entry for _, entry, _ in batches(1)[-1]][1:] == [-1] * 3


def test_a_caption_that_an_epoch_draws_twice_has_other_pixels_and_negatives(tmp_path: Path) -> None:
    data = attached(mixed(tmp_path, (1, 7), train_weights=[3, 1]))
    often = [row for row in rows(epoch_of(data, 0)) if row[0] == 0]
    assert len(often) == 6
    assert len({pixels for _, pixels, _ in often}) == 6
    assert len({negative for *_, negative in often}) == 6


def test_a_weighted_run_that_was_killed_goes_on_with_the_batches_that_remain(
    tmp_path: Path,
) -> None:
    def data() -> CaptionDataModule:
        readers = [JsonLines(tmp_path / f"part{k}" / "captions.jsonl") for k in range(2)]
        return CaptionDataModule(
            readers,
            [],
            batch_size=4,
            workers=0,
            negatives=Appended(),
            train_weights=[0.8, 0.2],
        )

    mixed(tmp_path, (5, 8))
    kept = ModelCheckpoint(
        tmp_path / "kept", filename="{step}", every_n_train_steps=1, save_top_k=-1
    )
    whole = Watcher()
    trainer(tmp_path, max_epochs=3, callbacks=[kept]).fit(whole, datamodule=data())
    assert len(whole.seen) == len(set(whole.seen)) == 12
    for left_at in (2, 4, 7):
        resumed = Watcher()
        trainer(tmp_path, max_epochs=3, enable_checkpointing=False).fit(
            resumed,
            datamodule=data(),
            ckpt_path=tmp_path / "kept" / f"step={left_at}.ckpt",
            weights_only=True,
        )
        assert resumed.seen == whole.seen[left_at:]


def test_a_run_is_not_resumed_with_other_weights() -> None:
    before = vars(SampleOrder(4, 0, 9, train_weights=(0.5, 0.5), rows_per_reader=(4, 5)))
    with pytest.raises(ZooError, match=r"had train_weights \(0.5, 0.5\), and now it is \(1, 2\)"):
        SampleOrder(4, 0, 9, train_weights=(1, 2), rows_per_reader=(4, 5)).check_same_settings(
            before
        )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "data.train_weights lists 1, but data.train has 2 readers: give one weight per"),
        ([0.0, 0.0], "all data.train_weights are 0: give at least one reader a weight above 0"),
        ([1.0, -0.5], "data.train_weights has -0.5: give numbers from 0 up"),
        ([1.0, float("nan")], "data.train_weights has nan: give numbers from 0 up"),
    ],
)
def test_wrong_weights_are_one_sentence_before_anything_is_read(
    weights: list[float], message: str
) -> None:
    readers: list[Reader] = [CsvTable(Path("nowhere.csv")), JsonLines(Path("nowhere.jsonl"))]
    with pytest.raises(ZooError, match=message):
        CaptionDataModule(readers, [], train_weights=weights)


def test_weights_of_one_reader_or_of_joined_rows_and_an_empty_list_are_refused() -> None:
    reader = CsvTable(Path("nowhere.csv"))
    with pytest.raises(ZooError, match=r"needs several readers, and data.train is one"):
        CaptionDataModule(reader, [], train_weights=[1.0])
    with pytest.raises(ZooError, match=r"data.train_weights only works with one"):
        CaptionDataModule([reader, reader], [], train_weights=[1.0, 2.0], joined=True)
    with pytest.raises(ZooError, match="list of readers is empty"):
        CaptionDataModule([], [])


def test_validation_captions_of_several_readers_come_once_each(tmp_path: Path) -> None:
    readers: list[Reader] = [json_lines(tmp_path / name, 2) for name in "abc"]
    data = CaptionDataModule(readers[0], [], val=readers[1:], batch_size=4, workers=0)
    (loader,) = attached(data).val_dataloader()
    assert [sorted(batch.samples.tolist()) for batch in loader] == [[0, 1, 2, 3]]


def test_a_reader_of_weight_0_is_not_read(tmp_path: Path) -> None:
    first = json_lines(tmp_path / "a", 4)
    readers = [first, JsonLines(tmp_path / "nowhere.jsonl")]
    weighted = CaptionDataModule(readers, [], train_weights=[2, 0], batch_size=2, workers=0)
    alone = CaptionDataModule(first, [], batch_size=2, workers=0)
    batches = [[fingerprint(b) for b in epoch_of(attached(d), 0)] for d in (weighted, alone)]
    assert batches[0] == batches[1]


def test_a_reader_without_training_images_is_named(tmp_path: Path) -> None:
    readers = [json_lines(tmp_path / name, 3) for name in "ab"]
    for image in (tmp_path / "b").glob("*.png"):
        image.unlink()
    data = CaptionDataModule(readers, [], tolerate_missing=True, workers=0)
    with pytest.raises(ZooError, match=r"no training captions of JsonLines \(.*b/captions.jsonl\)"):
        data.check_files()


def test_an_empty_reader_is_named(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("image,caption\n")
    readers = [json_lines(tmp_path / "a", 3), CsvTable(tmp_path / "b.csv")]
    with pytest.raises(ZooError, match=r"CsvTable found no captions in .*b\.csv"):
        CaptionDataModule(readers, []).check_files()


def test_the_record_of_a_list_names_each_file_and_reads_it_again(tmp_path: Path) -> None:
    data = attached(mixed(tmp_path, (3, 4), train_weights=[1, 3]))
    described = json.loads(json.dumps(data.describe()))
    assert described["train_weights"] == [1, 3]
    assert len(described["train"]["files"]) == 2
    reader = training_caption_reader(described["train"], "")
    assert [s.caption for s in reader.read()] == [s.caption for s in data.sources[0].samples]


def test_readers_without_files_are_concatenated_as_well(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    readers = [Made(tmp_path / "a", n=2), Made(tmp_path / "b", n=3)]
    data = attached(CaptionDataModule(readers, [], batch_size=10, workers=0))
    (batch,) = epoch_of(data, 0)
    assert sorted(batch.samples.tolist()) == list(range(10))
    assert torch.unique(batch.image_ids).numel() == 5  # both have an image0, which differ
