"""The taggers' contract.

Offsets slice back, tags and chunks are those of a treebank, and mistakes are named.
"""

import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.tokens import split_tokens
from zoo.errors import ZooError
from zoo.language.spacy_tagger import SpacyTagger, tokens_of
from zoo.language.tagger import Tagger, Token
from zoo.language.taggers import default_tagger, recorded_tagger
from zoo.language.textblob_tagger import TextBlobTagger, token_spans
from zoo.negatives import AROShuffle, NegCLIPSwap
from zoo.regions_and_phrases.phrases import Chunks
from zoo.units.rules.rule import RuleExtractor

VOCABULARY = "a the man men dog 's and red is riding on to very , . two t-shirt"
CAPTION = "Two men don't ride a man's t-shirt, 3.5 feet (U.S.)..."


def tags(text: str) -> list[tuple[str, str]]:
    return [(token.text, token.tag) for token in TextBlobTagger().analyse(text)]


def phrases(text: str, kind: str = "NP") -> list[str]:
    found: list[list[str]] = []
    for token in TextBlobTagger().analyse(text):
        if token.chunk == f"B-{kind}":
            found.append([token.text])
        elif token.chunk == f"I-{kind}":
            found[-1].append(token.text)
    return [" ".join(phrase) for phrase in found]


@settings(deadline=None)  # the first call loads the lexicon
@given(st.text())
def test_tokens_slice_back_and_leave_only_white_space_between(text: str) -> None:
    tokens = TextBlobTagger().analyse(text)
    assert [text[t.start : t.end] for t in tokens] == [t.text for t in tokens] == split_tokens(text)
    rest, at = "", 0
    for start, end in token_spans(text):
        assert start >= at
        rest, at = rest + text[at:start], end
    assert not (rest + text[at:]).strip()


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "the",
                "man",
                "men",
                "dog",
                "'s",
                "and",
                "red",
                "is",
                "riding",
                "on",
                "to",
                "very",
                ",",
                ".",
                "two",
                "t-shirt",
            ]
        )
    )
)
def test_a_chunk_never_continues_another_kind(drawn: list[str]) -> None:
    before = "O"
    for token in TextBlobTagger().analyse(" ".join(drawn)):
        assert token.tag
        if token.chunk.startswith("I-"):
            assert before[2:] == token.chunk[2:]
        before = token.chunk


def test_contractions_and_hyphens_stay_whole_and_possessives_come_apart() -> None:
    assert split_tokens(CAPTION) == [
        "Two",
        "men",
        "don't",
        "ride",
        "a",
        "man",
        "'s",
        "t-shirt",
        ",",
        "3.5",
        "feet",
        "(",
        "U.S.",
        ")",
        "...",
    ]


def test_tags_are_penn_treebanks() -> None:
    assert tags("Two red dogs sit.") == [
        ("Two", "CD"),
        ("red", "JJ"),
        ("dogs", "NNS"),
        ("sit", "VB"),
        (".", "."),
    ]
    found = " ".join(tag for _, tag in tags("a man's dogs' beds (it's)"))
    assert found == "DT NN POS NNS POS NNS -LRB- PRP VBZ -RRB-"


@pytest.mark.parametrize(
    ("caption", "word", "tag"),
    [
        ("A man is skiing down a slope", "skiing", "VBG"),
        ("A dog chases two cats", "chases", "VBZ"),
        ("A dog near street signs in a town", "signs", "NNS"),
        ("A stand in a park", "stand", "NN"),
        ("A cat on top of a table", "top", "NN"),
        ("a man in a t-shirt", "t-shirt", "NN"),
        ("two red-haired women in t-shirts.", "t-shirts", "NNS"),
        ("a two-story building", "two-story", "JJ"),
        ("A dog. Man sits", "Man", "NN"),
        ("A MAN AND A DOG", "MAN", "NN"),
    ],
)
def test_what_captions_suffer_from_is_mended(caption: str, word: str, tag: str) -> None:
    assert dict(tags(caption))[word] == tag


def test_noun_phrases_hold_possessives_and_end_at_conjunctions() -> None:
    assert phrases("a man's red hat and dogs and black cats near a black and white cat") == [
        "a man 's red hat",
        "dogs",
        "black cats",
        "a black and white cat",
    ]
    assert phrases("her old red and very white cat sits on large and small boats") == [
        "her old red and very white cat",
        "large and small boats",
    ]
    assert phrases("A man is riding a wave on a board", "VP") == ["is riding"]
    assert phrases("A man is riding a wave on a board", "PP") == ["on"]


def test_a_text_without_words_has_no_tokens() -> None:
    assert TextBlobTagger().analyse("  \n") == []


def test_a_tagger_says_who_it_is() -> None:
    assert TextBlobTagger().describe()["tagger"] == "textblob"
    assert TextBlobTagger().describe()["tagger_version"]


def test_a_tagger_that_a_file_names_and_nobody_has_is_named() -> None:
    assert isinstance(recorded_tagger("textblob", "t.arrow"), TextBlobTagger)
    with pytest.raises(
        ZooError, match=r"t\.arrow was made with the tagger 'stanza', .*--generator"
    ):
        recorded_tagger("stanza", "t.arrow")


class Given(Tagger):
    """Finds the tokens that it is given."""

    name = "given"
    version = "1"

    def __init__(self, found: Any) -> None:
        self.found = found

    def analyse(self, text: str) -> list[Token]:
        return self.found  # type: ignore[no-any-return]


A, DOG = Token("a", 0, 1, "DT", "B-NP"), Token("dog", 2, 5, "NN", "I-NP")


@pytest.mark.parametrize(
    "found",
    [
        None,
        (A, DOG),
        ["a", "dog"],
        [A],
        [DOG],
        [DOG, A],
        [A, A, DOG],
        [A, Token("Dog", 2, 5, "NN", "I-NP")],
        [A, Token("dog", 3, 6, "NN", "I-NP")],
        [A, Token("", 1, 1, "NN", "I-NP"), DOG],
    ],
)
def test_a_tagger_whose_tokens_do_not_spell_the_text_is_told_so(found: Any) -> None:
    assert Given([A, DOG]).checked_tokens("a dog") == [A, DOG]
    with pytest.raises(ZooError, match=r"^Given\.analyse\('a dog'\) returned .*a list of .*Token"):
        Given(found).checked_tokens("a dog")


def test_a_tagger_goes_to_another_process_and_finds_the_same() -> None:
    moved = pickle.loads(pickle.dumps(TextBlobTagger()))
    assert moved.checked_tokens(CAPTION) == TextBlobTagger().checked_tokens(CAPTION)


@pytest.fixture
def no_default_yet() -> Iterator[None]:
    default_tagger.cache_clear()
    yield
    default_tagger.cache_clear()


@pytest.mark.usefixtures("no_default_yet")
@pytest.mark.parametrize(
    "make",
    [
        NegCLIPSwap,
        AROShuffle,
        RuleExtractor,
        lambda: Chunks().describe(),
    ],
    ids=["NegCLIPSwap", "AROShuffle", "RuleExtractor", "Chunks"],
)
def test_whatever_takes_the_default_tagger_logs_once_which_one_it_is(
    make: Callable[[], object], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "zoo.language.taggers"):
        make()
        make()
    tagger = default_tagger()
    assert caplog.messages == [f"default tagger: {tagger.name} {tagger.version}"]


@pytest.mark.usefixtures("no_default_yet")
def test_without_spacy_the_default_is_textblob_and_spacy_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert default_tagger().name == "textblob"
    with pytest.raises(ZooError, match=r"spacy is not installed: pip install 'clip-zoo\[spacy\]'"):
        SpacyTagger()


def test_nothing_is_loaded_on_import() -> None:
    code = (
        "import sys, zoo.language.taggers, zoo.language.text; "
        "assert not {'torch', 'textblob', 'spacy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_spacy_doc_becomes_the_same_tokens() -> None:
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc

    doc = Doc(
        spacy.blank("en").vocab,
        words=["A", "man", "'s", "dog", "is", "quickly", "running", " ", "on", "grass", "."],
        spaces=[True, False, True, True, True, True, True, False, True, False, False],
        pos=["DET", "NOUN", "PART", "NOUN", "AUX", "ADV", "VERB", "SPACE", "ADP", "NOUN", "PUNCT"],
        tags=["DT", "NN", "POS", "NN", "VBZ", "RB", "VBG", "_SP", "IN", "NN", "."],
        heads=[1, 3, 1, 6, 6, 6, 6, 6, 6, 8, 6],
        deps=[
            "det",
            "poss",
            "case",
            "nsubj",
            "aux",
            "advmod",
            "ROOT",
            "dep",
            "prep",
            "pobj",
            "punct",
        ],
    )
    tokens = tokens_of(doc)
    text = doc.text
    assert [text[t.start : t.end] for t in tokens] == [t.text for t in tokens]
    assert tokens[0] == Token("A", 0, 1, "DT", "B-NP")
    assert [t.chunk for t in tokens] == [
        "B-NP",
        "I-NP",
        "I-NP",
        "I-NP",
        "O",
        "B-VP",
        "I-VP",
        "B-PP",
        "B-NP",
        "O",
    ]
