"""ARO's four perturbations of word order (Yuksekgonul et al., ICLR 2023).

They are used for its benchmark and for negatives.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from random import Random

from zoo.errors import ZooError, suggest_names
from zoo.language.tagger import Tagger, Token
from zoo.language.taggers import default_tagger
from zoo.language.text import attach_punctuation, equal_when_normalized
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import UnitRecord


def shuffle_nouns_and_adj(tokens: Sequence[Token], rng: Random) -> list[str]:
    """Returns the words with nouns permuted among themselves, then adjectives among themselves."""
    nouns = [i for i, token in enumerate(tokens) if token.tag.startswith("NN")]
    adjectives = [i for i, token in enumerate(tokens) if token.tag.startswith("JJ")]
    return _permute_within(tokens, (nouns, adjectives), rng)


def shuffle_allbut_nouns_and_adj(tokens: Sequence[Token], rng: Random) -> list[str]:
    """Returns the words with all but nouns and adjectives permuted among themselves.

    Punctuation marks are included.
    """
    return _permute_within(
        tokens,
        ([i for i, token in enumerate(tokens) if not token.tag.startswith(("NN", "JJ"))],),
        rng,
    )


def shuffle_within_trigrams(tokens: Sequence[Token], rng: Random) -> list[str]:
    """Returns the words permuted inside each group of three consecutive words.

    The last group may be shorter.
    """
    return _permute_within(tokens, _split_into_triples(tokens), rng)


def shuffle_trigrams(tokens: Sequence[Token], rng: Random) -> list[str]:
    """Returns the words with groups of three in another order, each group unchanged."""
    groups = _split_into_triples(tokens)
    rng.shuffle(groups)
    return [tokens[i].text for group in groups for i in group]


Perturbation = Callable[[Sequence[Token], Random], list[str]]

PERTURBATIONS: dict[str, Perturbation] = {
    f.__name__: f
    for f in (
        shuffle_nouns_and_adj,
        shuffle_allbut_nouns_and_adj,
        shuffle_within_trigrams,
        shuffle_trigrams,
    )
}


def perturbations(text: str, rng: Random, tagger: Tagger) -> list[str]:
    """Returns the four perturbations in ARO's order, some of which may equal the text.

    Words and punctuation marks are joined by spaces, as published. The published code uses spaCy's
    tokens for the first two perturbations and NLTK's for the others. Here the tagger's tokens are
    used for all four.

    Args:
        text: The caption.
        rng: The source of random numbers.
        tagger: The tagger for tokens and tags.
    """
    tokens = tagger.checked_tokens(text)
    return [" ".join(perturbation(tokens, rng)) for perturbation in PERTURBATIONS.values()]


_REMOVED_MARKS = re.compile(r"[.!\"()*#:;~\s]+")


def pre_caption(text: str, max_words: int = 30) -> str:
    """Returns the text as cleaned by ARO.

    The text is lower-cased, and the marks . ! " ( ) * # : ; ~ become spaces.

    Args:
        text: The caption.
        max_words: The maximum number of words.
    """
    return " ".join(_REMOVED_MARKS.sub(" ", text.lower()).split()[:max_words])


def _permute_within(tokens: Sequence[Token], groups: Iterable[list[int]], rng: Random) -> list[str]:
    words = [token.text for token in tokens]
    for group in groups:
        permuted = rng.sample(group, len(group))
        for place, source in zip(group, permuted, strict=True):
            words[place] = tokens[source].text
    return words


def _split_into_triples(tokens: Sequence[Token]) -> list[list[int]]:
    return [list(range(i, min(i + 3, len(tokens)))) for i in range(0, len(tokens), 3)]


DRAWS = 20


class AROShuffle(NegativeGenerator):
    """The caption with its words shuffled by one of the four rules of the ARO benchmark.

    These are the sentence negatives of CS-CLIP's public code. A model trained on them has seen the
    kind of change that ARO's order tests contain.

    A draw that leaves the caption unchanged is repeated. If a rule cannot change it (one noun,
    fewer than four words), another rule is used. Punctuation stays attached to words, as in the
    caption. As published, it is separated by spaces, which would make negatives recognisable.

    Args:
        kinds: The rules. For each caption, one of them is drawn. By default, all four.
        tagger: The tagger that finds words and part-of-speech tags. By default, `TextBlobTagger`.

    Raises:
        ZooError: A kind does not exist.
    """

    name = "aro_shuffle"

    def __init__(
        self, kinds: Sequence[str] = tuple(PERTURBATIONS), tagger: Tagger | None = None
    ) -> None:
        if not kinds:
            raise ZooError(f"aro_shuffle has no kinds: choose among {', '.join(PERTURBATIONS)}")
        for kind in kinds:
            if kind not in PERTURBATIONS:
                raise ZooError(
                    f"there is no ARO perturbation {kind!r}{suggest_names(kind, PERTURBATIONS)}: "
                    f"choose among {', '.join(PERTURBATIONS)}"
                )
        self.kinds, self.tagger = tuple(kinds), tagger or default_tagger()

    def describe(self) -> dict[str, str]:
        """Returns the description of the generator and its tagger."""
        return super().describe() | self.tagger.describe()

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the caption with shuffled words, or None if no rule changes it."""
        tokens = self.tagger.checked_tokens(caption)
        set_apart = caption.split() == [token.text for token in tokens]
        for kind in rng.sample(self.kinds, len(self.kinds)):
            for _ in range(DRAWS):
                words = " ".join(PERTURBATIONS[kind](tokens, rng))
                negative = words if set_apart else attach_punctuation(words)
                if not equal_when_normalized(negative, caption):
                    return negative
        return None
