"""Benchmark: reads published files and yields cases. Free of torch."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.sources.sample import ImageRef
from zoo.support.spec import Recorded


@dataclass(frozen=True)
class Case:
    """One question: some images, some texts, and which belong together.

    match: bool [images, texts]. protocol: the name of a rule in `zoo.results.protocols` ('i2t', 't2i', 'group', 'half_truth',
    'retrieval'). group: what a macro average is taken over (a relation, an attribute pair). id: unique within the subset.
    correct_first: whether the official script lists the right answer first, so that its argmax counts a tie as right.
    """

    images: tuple[ImageRef, ...]
    texts: tuple[str, ...]
    match: NDArray[np.bool_]
    protocol: str
    subset: str
    id: str
    group: str | None = None
    correct_first: bool = False


@dataclass(frozen=True)
class Part:
    """A subset of a benchmark. files: its annotation files under the data root; n: cases as published; chance: in per cent by metric;
    published: OpenAI ViT-B/32's values in per cent by metric name; how: how to get the files; named: whether the user named the files, so
    that they may lie in the working directory too, and their absence is an error."""

    subset: str
    files: tuple[str, ...]
    n: int | None
    how: str
    chance: dict[str, float] = field(default_factory=dict)
    published: dict[str, float] = field(default_factory=dict)
    named: bool = False


@dataclass(frozen=True)
class Reading:
    """What was read: the cases, the files they came from, the parts without a file, and notes for the report (tagger, seed)."""

    cases: list[Case]
    files: list[Path]
    absent: list[Part]
    notes: dict[str, str] = field(default_factory=dict)


class Benchmark(Recorded, ABC):
    """Base of benchmarks. name: as asked for on the command line. version: raised when cases or their order change. offers: the subsets
    that an argument `subsets` chooses among, where they are known without a file."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    offers: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The subsets and what each needs."""

    @abstractmethod
    def read(self, root: Path) -> Reading:
        """Returns the cases of all parts whose files are there; raises ZooError that names file and entry of what is wrong."""
