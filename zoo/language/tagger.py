"""Tagger: the words of a caption with their tags and chunks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from zoo.errors import ZooError
from zoo.support.spec import Configurable


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


class Tagger(Configurable, ABC):
    """Base of taggers.

    What a tagger finds depends on the text and the tagger's arguments alone. Processes that load
    captions get a copy by pickle, so that what is large is loaded at first use.

    Attributes:
        name: What results call the tagger.
        version: The versions of what it tags with, for results.
    """

    name: ClassVar[str]
    version: str

    @abstractmethod
    def analyse(self, text: str) -> list[Token]:
        """Returns the tokens in order; between them there is only white space."""

    def tokens(self, text: str) -> list[Token]:
        """Returns what `analyse` finds, once it is known to be the tokens of the text.

        Raises:
            ZooError: The tokens do not spell the text.
        """
        found = self.analyse(text)
        listed = isinstance(found, list) and all(isinstance(token, Token) for token in found)
        if not listed or not _spell(found, text):
            raise ZooError(
                f"{type(self).__name__}.analyse({text!r}) returned {found!r:.200}: a tagger "
                "returns a list of zoo.language.Token that spells the text, each with its place "
                "and only white space between them"
            )
        return found

    def describe(self) -> dict[str, str]:
        """Returns the tagger and its version, as results name them."""
        return {"tagger": self.name, "tagger_version": self.version}


def _spell(tokens: list[Token], text: str) -> bool:
    at = 0
    for token in tokens:
        if (
            not at <= token.start < token.end
            or text[token.start : token.end] != token.text
            or text[at : token.start].strip()
        ):
            return False
        at = token.end
    return not text[at:].strip()
