"""No word that a list, a table or a look-up can produce is a slur or obscene."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from nltk.corpus.reader.wordnet import WordNetCorpusReader

from tests.language.made_wordnet import SENSES, Sense, make_wordnet
from zoo.errors import ZooError
from zoo.language.inflection import inflect
from zoo.language.offensive_words import offensive_words
from zoo.language.prepositions import other_prepositions
from zoo.language.wordnet import OFFENSIVE_DOMAINS, WordNet
from zoo.units.rules import lexicon, words
from zoo.units.rules.corpus_counts import default_counts

WORD_LISTS = sorted(Path(str(words.__file__)).parent.glob("*.txt"))
# how WordNet's definitions say that a word is offensive, whatever its usage domains say
MARKED_AS_OFFENSIVE = re.compile(
    r"ethnic slur|(offensive|disparaging\)?|derogatory|insulting|obscene|vulgar) (\w+ )?(term|name)"
    r"|obscene words|terms of abuse",
    re.IGNORECASE,
)


def domain(name: str) -> Sense:
    return Sense("n", [name], up=["animal"])


def alternatives(tmp_path: Path, **changes: Sense) -> set[str]:
    domains = {name: domain(name) for name in ("ethnic_slur", "slang")}
    return set(
        WordNet(make_wordnet(tmp_path, {**SENSES, **domains, **changes})).alternatives("dog", "n")
    )


def cat(*names: str, usage: tuple[str, ...] = (), file: int = 0) -> Sense:
    return Sense("n", names, up=["feline"], usage=usage, file=file)


def test_a_sense_that_wordnet_marks_as_a_slur_gives_no_alternatives(tmp_path: Path) -> None:
    assert alternatives(tmp_path, cat=cat("cat", "grimalkin", usage=("ethnic_slur",))) == {
        "wolf",
        "lion",
        "king of beasts",
        "oaf",
    }


def test_of_a_sense_with_one_marked_word_the_others_stay(tmp_path: Path) -> None:
    assert alternatives(tmp_path, cat=cat("cat", "grimalkin", usage=("cat:ethnic_slur",))) == {
        "grimalkin",
        "wolf",
        "lion",
        "king of beasts",
        "oaf",
    }


def test_slang_is_no_slur(tmp_path: Path) -> None:
    assert "cat" in alternatives(tmp_path, cat=cat("cat", usage=("slang",)))


def test_a_marked_word_stays_in_its_other_senses(tmp_path: Path) -> None:
    person = cat("lion", usage=("ethnic_slur",))
    assert "lion" in alternatives(tmp_path, person_called_lion=person)


def test_a_listed_sense_is_left_out_and_the_animal_of_that_name_is_not(tmp_path: Path) -> None:
    listed = cat("cow", file=18)  # its key is cow%1:18:00::
    assert "cow" not in alternatives(tmp_path / "person", cat=listed)
    assert "cow" in alternatives(tmp_path / "animal", cat=cat("cow", file=5))
    assert "cow" in alternatives(tmp_path / "both", cat=listed, lion=cat("cow", file=5))


def test_a_listed_word_is_left_out_in_any_sense_and_as_a_part(tmp_path: Path) -> None:
    word = min(offensive_words().words)
    found = alternatives(tmp_path, cat=cat(word, f"{word}_cat", f"cat-{word}", f"cat{word}"))
    assert found == {f"cat{word}", "wolf", "lion", "king of beasts", "oaf"}


def test_antonyms_and_derived_adjectives_are_filtered_as_well(tmp_path: Path) -> None:
    slur = domain("ethnic_slur")
    short = Sense("a", ["short:3"], opposites=["tall"], usage=("ethnic_slur",))
    yellow = Sense("a", ["yellow:6"], derived=["yellowness"], usage=("ethnic_slur",))
    senses = {**SENSES, "ethnic_slur": slur, "short": short, "yellow": yellow}
    changed = WordNet(make_wordnet(tmp_path, senses))
    assert changed.alternatives("tall", "a") == changed.alternatives("red", "a") == {}


def test_plurals_and_hyphens_do_not_hide_a_word() -> None:
    word = min(offensive_words().words)
    in_o = next(word for word in sorted(offensive_words().words) if word.endswith("o"))
    in_y = next(word for word in sorted(offensive_words().words) if word.endswith("y"))
    plurals = (f"{word}s", f"two {in_o}es.", f"{in_y[:-1]}ies")
    for text in (word.upper(), *plurals, f"half-{word}", f"{word}_cat"):
        assert offensive_words().includes_text(text), text
    assert not offensive_words().includes_text("japes")  # not a plural in -es
    assert not offensive_words().includes_text(f"a cat{word}, a queen, a boy and a spade")


def test_the_list_is_sorted_out_by_kind_of_entry() -> None:
    listed = offensive_words()
    assert all(re.fullmatch(r"[a-z-]+", word) for word in listed.words)
    assert all(
        re.fullmatch(r"[a-z_-]+%\d:\d\d:\d\d:([a-z-]+:\d\d|:)", key)
        for key in listed.senses | listed.whole_senses
    )
    assert len(listed.words) > 50
    assert len(listed.senses) > 5
    assert len(listed.whole_senses) > 50


@pytest.mark.parametrize("path", WORD_LISTS, ids=lambda path: path.stem)
def test_no_word_list_of_the_rules_has_an_offensive_word(path: Path) -> None:
    found = [word for word in path.read_text().split() if offensive_words().includes_text(word)]
    assert found == []


def rule_foils() -> Iterator[str]:
    for foils in (*lexicon.NOUN_FOILS.values(), *lexicon.ATTRIBUTE_FOILS.values()):
        yield from foils
    for verbs in lexicon.parse_word_sets(words.EXCLUSIVE_VERBS):
        yield from (lexicon.PARTICIPLES[verb] for verb in verbs)
    for prepositions in lexicon.parse_word_sets(words.EXCLUSIVE_PREPOSITIONS):
        yield from prepositions
    for predicates in default_counts().objects:
        yield predicates[1]
    yield from (*other_prepositions("in"), *other_prepositions("on"))


def test_no_foil_table_of_the_rules_gives_an_offensive_word() -> None:
    foils = set(rule_foils())
    assert len(foils) > 500
    assert [foil for foil in foils if offensive_words().includes_text(foil)] == []


@pytest.fixture(scope="module")
def real() -> WordNet:
    try:
        return WordNet()
    except ZooError:
        pytest.skip("WordNet is absent: `python -m nltk.downloader wordnet` brings it")


@pytest.fixture(scope="module")
def reader(real: WordNet) -> WordNetCorpusReader:
    return real.reader


@pytest.mark.slow
def test_every_listed_sense_is_one_of_wordnets(reader: WordNetCorpusReader) -> None:
    keys = {lemma.key() for sense in reader.all_synsets() for lemma in sense.lemmas()}
    assert (offensive_words().senses | offensive_words().whole_senses) - keys == set()


@pytest.mark.slow
def test_no_word_that_wordnet_can_produce_is_offensive(
    real: WordNet, reader: WordNetCorpusReader
) -> None:
    produced = {
        (part, word)
        for part in ("n", "v", "a")
        for name in probes(reader, part)
        for word in real.alternatives(name, part)
    }
    assert len(produced) > 50_000
    unmarked = {
        (sense.pos().replace("s", "a"), lemma.name().replace("_", " "))
        for sense in reader.all_synsets()
        if not OFFENSIVE_DOMAINS.intersection(
            name for other in sense.usage_domains() for name in other.lemma_names()
        )
        and not MARKED_AS_OFFENSIVE.search(sense.definition())
        for lemma in sense.lemmas()
    }
    # each produced word has a sense that neither a usage domain nor the definition marks
    assert produced - unmarked == set()
    tags = {"n": "NNS", "v": "VBG", "a": "JJR"}
    assert [
        word
        for part, word in produced
        if offensive_words().includes_text(word)
        or offensive_words().includes_text(inflect(word, tags[part]))
    ] == []


def probes(reader: WordNetCorpusReader, part: str) -> Iterator[str]:
    """Yields words whose alternatives are together nearly all words that can be produced.

    The alternatives of a sense are below its grandparents, so that two senses below each
    grandparent suffice. Adjectives are looked up one by one.
    """
    if part == "a":
        yield from sorted({name for sense in reader.all_synsets("a") for name in names(sense)})
        return
    for grandparent in reader.all_synsets(part):
        below = [child for parent in grandparent.hyponyms() for child in sorted(parent.hyponyms())]
        yield from (names(child)[0] for child in (below[:1] + below[-1:]))


def names(sense: object) -> list[str]:
    return [str(name) for name in sense.lemma_names()]  # type: ignore[attr-defined]
