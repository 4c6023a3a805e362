"""Swaps that leave the meaning of a caption as it is, although its words change places."""

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.language.tagger import Tagger, Token
from zoo.language.text import differ_only_in_list_order
from zoo.units.rules import kinds
from zoo.units.rules.kinds import is_kind
from zoo.units.rules.lexicon import is_symmetric

_BE = frozenset({"is", "are", "was", "were"})
_ENDS = frozenset({".", ",", ";", "!", "and"})
_ACCOMPANIED = frozenset({"with", "without"})


def is_equivalent_swap(caption: str, swap: str, tagger: Tagger) -> bool:
    """Returns whether a caption with two exchanged parts says the same as the caption.

    That is so if the parts are members of one list ("a cat and a dog"), adjectives of one noun
    ("big white dog"), adverbs of one verb, or both arguments of a symmetric relation without
    further modifiers ("a man next to a woman"). Everything else is taken to differ, so that
    the result is a lower bound: paraphrases by attachment or by synonyms are not recognized.

    Args:
        caption: The caption.
        swap: The caption with two parts exchanged.
        tagger: The tagger for words, tags and phrases.
    """
    if differ_only_in_list_order(swap, caption):
        return True
    tokens = tagger.checked_tokens(caption)
    exchange = _find_exchange(_words(tokens), _words(tagger.checked_tokens(swap)))
    return exchange is not None and (
        _are_adjectives_of_one_noun(tokens, exchange)
        or _are_adverbs_of_one_verb(tokens, exchange)
        or _are_arguments_of_symmetric_relation(tokens, exchange)
    )


@dataclass(frozen=True)
class _Exchange:
    """Two parts of a text that are exchanged: tokens [start, a_end) and [b_start, end)."""

    start: int
    a_end: int
    b_start: int
    end: int


def _words(tokens: Sequence[Token]) -> list[str]:
    return [token.text.lower() for token in tokens]


def _find_exchange(words: list[str], swapped: list[str]) -> _Exchange | None:
    """Returns the two shortest parts whose exchange makes one text the other."""
    if len(words) != len(swapped) or words == swapped:
        return None
    differing = [i for i, pair in enumerate(zip(words, swapped, strict=True)) if len({*pair}) > 1]
    start, end = differing[0], differing[-1] + 1
    old, new = words[start:end], swapped[start:end]
    for total in range(2, len(old) + 1):
        for a in range(1, total):
            b = total - a
            if new == old[len(old) - b :] + old[a : len(old) - b] + old[:a]:
                return _Exchange(start, start + a, end - b, end)
    return None


def _are_adjectives_of_one_noun(tokens: Sequence[Token], exchange: _Exchange) -> bool:
    part = tokens[exchange.start : exchange.end]
    in_one_phrase = part[0].chunk.endswith("-NP") and all(t.chunk == "I-NP" for t in part[1:])
    return in_one_phrase and all(
        token.tag.startswith(("JJ", "CC", "RB")) or token.text == "," for token in part
    )


def _are_adverbs_of_one_verb(tokens: Sequence[Token], exchange: _Exchange) -> bool:
    first = tokens[exchange.start : exchange.a_end]
    between = tokens[exchange.a_end : exchange.b_start]
    second = tokens[exchange.b_start : exchange.end]
    n_verbs = sum(token.tag.startswith("VB") for token in between)
    return (
        all(token.tag.startswith("RB") for token in (*first, *second))
        and all(token.tag.startswith(("VB", "RB", "MD")) for token in between)
        and n_verbs <= 1
    )


def _are_arguments_of_symmetric_relation(tokens: Sequence[Token], exchange: _Exchange) -> bool:
    first, second = tokens[exchange.a_end - 1], tokens[exchange.end - 1]
    before = [token for token in tokens[: exchange.start] if token.tag != "DT"]
    between = list(tokens[exchange.a_end : exchange.b_start])
    while between and between[-1].tag == "DT":
        between.pop()
    after = tokens[exchange.end].text.lower() if exchange.end < len(tokens) else "."
    if not (first.tag.startswith("NN") and second.tag.startswith("NN")):
        return False
    if before or after not in _ENDS or any(token.chunk.endswith("-NP") for token in between):
        return False
    predicate = [token.text.lower() for token in between if token.text.lower() not in _BE]
    are_beings = [is_kind(head.text.lower(), kinds.BEINGS) for head in (first, second)]
    if any(token.tag.startswith("VB") for token in between) or _ACCOMPANIED & set(predicate):
        return all(are_beings) and is_symmetric(" ".join(predicate))
    return is_symmetric(" ".join(predicate))
