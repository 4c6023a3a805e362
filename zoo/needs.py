"""Needs and Provides: what head and objective want, and what the data bring."""

from dataclasses import dataclass
from typing import Protocol

from zoo.batch import TokenKey
from zoo.errors import ZooError
from zoo.regions_and_phrases.base import Segments, Views


@dataclass(frozen=True)
class Needs:
    """What a head or an objective wants of data and backbone, checked before the first step.

    Args:
        negatives: Whether sentence negatives are needed.
        positives: Whether further positives of captions are needed.
        negative_images: Whether negative images are needed.
        generators: Names of generators of which one is needed; () allows any.
        units: Whether units and foils are needed.
        image_keys: The image tokens that are read.
        text_keys: The text tokens that are read.
        pooled: Whether pooled vectors are read. What only they depend on is frozen where neither
            head nor objective says so.
        pooled_texts: Whether those of texts are read, where those of images are not.
        teacher: The share of a copy of the towers that a step keeps, where such a teacher is
            wanted; 1 keeps it frozen. None wants none.
        token_ids: Whether the token ids of texts are read, which texts that come encoded lack.
        bias: Whether the head must have a bias.
        views: What makes the views of an image that are encoded in its place where pairs are
            measured; None where the image itself is.
        segments: What makes the segments of a text that are encoded in its place where pairs are
            measured; None where the text itself is.
    """

    negatives: bool = False
    positives: bool = False
    negative_images: bool = False
    generators: tuple[str, ...] = ()
    units: bool = False
    image_keys: frozenset[TokenKey] = frozenset()
    text_keys: frozenset[TokenKey] = frozenset()
    pooled: bool = False
    pooled_texts: bool = False
    teacher: float | None = None
    token_ids: bool = False
    bias: bool = False
    views: Views | None = None
    segments: Segments | None = None

    @property
    def tokens(self) -> bool:
        """Whether tokens are read."""
        return bool(self.image_keys or self.text_keys)

    @property
    def pieces(self) -> bool:
        """Whether images or texts are encoded in pieces."""
        return self.views is not None or self.segments is not None


@dataclass(frozen=True)
class Capabilities:
    """What the batches of a datamodule hold.

    Args:
        negatives: What makes the negatives, one name a column.
        units: Whether units and foils are there.
        encoded: Whether images and texts come encoded, without pixels and token ids.
        positives: What finds further positives, one name a column.
        negative_images: Whether negative images are there.
    """

    negatives: tuple[str, ...] = ()
    units: bool = False
    encoded: bool = False
    positives: tuple[str, ...] = ()
    negative_images: bool = False


class Needing(Protocol):
    """A part of the model that states its needs."""

    @property
    def needs(self) -> Needs:
        """What it wants of data and backbone."""
        ...


def needs_of(part: Needing) -> Needs:
    """Returns what a part of the model needs.

    Args:
        part: The part.

    Raises:
        ZooError: It states no needs.
    """
    needs: object = part.needs
    if not isinstance(needs, Needs):
        raise ZooError(
            f"{type(part).__name__}.needs is a {type(needs).__name__}: make it a property that "
            "returns Needs(...) of zoo.needs"
        )
    return needs
