"""TextBlobTagger: tags and chunks from TextBlob, without a download."""

import re
from collections.abc import Mapping
from importlib.metadata import version

from zoo.language.tagger import Tagger, Token

# A possessive 's is a separate token, so that "man" in "a man's hat" can be swapped with "dog".
# Other contractions and hyphenated words are not split, since "do n't" or "t - shirt" would make a
# negative recognisable.
_TOKEN = re.compile(
    r"\d+(?:[.,:/]\d+)+"
    r"|(?:[^\W\d_]\.){2,}"
    r"|\w+(?:-\w+|['’](?![sS]\b)\w+)*"
    r"|['’][sS]\b"
    r"|\.{2,}|-{2,}"
    r"|[^\w\s]"
)
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
    """Tags and noun phrases from TextBlob's lexicon and rules, without a download.

    It tags tens of thousands of captions per second. TextBlob's tokeniser is not used, since it
    returns no offsets and splits "man's" into three tokens. Some wrong tags are corrected: "is
    skiing" and "dog chases the" were nouns, "a stand" was a verb, "top of" and any word with a
    hyphen were adjectives.
    """

    name = "textblob"

    def __init__(self) -> None:
        self.version = version("textblob")

    def analyse(self, text: str) -> list[Token]:
        """Returns the tokens of a text from TextBlob's lexicon and rules."""
        from textblob import en

        positions = token_spans(text)
        if not positions:
            return []
        tokens = [text[start:end] for start, end in positions]
        tagged = en.parser.find_tags(_lowercase_sentence_starts(tokens, text.isupper()))
        _correct_tags(tagged, en.lexicon)
        chunked = [item[:3] for item in en.parser.find_chunks(tagged)]  # without prepositions
        _correct_noun_phrases(chunked)
        return [
            Token(token, start, end, tag, chunk)
            for token, (start, end), (_, tag, chunk) in zip(tokens, positions, chunked, strict=True)
        ]


def token_spans(text: str) -> list[tuple[int, int]]:
    """Returns the start and end of every word and punctuation mark."""
    return [match.span() for match in _TOKEN.finditer(text)]


def _lowercase_sentence_starts(tokens: list[str], is_all_caps: bool) -> list[str]:
    """Lower-cases words at the start of a sentence, which the lexicon would take for names."""
    if is_all_caps:
        return [token.lower() for token in tokens]
    return [
        token.lower() if token.istitle() and (i == 0 or tokens[i - 1] in (".", "!", "?")) else token
        for i, token in enumerate(tokens)
    ]


def _correct_tags(tagged: list[list[str]], lexicon: Mapping[str, str]) -> None:
    previous_word = ""
    for i, item in enumerate(tagged):
        word, tag = item
        if not word[0].isalnum():
            item[1] = _punctuation_tag(word, previous_word)
        elif tag == "NN" and previous_word in _FORMS_OF_BE and word.endswith("ing"):
            item[1] = "VBG"
        elif (
            tag == "NNS"
            and i > 0
            and tagged[i - 1][1] == "NN"
            and _is_followed_by(tagged, i, *_PHRASE_OPENERS)
        ):
            item[1] = "VBZ"
        elif (tag == "VB" and previous_word in _DETERMINERS) or (
            word == "top" and tagged[i + 1 : i + 2] == [["of", "IN"]]
        ):
            item[1] = "NN"
        elif (
            tag == "JJ"
            and "-" in word
            and word not in lexicon
            and not _is_followed_by(tagged, i, "NN", "NNS", "NNP", "JJ")
        ):
            last_tag = lexicon.get(word.rpartition("-")[2])
            item[1] = last_tag if last_tag in ("NN", "NNS") else tag
        previous_word = word.lower()


def _punctuation_tag(mark: str, previous_word: str) -> str:
    if mark[0] in "'’":
        if mark[1:]:
            return (
                "VBZ"
                if previous_word in ("it", "he", "she", "that", "there", "what", "who")
                else "POS"
            )
        return "POS" if previous_word.endswith("s") else "''"
    if mark.startswith(".."):
        return ":"
    return _MARKS.get(mark, "CC" if mark == "&" else ":" if mark[0] in "-:;–—" else "SYM")


def _correct_noun_phrases(chunked: list[list[str]]) -> None:
    """Joins and splits noun phrases as in treebanks.

    "a man's hat" and "a black and white cat" become one phrase, "dogs and cats" two.
    """
    for i in range(1, len(chunked) - 1):
        previous, current, following = chunked[i - 1], chunked[i], chunked[i + 1]
        if current[1] == "POS" and previous[2][1:] == "-NP" and following[2] == "B-NP":
            current[2] = following[2] = "I-NP"
        elif current[1] == "CC" and current[2] == "I-NP" and previous[1].startswith("NN"):
            current[2], following[2] = "O", "B-NP"
        elif (
            current[1] == "CC"
            and previous[1].startswith("JJ")
            and following[2] == "B-NP"
            and following[1] in ("JJ", "RB")
        ):
            start = i - 1
            while (
                start > 0
                and chunked[start - 1][1] in ("JJ", "RB", *_PHRASE_OPENERS)
                and chunked[start][1] not in _PHRASE_OPENERS
            ):
                start -= 1
            for item in chunked[start : i + 2]:
                item[2] = "I-NP"
            chunked[start][2] = "B-NP"


def _is_followed_by(tagged: list[list[str]], i: int, *tags: str) -> bool:
    return i + 1 < len(tagged) and tagged[i + 1][1] in tags
