"""Taggers: the words of a caption with their tags and chunks, by TextBlob or spaCy."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, ClassVar, Literal

from zoo.errors import ZooError, need

SPACY_MODEL = "en_core_web_sm"


@dataclass(frozen=True, slots=True)
class Token:
    """A word or mark of a text.

    Attributes:
        text: The word or mark.
        start: The position of its first character.
        end: The position after its last character; `text[start:end]` of the caption is the token.
        tag: Its Penn Treebank tag.
        chunk: "B-NP" where a noun phrase begins and "I-NP" inside it, likewise for VP, PP, ADJP and
            ADVP; "O" outside.
    """

    text: str
    start: int
    end: int
    tag: str
    chunk: str


class Tagger(ABC):
    """Base of taggers. What they find depends on the text alone.

    Attributes:
        name: The library, for results.
        version: Its version, for results.
    """

    name: ClassVar[str]
    version: str

    @abstractmethod
    def analyse(self, text: str) -> list[Token]:
        """Returns the tokens in order; between them there is only white space."""

    def describe(self) -> dict[str, str]:
        """Returns the tagger and its version, as results name them."""
        return {"tagger": self.name, "tagger_version": self.version}


# A possessive 's is a token of its own, so that "man" in "a man's hat" can change places with
# "dog". Other contractions and words with hyphens stay whole, since "do n't" or "t - shirt" would
# give a negative away.
_TOKEN = re.compile(
    r"\d+(?:[.,:/]\d+)+"
    r"|(?:[^\W\d_]\.){2,}"
    r"|\w+(?:-\w+|['’](?![sS]\b)\w+)*"
    r"|['’][sS]\b"
    r"|\.{2,}|-{2,}"
    r"|[^\w\s]"
)


def spans(text: str) -> list[tuple[int, int]]:
    """Returns start and end of every word and mark of the text."""
    return [match.span() for match in _TOKEN.finditer(text)]


def words(text: str) -> list[str]:
    """Returns the words and marks of the text."""
    return _TOKEN.findall(text)


_MARKS = {
    ".": ".",
    "!": ".",
    "?": ".",
    ",": ",",
    "(": "-LRB-",
    "[": "-LRB-",
    ")": "-RRB-",
    "]": "-RRB-",
    '"': "''",
    "$": "$",
    "#": "#",
}
_FORMS_OF_BE = frozenset({"is", "are", "was", "were", "be", "been", "being", "am"})
_DETERMINERS = frozenset({"a", "an", "the"})
_PHRASE_OPENERS = ("DT", "PRP$", "CD")


class TextBlobTagger(Tagger):
    """The Brill lexicon and chunk rules of TextBlob.

    It needs no download and tags tens of thousands of captions a second. TextBlob's own tokeniser
    is not used, since it keeps no offsets and breaks "man's" into three. Some tags that are wrong
    in captions are mended: "is skiing" and "dog chases the" were nouns, "a stand" was a verb, "top
    of" and any word with a hyphen were adjectives.
    """

    name = "textblob"

    def __init__(self) -> None:
        from textblob import _text, en

        self.version = version("textblob")
        self._tags = en.parser.find_tags
        self._chunks = _text.find_chunks
        self._lexicon = en.lexicon

    def analyse(self, text: str) -> list[Token]:
        """Returns the tokens of a text by TextBlob's lexicon and rules."""
        found = spans(text)
        if not found:
            return []
        tokens = [text[start:end] for start, end in found]
        tagged = self._tags(_for_lexicon(tokens, text.isupper()))
        self._mend(tagged)
        chunked = self._chunks(tagged, language="en")
        _mend_noun_phrases(chunked)
        return [
            Token(token, start, end, tag, chunk)
            for token, (start, end), (_, tag, chunk) in zip(tokens, found, chunked, strict=True)
        ]

    def _mend(self, tagged: list[list[str]]) -> None:
        before = ""
        for i, item in enumerate(tagged):
            word, tag = item
            if not word[0].isalnum():
                item[1] = _mark_tag(word, before)
            elif tag == "NN" and before in _FORMS_OF_BE and word.endswith("ing"):
                item[1] = "VBG"
            elif (
                tag == "NNS"
                and i > 0
                and tagged[i - 1][1] == "NN"
                and _follows(tagged, i, *_PHRASE_OPENERS)
            ):
                item[1] = "VBZ"
            elif (tag == "VB" and before in _DETERMINERS) or (
                word == "top" and tagged[i + 1 : i + 2] == [["of", "IN"]]
            ):
                item[1] = "NN"
            elif (
                tag == "JJ"
                and "-" in word
                and word not in self._lexicon
                and not _follows(tagged, i, "NN", "NNS", "NNP", "JJ")
            ):
                last = self._lexicon.get(word.rpartition("-")[2])
                item[1] = last if last in ("NN", "NNS") else tag
            before = word.lower()


def _for_lexicon(tokens: list[str], shouted: bool) -> list[str]:
    """Lowers capitals that begin a sentence, so that the lexicon takes them for no names."""
    if shouted:
        return [token.lower() for token in tokens]
    return [
        token.lower() if token.istitle() and (i == 0 or tokens[i - 1] in (".", "!", "?")) else token
        for i, token in enumerate(tokens)
    ]


def _mark_tag(mark: str, before: str) -> str:
    if mark[0] in "'’":
        if mark[1:]:
            return "VBZ" if before in ("it", "he", "she", "that", "there", "what", "who") else "POS"
        return "POS" if before.endswith("s") else "''"
    if mark.startswith(".."):
        return ":"
    return _MARKS.get(mark, "CC" if mark == "&" else ":" if mark[0] in "-:;–—" else "SYM")


def _mend_noun_phrases(chunked: list[list[str]]) -> None:
    """Joins and parts noun phrases as treebanks do.

    "a man's hat" and "a black and white cat" become one, "dogs and cats" two.
    """
    for i in range(1, len(chunked) - 1):
        before, here, after = chunked[i - 1], chunked[i], chunked[i + 1]
        if here[1] == "POS" and before[2][1:] == "-NP" and after[2] == "B-NP":
            here[2] = after[2] = "I-NP"
        elif here[1] == "CC" and here[2] == "I-NP" and before[1].startswith("NN"):
            here[2], after[2] = "O", "B-NP"
        elif (
            here[1] == "CC"
            and before[1].startswith("JJ")
            and after[2] == "B-NP"
            and after[1] in ("JJ", "RB")
        ):
            first = i - 1
            while (
                first > 0
                and chunked[first - 1][1] in ("JJ", "RB", *_PHRASE_OPENERS)
                and chunked[first][1] not in _PHRASE_OPENERS
            ):
                first -= 1
            for item in chunked[first : i + 2]:
                item[2] = "I-NP"
            chunked[first][2] = "B-NP"


def _follows(tagged: list[list[str]], i: int, *tags: str) -> bool:
    return i + 1 < len(tagged) and tagged[i + 1][1] in tags


class SpacyTagger(Tagger):
    """spaCy's tags, noun chunks and parts of speech, from an installed English pipeline.

    Args:
        model: The package or folder of the pipeline.

    Raises:
        ZooError: spaCy or the pipeline is not installed.
    """

    name = "spacy"

    def __init__(self, model: str = SPACY_MODEL) -> None:
        spacy: Any = need("spacy", "text")
        try:
            self.pipeline = spacy.load(model, exclude=["ner", "lemmatizer"])
        except OSError as error:
            raise ZooError(
                f"spaCy has no pipeline {model}: `python -m spacy download {model}` brings it, or "
                "use the tagger 'textblob'"
            ) from error
        self.version = f"{spacy.__version__} {model} {self.pipeline.meta['version']}"

    def analyse(self, text: str) -> list[Token]:
        """Returns the tokens of a text by spaCy's pipeline."""
        return tokens_of(self.pipeline(text))


def tokens_of(doc: Any) -> list[Token]:
    """Returns the tokens of a spaCy Doc.

    Verb phrases are VERB? ADV* AUX* VERB+ by part of speech. Prepositions that follow one another
    are one PP.
    """
    chunks = ["O"] * len(doc)
    pos = "".join(_POS_LETTER.get(token.pos_, "-") for token in doc)
    for kind, rule in (("VP", _VERB_PHRASE), ("PP", _PREPOSITIONS)):
        for match in rule.finditer(pos):
            _mark(chunks, match.start(), match.end(), kind)
    for noun_chunk in doc.noun_chunks:
        _mark(chunks, noun_chunk.start, noun_chunk.end, "NP")
    return [
        Token(token.text, token.idx, token.idx + len(token.text), token.tag_, chunk)
        for token, chunk in zip(doc, chunks, strict=True)
        if not token.is_space
    ]


_POS_LETTER = {"VERB": "v", "AUX": "x", "ADV": "a", "ADP": "p"}
_VERB_PHRASE = re.compile(r"v?a*x*v+")
_PREPOSITIONS = re.compile(r"p+")


def _mark(chunks: list[str], start: int, end: int, kind: str) -> None:
    chunks[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)


TaggerName = Literal["auto", "textblob", "spacy"]


@cache
def tagger(name: TaggerName | str = "auto") -> Tagger:
    """Returns the tagger of a name, loaded once a process.

    Args:
        name: `spacy`, `textblob`, or `auto`, which is spaCy where it and its English pipeline are
            installed, else TextBlob.

    Raises:
        ZooError: There is no tagger of that name.
    """
    if name == "auto":
        name = "spacy" if find_spec("spacy") and find_spec(SPACY_MODEL) else "textblob"
    if name == "spacy":
        return SpacyTagger()
    if name == "textblob":
        return TextBlobTagger()
    raise ZooError(f"there is no tagger {name!r}: choose auto, textblob or spacy")
