import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from zoo.benchmarks import derived_files
from zoo.benchmarks.aro import order as aro_order
from zoo.benchmarks.aro.benchmark import ARO
from zoo.benchmarks.aro.order import load_order_set, order_cache_folder
from zoo.errors import ZooError
from zoo.language.taggers import default_tagger
from zoo.language.textblob_tagger import TextBlobTagger

CAPTIONS = ["A small dog, with a red ball, runs on the wet grass. ", "Dog!"]


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "aro" / "coco_karpathy_test.json"
    path.parent.mkdir()
    path.write_text(
        json.dumps([{"image": "val2014/COCO_val2014_000000391895.jpg", "caption": CAPTIONS}])
    )
    return path


def order(source, folder=None, seed=1):
    return load_order_set(source, "COCO-Order", seed, TextBlobTagger(), folder)


def test_a_case_has_the_clean_caption_first_and_four_texts_of_its_words(source):
    first, second = order(source).cases
    assert first.texts[0] == "a small dog, with a red ball, runs on the wet grass"
    assert len(first.texts) == 5
    words = Counter(first.texts[0].replace(",", " ,").split())
    assert all(Counter(text.replace(",", " ,").split()) == words for text in first.texts)
    assert first.match.tolist() == [[True, False, False, False, False]]
    assert first.right_listed_first
    assert (first.id, second.id) == ("391895#0", "391895#1")


def test_an_identity_permutation_is_the_caption_letter_for_letter(source):
    assert set(order(source).cases[1].texts) == {"dog"}
    source.write_text(
        json.dumps([{"image": "val2014/COCO_val2014_000000000001.jpg", "caption": ["Dog, cat"]}])
    )
    texts = {text for seed in range(20) for text in order(source, seed=seed).cases[0].texts}
    assert "dog, cat" in texts
    assert "dog , cat" not in texts


def test_what_was_kept_is_read_and_not_made_again(source, monkeypatch):
    made = order(source)
    monkeypatch.setattr(aro_order, "perturbations", None)
    again = order(source)
    assert [case.texts for case in again.cases] == [case.texts for case in made.cases]
    assert again.files == made.files == [source, order_cache_folder() / made.files[1].name]


def test_the_same_text_gzipped_reuses_the_same_file(source, monkeypatch):
    made = order(source)
    packed = source.with_name("coco_karpathy_test.json.gz")
    packed.write_bytes(gzip.compress(source.read_bytes()))
    assert order(packed).files[1] == made.files[1]


def test_another_seed_and_other_captions_make_another_file(source):
    first = order(source)
    assert order(source, seed=2).files[1] != first.files[1]
    source.write_text(source.read_text().replace("wet", "dry"))
    changed = order(source)
    assert changed.files[1] != first.files[1]
    assert "dry" in changed.cases[0].texts[0]


def test_perturbations_of_a_caption_do_not_depend_on_its_neighbours(source):
    first = order(source).cases[1].texts, order(source).cases[0].texts
    source.write_text(
        json.dumps([{"image": "val2014/COCO_val2014_000000391895.jpg", "caption": CAPTIONS[:1]}])
    )
    assert order(source).cases[0].texts == first[1]


def test_a_shared_file_can_be_named_itself(source, tmp_path):
    shared = order(source).files[1]
    source.unlink()
    again = load_order_set(shared, "COCO-Order", 99, TextBlobTagger(), None)
    assert len(again.cases) == 2
    assert again.files == [shared]
    assert "seed 1" in again.note
    with pytest.raises(ZooError, match="COCO-Order, not of Flickr30k-Order"):
        load_order_set(shared, "Flickr30k-Order", 1, TextBlobTagger(), None)


def test_permutations_of_another_tagger_than_the_official_one_are_said_to_be(source):
    made = order(source)
    assert "official results use spaCy's en_core_web_sm" in made.note
    path = made.files[1]
    header, *lines = path.read_text().splitlines()
    official = json.loads(header) | {
        "tagger": "spacy",
        "tagger_version": "3.8.0 en_core_web_sm 3.8.0",
    }
    path.write_text("\n".join([json.dumps(official), *lines]) + "\n")
    assert "official metrics" not in order(source).note


def test_a_file_cut_short_or_broken_is_named(source):
    path = order(source).files[1]
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-1]))
    with pytest.raises(ZooError, match=r"holds 1 of its 2 perturbed captions: delete"):
        order(source)
    path.write_text("\n".join([*lines[:-1], lines[-1][:20]]))
    with pytest.raises(ZooError, match=r"jsonl:3 is not JSON"):
        order(source)


def test_the_data_root_is_only_read(source, tmp_path):
    made = order(source)
    assert made.files[1].parent == tmp_path / "cache" / "zoo" / "aro_order"
    assert [path.name for path in source.parent.iterdir()] == [source.name]
    assert str(made.files[1]) in made.note


def test_what_somebody_put_beside_the_captions_is_read_before_the_cache(source, tmp_path):
    made = order(source).files[1]
    beside = source.parent / "order" / made.name
    beside.parent.mkdir()
    made.rename(beside)
    assert order(source).files[1] == beside
    assert list(made.parent.iterdir()) == []


def test_a_folder_that_the_user_named_is_not_passed_over_in_silence(source, tmp_path):
    sealed = tmp_path / "sealed"
    sealed.mkdir(mode=0o555)
    with pytest.raises(ZooError, match="order_dir"):
        order(source, sealed)


def test_a_write_that_fails_half_way_leaves_nothing(source, monkeypatch):
    written = []
    dumps = json.dumps

    def failing(row, **kwargs):
        written.append(row)
        if len(written) > 2:
            raise OSError(28, "No space left on device")
        return dumps(row, **kwargs)

    monkeypatch.setattr(derived_files.json, "dumps", failing)
    with pytest.raises(ZooError, match="No space left on device"):
        order(source)
    assert os.listdir(order_cache_folder()) == []


def test_the_cache_is_under_home_without_xdg(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert order_cache_folder() == Path.home() / ".cache" / "zoo" / "aro_order"


def test_the_tagger_that_makes_the_texts_is_logged_if_none_is_given(source, caplog):
    default_tagger.cache_clear()
    with caplog.at_level("INFO", "zoo"):
        ARO().read_subset(source, "COCO-Order")
    tagger = default_tagger()
    assert f"default tagger: {tagger.name} {tagger.version}" in caplog.messages
