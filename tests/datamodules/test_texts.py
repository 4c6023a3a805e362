import json

import pytest

from tests.datamodules.small import Appended
from zoo.datamodules.texts import CaptionTexts
from zoo.datamodules.units import read_checked_units
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef, Sample, usable_negatives
from zoo.sources.samples import Samples
from zoo.units.sampler import UnitSampler


def sample(caption="4 dogs run", caption_id="a", negatives=(), origin="captions.txt:1"):
    return Sample(
        ImageRef("file", "x"), caption, "x", caption_id, negatives=negatives, origin=origin
    )


def known(*samples):
    return [Samples.from_samples(samples)]


def units_file(tmp_path, *entries):
    entities = [{"text": "dogs", "foils": [{"text": "cats", "edit": "object_change"}]}]
    records = [
        {
            "caption_id": i,
            "image_id": "x",
            "caption": c,
            "entities": entities,
            "relations": [],
            "source": {},
        }
        for i, c in entries
    ]
    lines = [json.dumps(record) for record in records]
    path = tmp_path / "units.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return UnitSampler(str(path), n_units=2, with_replacement=False)


@pytest.mark.parametrize("made", [["a text"], b"a text", 3])
def test_a_generator_that_makes_no_text_is_told_so(made):
    class Broken(Appended):
        def negative(self, caption, rng, record=None):
            return made

    with pytest.raises(
        ZooError,
        match=rf"Broken\.negative returned a {type(made).__name__} for the caption '4 dogs run': "
        "return a text, or None if there is none",
    ):
        CaptionTexts(generators=[Appended(), Broken()]).negatives(sample(), 0, 0)


def test_negatives_are_a_function_of_seed_epoch_and_sample():
    texts = CaptionTexts(seed=3, generators=[Appended(), Appended()])
    first = texts.negatives(sample(), 1, 7)
    assert first == texts.negatives(sample(), 1, 7)
    assert first[0] != first[1]
    others = [
        texts.negatives(sample(), 2, 7),
        texts.negatives(sample(), 1, 8),
        CaptionTexts(4, [Appended(), Appended()]).negatives(sample(), 1, 7),
    ]
    assert all(other != first for other in others)


def test_a_generator_that_finds_nothing_leaves_its_column_missing():
    assert CaptionTexts(generators=[Appended()]).negatives(sample("3 dogs run"), 0, 0) == [None]


def test_negatives_of_the_source_come_first_and_never_equal_the_caption():
    own = sample(negatives=("4 Dogs  run .", "dogs 4 run", "run 4 dogs"))
    texts = CaptionTexts(generators=[Appended()], use_source_negatives=True)
    assert texts.negative_names == ("source", "appended")
    assert usable_negatives(own) == ["dogs 4 run", "run 4 dogs"]
    drawn = {texts.negatives(own, epoch, 0)[0] for epoch in range(30)}
    assert drawn == {"dogs 4 run", "run 4 dogs"}
    assert texts.negatives(sample(), 0, 0)[0] is None


def test_captions_without_a_record_have_missing_units(tmp_path):
    units = units_file(tmp_path, ("a", "4 dogs run"))
    texts = CaptionTexts(
        units=units, records=read_checked_units(units, known(sample(), sample(caption_id="b")))
    )
    assert texts.pairs(sample(), 0, 0) == [("dogs", "cats"), None]
    assert texts.pairs(sample(caption_id="b"), 0, 0) == [None, None]
    assert CaptionTexts().pairs(sample(), 0, 0) == []


def test_units_of_unknown_captions_are_refused_by_id(tmp_path):
    with pytest.raises(ZooError, match=r"units\.jsonl has units for 1 captions .*'zzz'"):
        read_checked_units(
            units_file(tmp_path, ("a", "4 dogs run"), ("zzz", "4 dogs run")), known(sample())
        )


def test_units_of_another_caption_under_the_same_id_are_refused(tmp_path):
    with pytest.raises(ZooError, match=r"'a' as '5 cats sit', and captions\.txt:1 as '4 dogs run'"):
        read_checked_units(units_file(tmp_path, ("a", "5 cats sit")), known(sample()))


def test_units_of_another_split_of_the_files_are_known(tmp_path):
    units = units_file(tmp_path, ("a", "4 dogs run"), ("b", "2 cats sit"))
    assert set(
        read_checked_units(units, known(sample()), lambda: known(sample("2 cats sit", "b")))
    ) == {
        "a",
        "b",
    }
    with pytest.raises(ZooError, match=r"1 captions that the data does not have .*'b'"):
        read_checked_units(units, known(sample()), lambda: known(sample("2 cats sit", "c")))


def test_a_caption_in_two_readers_of_one_file_is_one(tmp_path):
    assert read_checked_units(units_file(tmp_path, ("a", "4 dogs run")), known(sample(), sample()))


def test_two_captions_of_one_id_are_refused(tmp_path):
    with pytest.raises(
        ZooError, match=r"two\.txt:9 has caption id 'a', and so has captions\.txt:1"
    ):
        read_checked_units(
            units_file(tmp_path, ("a", "4 dogs run")), known(sample(), sample(origin="two.txt:9"))
        )
