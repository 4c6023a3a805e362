"""Small text operations: comparison, replacement of spans, articles, punctuation."""

import re
from collections.abc import Iterable
from itertools import pairwise

_NO_WORD = re.compile(r"[\W_]+")


def equal_when_normalized(a: str, b: str) -> bool:
    """Returns whether two texts are equal apart from case, whitespace and punctuation."""
    return a == b or _letters_only(a) == _letters_only(b)


_SENTENCE_END = re.compile(r"\n|</s>|\.")


def split_sentences(text: str) -> list[str]:
    """Returns the sentences of a text, without their ends and without empty ones.

    A sentence ends at a line break, a full stop or "</s>", as in the public code of FLAIR
    (`split_caption` in `src/flair/data.py`): "2.50" is two sentences, and "?" ends none.
    """
    sentences = (sentence.strip() for sentence in _SENTENCE_END.split(text))
    return [sentence for sentence in sentences if sentence]


def _letters_only(text: str) -> str:
    return _NO_WORD.sub("", text.casefold())


_WORD_OR_MARK = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")
_JOINERS = frozenset({"and", "or", "&", ","})
_DETERMINERS = frozenset({"a", "an", "the", "his", "her", "its", "their", "some"})
_NUMBERS = frozenset(
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "another"]
)
_GOVERNORS = frozenset(
    [
        "in",
        "on",
        "at",
        "of",
        "with",
        "by",
        "to",
        "from",
        "for",
        "near",
        "behind",
        "beside",
        "above",
        "below",
        "under",
        "over",
        "between",
        "into",
        "onto",
    ]
)


def differ_only_in_list_order(a: str, b: str) -> bool:
    """Returns whether two texts differ only in the order of members joined by "and", "or", commas.

    "a black and white dog" and "a white and black dog" do. Words before the first member belong
    only to it if a later member has its own determiner or number: "a brown dog and a swan" is not
    "a brown swan and a dog". Words after the last member are assumed to belong to all members.
    """
    a_words, b_words = (_WORD_OR_MARK.findall(text.casefold()) for text in (a, b))
    shared: list[str] = []
    while a_words and b_words and a_words[0] == b_words[0]:
        shared.append(a_words[0])
        a_words, b_words = a_words[1:], b_words[1:]
    while a_words and b_words and a_words[-1] == b_words[-1]:
        a_words, b_words = a_words[:-1], b_words[:-1]
    if a_words == b_words:
        return False
    if _later_member_has_determiner(a_words):
        member_words = _modifiers_of_next_member(shared)
        a_words, b_words = member_words + a_words, member_words + b_words
    return _sorted_list_members(a_words) == _sorted_list_members(b_words)


def _later_member_has_determiner(words: list[str]) -> bool:
    """Returns whether a member after the first begins with a determiner or a number."""
    return any(
        joiner in _JOINERS and word in _DETERMINERS | _NUMBERS for joiner, word in pairwise(words)
    )


def _modifiers_of_next_member(common_prefix: list[str]) -> list[str]:
    """Returns the last words, which belong only to the next member, including its number."""
    start = len(common_prefix)
    while start and common_prefix[start - 1] not in _DETERMINERS | _JOINERS | _GOVERNORS:
        start -= 1
        if common_prefix[start] in _NUMBERS:
            break
    return common_prefix[start:]


def _sorted_list_members(words: list[str]) -> list[list[str]]:
    members: list[list[str]] = [[]]
    for word in words:
        if word in _JOINERS:
            members.append([])
        elif word not in _DETERMINERS:
            members[-1].append(word)
    return sorted(members)


def replace_spans(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Returns the text with spans replaced; the text between them is unchanged.

    Args:
        text: The text.
        edits: Start, end and new text of each span, in any order. Spans do not overlap.
    """
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


_BEFORE = re.compile(r"\s+(?=[.,!?;:%)\]]|['’][sS]\b|['’](?!\w))")
_AFTER = re.compile(r"(?<=[(\[$#])\s+")


def attach_punctuation(text: str) -> str:
    """Removes the spaces between words and punctuation of a tokenised text.

    "a man 's hat ." becomes "a man's hat.".
    """
    return _AFTER.sub("", _BEFORE.sub("", text))


_VOWEL_SOUND = re.compile(r"[aeiou]|hour|hono|honest|heir|[fhlmnrsx]-|8|1[18]\b")
_CONSONANT_SOUND = re.compile(r"uni(?!n|m)|us[aeu]|uten|eu|ew|one\b|one-|once|ukulele|u-")
_SPELT_OUT = re.compile(r"[A-Z](?:[A-Z]|\d|\.)*\b")


def choose_article(word: str) -> str:
    """Returns "a" or "an" by the sound of a word: an hour, a unicorn, an SUV.

    It uses rules and a few exceptions.
    """
    spelled_out = _SPELT_OUT.match(word)
    if spelled_out and len(spelled_out.group()) <= 4:
        return "an" if word[0] in "AEFHILMNORSX" else "a"
    lower = word.lower()
    return "an" if _VOWEL_SOUND.match(lower) and not _CONSONANT_SOUND.match(lower) else "a"


_ARTICLE_AT_END = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)


def correct_article(text: str, at: int) -> str:
    """Returns the text with the correct article (a or an) before a word; the case is kept.

    Args:
        text: The text.
        at: The start of the word. An article right before it is corrected; none is added.
    """

    def corrected_article(match: re.Match[str]) -> str:
        correct = choose_article(text[at:])
        return (
            correct.upper()
            if text.isupper()
            else correct.capitalize()
            if match[1][0].isupper()
            else correct
        ) + match[2]

    return _ARTICLE_AT_END.sub(corrected_article, text[:at]) + text[at:]


def match_case(new: str, old: str) -> str:
    """Returns `new` in the case of `old`: all capitals, an initial capital, or unchanged."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
