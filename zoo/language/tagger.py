"""Tagger: splits a caption into words with tags and chunks."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from zoo.errors import ZooError
from zoo.support.configurable import Configurable


@dataclass(frozen=True, slots=True)
class Token:
    """A word or punctuation mark of a text.

    Attributes:
        text: The word or punctuation mark.
        start: The position of its first character.
        end: The position after its last character; `text[start:end]` of the caption is the token.
        tag: Its Penn Treebank tag.
        chunk: "B-NP" at the start of a noun phrase and "I-NP" inside it, likewise for VP, PP, ADJP
            and ADVP; "O" outside.
    """

    text: str
    start: int
    end: int
    tag: str
    chunk: str


class Tagger(Configurable, ABC):
    """Base of taggers.

    The output depends only on the text and the tagger's arguments. Data loading processes get a
    pickled copy, so large resources should be loaded on first use.

    Attributes:
        name: The tagger's name in results.
        version: The versions of the libraries and models that it uses, for results.
    """

    name: ClassVar[str]
    version: str

    @abstractmethod
    def analyse(self, text: str) -> list[Token]:
        """Returns the tokens in order; between them there is only whitespace."""

    def checked_tokens(self, text: str) -> list[Token]:
        """Returns the tokens of `analyse` after checking that they match the text.

        Raises:
            ZooError: The tokens do not match the text.
        """
        result = self.analyse(text)
        is_token_list = isinstance(result, list) and all(
            isinstance(token, Token) for token in result
        )
        if not is_token_list or not _tokens_match_text(result, text):
            raise ZooError(
                f"{type(self).__name__}.analyse({text!r}) returned {result!r:.200}: a tagger "
                "must return a list of zoo.language.Token whose positions match the text, with "
                "only whitespace between them"
            )
        return result

    def describe(self) -> dict[str, str]:
        """Returns the tagger and its version, for results."""
        return {"tagger": self.name, "tagger_version": self.version}


def _tokens_match_text(tokens: list[Token], text: str) -> bool:
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
