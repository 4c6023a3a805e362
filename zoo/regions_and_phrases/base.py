"""Base classes of what splits an image into views and a text into phrases.

Each view and each phrase is encoded by itself (Role of Inference, section 3.2). The modules `crops`
and `phrases` hold the implementations. Heads import this module alone, and so load no parser.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor

from zoo.errors import ZooError
from zoo.support.spec import Configurable


class Views(Configurable, ABC):
    """Base of the classes that make views of an image.

    Attributes:
        side: The side of the square, in pixels, that an image is resized and centre-cropped to
            before views are made of it.
        count: How many views an image has.
    """

    side: int
    count: int

    @abstractmethod
    def views(self, image: Tensor) -> Sequence[Tensor]:
        """Returns the views of an image.

        They are slices of the image, which share its memory. What encodes them resizes each to
        the tower's input.

        Args:
            image: A prepared image, `[3, side, side]`.

        Returns:
            `count` views, `[3, height, width]`. A maker that finds fewer gives some twice, which
            changes no score.
        """

    def views_of(self, image: Tensor) -> list[Tensor]:
        """Returns what `views` finds, once it is known to be as many views as it should be.

        Args:
            image: A prepared image, `[3, side, side]`.

        Raises:
            ZooError: Something else comes, or more or fewer of them.
        """
        found = list(self.views(image))
        whole = [v for v in found if isinstance(v, Tensor) and v.ndim == 3 and v.numel()]
        if len(whole) != len(found) or len(found) != self.count:
            raise ZooError(
                f"{type(self).__name__}.views gave {len(whole)} views of an image, of which it "
                f"says that it has {self.count}: return that many tensors [3, height, width]"
            )
        return found


class Segments(Configurable, ABC):
    """Base of the classes that split a text into phrases.

    The phrases depend on the text and the arguments of the class alone.
    """

    @abstractmethod
    def phrases(self, text: str) -> Iterable[str]:
        """Returns the phrases of a text, none where it has none."""

    def split(self, text: str) -> tuple[str, ...]:
        """Returns the phrases of a text, each once, and the text itself, which comes last.

        Raises:
            ZooError: Something else than phrases is found, or nothing is known of the text.
        """
        found = list(self.phrases(text))
        for phrase in found:
            if not isinstance(phrase, str) or not phrase.strip():
                raise ZooError(
                    f"{type(self).__name__}.phrases({text!r}) gave {phrase!r}: a phrase is a "
                    "string that is not blank"
                )
        return (*dict.fromkeys(phrase for phrase in found if phrase != text), text)

    def describe(self) -> dict[str, Any]:
        """Returns what results record of the class and its arguments."""
        return {"maker": type(self).__name__}
