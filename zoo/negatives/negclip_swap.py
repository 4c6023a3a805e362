"""NegCLIP's swap of two similar phrases or words (Yuksekgonul et al., ICLR 2023)."""

import re
from collections.abc import Sequence
from random import Random

from zoo.language.tagger import Tagger, Token
from zoo.language.taggers import default_tagger
from zoo.language.text import differ_only_in_list_order, equal_when_normalized, replace_spans
from zoo.negatives.base import NegativeGenerator
from zoo.negatives.equivalent_swaps import is_equivalent_swap
from zoo.units.record import UnitRecord

Span = tuple[int, int]

MIN_PHRASE = 3


class NegCLIPSwap(NegativeGenerator):
    """The caption with two words or phrases of the same kind swapped, such as two nouns.

    There are six kinds: noun phrases of three or more words, verb phrases, singular nouns (NN),
    plural nouns (NNS), adverbs and adjectives. Each kind with two different members is equally
    likely, regardless of its number of pairs, as in the public code. If two drawn members are
    equal, that code skips the kind; here, another pair is drawn. Whitespace, case and articles are
    not adapted ("holding an man").

    Args:
        tagger: The tagger that finds words, part-of-speech tags and phrases. By default,
            `TextBlobTagger`.
        reorder_lists: Whether words joined by "and", "or" or a comma may be swapped. The published
            rule swaps them, although "a white and black dog" means the same as "a black and white
            dog".
        skip_equivalent: Whether to omit all swaps that keep the meaning: swaps of words joined by
            "and", "or" or a comma, of adjectives of one noun, of adverbs of one verb, and of the
            arguments of a symmetric relation ("a man next to a woman"). The published rule does not
            omit them.
    """

    name = "negclip_swap"

    def __init__(
        self,
        tagger: Tagger | None = None,
        reorder_lists: bool = True,
        skip_equivalent: bool = False,
    ) -> None:
        self.tagger, self.reorder_lists = tagger or default_tagger(), reorder_lists
        self.skip_equivalent = skip_equivalent

    def describe(self) -> dict[str, str]:
        """Returns the description of the generator, its tagger and any changed options."""
        options = {} if self.reorder_lists else {"reorder_lists": "false"}
        if self.skip_equivalent:
            options["skip_equivalent"] = "true"
        return super().describe() | options | self.tagger.describe()

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the caption with two words or phrases swapped, or None if it has no pair."""
        categories = [
            spans
            for spans in swappable_spans(self.tagger.checked_tokens(caption)).values()
            if len(spans) > 1
        ]
        for spans in rng.sample(categories, len(categories)):
            for span in rng.sample(spans, len(spans)):
                swaps = [
                    _swap_spans(caption, span, other_span)
                    for other_span in spans
                    if other_span != span
                ]
                negatives = [swap for swap in swaps if not self._is_equivalent(swap, caption)]
                if negatives:
                    return rng.choice(negatives)
        return None

    def _is_equivalent(self, swap: str, caption: str) -> bool:
        return (
            equal_when_normalized(swap, caption)
            or (not self.reorder_lists and differ_only_in_list_order(swap, caption))
            or (self.skip_equivalent and is_equivalent_swap(caption, swap, self.tagger))
        )


def swappable_spans(tokens: Sequence[Token]) -> dict[str, list[Span]]:
    """Returns the spans that may be swapped, by kind.

    A span is the position of its first character and the position after its last.
    """
    return {
        "noun_phrase": [
            (tokens[i].start, tokens[j - 1].end)
            for i, j in _noun_phrase_token_ranges(tokens)
            if j - i >= MIN_PHRASE
        ],
        "verb_phrase": [
            (tokens[i].start, tokens[j - 1].end) for i, j in _verb_phrase_token_ranges(tokens)
        ],
        "noun": _spans_with_tags(tokens, "NN"),
        "plural_noun": _spans_with_tags(tokens, "NNS"),
        "adverb": _spans_with_tags(tokens, "RB", "RBR", "RBS", "WRB"),
        "adjective": _spans_with_tags(tokens, "JJ", "JJR", "JJS"),
    }


def _spans_with_tags(tokens: Sequence[Token], *tags: str) -> list[Span]:
    return [(token.start, token.end) for token in tokens if token.tag in tags]


def _noun_phrase_token_ranges(tokens: Sequence[Token]) -> list[Span]:
    starts = [i for i, token in enumerate(tokens) if token.chunk == "B-NP"]
    ends = [
        next((j for j in range(i + 1, len(tokens)) if tokens[j].chunk != "I-NP"), len(tokens))
        for i in starts
    ]
    return list(zip(starts, ends, strict=True))


# the public code's pattern, VERB? ADV* AUX* VERB+, on one letter per token
_VERB_PHRASE = re.compile(r"v?a*x*v+")
_BE = frozenset({"is", "are", "was", "were", "be", "been", "being", "am", "'s", "’s"})


def _verb_phrase_token_ranges(tokens: Sequence[Token]) -> list[Span]:
    return [
        match.span()
        for match in _VERB_PHRASE.finditer("".join(map(_part_of_speech_letter, tokens)))
    ]


def _part_of_speech_letter(token: Token) -> str:
    if token.tag == "MD" or (token.tag.startswith("VB") and token.text.lower() in _BE):
        return "x"
    return "v" if token.tag.startswith("VB") else "a" if token.tag.startswith("RB") else "-"


def _text(caption: str, span: Span) -> str:
    return caption[span[0] : span[1]]


def _swap_spans(caption: str, a: Span, b: Span) -> str:
    return replace_spans(caption, [(*a, _text(caption, b)), (*b, _text(caption, a))])
