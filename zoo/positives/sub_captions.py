"""SubCaptions: sentences of long captions, single or merged (FLAIR).

Xiao et al., FLAIR, CVPR 2025, arXiv:2412.03561; the scheme is that of `sample_dict` in
`src/flair/data.py` of its public code.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal

from zoo.errors import ZooError
from zoo.language.text import equal_when_normalized, split_sentences
from zoo.positives.base import PositiveGenerator
from zoo.support.ranges import ClosedUnitInterval, PositiveInt


class SubCaptions(PositiveGenerator):
    """A sentence from the image's captions, or several sentences joined by ". ".

    The number of sentences is drawn uniformly from 1 to `max_sentences`. Several sentences are
    either consecutive, or drawn from any positions in random order, without repetition. If there
    are fewer sentences than this number, consecutive sentences are all sentences, and random
    sentences may be repeated.

    Args:
        max_sentences: The maximum number of joined sentences.
        consecutive_share: The probability, from 0 to 1, that the joined sentences are consecutive.
        pool: Where sentences come from: all captions of the `image`, or only the `caption` itself.

    Examples:
        Three texts for an image with a caption of three sentences:

        >>> from random import Random
        >>> from zoo.positives import SubCaptions
        >>> caption = "A cat sleeps. It is grey. Rain falls."
        >>> sub_captions, rng = SubCaptions(), Random(0)
        >>> [sub_captions.positive(caption, [caption], rng) for _ in range(3)]
        ['It is grey. A cat sleeps', 'It is grey. Rain falls', 'It is grey. A cat sleeps']
    """

    name = "sub_captions"

    def __init__(
        self,
        max_sentences: PositiveInt = 3,
        consecutive_share: ClosedUnitInterval = 0.5,
        pool: Literal["image", "caption"] = "image",
    ) -> None:
        self.max_sentences, self.consecutive_share = max_sentences, consecutive_share
        self.pool: Literal["image", "caption"] = pool

    def positive(self, caption: str, image_captions: Sequence[str], rng: Random) -> str | None:
        """Draws sentences; see `PositiveGenerator.positive`.

        It returns None if there are no sentences, or if the result equals the caption.
        """
        captions = image_captions if self.pool == "image" else (caption,)
        sentences = [sentence for text in captions for sentence in split_sentences(text)]
        if not sentences:
            return None
        text = ". ".join(self._draw(sentences, rng))
        return None if equal_when_normalized(text, caption) else text

    def _draw(self, sentences: list[str], rng: Random) -> list[str]:
        n = rng.randint(1, self.max_sentences)
        if n == 1:
            return [rng.choice(sentences)]
        if rng.random() < self.consecutive_share:
            start = rng.randrange(max(len(sentences) - n, 0) + 1)
            return sentences[start : start + n]
        if len(sentences) < n:
            return rng.choices(sentences, k=n)
        return rng.sample(sentences, n)

    def check(
        self, captions: Sequence[str], captions_by_image: Mapping[str, Sequence[str]]
    ) -> None:
        """Checks that there is something to draw other than the caption itself.

        Args:
            captions: The training captions.
            captions_by_image: The captions of each image, by the id of the image.

        Raises:
            ZooError: No text can be made: every caption is a single sentence, and `pool` is
                `caption` or no image has two different captions.
        """
        if any(len(split_sentences(caption)) > 1 for caption in captions):
            return
        if self.pool == "image" and any(len(set(c)) > 1 for c in captions_by_image.values()):
            return
        raise ZooError(
            "SubCaptions draws sentences of captions, and every caption is one sentence: train on "
            "long captions, or leave it out"
        )
