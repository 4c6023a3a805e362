"""Small edits of a sentence: comparing, replacing spans, articles, and marks beside their words."""

import re
from collections.abc import Iterable
from itertools import pairwise

_NO_WORD = re.compile(r"[\W_]+")


def same_words(a: str, b: str) -> bool:
    """Returns whether two texts are the same but for case, spacing and marks."""
    return a == b or _bare(a) == _bare(b)


def _bare(text: str) -> str:
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


def only_reordered(a: str, b: str) -> bool:
    """Returns whether two texts differ only in the order of what "and", "or" or commas join.

    "a black and white dog" and "a white and black dog" do. What stands before the first member
    belongs to it alone where a later member has a determiner or number of its own: "a brown dog and
    a swan" is not "a brown swan and a dog". What follows the last member is taken to belong to all,
    since words alone do not tell.
    """
    before, after = (_WORD_OR_MARK.findall(text.casefold()) for text in (a, b))
    shared: list[str] = []
    while before and after and before[0] == after[0]:
        shared.append(before[0])
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    if before == after:
        return False
    if _determined_later(before):
        own = _own_words(shared)
        before, after = own + before, own + after
    return _members(before) == _members(after)


def _determined_later(words: list[str]) -> bool:
    """Returns whether a member after the first begins with a determiner or a number."""
    return any(
        joiner in _JOINERS and word in _DETERMINERS | _NUMBERS for joiner, word in pairwise(words)
    )


def _own_words(shared: list[str]) -> list[str]:
    """Returns the words at the end that belong to the next member alone, its number included."""
    start = len(shared)
    while start and shared[start - 1] not in _DETERMINERS | _JOINERS | _GOVERNORS:
        start -= 1
        if shared[start] in _NUMBERS:
            break
    return shared[start:]


def _members(words: list[str]) -> list[list[str]]:
    members: list[list[str]] = [[]]
    for word in words:
        if word in _JOINERS:
            members.append([])
        elif word not in _DETERMINERS:
            members[-1].append(word)
    return sorted(members)


def replace_spans(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Returns the text with spans replaced. All between them stays as it is, spacing included.

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


def attach_marks(text: str) -> str:
    """Returns words and marks without the spaces that one does not write.

    "a man 's hat ." becomes "a man's hat.".
    """
    return _AFTER.sub("", _BEFORE.sub("", text))


_VOWEL_SOUND = re.compile(r"[aeiou]|hour|hono|honest|heir|[fhlmnrsx]-|8|1[18]\b")
_CONSONANT_SOUND = re.compile(r"uni(?!n|m)|us[aeu]|uten|eu|ew|one\b|one-|once|ukulele|u-")
_SPELT_OUT = re.compile(r"[A-Z](?:[A-Z]|\d|\.)*\b")


def article(word: str) -> str:
    """Returns "a" or "an" by the sound of a word: an hour, a unicorn, an SUV.

    It follows rules and a few exceptions.
    """
    spelt = _SPELT_OUT.match(word)
    if spelt and len(spelt.group()) <= 4:
        return "an" if word[0] in "AEFHILMNORSX" else "a"
    lower = word.lower()
    return "an" if _VOWEL_SOUND.match(lower) and not _CONSONANT_SOUND.match(lower) else "a"


_ARTICLE_AT_END = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)


def correct_article(text: str, at: int) -> str:
    """Returns the text with the article that a word needs, its case kept.

    Args:
        text: The text.
        at: Where the word starts. An article right before it is changed, none is added.
    """

    def corrected_article(found: re.Match[str]) -> str:
        right = article(text[at:])
        return (
            right.upper()
            if text.isupper()
            else right.capitalize()
            if found[1][0].isupper()
            else right
        ) + found[2]

    return _ARTICLE_AT_END.sub(corrected_article, text[:at]) + text[at:]


def cased_like(new: str, old: str) -> str:
    """Returns `new` in capitals where `old` is, with a capital where `old` starts with one."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new
