"""Benchmark, the base class that reads published files into cases, and the types it uses."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, resolve_protocol
from zoo.benchmarks.protocols.recall import Recall
from zoo.benchmarks.protocols.video_recall import VideoRecall
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.configurable import Configurable

Returned = TypeVar("Returned", bound=Query)

# values of metrics in per cent, by baseline, subset and metric
Baselines = Mapping[str, Mapping[str, Mapping[str, float]]]


@dataclass(frozen=True)
class Case:
    """A case of a benchmark: images, texts, and which of them match.

    Args:
        images: The images; empty if the queries are texts (`query_texts`).
        texts: The texts that are compared with the images or with `query_texts`.
        match: Which texts match which images, bool `[images, texts]`; `[query_texts, texts]` if the
            queries are texts.
        protocol: The rule that judges the scores: a protocol or its name (`zoo ls protocols`).
        subset: The subset that the case belongs to.
        id: The case's id, unique within the subset.
        group: The group of the case in a macro average over groups, such as its relation or
            attribute pair; None if there are no groups.
        right_listed_first: Whether the official script lists the right answer before all wrong
            answers and takes an argmax, so that every tie counts as right.
        argmax: Whether the official script lists the answers in the order of this case and takes an
            argmax. A tie then counts as right only if the right answer comes before the wrong
            answers with the same score.
        query_texts: The queries, if they are texts instead of images. They are compared with
            `texts`.
        prompts: The prompts of each text. The mean of their vectors is compared with the images in
            place of the text. Empty if the texts themselves are compared.
        partners: Images that belong to the case, but are not compared. The case is only scored if
            at least one of them exists. Empty if there is no such condition.

    Examples:
        A case of an image, a caption and a foil, and its outcome if the scores are 0.3 and 0.2:

        >>> import numpy as np
        >>> from zoo.benchmarks import Case
        >>> from zoo.sources import ImageRef
        >>> image, texts = ImageRef("file", "cup.png"), ("a red cup", "a blue cup")
        >>> case = Case((image,), texts, np.array([[True, False]]), "i2t", subset="colors", id="1")
        >>> [(outcome.metric, outcome.right) for outcome in case.judge(np.array([[0.3, 0.2]]))]
        [('i2t', True)]
    """

    images: tuple[ImageRef, ...]
    texts: tuple[str, ...]
    match: NDArray[np.bool_]
    protocol: Protocol | str
    subset: str
    id: str
    group: str | None = None
    right_listed_first: bool = False
    argmax: bool = False
    query_texts: tuple[str, ...] = ()
    prompts: tuple[tuple[str, ...], ...] = ()
    partners: tuple[ImageRef, ...] = ()

    @property
    def encoded_texts(self) -> tuple[str, ...]:
        """The texts to encode: the prompts of all texts in order, or the texts themselves."""
        return tuple(chain.from_iterable(self.prompts)) if self.prompts else self.texts

    @property
    def all_images(self) -> tuple[ImageRef, ...]:
        """The images and their partners."""
        return (*self.images, *self.partners)

    @property
    def needs_text_vectors(self) -> bool:
        """Whether the case needs one vector per text, which some heads do not compute."""
        is_video = isinstance(self.resolved_protocol, VideoRecall)
        return bool(self.query_texts or self.prompts) or is_video

    @property
    def resolved_protocol(self) -> Protocol:
        """The protocol as an object, even if it was given by name."""
        return resolve_protocol(self.protocol)

    @property
    def is_gallery(self) -> bool:
        """Whether all images are ranked for each text, and all texts for each image.

        Such a case is a gallery. Galleries, and cases whose protocol sets `by_image`, are scored
        without their missing images. All other cases are only scored if all their images exist.
        """
        return isinstance(self.resolved_protocol, Recall)

    def queries(self) -> list[Query]:
        """Returns the queries of the case.

        Raises:
            ZooError: The protocol returned something other than queries.
        """
        protocol = self.resolved_protocol
        return _check_returned(protocol, Query, "queries", protocol.queries(self.match))

    def judge(self, scores: NDArray[np.float32]) -> list[Outcome]:
        """Returns the outcomes of the case, given its scores, `[images, texts]`.

        Raises:
            ZooError: The protocol returned something other than outcomes.
        """
        protocol = self.resolved_protocol
        return _check_returned(protocol, Outcome, "judge", protocol.judge(self.match, scores))

    def tie_is_right(self, query: Query) -> bool:
        """Returns whether the official script would count a tie as right.

        Args:
            query: The query or its outcome.
        """
        if self.argmax and isinstance(query, Outcome):
            return self.resolved_protocol.first_wins(query)
        return self.right_listed_first


@dataclass(frozen=True)
class Subset:
    """A part of a benchmark that is reported separately, and the files it needs.

    Args:
        name: The subset's name.
        files: Paths under the data root at which its annotation file may be. The first that exists
            is read.
        n: The published number of cases, or None.
        instructions: How the user can get the files.
        chance: The chance level of each metric, in per cent.
        published: The published value of each metric for OpenAI's ViT-B/32, in per cent.
        from_user: Whether the user named the files. If so, they may also be in the working
            directory, and it is an error if they are missing.
    """

    name: str
    files: tuple[str, ...]
    n: int | None
    instructions: str
    chance: dict[str, float] = field(default_factory=dict)
    published: dict[str, float] = field(default_factory=dict)
    from_user: bool = False


@dataclass(frozen=True)
class Contents:
    """The cases that were read from a benchmark's files.

    Args:
        cases: The cases.
        files: The files that they were read from.
        missing_subsets: The subsets whose files are missing.
        notes: Notes for the report, such as the tagger and the seed, by the name of the note.
        baselines: Results of text-only baselines, which never see the image, in per cent.
        uncroppable_images: Images that exist but whose boxes cannot be cropped. The evaluation
            fills this in when it searches for images.
        limits: The number of cases to keep, by subset, if the official script only takes the first
            cases whose images it finds. The evaluation removes the other cases when it searches for
            images.
    """

    cases: list[Case]
    files: list[Path]
    missing_subsets: list[Subset]
    notes: dict[str, str] = field(default_factory=dict)
    baselines: Baselines = field(default_factory=dict)
    uncroppable_images: frozenset[ImageRef] = frozenset()
    limits: dict[str, int] = field(default_factory=dict)


class Benchmark(Configurable, ABC):
    """Base class of benchmarks.

    Attributes:
        name: The name of the benchmark on the command line.
        version: A number to increase when cases or their order change.
        subset_names: The subsets that the argument `subsets` can select. Empty if they are only
            known after reading a file.
        colon_argument: The argument that follows the name and a colon, such as `file` in
            `pairs:FILE.csv`; empty if there is none.
        licence: The licence of the annotations; empty if nothing is published.
        citation: The publication to cite; empty if nothing is published.
        hub: The data set on huggingface.co with the files of the benchmark, or None.
        copies: Other data sets on huggingface.co with the same cases, in layouts that zoo does not
            read.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    subset_names: ClassVar[tuple[str, ...]] = ()
    colon_argument: ClassVar[str] = ""
    licence: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    hub: ClassVar[HubDataset | None] = None
    copies: ClassVar[tuple[HubDataset, ...]] = ()

    @property
    @abstractmethod
    def subsets(self) -> tuple[Subset, ...]:
        """The subsets and the files that each needs."""

    @abstractmethod
    def read(self, root: Path) -> Contents:
        """Returns the cases of all subsets whose files exist.

        Args:
            root: The folder of annotations and images (data root).

        Raises:
            ZooError: A file is invalid. The error names the file and the entry.
        """


def _check_returned(
    protocol: Protocol, expected: type[Returned], method: str, returned: Any
) -> list[Returned]:
    """Returns the items that a protocol returned, checked to be of the expected class."""
    items = list(returned) if isinstance(returned, Iterable) else [returned]
    wrong = [item for item in items if not isinstance(item, expected)]
    if wrong:
        raise ZooError(
            f"{type(protocol).__name__}.{method} returned a {type(wrong[0]).__name__}: "
            f"it must return {'an Outcome' if expected is Outcome else 'a Query'} for each answer"
        )
    return items
