"""TextBlobTagger: tags and chunks by TextBlob, without a download."""

from collections.abc import Mapping
from importlib.metadata import version

from zoo.language.tagger import Tagger, Token
from zoo.language.tokens import spans

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
        self.version = version("textblob")

    def analyse(self, text: str) -> list[Token]:
        """Returns the tokens of a text by TextBlob's lexicon and rules."""
        from textblob import _text, en

        found = spans(text)
        if not found:
            return []
        tokens = [text[start:end] for start, end in found]
        tagged = en.parser.find_tags(_for_lexicon(tokens, text.isupper()))
        _mend_tags(tagged, en.lexicon)
        chunked = _text.find_chunks(tagged, language="en")
        _mend_noun_phrases(chunked)
        return [
            Token(token, start, end, tag, chunk)
            for token, (start, end), (_, tag, chunk) in zip(tokens, found, chunked, strict=True)
        ]


def _for_lexicon(tokens: list[str], shouted: bool) -> list[str]:
    """Lowers capitals that begin a sentence, so that the lexicon takes them for no names."""
    if shouted:
        return [token.lower() for token in tokens]
    return [
        token.lower() if token.istitle() and (i == 0 or tokens[i - 1] in (".", "!", "?")) else token
        for i, token in enumerate(tokens)
    ]


def _mend_tags(tagged: list[list[str]], lexicon: Mapping[str, str]) -> None:
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
            and word not in lexicon
            and not _follows(tagged, i, "NN", "NNS", "NNP", "JJ")
        ):
            last = lexicon.get(word.rpartition("-")[2])
            item[1] = last if last in ("NN", "NNS") else tag
        before = word.lower()


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
