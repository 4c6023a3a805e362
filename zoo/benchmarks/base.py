"""Benchmark: reads published files and gives cases."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.hub import Hub
from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, protocol_of
from zoo.benchmarks.protocols.recall import Recall
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.spec import Configurable

Given = TypeVar("Given", bound=Query)

# values of metrics in per cent, by baseline, subset and metric
Baselines = Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True)
class Case:
    """One question: some images, some texts, and which belong together.

    Args:
        images: The images; none where texts ask.
        texts: The texts.
        match: Which text belongs to which image, bool `[images, texts]`; `[asking, texts]` where
            texts ask.
        protocol: How scores become outcomes: a protocol, or the name of one (`zoo ls protocols`).
        subset: The subset that the case is of.
        id: The case's id, unique within the subset.
        group: What a macro average is taken over (a relation, an attribute pair); None where there
            are no groups.
        correct_first: Whether the official script lists the right answer first, so that its argmax
            counts a tie as right.
        argmax: Whether the official script takes the first of the highest scores, with the answers
            in the order that they have here. A tie then counts where the right answer comes first.
        asking: Texts that ask in the place of images: they are compared with `texts`.
        prompts: The prompts of each text, which stand for it: the mean of their vectors is
            compared with the images. None where the texts themselves are.
        partners: Images that are not compared, of which at least one has to be found for the case
            to be scored. None where its own images are enough.
    """

    images: tuple[ImageRef, ...]
    texts: tuple[str, ...]
    match: NDArray[np.bool_]
    protocol: Protocol | str
    subset: str
    id: str
    group: str | None = None
    correct_first: bool = False
    argmax: bool = False
    asking: tuple[str, ...] = ()
    prompts: tuple[tuple[str, ...], ...] = ()
    partners: tuple[ImageRef, ...] = ()

    @property
    def encoded_texts(self) -> tuple[str, ...]:
        """The texts that are encoded to be compared: the prompts, text by text, or the texts."""
        return tuple(chain.from_iterable(self.prompts)) if self.prompts else self.texts

    @property
    def all_images(self) -> tuple[ImageRef, ...]:
        """Its images and their partners."""
        return (*self.images, *self.partners)

    @property
    def needs_whole_texts(self) -> bool:
        """Whether it needs vectors of whole texts, which not every head has."""
        return bool(self.asking or self.prompts)

    @property
    def judged_by(self) -> Protocol:
        """The protocol."""
        return protocol_of(self.protocol)

    @property
    def gallery(self) -> bool:
        """Whether all images are ranked for each text, and all texts for each image.

        Such a case is scored over the images that are there, as one whose protocol is `by_image`
        is; any other case needs all of its own.
        """
        return isinstance(self.judged_by, Recall)

    def queries(self) -> list[Query]:
        """Returns what the case asks.

        Raises:
            ZooError: The protocol gives something else than queries.
        """
        protocol = self.judged_by
        return _check_returned(protocol, Query, "queries", protocol.queries(self.match))

    def judge(self, scores: NDArray[np.float32]) -> list[Outcome]:
        """Returns the outcomes of scores, `[images, texts]`.

        Raises:
            ZooError: The protocol gives something else than outcomes.
        """
        protocol = self.judged_by
        return _check_returned(protocol, Outcome, "judge", protocol.judge(self.match, scores))

    def counts_tie(self, query: Query) -> bool:
        """Tells whether the official script counts a tie as right.

        Args:
            query: What was asked, or its outcome.
        """
        if self.argmax and isinstance(query, Outcome):
            return self.judged_by.first_wins(query)
        return self.correct_first


@dataclass(frozen=True)
class Subset:
    """A part of a benchmark that is reported by itself, and what it needs.

    Args:
        name: The subset's name.
        files: Its annotation files under the data root. One of them is enough.
        n: How many cases it has as published, None where nothing is published.
        how: How to get the files, in words for the user.
        chance: The value of each metric by chance, in per cent.
        published: The value of each metric of OpenAI's ViT-B/32, in per cent.
        named: Whether the user named the files. They may then lie in the working directory too, and
            their absence is an error.
    """

    name: str
    files: tuple[str, ...]
    n: int | None
    how: str
    chance: dict[str, float] = field(default_factory=dict)
    published: dict[str, float] = field(default_factory=dict)
    named: bool = False


@dataclass(frozen=True)
class Contents:
    """What was read of a benchmark.

    Args:
        cases: The cases.
        files: The files that they came from.
        absent: The subsets without a file.
        notes: Notes for the report by their names, such as tagger and seed.
        baselines: What guesses that never see the image get on these cases.
        unfit: Images that are there but whose boxes cannot be cropped; known when `settled`.
        limits: How many cases of a subset are asked about, where the official script takes the
            first ones whose images it finds. The others are removed when `settled`.
    """

    cases: list[Case]
    files: list[Path]
    absent: list[Subset]
    notes: dict[str, str] = field(default_factory=dict)
    baselines: Baselines = field(default_factory=dict)
    unfit: frozenset[ImageRef] = frozenset()
    limits: dict[str, int] = field(default_factory=dict)


class Benchmark(Configurable, ABC):
    """Base of benchmarks.

    Attributes:
        name: The name by which the benchmark is asked for on the command line.
        version: A number that is raised when cases or their order change.
        offers: The subsets that an argument `subsets` chooses among, where they are known without
            a file.
        behind_colon: The argument that stands behind the colon in `pairs:FILE.csv`; empty where a
            name takes none.
        licence: The licence of its annotations, empty where nothing is published.
        citation: What to cite, likewise.
        hub: The data set on huggingface.co that holds its files, None where none is read.
        copies: Data sets there that hold its cases in other layouts, which are not read.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    offers: ClassVar[tuple[str, ...]] = ()
    behind_colon: ClassVar[str] = ""
    licence: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    hub: ClassVar[Hub | None] = None
    copies: ClassVar[tuple[Hub, ...]] = ()

    @property
    @abstractmethod
    def subsets(self) -> tuple[Subset, ...]:
        """The subsets and what each needs."""

    @abstractmethod
    def read(self, root: Path) -> Contents:
        """Returns the cases of all subsets whose files are there.

        Args:
            root: A data root.

        Raises:
            ZooError: A file is wrong. The error names file and entry of what is wrong.
        """


def _check_returned(protocol: Protocol, kind: type[Given], method: str, found: Any) -> list[Given]:
    """Returns what a protocol gave, where it is of that kind."""
    given = list(found) if isinstance(found, Iterable) else [found]
    wrong = [one for one in given if not isinstance(one, kind)]
    if wrong:
        raise ZooError(
            f"{type(protocol).__name__}.{method} gave a {type(wrong[0]).__name__}: "
            f"a protocol gives {'an Outcome' if kind is Outcome else 'a Query'} for each answer"
        )
    return given
