"""Captions that a tokenizer would cut, which backbones do without a word."""

from collections.abc import Sequence

from zoo.backbones.tokenizer import Tokenize


def overlong(captions: Sequence[str], tokenizer: Tokenize, chunk: int = 1024) -> list[int]:
    """Returns the positions of captions that do not fit the tokenizer's context.

    A caption that fills the context may fit exactly. Its two halves of words are tokenized apart,
    and their tokens add up.

    Args:
        captions: The captions.
        tokenizer: Gives ids, lengths and hashes of texts.
        chunk: How many captions are tokenized at once.
    """
    found = []
    for start in range(0, len(captions), chunk):
        part = list(captions[start : start + chunk])
        ids, lengths, _ = tokenizer(part)
        full = (lengths >= ids.shape[1]).nonzero().flatten().tolist()
        found += [start + i for i in full if _tokens(part[i], tokenizer) > ids.shape[1]]
    return found


def _tokens(text: str, tokenizer: Tokenize) -> int:
    words = text.split()
    middle = len(words) // 2
    _, lengths, _ = tokenizer(["", " ".join(words[:middle]), " ".join(words[middle:])])
    empty, first, second = lengths.tolist()
    return int(first + second - empty)
