"""Packed captions: what a sample of a tar says of its captions where `zoo data pack` wrote it."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from zoo.errors import ZooError
from zoo.sources.sample import ImageRef, Sample

PACKED = b'"zoo_captions"'


class PackedCaption(Struct, frozen=True, omit_defaults=True):
    """A caption of an image.

    Attributes:
        number: Its place among all captions that were packed.
        caption: As of a `Sample`.
        image_id: As of a `Sample`.
        caption_id: As of a `Sample`.
        split: As of a `Sample`.
        negatives: As of a `Sample`.
        companions: Numbers of the captions that may come along.
        companion_only: As of a `Sample`.
    """

    number: int
    caption: str
    image_id: str
    caption_id: str
    split: str | None = None
    negatives: tuple[str, ...] = ()
    companions: tuple[int, ...] = ()
    companion_only: bool = False

    def sample(self, image: ImageRef, origin: str) -> Sample:
        """Returns the sample, without companions.

        Args:
            image: Its image.
            origin: Where it stands, for messages.
        """
        return Sample(
            image,
            self.caption,
            self.image_id,
            self.caption_id,
            self.split,
            self.negatives,
            origin=origin,
            companion_only=self.companion_only,
        )


class _Captions(Struct):
    zoo_captions: tuple[PackedCaption, ...]


def packed_captions(content: bytes, origin: str) -> tuple[PackedCaption, ...]:
    """Returns the captions of an image.

    Args:
        content: The image's .json.
        origin: Where it lies, for messages.

    Raises:
        ZooError: It is no such .json.
    """
    try:
        return msgspec.json.decode(content, type=_Captions).zoo_captions
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ZooError(
            f"{origin} is not as `zoo data pack` writes it ({error}): pack anew"
        ) from error


def samples_to_pack(
    samples: Sequence[Sample], kept: Sequence[int]
) -> Iterator[tuple[ImageRef, PackedCaption]]:
    """Yields each sample's image, and the caption to be packed.

    Args:
        samples: All samples of a source.
        kept: Positions of those that are packed.
    """
    for position in kept:
        one = samples[position]
        yield (
            one.image,
            PackedCaption(
                position,
                one.caption,
                one.image_id,
                one.caption_id,
                one.split,
                one.negatives,
                one.companions,
                one.companion_only,
            ),
        )
