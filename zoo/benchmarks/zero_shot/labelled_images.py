"""LabelledImages: images with their classes, independent of the layout on disk."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from zoo.benchmarks.base import Case
from zoo.benchmarks.protocols.base import Protocol, resolve_protocol
from zoo.benchmarks.zero_shot.prompts import ClassPrompts
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef

_WORDNET = re.compile(r"n\d{8}")


@dataclass(frozen=True)
class LabelledImages:
    """Images with their classes.

    Attributes:
        origin: The folder, for messages.
        images: The images.
        labels: The classes of each image, by number from 0.
        classes: Names of the classes in the data; empty if it has none.
        n_classes: Number of classes if the data states it; None if it follows only from the labels.
        files: Files with the labels of the images.
        multilabel: Whether an image may have several classes or none.
    """

    origin: Path
    images: tuple[ImageRef, ...]
    labels: tuple[tuple[int, ...], ...]
    classes: tuple[str, ...] = ()
    n_classes: int | None = None
    files: list[Path] = field(default_factory=list)
    multilabel: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the classes in the data, with spaces for underscores.

        It is empty if the names are WordNet ids.
        """
        if any(map(_WORDNET.fullmatch, self.classes)):
            return ()
        return tuple(name.replace("_", " ") for name in self.classes)

    def case(self, subset: str, prompts: ClassPrompts, protocol: Protocol | str) -> Case:
        """Returns the case of all images, whose texts are the class names.

        Args:
            subset: Name of the subset.
            prompts: The prompts of the classes.
            protocol: The protocol that judges the scores.

        Raises:
            ZooError: The numbers of classes and names differ, or an image has a class without a
                name.
        """
        k = len(prompts.names)
        if self.n_classes not in (None, k):
            raise ZooError(
                f"{self.origin} has {self.n_classes:,} classes, but {prompts.names_from} names "
                f"{k:,}: "
                "write one name per line for each class, in the order of the classes"
            )
        self._check_name_order(prompts)
        match = np.zeros((len(self.images), k), dtype=bool)
        for i, labels in enumerate(self.labels):
            for label in labels:
                if not 0 <= label < k:
                    raise ZooError(
                        f"{self.images[i]} has class {label}, but {prompts.names_from} names "
                        f"{k:,} classes, 0 to {k - 1}: correct the label or add the name"
                    )
                match[i, label] = True
        unseen = np.flatnonzero(~match.any(0))
        if resolve_protocol(protocol).invalid_reason(match) and len(unseen):
            raise ZooError(
                f"{self.origin} has no image of class {unseen[0]}, {prompts.names[unseen[0]]!r}, "
                "and a class without images cannot rank them: add one, or delete "
                "the name"
            )
        class_prompts = prompts.by_class()
        return Case(
            self.images,
            prompts.names,
            match,
            protocol,
            subset,
            "all",
            argmax=True,
            prompts=class_prompts,
        )

    def _check_name_order(self, prompts: ClassPrompts) -> None:
        """Rejects prompts with the class names of the data in another order."""
        data_names, prompt_names = (
            [_letters_only(name) for name in names] for names in (self.classes, prompts.names)
        )
        for i, name in enumerate(data_names):
            if name != prompt_names[i] and prompt_names.count(name) == 1:
                raise ZooError(
                    f"class {i} of {self.origin} is {self.classes[i]!r}, but {prompts.names_from} "
                    f"names it {prompts.names[i]!r} and names class {prompt_names.index(name)} "
                    f"{self.classes[i]!r}: sort the names in the order of the classes"
                )


def _letters_only(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))


def single_labels(labels: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Returns one label per image as tuples of one label."""
    return tuple((int(label),) for label in labels)
