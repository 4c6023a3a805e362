"""Shards of images and captions written by webdataset, img2dataset or `zoo data pack`."""

import heapq
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from zoo.errors import ZooError, suggest_names
from zoo.sources.packed import PACKED, parse_packed_captions
from zoo.sources.readers.base import Reader
from zoo.sources.remote_files import expand_braces, is_url, list_files
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.seeds import stable_hash
from zoo.sources.tar_index import ROWS, find_or_build_tar_index, read_index
from zoo.support.progress import track
from zoo.support.ranges import NonNegativeInt, PositiveInt
from zoo.support.text_files import NotJson, parse_json, strip_caption

log = logging.getLogger(__name__)

IMAGES = ("jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff")
TEXT, JSON = "txt", "json"


class WebDataset(Reader):
    """Tar files in the WebDataset format: an image and its caption (.txt) have the same key.

    The files in each tar are listed once, in a cached index, so that samples can be read in any
    order. Tars of `zoo data pack` also have ids, splits, negatives and companions of captions. The
    EXIF orientation and the transparency of images are ignored.

    Args:
        path: A folder of tars, a tar, or a pattern such as 'https://host/{00000..00013}.tar'. URLs
            are read with fsspec.
        caption_field: Field of a sample's .json with the caption. If None, the .txt is the caption.
        draw: Number of images to sample at random; None for all images. With the same seed, a
            smaller sample is part of a larger one.
        seed: Seed of the sampling.
        splits: Splits of packed captions to read; None for all.
        tolerate_broken: Whether to leave out, count and report samples without an image or a usable
            caption.
    """

    def __init__(
        self,
        path: str,
        caption_field: str | None = None,
        draw: PositiveInt | None = None,
        seed: NonNegativeInt = 0,
        splits: list[str] | None = None,
        tolerate_broken: bool = False,
    ) -> None:
        self.path, self.caption_field = str(path), caption_field
        self.draw, self.seed, self.splits = draw, seed, splits
        self.tolerate_broken = tolerate_broken

    @cached_property
    def indices_by_tar(self) -> dict[str, Path]:
        """The index of each tar, by the tar's path or URL.

        Raises:
            ZooError: No tar was found, or a tar is incomplete.
        """
        places = [tar for place in expand_braces(self.path) for tar in _tar_places(place)]
        if not places:
            raise ZooError(f"{self.path} has no *.tar: give a folder of tars, a tar or a pattern")
        tracked_places = track(places, "listing the members of tars", len(places))
        return {place: find_or_build_tar_index(place) for place in tracked_places}

    @property
    def files(self) -> tuple[Path, ...]:
        """The index files of the tars, with captions and the positions of images."""
        return tuple(self.indices_by_tar.values())

    def all_splits(self) -> Reader:
        """Returns a reader of all splits and images."""
        settings = (self.path, self.caption_field, None, 0, None, self.tolerate_broken)
        return WebDataset(*settings)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each caption.

        The order is that of the tars, or that of the original captions for tars of `zoo data pack`.
        """
        captions = self._read()
        if self.splits is not None:
            captions = self._select_splits(captions, self.splits)
        if self.draw is not None:
            captions = self._sample_images(captions, self.draw)
        yield from _sort_by_number(captions)

    def _read(self) -> Iterator["_NumberedSample"]:
        broken: list[str] = []
        for place, index in self.indices_by_tar.items():
            for group in _group_files(place, read_index(index)):
                try:
                    captions = list(self._numbered_samples(group))
                except _BrokenSample as error:
                    if not self.tolerate_broken:
                        raise ZooError(
                            f"{error}: repair the tar, or set tolerate_broken: true to leave out "
                            "such samples"
                        ) from error
                    broken.append(str(error))
                    continue
                yield from captions
        if broken:
            log.warning(
                "left out %s samples of %s, the first because %s",
                f"{len(broken):,}",
                self.path,
                broken[0],
            )

    def _numbered_samples(self, group: "_SampleFiles") -> Iterator["_NumberedSample"]:
        """Yields the captions of an image.

        Args:
            group: The files of the sample.

        Raises:
            _Broken: It has no image, or no usable caption.
        """
        names = [ending for ending in IMAGES if ending in group.names]
        if not names:
            raise _BrokenSample(f"{group} has no image (.{', .'.join(IMAGES)})")
        origin = f"{group.place}#{group.names[names[0]]}"
        image = ImageRef("tar", origin)
        packed = group.texts.get(JSON) or b""
        if PACKED in packed:
            for caption_record in parse_packed_captions(packed, f"{group}.{JSON}"):
                yield _NumberedSample(
                    caption_record.number,
                    caption_record.to_sample(image, origin),
                    caption_record.companions,
                )
            return
        text = strip_caption(self._text(group), origin)
        name = f"{PurePosixPath(group.place).stem}/{group.key}"
        yield _NumberedSample(None, Sample(image, text, str(image), name, origin=origin))

    def _text(self, group: "_SampleFiles") -> str:
        """Returns the caption of a sample.

        Raises:
            _Broken: It has no usable caption.
        """
        ending = TEXT if self.caption_field is None else JSON
        raw, place = group.texts.get(ending), f"{group}.{ending}"
        if raw is None:
            raise _BrokenSample(f"{group} has no caption (.{ending})")
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _BrokenSample(
                f"{place} is not UTF-8 text ({error.reason} at byte {error.start})"
            ) from error
        if self.caption_field is not None:
            text = _read_caption_field(text, self.caption_field, place)
        if not text.strip():
            raise _BrokenSample(f"{place} has an empty caption")
        return text

    def _select_splits(
        self, captions: Iterable["_NumberedSample"], splits: Sequence[str]
    ) -> Iterator["_NumberedSample"]:
        seen_splits: set[str] = set()
        for numbered in captions:
            if numbered.sample.split is not None:
                seen_splits.add(numbered.sample.split)
            if numbered.sample.split in splits:
                yield numbered
        for split in splits:
            if split not in seen_splits:
                raise ZooError(
                    f"{self.path} has no split {split!r}{suggest_names(split, seen_splits)}: "
                    f"its splits are {', '.join(sorted(seen_splits)) or 'missing'}"
                )

    def _sample_images(
        self, captions: Iterable["_NumberedSample"], n: int
    ) -> Iterator["_NumberedSample"]:
        """Yields the captions of n sampled images, and keeps only these in memory."""
        captions_by_image: dict[str, list[tuple[int, _NumberedSample]]] = {}
        ranks: list[tuple[int, int, str]] = []  # of the sampled images, largest rank first
        for position, numbered in enumerate(captions):
            image = numbered.sample.image_id
            if image not in captions_by_image:
                captions_by_image[image] = []
                heapq.heappush(ranks, (-_sampling_rank(self.seed, image), -position, image))
                if len(ranks) > n:
                    del captions_by_image[heapq.heappop(ranks)[-1]]
            if image in captions_by_image:
                captions_by_image[image].append((position, numbered))
        if len(captions_by_image) < n:
            raise ZooError(
                f"{self.path} has {len(captions_by_image):,} images, but draw is {n:,}: "
                "reduce it, or set it to null for all images"
            )
        for _, numbered in sorted(
            chain.from_iterable(captions_by_image.values()), key=itemgetter(0)
        ):
            yield numbered


class _BrokenSample(Exception):
    """A sample has no image or no usable caption."""


@dataclass(frozen=True)
class _SampleFiles:
    """The files of a sample.

    Attributes:
        place: The tar.
        key: The common prefix of the file names.
        names: Names of the members, by ending.
        texts: Bytes of the small text files, by ending.
    """

    place: str
    key: str
    names: dict[str, str] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.place}#{self.key}"


@dataclass(frozen=True)
class _NumberedSample:
    """A sample with its number in the packed source, if any, and the numbers of its companions."""

    number: int | None
    sample: Sample
    companions: Sequence[int] = ()


def _sort_by_number(captions: Iterable[_NumberedSample]) -> Iterator[Sample]:
    """Yields samples sorted by number. Samples without a number are yielded immediately.

    Samples are buffered from the first one that is out of order.
    """
    n_in_order = n_unnumbered = 0
    waiting: list[tuple[int, _NumberedSample]] = []
    for numbered in captions:
        if numbered.number is None:
            n_unnumbered += 1
            yield numbered.sample
        elif numbered.number == n_in_order and not (waiting or n_unnumbered or numbered.companions):
            n_in_order += 1
            yield numbered.sample
        else:
            waiting.append((numbered.number, numbered))
    waiting.sort(key=itemgetter(0))
    positions = {number: n_in_order + n_unnumbered + i for i, (number, _) in enumerate(waiting)}
    for _, numbered in waiting:
        companion_positions = (
            positions.get(c, c if c < n_in_order else None) for c in numbered.companions
        )
        yield replace(
            numbered.sample, companions=tuple(c for c in companion_positions if c is not None)
        )


def _tar_places(place: str) -> list[str]:
    if is_url(place):
        return list_files(place, "*.tar") if place.endswith("/") else [place]
    place = os.path.abspath(place)
    return list_files(place, "*.tar") if os.path.isdir(place) else [place]


def _group_files(place: str, index: pa.Table) -> Iterator[_SampleFiles]:
    """Yields the samples of a tar, in the order of their first files.

    Raises:
        ZooError: Two files of a sample have the same ending.
    """
    groups: dict[str, _SampleFiles] = {}
    for batch in index.select(["name", "text"]).to_batches(ROWS):
        for row in batch.to_pylist():
            _add_member(groups, place, row)
    yield from (group for group in groups.values() if group.names.keys() & {*IMAGES, TEXT})


def _add_member(groups: dict[str, _SampleFiles], place: str, row: dict[str, Any]) -> None:
    folder, slash, name = row["name"].removeprefix("./").rpartition("/")
    start, _, ending = name.partition(".")
    key, ending = f"{folder}{slash}{start}", ending.lower()
    group = groups.setdefault(key, _SampleFiles(place, key))
    other_ending = {"jpeg": "jpg", "jpg": "jpeg"}.get(ending)
    if ending in group.names or other_ending in group.names:
        raise ZooError(
            f"{place} has two members {key}.{ending}: the files of each sample need a unique key"
        )
    group.names[ending] = row["name"]
    if row["text"] is not None:
        group.texts[ending] = row["text"]


def _read_caption_field(text: str, name: str, place: str) -> str:
    try:
        fields = parse_json(text)
    except NotJson as error:
        raise _BrokenSample(f"{place} is not JSON ({error})") from error
    if not isinstance(fields, dict) or name not in fields:
        has = sorted(fields) if isinstance(fields, dict) else []
        raise _BrokenSample(f"{place} has no field {name!r}{suggest_names(name, has)}")
    if not isinstance(fields[name], str):
        raise _BrokenSample(
            f"{place} has {fields[name]!r:.40} in field {name!r}, which is not text"
        )
    return str(fields[name])


def _sampling_rank(seed: int, image: str) -> int:
    return stable_hash(f"{seed}/{PurePosixPath(image).name}")
