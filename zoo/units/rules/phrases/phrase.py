"""Phrase: a group of words of a caption."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["noun", "verb", "preposition", "joiner", "relative", "reciprocal", "stop", "break"]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A group of words.

    Attributes:
        kind: The kind of group.
        words: Its words in lower case, without determiners and auxiliaries.
        head: The start and end of a noun phrase's head in `words`.
        compound: The start of the compound that ends with the head ("nose ring"). Without a
            compound, it is the start of the head.
        owned: Whether it follows "his", "its" or another's name.
        owner: Its possessive pronoun, if it has one ("his").
        indefinite: Whether it begins with "a", "an", "another" or "one".
        pictured: Whether it is the content of a picture ("a picture of a dog").
        finite: Whether a verb group needs a subject ("runs", "is running"), instead of qualifying
            the noun before it ("running", "covered").
        passive: Whether a verb group is a past participle.
    """

    kind: Kind
    words: tuple[str, ...] = ()
    head: tuple[int, int] = (0, 0)
    compound: int = 0
    owned: bool = False
    owner: str = ""
    indefinite: bool = False
    pictured: bool = False
    finite: bool = False
    passive: bool = False

    @property
    def text(self) -> str:
        """The words joined by spaces."""
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
        """Returns the text with the words from start to end replaced."""
        return " ".join([*self.words[:start], by, *self.words[end:]])
