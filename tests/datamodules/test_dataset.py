import pytest
import torch

from tests.datamodules.small import Appended, Made, WordTokenizer, noisy
from zoo.batch import MISSING
from zoo.datamodules.collate import Collate
from zoo.datamodules.dataset import BatchRow, CaptionDataset, ImageFiles
from zoo.datamodules.texts import CaptionTexts
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.negative_images import FoundImages
from zoo.sources.sample import ImageRef
from zoo.sources.seeds import stable_hash


def dataset(tmp_path, groups=None, **options):
    samples = Made(tmp_path, n=6, companions=True).read()
    entries = [(i,) for i in range(len(samples))] if groups is None else groups
    return CaptionDataset(
        samples,
        entries,
        CaptionTexts(generators=[Appended()]),
        ImageFiles(ImageFinder([tmp_path]), noisy),
        **options,
    )


def equal(a: list[BatchRow], b: list[BatchRow]) -> bool:
    return len(a) == len(b) and all(
        torch.equal(x.image, y.image)
        and (x.caption, x.negatives, x.sample) == (y.caption, y.negatives, y.sample)
        for x, y in zip(a, b, strict=True)
    )


def test_a_row_is_a_function_of_seed_epoch_and_sample(tmp_path):
    data = dataset(tmp_path)
    first = data[(1, 4)]
    torch.manual_seed(5)
    data[(0, 2)]
    assert equal(first, data[(1, 4)])
    for other in (data[(2, 4)], data[(1, 5)], dataset(tmp_path, seed=1)[(1, 4)]):
        assert not torch.equal(first[0].image, other[0].image)


def test_making_a_row_takes_nothing_from_the_global_random_state(tmp_path):
    data = dataset(tmp_path)
    before = torch.get_rng_state()
    data[(0, 0)]
    assert torch.equal(before, torch.get_rng_state())


def test_a_companion_brings_its_own_caption_and_negatives(tmp_path):
    data = dataset(tmp_path, companions=range(12))
    drawn = set()
    for epoch in range(20):
        primary, companion = data[(epoch, 3)]
        assert (primary.sample, primary.caption) == (3, "1 is caption 1")
        assert companion.caption == data.samples[companion.sample].caption
        assert companion.negatives == data.texts.negatives(
            data.samples[companion.sample], epoch, companion.sample
        )
        drawn.add(companion.sample)
    assert drawn == {4, 5}


def test_companions_outside_the_split_are_not_drawn(tmp_path):
    data = dataset(tmp_path, groups=[(3,), (5,), (6,)], companions=(3, 5, 6))
    assert {data[(epoch, 0)][1].sample for epoch in range(20)} == {5}
    primary, companion = data[(0, 2)]
    assert (primary.sample, companion.sample, companion.caption) == (6, MISSING, None)


def test_one_caption_of_a_group_is_drawn_in_each_epoch(tmp_path):
    data = dataset(tmp_path, groups=[(0, 1), (2, 3)])
    assert {data[(epoch, 1)][0].sample for epoch in range(20)} == {2, 3}


def test_a_broken_image_is_an_error_or_a_filling_row(tmp_path):
    data = dataset(tmp_path)
    (tmp_path / "1.png").write_bytes((tmp_path / "1.png").read_bytes()[:40])
    with pytest.raises(ZooError, match=r"1\.png"):
        data[(0, 2)]
    data.tolerate_broken = True
    (row,) = data[(0, 2)]
    assert (row.caption, row.sample, row.negatives) == (None, 2, [None])
    assert str(row.broken) == f"file:{tmp_path}/1.png"
    assert not row.image.any()


def test_a_broken_negative_image_is_named_in_place_of_the_row_s_own(tmp_path):
    file = tmp_path / "swapped.png"
    negative = FoundImages({"1 is caption 0": ImageRef("file", str(file))})
    data = dataset(tmp_path, negative_images=negative, tolerate_broken=True)
    file.write_bytes((tmp_path / "1.png").read_bytes()[:40])
    batch = Collate(WordTokenizer())([data[(0, 2)], data[(0, 3)]])
    assert batch.broken == (f"file:{file}",)
    assert (batch.captions == MISSING).tolist() == [True, False]


def row(sample, caption, negatives=(), pairs=(), image_id="x"):
    picture = torch.full((3, 2, 2), float(sample))
    return BatchRow(picture, caption, negatives, [], pairs, image_id, sample)


def words(batch, index):
    """The bank's ids at an index, as a list without padding."""
    return (
        None if index == MISSING else batch.texts.ids[index, : batch.texts.lengths[index]].tolist()
    )


def ids(text):
    ids, lengths, _ = WordTokenizer()([text])
    return ids[0, : lengths[0]].tolist()


def test_a_batch_points_into_one_bank_of_distinct_texts():
    rows = [
        [row(7, "a dog", ["a cat", None], [("dog", "cat"), None], "p")],
        [row(8, "A  dog", ["dog", "a cat"], [("a dog", None), ("cat", "dog")], "q")],
    ]
    batch = Collate(WordTokenizer())(rows)
    assert [words(batch, i) for i in batch.captions.tolist()] == [ids("a dog"), ids("a dog")]
    assert [[words(batch, i) for i in r] for r in batch.negatives.tolist()] == [
        [ids("a cat"), None],
        [ids("dog"), ids("a cat")],
    ]
    assert [[words(batch, i) for i in r] for r in batch.units.tolist()] == [
        [ids("dog"), None],
        [ids("a dog"), ids("cat")],
    ]
    assert [[words(batch, i) for i in r] for r in batch.foils.tolist()] == [
        [ids("cat"), None],
        [None, ids("dog")],
    ]
    assert (len(batch.texts), batch.texts.text_count) == (4, 10)
    assert batch.image_ids.tolist() == [stable_hash("p"), stable_hash("q")]
    assert torch.equal(batch.hashes, batch.texts.hashes)
    assert batch.raw_texts == ("a dog", "a cat", "dog", "cat")  # "A  dog" has the ids of the first
    assert (batch.primary, batch.samples.tolist(), batch.images[:, 0, 0, 0].tolist()) == (
        2,
        [7, 8],
        [7.0, 8.0],
    )


def test_companions_stand_behind_all_primary_rows():
    batch = Collate(WordTokenizer())(
        [[row(1, "one"), row(5, "five")], [row(2, "two"), row(6, "six")]]
    )
    assert (batch.samples.tolist(), batch.primary) == ([1, 2, 5, 6], 2)


def test_a_batch_of_filling_alone_has_the_shapes_of_any_other():
    batch = Collate(WordTokenizer())([[row(-1, None, [None], [None, None])]] * 3)
    assert batch.captions.tolist() == [MISSING] * 3
    assert (batch.negatives.shape, batch.units.shape, batch.foils.shape) == ((3, 1), (3, 2), (3, 2))
    assert (len(batch.texts), batch.texts.text_count) == (1, 0)
    assert batch.raw_texts == ("",)


def test_without_negatives_and_units_there_are_no_columns():
    batch = Collate(WordTokenizer())([[row(0, "one")], [row(1, "two")]])
    assert (batch.negatives.shape, batch.units.shape) == ((2, 0), (2, 0))
