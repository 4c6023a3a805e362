"""What a reader yields: references to images, and samples that pair them with captions. Free of torch."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True)
class ImageRef:
    """An image by name. source: 'coco', 'visual_genome', 'flickr' (key: the numeric id as text), 'file' (key: a path, absolute or under
    a data root), 'published' (the same, of a benchmark's own images) or 'parquet' (key: 'FILE#ROW#COLUMN'). crop: left, top, width and
    height in pixels, before any resize."""

    source: str
    key: str
    crop: tuple[int, int, int, int] | None = None

    def __str__(self) -> str:
        return f"{self.source}:{self.key}" + (
            f"@{','.join(map(str, self.crop))}" if self.crop else ""
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """One caption of one image.

    image_id: equal for all captions of an image, the unit of splits. caption_id: unique in its source, by which units are looked up.
    split: the source's own name for it, or None. negatives: sentence negatives that came with the source. companions: positions, in
    the source's list of samples, of hard images. origin: 'FILE:LINE' or 'FILE[ENTRY]' for messages. companion_only: whether it makes no row
    by itself, and comes along as another's companion at most.
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
