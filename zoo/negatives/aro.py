"""ARO's four perturbations of word order (Yuksekgonul et al., ICLR 2023).

They make its benchmark, and negatives.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from random import Random

from zoo.errors import ZooError, suggest_names
from zoo.language.tagger import Tagger, Token
from zoo.language.taggers import default_tagger
from zoo.language.text import attach_marks, same_words
from zoo.negatives.base import NegativeGenerator
from zoo.units.record import UnitRecord


def shuffle_nouns_and_adj(tokens: Sequence[Token], rng: Random) -> list[str]:
    """Returns the words with nouns permuted among themselves, then adjectives among themselves."""
    nouns = [i for i, token in enumerate(tokens) if token.tag.startswith("NN")]
    adjectives = [i for i, token in enumerate(tokens) if token.tag.startswith("JJ")]
    return _permuted_within(tokens, (nouns, adjectives), rng)


def shuffle_allbut_nouns_and_adj(tokens: Sequence[Token], rng: Random) -> list[str]:
    """Returns the words with all but nouns and adjectives permuted among themselves.

    Marks take part.
    """
    return _permuted_within(
        tokens,
        ([i for i, token in enumerate(tokens) if not token.tag.startswith(("NN", "JJ"))],),
        rng,
    )


def shuffle_within_trigrams(tokens: Sequence[Token], rng: Random) -> list[str]:
    """Returns the words permuted inside each group of three that follow one another.

    The last group may be shorter.
    """
    return _permuted_within(tokens, _trigrams(tokens), rng)


def shuffle_trigrams(tokens: Sequence[Token], rng: Random) -> list[str]:
    """Returns the words with groups of three in another order, each group as it was."""
    groups = _trigrams(tokens)
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

    Words and marks are joined by spaces, as published. The published code takes spaCy's tokens for
    the first two perturbations and NLTK's for the others. Here the tagger's tokens serve all four.

    Args:
        text: The caption.
        rng: The source of random numbers.
        tagger: Finds tokens and their tags.
    """
    tokens = tagger.tokens(text)
    return [" ".join(perturbation(tokens, rng)) for perturbation in PERTURBATIONS.values()]


_CLEANED = re.compile(r"[.!\"()*#:;~\s]+")


def pre_caption(text: str, max_words: int = 30) -> str:
    """Returns the text as ARO cleans it.

    The text is in lower case, and the marks . ! " ( ) * # : ; ~ are spaces.

    Args:
        text: The caption.
        max_words: How many words are kept.
    """
    return " ".join(_CLEANED.sub(" ", text.lower()).split()[:max_words])


def _permuted_within(
    tokens: Sequence[Token], groups: Iterable[list[int]], rng: Random
) -> list[str]:
    words = [token.text for token in tokens]
    for group in groups:
        drawn = rng.sample(group, len(group))
        for place, source in zip(group, drawn, strict=True):
            words[place] = tokens[source].text
    return words


def _trigrams(tokens: Sequence[Token]) -> list[list[int]]:
    return [list(range(i, min(i + 3, len(tokens)))) for i in range(0, len(tokens), 3)]


DRAWS = 20


class AROShuffle(NegativeGenerator):
    """One of ARO's four perturbations, drawn at random.

    These are the sentence negatives of CS-CLIP's public code. They are also the perturbations of
    ARO's order benchmark: a model trained on them knows its test.

    A draw that leaves the caption's words as they were is repeated. A kind that cannot change them
    (one noun, fewer than four words) gives way to the next. Marks stand beside their words where
    the caption has them so. Set apart throughout, as published, they would give the negative away.

    Args:
        kinds: The perturbations to draw from: `shuffle_nouns_and_adj`,
            `shuffle_allbut_nouns_and_adj`, `shuffle_within_trigrams`, `shuffle_trigrams`.
        tagger: What finds words and tags. Where None, spaCy's where it and its English pipeline
            are installed, else TextBlob's.

    Raises:
        ZooError: There is no such kind.
    """

    name = "aro_shuffle"

    def __init__(
        self, kinds: Sequence[str] = tuple(PERTURBATIONS), tagger: Tagger | None = None
    ) -> None:
        if not kinds:
            raise ZooError(
                f"aro_shuffle was given no kinds: choose among {', '.join(PERTURBATIONS)}"
            )
        for kind in kinds:
            if kind not in PERTURBATIONS:
                raise ZooError(
                    f"there is no ARO perturbation {kind!r}{suggest_names(kind, PERTURBATIONS)}: "
                    "choose "
                    f"among {', '.join(PERTURBATIONS)}"
                )
        self.kinds, self.tagger = tuple(kinds), tagger or default_tagger()

    def describe(self) -> dict[str, str]:
        """Returns the generator and its tagger."""
        return super().describe() | self.tagger.describe()

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns a perturbed caption, or None where no kind changes it."""
        tokens = self.tagger.tokens(caption)
        set_apart = caption.split() == [token.text for token in tokens]
        for kind in rng.sample(self.kinds, len(self.kinds)):
            for _ in range(DRAWS):
                words = " ".join(PERTURBATIONS[kind](tokens, rng))
                negative = words if set_apart else attach_marks(words)
                if not same_words(negative, caption):
                    return negative
        return None
