"""The captions of an image in a tar written by `zoo data pack`."""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from zoo.errors import ZooError
from zoo.sources.sample import ImageRef, Sample

PACKED = b'"zoo_captions"'


class PackedCaption(Struct, frozen=True, omit_defaults=True):
    """A caption of a packed image.

    Attributes:
        number: Its position among all captions of the source.
        caption: As in `Sample`.
        image_id: As in `Sample`.
        caption_id: As in `Sample`.
        split: As in `Sample`.
        negatives: As in `Sample`.
        companions: Numbers of the companion captions.
        companion_only: As in `Sample`.
    """

    number: int
    caption: str
    image_id: str
    caption_id: str
    split: str | None = None
    negatives: tuple[str, ...] = ()
    companions: tuple[int, ...] = ()
    companion_only: bool = False

    def to_sample(self, image: ImageRef, origin: str) -> Sample:
        """Returns the sample, without companions.

        Args:
            image: Its image.
            origin: Where it was read, for error messages.
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


def parse_packed_captions(content: bytes, origin: str) -> tuple[PackedCaption, ...]:
    """Parses the captions of an image.

    Args:
        content: The content of the image's .json.
        origin: Where it was read, for error messages.

    Raises:
        ZooError: The content was not written by `zoo data pack`.
    """
    try:
        return msgspec.json.decode(content, type=_Captions).zoo_captions
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ZooError(
            f"{origin} was not written by this version of `zoo data pack` ({error}): pack again"
        ) from error


def build_packed_captions(
    samples: Sequence[Sample], positions: Sequence[int]
) -> Iterator[tuple[ImageRef, PackedCaption]]:
    """Yields the image and the packed caption of each selected sample.

    Args:
        samples: All samples of a source.
        positions: Positions of the samples to pack.
    """
    for position in positions:
        sample = samples[position]
        yield (
            sample.image,
            PackedCaption(
                position,
                sample.caption,
                sample.image_id,
                sample.caption_id,
                sample.split,
                sample.negatives,
                sample.companions,
                sample.companion_only,
            ),
        )
