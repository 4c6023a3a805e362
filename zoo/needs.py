"""`Needs` (what heads and objectives require) and `Capabilities` (what the data provides)."""

from dataclasses import dataclass
from typing import Protocol

from zoo.batch import TokenKey
from zoo.errors import ZooError
from zoo.regions_and_phrases.base import Segments, Views


@dataclass(frozen=True)
class Needs:
    """What a head or an objective needs from data and backbone, checked before the first step.

    Args:
        negatives: Whether negatives of whole captions are needed.
        positives: Whether further true texts about images are needed.
        negative_images: Whether negative images are needed.
        generators: Names of generators of negatives, at least one of which is needed; () allows
            any.
        units: Whether units and foils are needed.
        image_keys: The image tokens that are read.
        text_keys: The text tokens that are read.
        pooled: Whether pooled vectors are read. If neither head nor objective reads them, the
            parameters that only affect pooled vectors are frozen.
        pooled_texts: Set this instead of `pooled` if only the pooled vectors of texts are read.
        teacher: The decay per step of a teacher, which is a moving average of the towers. With 1,
            the teacher is frozen; with None, there is no teacher.
        token_ids: Whether the token ids of texts are read, which pre-encoded texts do not have.
        bias: Whether the head must have a bias.
        views: Makes the views of an image, which evaluation encodes instead of the image. If None,
            the image itself is encoded.
        segments: Makes the segments of a text, which evaluation encodes instead of the text. If
            None, the text itself is encoded.
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
        """Whether views of images or segments of texts are encoded."""
        return self.views is not None or self.segments is not None


@dataclass(frozen=True)
class Capabilities:
    """What the batches of a datamodule contain.

    Args:
        negatives: Names of the negative generators, one per column of `Batch.negatives`.
        units: Whether batches have units and foils.
        encoded: Whether batches have stored vectors instead of pixels and token ids.
        positives: Names of the sources of positives, one per column of `Batch.positives`.
        negative_images: Whether batches have negative images.
    """

    negatives: tuple[str, ...] = ()
    units: bool = False
    encoded: bool = False
    positives: tuple[str, ...] = ()
    negative_images: bool = False


class NeedsProvider(Protocol):
    """A part of the model with a property `needs`, such as a head or an objective."""

    @property
    def needs(self) -> Needs:
        """What this part needs from the data and the backbone."""
        ...


def needs_of(part: NeedsProvider) -> Needs:
    """Returns what a part of the model needs.

    Args:
        part: The part, such as a head or an objective.

    Raises:
        ZooError: The part's `needs` is not an instance of Needs.
    """
    needs: object = part.needs
    if not isinstance(needs, Needs):
        raise ZooError(
            f"{type(part).__name__}.needs is a {type(needs).__name__}: make it a property that "
            "returns Needs(...) of zoo.needs"
        )
    return needs
