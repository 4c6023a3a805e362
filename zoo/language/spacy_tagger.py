"""SpacyTagger: tags and chunks from a spaCy pipeline."""

import re
from functools import cache
from typing import Any

from zoo.errors import ZooError, import_optional
from zoo.language.tagger import Tagger, Token

SPACY_MODEL = "en_core_web_sm"


class SpacyTagger(Tagger):
    """Tags and noun phrases from an installed English pipeline of spaCy.

    Args:
        model: The name of the pipeline's package, or its folder.

    Raises:
        ZooError: spaCy or the pipeline is not installed.
    """

    name = "spacy"

    def __init__(self, model: str = SPACY_MODEL) -> None:
        self.model = model
        self.version = f"{_spacy().__version__} {model} {_pipeline(model).meta['version']}"

    def analyse(self, text: str) -> list[Token]:
        """Returns the tokens of a text from spaCy's pipeline."""
        return tokens_of(_pipeline(self.model)(text))


def _spacy() -> Any:
    return import_optional("spacy", "spacy")


@cache
def _pipeline(model: str) -> Any:
    """Returns a pipeline, which is loaded once per process."""
    try:
        return _spacy().load(model, exclude=["ner", "lemmatizer"])
    except OSError as error:
        raise ZooError(
            f"the spaCy pipeline {model} is not installed: run `python -m spacy download {model}`, "
            "or use TextBlobTagger"
        ) from error


def tokens_of(doc: Any) -> list[Token]:
    """Returns the tokens of a spaCy Doc.

    Verb phrases are VERB? ADV* AUX* VERB+ by part of speech. Prepositions that follow one another
    are one PP.
    """
    chunks = ["O"] * len(doc)
    pos = "".join(_POS_LETTER.get(token.pos_, "-") for token in doc)
    for kind, rule in (("VP", _VERB_PHRASE), ("PP", _PREPOSITIONS)):
        for match in rule.finditer(pos):
            _set_chunk(chunks, match.start(), match.end(), kind)
    for noun_chunk in doc.noun_chunks:
        _set_chunk(chunks, noun_chunk.start, noun_chunk.end, "NP")
    return [
        Token(token.text, token.idx, token.idx + len(token.text), token.tag_, chunk)
        for token, chunk in zip(doc, chunks, strict=True)
        if not token.is_space
    ]


_POS_LETTER = {"VERB": "v", "AUX": "x", "ADV": "a", "ADP": "p"}
_VERB_PHRASE = re.compile(r"v?a*x*v+")
_PREPOSITIONS = re.compile(r"p+")


def _set_chunk(chunks: list[str], start: int, end: int, kind: str) -> None:
    chunks[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
