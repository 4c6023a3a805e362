"""WordNet's antonyms and cousins, worked out by hand on a small one."""

import zipfile
from pathlib import Path

import nltk
import pytest

from tests.language.made_wordnet import SENSES, Sense, make_wordnet
from zoo.errors import ZooError
from zoo.language import wordnet
from zoo.language.wordnet import DEBIAN, WordNet


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    return WordNet(make_wordnet(tmp_path_factory.mktemp("wordnet")))


def test_cousins_share_a_grandparent_and_weigh_as_often_as_texts_have_them(small: WordNet) -> None:
    assert small.alternatives("dog", "n") == {
        "wolf": 2,
        "cat": 9,
        "lion": 1,
        "king of beasts": 1,
        "oaf": 1,
    }


def test_alternatives_come_in_one_order_whatever_the_order_of_sets(small: WordNet) -> None:
    names = list(small.alternatives("dog", "n"))
    assert names == ["cat", "king of beasts", "lion", "oaf", "wolf"]


def test_a_siblings_cousins_are_found_from_any_inflection(small: WordNet) -> None:
    of_wolf = {"dog": 5, "domestic dog": 1, "cat": 9, "lion": 1, "king of beasts": 1}
    assert small.alternatives("wolves", "n") == of_wolf
    assert small.alternatives("Wolf", "n") == of_wolf


def test_two_paths_to_a_cousin_count_twice(tmp_path: Path) -> None:
    both = {**SENSES, "cat": Sense("n", ["cat:9"], up=["feline", "canine"])}
    assert WordNet(make_wordnet(tmp_path, both)).alternatives("dog", "n")["cat"] == 18


def test_synonyms_of_any_sense_are_none(tmp_path: Path) -> None:
    senses = {**SENSES, "wolf": Sense("n", ["wolf", "frump"], up=["canine"])}
    assert "frump" not in WordNet(make_wordnet(tmp_path, senses)).alternatives("dog", "n")


def test_verbs_have_cousins_as_nouns_have(small: WordNet) -> None:
    assert small.alternatives("ran", "v") == {"walk": 4, "lie down": 1}


def test_adjectives_have_antonyms_and_the_cousins_of_their_nouns(small: WordNet) -> None:
    assert small.alternatives("tall", "a") == {"short": 3}
    assert small.alternatives("red", "a") == {"yellow": 6}


def test_a_sense_prior_draws_a_sense_by_how_often_the_word_has_it(small: WordNet) -> None:
    found = small.alternatives("dog", "n", sense_prior=True)
    assert found.pop("oaf") == pytest.approx(1)  # the frump: never counted, plus one
    assert found == pytest.approx(
        {
            name: 6 * weight / 13
            for name, weight in {"wolf": 2, "cat": 9, "lion": 1, "king of beasts": 1}.items()
        }
    )


def test_rare_alternatives_can_be_cut(small: WordNet) -> None:
    assert small.alternatives("dog", "n", min_count=2) == {"wolf": 2, "cat": 9}


def test_a_word_that_is_not_there_or_has_no_relative_has_none(small: WordNet) -> None:
    assert small.alternatives("xyzzy", "n") == {}
    assert small.alternatives("animal", "n") == {}
    assert small.alternatives("dog", "a") == {}


def test_two_wordnets_do_not_mix(small: WordNet, tmp_path: Path) -> None:
    small.alternatives("dog", "n")
    other = WordNet(make_wordnet(tmp_path, {**SENSES, "cat": Sense("n", ["cat:4"], up=["feline"])}))
    assert other.alternatives("dog", "n")["cat"] == 4
    assert (small.version, other.version) == ("9.9", "9.9")


@pytest.mark.parametrize("zipped", [False, True])
def test_nltks_own_is_found_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool
) -> None:
    folder = make_wordnet(tmp_path / "corpora" / "wordnet")
    if zipped:
        with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
            for file in folder.iterdir():
                archive.write(file, f"wordnet/{file.name}")
                file.unlink()
        folder.rmdir()
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert WordNet().alternatives("tall", "a") == {"short": 3}


def test_where_there_is_none_it_is_said_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "absent")
    with pytest.raises(ZooError, match=r"nltk.downloader wordnet.*wordnet-base.*--wordnet"):
        WordNet()


def test_a_folder_without_its_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=f"{tmp_path} is not a folder of WordNet's database files"):
        WordNet(tmp_path)
    make_wordnet(tmp_path)
    (tmp_path / "index.noun").write_text("dog n none\n")
    with pytest.raises(ZooError, match="not a folder of WordNet's database files"):
        WordNet(tmp_path)


def test_of_the_real_one_the_published_rule_finds_known_numbers_of_words() -> None:
    if not DEBIAN.is_dir():
        pytest.skip(f"{DEBIAN} is absent: Debian's package wordnet-base brings it")
    real = WordNet(DEBIAN)
    counts = {  # of the rule alone: 1472, 94, 99, 673, 1055 and 12; offensive words are left out
        ("dog", "n"): 1448,
        ("umbrella", "n"): 94,
        ("red", "a"): 96,
        ("large", "a"): 672,
        ("sitting", "v"): 1055,
        ("wooden", "a"): 12,
    }
    assert {key: len(real.alternatives(*key)) for key in counts} == counts
    assert sorted(red := real.alternatives("red", "a"), key=red.__getitem__)[-1] == "white"
