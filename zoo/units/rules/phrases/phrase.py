"""Phrase: a group of words of a caption."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["noun", "verb", "preposition", "joiner", "relative", "stop", "break"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A group of words.

    Attributes:
        kind: What the group is.
        words: Its words in lower case, without determiners and auxiliaries.
        head: Where a noun phrase's head begins and ends in `words`.
        compound: Where the compound begins that the head ends ("nose ring"). Where there is none,
            it is the start of the head.
        owned: Whether it follows "his", "its" or another's name.
        pictured: Whether it is what a picture shows ("a picture of a dog").
        finite: Whether a verb group needs a subject before it ("runs", "is running"), or may
            qualify the noun before it ("running", "covered").
        passive: Whether a verb group is a past participle.
    """

    kind: Kind
    words: tuple[str, ...] = ()
    head: tuple[int, int] = (0, 0)
    compound: int = 0
    owned: bool = False
    pictured: bool = False
    finite: bool = False
    passive: bool = False

    @property
    def text(self) -> str:
        """The words in a row."""
        return " ".join(self.words)

    @property
    def head_text(self) -> str:
        """The words of the head."""
        return " ".join(self.words[slice(*self.head)])

    @property
    def compound_text(self) -> str:
        """The words of the compound, up to the end of the head."""
        return " ".join(self.words[self.compound : self.head[1]])

    def replace_words(self, start: int, end: int, by: str) -> str:
        """Returns the words in a row, with another in the place of those from start to end."""
        return " ".join([*self.words[:start], by, *self.words[end:]])
