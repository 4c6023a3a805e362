"""The taggers' contract.

Offsets slice back, tags and chunks are those of a treebank, and mistakes are named.
"""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.errors import ZooError
from zoo.language.tagger import Token, spans, tagger, tokens_of, words

VOCABULARY = "a the man men dog 's and red is riding on to very , . two t-shirt"
CAPTION = "Two men don't ride a man's t-shirt, 3.5 feet (U.S.)..."


def tags(text: str) -> list[tuple[str, str]]:
    return [(token.text, token.tag) for token in tagger("textblob").analyse(text)]


def phrases(text: str, kind: str = "NP") -> list[str]:
    found: list[list[str]] = []
    for token in tagger("textblob").analyse(text):
        if token.chunk == f"B-{kind}":
            found.append([token.text])
        elif token.chunk == f"I-{kind}":
            found[-1].append(token.text)
    return [" ".join(phrase) for phrase in found]


@settings(deadline=None)  # the first call loads the lexicon
@given(st.text())
def test_tokens_slice_back_and_leave_only_white_space_between(text: str) -> None:
    tokens = tagger("textblob").analyse(text)
    assert [text[t.start : t.end] for t in tokens] == [t.text for t in tokens] == words(text)
    rest, at = "", 0
    for start, end in spans(text):
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
    for token in tagger("textblob").analyse(" ".join(drawn)):
        assert token.tag
        if token.chunk.startswith("I-"):
            assert before[2:] == token.chunk[2:]
        before = token.chunk


def test_contractions_and_hyphens_stay_whole_and_possessives_come_apart() -> None:
    assert words(CAPTION) == [
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
    assert tagger("textblob").analyse("  \n") == []


def test_a_tagger_is_loaded_once_and_says_who_it_is() -> None:
    assert tagger("textblob") is tagger("textblob")
    assert tagger("textblob").describe()["tagger"] == "textblob"
    assert tagger("textblob").describe()["tagger_version"]


def test_an_unknown_tagger_is_named() -> None:
    with pytest.raises(ZooError, match=r"no tagger 'stanza': choose auto, textblob or spacy"):
        tagger("stanza")


def test_without_spacy_auto_is_textblob_and_spacy_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setattr("zoo.language.tagger.find_spec", lambda name: None)
    tagger.cache_clear()
    try:
        assert tagger("auto").name == "textblob"
        with pytest.raises(ZooError, match=r"spacy is not installed: pip install 'zoo\[text\]'"):
            tagger("spacy")
    finally:
        tagger.cache_clear()


def test_nothing_is_loaded_on_import() -> None:
    code = (
        "import sys, zoo.language.tagger, zoo.language.text; "
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
