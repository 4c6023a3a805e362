"""The words and punctuation marks of a text, for tests of what changes texts."""

from zoo.language.textblob_tagger import token_spans


def split_tokens(text: str) -> list[str]:
    return [text[start:end] for start, end in token_spans(text)]
