"""ImageRef and Sample: a reference to an image, and a caption of an image."""

from dataclasses import dataclass

from zoo.language.text import equal_when_normalized


@dataclass(frozen=True, order=True, slots=True)
class ImageRef:
    """A reference to an image.

    Attributes:
        source: Where the image is from: 'coco', 'visual_genome', 'flickr', 'file', 'published' (a
            benchmark's own images), 'parquet', 'tar' or 'video'.
        key: Key of the image in the source. For 'coco', 'visual_genome' and 'flickr' the numeric id
            as text, for 'file' and 'published' a path, absolute or under a data root, for 'parquet'
            'FILE#ROW#COLUMN', for 'tar' 'FILE#MEMBER', where the file may be a URL, for 'video'
            'FILE#K/N', the K-th of N frames that are spread evenly over the video.
        crop: Left, top, width and height in pixels, before any resize; None for the whole image.
        size: Width and height of the published image, to which the crop refers. If None, the size
            of the file is used.
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
        image_id: Id shared by all captions of an image, so that splits do not separate them.
        caption_id: Id that is unique in its source. Units are looked up by it.
        split: The name of the split in the source, or None.
        negatives: Negative captions from the source.
        companions: Positions of hard images in the source's list of samples.
        origin: 'FILE:LINE' or 'FILE[ENTRY]', for messages.
        companion_only: Whether the sample is used only as a companion of another sample.
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
    """Returns the negatives of a sample that differ from its caption.

    Case, whitespace and punctuation are ignored in the comparison.
    """
    return [text for text in sample.negatives if not equal_when_normalized(text, sample.caption)]
