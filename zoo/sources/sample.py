"""Samples: references to images, and captions paired with them, as a reader yields them."""

from dataclasses import dataclass

from zoo.language.text import same_words


@dataclass(frozen=True, order=True, slots=True)
class ImageRef:
    """An image by name.

    Attributes:
        source: Where the image is from: 'coco', 'visual_genome', 'flickr', 'file', 'published' (a
            benchmark's own images), 'parquet' or 'tar'.
        key: Name inside the source. For 'coco', 'visual_genome' and 'flickr' the numeric id as
            text, for 'file' and 'published' a path, absolute or under a data root, for 'parquet'
            'FILE#ROW#COLUMN', for 'tar' 'FILE#MEMBER', where the file may be a URL.
        crop: Left, top, width and height in pixels, before any resize; the whole image where None.
        size: Width and height of the image as published, in whose pixels the crop is. None where
            nobody tells; it then is that of the file.
    """

    source: str
    key: str
    crop: tuple[int, int, int, int] | None = None
    size: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.source}:{self.key}" + (
            f"@{','.join(map(str, self.crop))}" if self.crop else ""
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """One caption of one image.

    Attributes:
        image: The image.
        caption: The caption.
        image_id: Id that is equal for all captions of an image. Splits keep images whole by it.
        caption_id: Id that is unique in its source. Units are looked up by it.
        split: The source's own name for the split, or None.
        negatives: Sentence negatives that came with the source.
        companions: Positions of hard images in the source's list of samples.
        origin: 'FILE:LINE' or 'FILE[ENTRY]', for messages.
        companion_only: Whether the sample makes no row by itself, and comes along as another's
            companion at most.
    """

    image: ImageRef
    caption: str
    image_id: str
    caption_id: str
    split: str | None = None
    negatives: tuple[str, ...] = ()
    companions: tuple[int, ...] = ()
    origin: str = ""
    companion_only: bool = False


def usable_negatives(sample: Sample) -> list[str]:
    """Returns the negatives that came with the sample and differ from its caption.

    Case, spacing and punctuation marks make no difference.
    """
    return [text for text in sample.negatives if not same_words(text, sample.caption)]
