"""Finds captions that a tokenizer would truncate, which backbones do silently."""

from collections.abc import Sequence

from zoo.backbones.tokenizer import Tokenize, Tokenizer


def find_truncated(captions: Sequence[str], tokenizer: Tokenize, chunk: int = 1024) -> list[int]:
    """Returns the positions of captions that are longer than the tokenizer's context.

    A caption that fills the context may fit exactly. Its two halves are tokenized separately, and
    their numbers of tokens are added.

    Args:
        captions: The captions.
        tokenizer: Returns ids, lengths and hashes of texts.
        chunk: How many captions are tokenized at once.
    """
    positions = []
    for start in range(0, len(captions), chunk):
        part = list(captions[start : start + chunk])
        if isinstance(tokenizer, Tokenizer):  # most captions are shorter, and need no tokens
            rows = [i for i, caption in enumerate(part) if not tokenizer.certainly_fits(caption)]
        else:
            rows = list(range(len(part)))
        ids, lengths, _ = tokenizer([part[i] for i in rows])
        full = (lengths >= ids.shape[1]).nonzero().flatten().tolist()
        positions += [
            start + rows[i] for i in full if _count_tokens(part[rows[i]], tokenizer) > ids.shape[1]
        ]
    return positions


def _count_tokens(text: str, tokenizer: Tokenize) -> int:
    words = text.split()
    middle = len(words) // 2
    _, lengths, _ = tokenizer(["", " ".join(words[:middle]), " ".join(words[middle:])])
    empty, first_half, second_half = lengths.tolist()
    return int(first_half + second_half - empty)
