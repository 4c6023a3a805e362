"""Shards of images and captions, as webdataset, img2dataset and `zoo data pack` write them."""

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
from zoo.sources.packed import PACKED, packed_captions
from zoo.sources.places import expand_braces, is_url, list_files
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.seeds import stable_hash
from zoo.sources.tar_index import ROWS, index_of, read_index
from zoo.support.progress import track
from zoo.support.ranges import NonNegativeInt, PositiveInt
from zoo.support.text_files import NotJson, caption, json_value

log = logging.getLogger(__name__)

IMAGES = ("jpg", "jpeg", "png", "webp", "gif", "bmp", "tif", "tiff")
TEXT, JSON = "txt", "json"


class WebDataset(Reader):
    """Tars in which the files of one key are a sample: an image, and its caption in a .txt.

    Their members are listed once, in an index that is kept, so that samples have numbers and are
    read in any order. Of tars that `zoo data pack` wrote, all that the captions came with is read.
    Images lie as they are: nobody turns them, or puts a colour under what is transparent.

    Args:
        path: A folder of tars, a tar, or a pattern as in 'https://host/{00000..00013}.tar'. What
            has '://' in it is read by fsspec.
        caption_field: Field of a sample's .json that is its caption. Where None, its .txt is.
        draw: Number of images that are drawn, by a hash of seed and image, so that a smaller draw
            is a part of a larger one. All are taken where None.
        seed: Seed of the draw.
        splits: Splits of packed captions to read; all where None.
        tolerate_broken: Whether samples without an image or a usable caption are left out, counted
            and reported.
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
    def shards(self) -> dict[str, Path]:
        """The index of each tar, by the tar's path or URL.

        Raises:
            ZooError: There is no tar, or one of them is not whole.
        """
        places = [found for place in expand_braces(self.path) for found in _tars(place)]
        if not places:
            raise ZooError(f"{self.path} has no *.tar: give a folder, a tar or a pattern of some")
        for place in places:
            if "#" in place:
                raise ZooError(f"{place} has '#' in its name, which ends that of a tar: rename it")
        shown = track(places, "listing the members of tars", len(places))
        return {place: index_of(place) for place in shown}

    @property
    def files(self) -> tuple[Path, ...]:
        """The indices of the tars, which hold their captions, and the place of every image."""
        return tuple(self.shards.values())

    def all_splits(self) -> Reader:
        """Returns a reader of all splits and images."""
        settings = (self.path, self.caption_field, None, 0, None, self.tolerate_broken)
        return WebDataset(*settings)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each caption, in the order of the tars or of what was packed."""
        found = self._read()
        if self.splits is not None:
            found = self._of_splits(found, self.splits)
        if self.draw is not None:
            found = self._sample_images(found, self.draw)
        yield from _in_order(found)

    def _read(self) -> Iterator["_Numbered"]:
        broken: list[str] = []
        for place, index in self.shards.items():
            for group in _groups(place, read_index(index)):
                try:
                    captions = list(self._captions(group))
                except _Broken as error:
                    if not self.tolerate_broken:
                        raise ZooError(
                            f"{error}: mend the tar, or set tolerate_broken: true to leave such "
                            "samples out"
                        ) from error
                    broken.append(str(error))
                    continue
                yield from captions
        if broken:
            log.warning(
                "%s samples of %s are left out, the first since %s",
                f"{len(broken):,}",
                self.path,
                broken[0],
            )

    def _captions(self, group: "_Group") -> Iterator["_Numbered"]:
        """Yields the captions of an image.

        Args:
            group: The files of the sample.

        Raises:
            _Broken: It has no image, or no usable caption.
        """
        names = [ending for ending in IMAGES if ending in group.names]
        if not names:
            raise _Broken(f"{group} has no image (.{', .'.join(IMAGES)})")
        origin = f"{group.place}#{group.names[names[0]]}"
        image = ImageRef("tar", origin)
        packed = group.texts.get(JSON) or b""
        if PACKED in packed:
            for one in packed_captions(packed, f"{group}.{JSON}"):
                yield _Numbered(one.number, one.sample(image, origin), one.companions)
            return
        text = caption(self._text(group), origin)
        name = f"{PurePosixPath(group.place).stem}/{group.key}"
        yield _Numbered(None, Sample(image, text, str(image), name, origin=origin))

    def _text(self, group: "_Group") -> str:
        """Returns the caption of a sample.

        Raises:
            _Broken: There is none.
        """
        ending = TEXT if self.caption_field is None else JSON
        raw, place = group.texts.get(ending), f"{group}.{ending}"
        if raw is None:
            raise _Broken(f"{group} has no caption (.{ending})")
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise _Broken(
                f"{place} is not UTF-8 text ({error.reason} at byte {error.start})"
            ) from error
        if self.caption_field is not None:
            text = _field(text, self.caption_field, place)
        if not text.strip():
            raise _Broken(f"{place} has an empty caption")
        return text

    def _of_splits(
        self, found: Iterable["_Numbered"], splits: Sequence[str]
    ) -> Iterator["_Numbered"]:
        known: set[str] = set()
        for one in found:
            if one.sample.split is not None:
                known.add(one.sample.split)
            if one.sample.split in splits:
                yield one
        for split in splits:
            if split not in known:
                raise ZooError(
                    f"{self.path} has no split {split!r}{suggest_names(split, known)}: it has "
                    f"{', '.join(sorted(known)) or 'none'}"
                )

    def _sample_images(self, found: Iterable["_Numbered"], n: int) -> Iterator["_Numbered"]:
        """Yields the captions of those images that are drawn; of no others any are kept."""
        drawn: dict[str, list[tuple[int, _Numbered]]] = {}
        ranks: list[tuple[int, int, str]] = []  # of the images drawn so far, the last rank first
        for place, one in enumerate(found):
            image = one.sample.image_id
            if image not in drawn:
                drawn[image] = []
                heapq.heappush(ranks, (-_rank(self.seed, image), -place, image))
                if len(ranks) > n:
                    del drawn[heapq.heappop(ranks)[-1]]
            if image in drawn:
                drawn[image].append((place, one))
        if len(drawn) < n:
            raise ZooError(
                f"{self.path} has {len(drawn):,} images, and draw is {n:,}: draw fewer, or set it "
                "to null to take all"
            )
        for _, one in sorted(chain.from_iterable(drawn.values()), key=itemgetter(0)):
            yield one


class _Broken(Exception):
    """What is wrong with a sample."""


@dataclass(frozen=True)
class _Group:
    """The files of one key.

    Attributes:
        place: The tar.
        key: What their names begin with.
        names: Names of the members, by ending.
        texts: Bytes of the small texts among them, by ending.
    """

    place: str
    key: str
    names: dict[str, str] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.place}#{self.key}"


@dataclass(frozen=True)
class _Numbered:
    """A sample, and its number where it was packed; companions are numbers too."""

    number: int | None
    sample: Sample
    companions: Sequence[int] = ()


def _in_order(found: Iterable[_Numbered]) -> Iterator[Sample]:
    """Yields samples by their numbers, those without one as they come.

    Samples are held from the first that another may have to stand before.
    """
    n = others = 0
    held: list[tuple[int, _Numbered]] = []
    for one in found:
        if one.number is None:
            others += 1
            yield one.sample
        elif one.number == n and not (held or others or one.companions):
            n += 1
            yield one.sample
        else:
            held.append((one.number, one))
    held.sort(key=itemgetter(0))
    positions = {number: n + others + i for i, (number, _) in enumerate(held)}
    for _, one in held:
        there = (positions.get(c, c if c < n else None) for c in one.companions)
        yield replace(one.sample, companions=tuple(c for c in there if c is not None))


def _tars(place: str) -> list[str]:
    if is_url(place):
        return list_files(place, "*.tar") if place.endswith("/") else [place]
    place = os.path.abspath(place)
    return list_files(place, "*.tar") if os.path.isdir(place) else [place]


def _groups(place: str, index: pa.Table) -> Iterator[_Group]:
    """Yields the samples of a tar, each where its first file is.

    Raises:
        ZooError: Two files of one key have the same ending.
    """
    groups: dict[str, _Group] = {}
    for batch in index.select(["name", "text"]).to_batches(ROWS):
        for row in batch.to_pylist():
            _add(groups, place, row)
    yield from (group for group in groups.values() if group.names.keys() & {*IMAGES, TEXT})


def _add(groups: dict[str, _Group], place: str, row: dict[str, Any]) -> None:
    folder, slash, name = row["name"].removeprefix("./").rpartition("/")
    start, _, ending = name.partition(".")
    key, ending = f"{folder}{slash}{start}", ending.lower()
    group = groups.setdefault(key, _Group(place, key))
    same = {"jpeg": "jpg", "jpg": "jpeg"}.get(ending)
    if ending in group.names or same in group.names:
        raise ZooError(
            f"{place} has two members {key}.{ending}, of which only one would count: name the "
            "files of each sample by a key of its own"
        )
    group.names[ending] = row["name"]
    if row["text"] is not None:
        group.texts[ending] = row["text"]


def _field(text: str, name: str, place: str) -> str:
    try:
        said = json_value(text)
    except NotJson as error:
        raise _Broken(f"{place} is not JSON ({error})") from error
    if not isinstance(said, dict) or name not in said:
        has = sorted(said) if isinstance(said, dict) else []
        raise _Broken(f"{place} has no field {name!r}{suggest_names(name, has)}")
    if not isinstance(said[name], str):
        raise _Broken(f"{place} has {said[name]!r:.40} as {name!r}, which is no text")
    return str(said[name])


def _rank(seed: int, image: str) -> int:
    return stable_hash(f"{seed}/{PurePosixPath(image).name}")
