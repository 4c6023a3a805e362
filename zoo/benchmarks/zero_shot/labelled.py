"""Labelled: images with their classes, as some layout on disk has them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from zoo.benchmarks.base import Case
from zoo.benchmarks.protocols.base import Protocol, protocol_of
from zoo.benchmarks.zero_shot.prompts import ClassPrompts
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef

_WORDNET = re.compile(r"n\d{8}")


@dataclass(frozen=True)
class Labelled:
    """Images with their classes.

    Attributes:
        origin: What messages call it: a folder.
        images: The images.
        labels: The classes of each image, by number from 0.
        classes: Names of the classes as the data itself has them; empty where it has none.
        n: Number of classes, where the data tells it; None where labels alone do.
        files: Files that say which image is of which class.
        multilabel: Whether an image may be of several classes, or of none.
    """

    origin: Path
    images: tuple[ImageRef, ...]
    labels: tuple[tuple[int, ...], ...]
    classes: tuple[str, ...] = ()
    n: int | None = None
    files: list[Path] = field(default_factory=list)
    multilabel: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The data's own names of its classes with blanks for underscores.

        There are none where they are WordNet's numbers.
        """
        if any(map(_WORDNET.fullmatch, self.classes)):
            return ()
        return tuple(name.replace("_", " ") for name in self.classes)

    def case(self, subset: str, prompts: ClassPrompts, protocol: Protocol | str) -> Case:
        """Returns the case of all images, whose texts are the class names.

        Args:
            subset: Name of the subset.
            prompts: The prompts of the classes.
            protocol: How the scores are judged.

        Raises:
            ZooError: There are other classes than names, or an image has a class without a name.
        """
        k = len(prompts.names)
        if self.n not in (None, k):
            raise ZooError(
                f"{self.origin} has {self.n:,} classes, and {prompts.names_from} names {k:,}: "
                "give one name a line for each class, in the order of the classes"
            )
        self._refuse_another_order(prompts)
        match = np.zeros((len(self.images), k), dtype=bool)
        for i, labels in enumerate(self.labels):
            for label in labels:
                if not 0 <= label < k:
                    raise ZooError(
                        f"{self.images[i]} is of class {label}, and {prompts.names_from} names "
                        f"{k:,} classes, from 0 to {k - 1}: mend the label or add the name"
                    )
                match[i, label] = True
        unseen = np.flatnonzero(~match.any(0))
        if protocol_of(protocol).lacks(match) and len(unseen):
            raise ZooError(
                f"{self.origin} has no image of class {unseen[0]}, {prompts.names[unseen[0]]!r}, "
                "and an order of images by a class without any cannot be graded: add one, or take "
                "the name away"
            )
        every = prompts.of_classes()
        return Case(
            self.images, prompts.names, match, protocol, subset, "all", argmax=True, prompts=every
        )

    def _refuse_another_order(self, prompts: ClassPrompts) -> None:
        """Refuses prompts that have the data's own names, and have them at other places."""
        own, asked = ([_letters(name) for name in names] for names in (self.classes, prompts.names))
        for i, name in enumerate(own):
            if name != asked[i] and asked.count(name) == 1:
                raise ZooError(
                    f"class {i} of {self.origin} is {self.classes[i]!r}, and {prompts.names_from} "
                    f"calls it {prompts.names[i]!r} and class {asked.index(name)} "
                    f"{self.classes[i]!r}: bring the names into the order of the classes"
                )


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def numbered_labels(labels: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Returns labels as those of images that have one each."""
    return tuple((int(label),) for label in labels)
