"""OtherCaption: another caption of the same image; COCO and Flickr have five per image."""

from collections.abc import Mapping, Sequence
from random import Random

from zoo.errors import ZooError
from zoo.language.text import equal_when_normalized
from zoo.positives.base import PositiveGenerator


class OtherCaption(PositiveGenerator):
    """Another caption of the same image, drawn at random from those with a different text."""

    name = "other_caption"

    def positive(self, caption: str, image_captions: Sequence[str], rng: Random) -> str | None:
        """Draws another caption of the image; see `PositiveGenerator.positive`."""
        different = [text for text in image_captions if not equal_when_normalized(text, caption)]
        return rng.choice(different) if different else None

    def check(
        self, captions: Sequence[str], captions_by_image: Mapping[str, Sequence[str]]
    ) -> None:
        """Checks that at least one image has two different captions.

        Args:
            captions: The training captions.
            captions_by_image: The captions of each image, by the id of the image.

        Raises:
            ZooError: No image has two different captions.
        """
        if not any(len(set(texts)) > 1 for texts in captions_by_image.values()):
            raise ZooError(
                "OtherCaption draws another caption of the same image, but no image has two: "
                "use a file of paraphrases with zoo.positives.Paraphrases"
            )
