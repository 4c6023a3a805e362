"""Base classes of views of an image and phrases of a text.

Each view and each phrase is encoded separately (Role of Inference, section 3.2). The modules
`crops` and `phrases` hold the implementations. Heads import only this module, which loads no
parser.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor

from zoo.errors import ZooError
from zoo.support.configurable import Configurable


class Views(Configurable, ABC):
    """Base class of methods that make views of an image.

    Attributes:
        side: The image is first resized and centre-cropped to a square with this side, in pixels.
        count: The number of views per image.

    Examples:
        An image and its upper half. If this class is in a module `my_views`, it is selected by
        `--model.head.views my_views.Halves`:

        >>> import torch
        >>> from zoo.regions_and_phrases import Views
        >>> class Halves(Views):
        ...     side, count = 224, 2
        ...     def views(self, image):
        ...         return [image, image[:, : image.shape[1] // 2]]
        >>> [tuple(view.shape) for view in Halves().checked_views(torch.zeros(3, 224, 224))]
        [(3, 224, 224), (3, 112, 224)]
    """

    side: int
    count: int

    @abstractmethod
    def views(self, image: Tensor) -> Sequence[Tensor]:
        """Returns the views of an image.

        The views may be slices that share the image's memory. Each view is later resized to the
        input size of the image tower.

        Args:
            image: The resized and cropped image, `[3, side, side]`.

        Returns:
            `count` views, `[3, height, width]` each. If an image has fewer views, some must be
            repeated. Repeated views do not change scores.
        """

    def checked_views(self, image: Tensor) -> list[Tensor]:
        """Returns the views of an image, after checking their number and form.

        Args:
            image: The resized and cropped image, `[3, side, side]`.

        Raises:
            ZooError: `views` does not return `count` tensors `[3, height, width]`.
        """
        results = list(self.views(image))
        valid_views = [v for v in results if isinstance(v, Tensor) and v.ndim == 3 and v.numel()]
        if len(valid_views) != len(results) or len(results) != self.count:
            raise ZooError(
                f"{type(self).__name__}.views returned {len(valid_views)} views of an image, and "
                f"its count is {self.count}: return that many tensors [3, height, width]"
            )
        return results


class Segments(Configurable, ABC):
    """Base class of methods that split a text into phrases.

    The phrases must depend only on the text and the arguments of the class.

    Examples:
        The parts of a text before and after "and":

        >>> from zoo.regions_and_phrases import Segments
        >>> class Sides(Segments):
        ...     def phrases(self, text):
        ...         return text.split(" and ")
        >>> Sides().split("a cat and a dog")
        ('a cat', 'a dog', 'a cat and a dog')
    """

    @abstractmethod
    def phrases(self, text: str) -> Iterable[str]:
        """Returns the phrases of a text, or an empty list if it has none."""

    def split(self, text: str) -> tuple[str, ...]:
        """Returns the distinct phrases of a text, followed by the text itself.

        Raises:
            ZooError: A phrase is blank or not a string, or a subclass that reads units files does
                not find the text in them.
        """
        results = list(self.phrases(text))
        for phrase in results:
            if not isinstance(phrase, str) or not phrase.strip():
                raise ZooError(
                    f"{type(self).__name__}.phrases({text!r}) returned {phrase!r}: return strings "
                    "that are not blank"
                )
        return (*dict.fromkeys(phrase for phrase in results if phrase != text), text)

    def describe(self) -> dict[str, Any]:
        """Returns a description of the segments for results: by default, only the class name."""
        return {"maker": type(self).__name__}
