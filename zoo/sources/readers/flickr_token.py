"""Token files of Flickr8k and Flickr30k, and lists of image names for their splits.

A line of a token file is 'NAME.jpg#K<TAB>caption'.
"""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.sources.images import flickr_ref
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.support.text_files import numbered_lines, strip_caption

_LINE = re.compile(
    r"(?P<name>\d+(?:_[0-9a-f]+)?\.jpe?g)(?P<slip>\.\d+)?#(?P<k>\d+)\t(?P<caption>.*)",
    re.IGNORECASE,
)

log = logging.getLogger(__name__)


class FlickrToken(Reader):
    """A caption file of Flickr8k or Flickr30k, with lines 'NAME.jpg#NUMBER<TAB>caption'.

    In Flickr8k's file, the name of one image is misspelled ('NAME.jpg.1#0'). Its captions are left
    out with a warning.

    Args:
        file: The caption file.
        split: File with one image name per line, such as Flickr_8k.trainImages.txt; None for all
            images.
    """

    def __init__(self, file: Path, split: Path | None = None) -> None:
        self.file, self.split = Path(file), None if split is None else Path(split)

    @property
    def files(self) -> tuple[Path, ...]:
        """The caption file, and the list of the split if there is one."""
        return (self.file,) if self.split is None else (self.file, self.split)

    def all_splits(self) -> Reader:
        """Returns a reader of all images."""
        return FlickrToken(self.file)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each caption of the split."""
        line_by_name = (
            None
            if self.split is None
            else {line.strip(): number for number, line in numbered_lines(self.split)}
        )
        name = None if self.split is None else self.split.stem
        refs: dict[str, tuple[ImageRef, str]] = {}
        slips = 0
        for number, line in numbered_lines(self.file):
            origin = f"{self.file}:{number}"
            match = _LINE.fullmatch(line)
            if match is None:
                raise ZooError(
                    f"{origin} is not 'NAME.jpg#K<TAB>caption' ({line[:40]!r}): correct the line"
                )
            if match["slip"]:
                slips += 1
            elif line_by_name is None or match["name"] in line_by_name:
                if match["name"] not in refs:
                    ref = flickr_ref(match["name"])
                    refs[match["name"]] = (ref, str(ref))
                ref, image_id = refs[match["name"]]
                caption_id = f"{match['name']}#{match['k']}"
                text = strip_caption(match["caption"], origin)
                yield Sample(ref, text, image_id, caption_id, name, origin=origin)
        if slips:
            log.warning("%s: left out %d captions of a misspelt image ('.jpg.1')", self.file, slips)
        if line_by_name is not None and self.split is not None:
            absent = next(((n, line) for n, line in line_by_name.items() if n not in refs), None)
            if absent is not None:
                raise ZooError(
                    f"{self.split}:{absent[1]}: image {absent[0]} has no caption in {self.file}: "
                    "remove the line"
                )
