"""Structure-guided inference (Miranda et al., 2026, section 3.2, Eq. 1).

c_i: the N views of an image; t_j: the M segments of a text, including the text itself; V, T: the
towers.

    s(I, T) = scale * 1/M sum_j max_i cos(V(c_i), T(t_j))
"""

from typing import Any

import torch
from torch import Tensor

from zoo.batch import PIECES, Encoded
from zoo.heads.max_sim import MaxSim
from zoo.needs import Needs
from zoo.regions_and_phrases.base import Segments, Views
from zoo.regions_and_phrases.crops import Overlap
from zoo.support.class_names import class_of
from zoo.support.ranges import Number, PositiveFloat, PositiveInt, PositiveNumber


class StructureGuided(MaxSim):
    """The highest cosine of each phrase with a crop, averaged. The whole text is also a phrase.

    Only evaluation uses crops and phrases. Training is as with `Cosine`.

    Args:
        views: Cuts images into crops (views). By default, `Overlap`, as in the paper.
        segments: Splits texts into phrases. By default, `Coarse`, as in the paper.
        chunk: The maximum number of values in memory while pairs are scored, in millions.
        scale: The initial scale of similarities, above 0. None takes the backbone's.
        max_scale: The upper bound of a trained scale, applied after every step. If a higher initial
            scale is read from the backbone, it becomes the bound.
        learn_scale: Whether the scale is trained.
        bias: The initial bias, added to scaled similarities. None takes the backbone's bias, if it
            has one.

    Examples:
        The segments of a text, and the number of views of an image:

        >>> from zoo.heads import StructureGuided
        >>> head = StructureGuided()
        >>> head.segments.split("a red cup is on a blue car")
        ('red cup', 'blue car', 'a red cup is on a blue car')
        >>> head.views.count
        270
    """

    def __init__(
        self,
        views: Views | None = None,
        segments: Segments | None = None,
        chunk: PositiveInt = 32,
        scale: PositiveNumber | None = None,
        max_scale: PositiveFloat = 100.0,
        learn_scale: bool = True,
        bias: Number | None = None,
    ) -> None:
        super().__init__(
            start_token=True,
            chunk=chunk,
            scale=scale,
            max_scale=max_scale,
            learn_scale=learn_scale,
            bias=bias,
        )
        self.image_key = self.text_key = PIECES
        self.views = views or Overlap()
        # resolved by name, since importing its class would load the unit extraction rules
        self.segments = segments or class_of("Coarse", "segments", Segments)()

    def inferred_arguments(self) -> dict[str, Any]:
        """Returns the views and segments that are used, which checkpoints and results record."""
        return {"views": self.views, "segments": self.segments}

    @property
    def needs(self) -> Needs:
        """The pooled vectors of views and segments."""
        return Needs(pooled=True, views=self.views, segments=self.segments)

    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns the views at unit length."""
        return super().prepare_images(_ensure_pieces(images))

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns the segments at unit length."""
        return super().prepare_texts(_ensure_pieces(texts))

    def word_patch_scores(
        self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor
    ) -> Tensor | None:
        """Returns None, since views overlap and are not patches."""
        return None

    def _numbers_per_pair(self, patches: Tensor, words: Tensor) -> int:
        # there are many views and few segments: the views' vectors can need the most memory
        return patches.shape[1] * max(words.shape[1], patches.shape[2])


def _ensure_pieces(items: Encoded) -> Encoded:
    """Returns the views or segments of the items; an item encoded as a whole has only itself."""
    if PIECES in items.tokens:
        return items
    mask = torch.ones(len(items), 1, dtype=torch.bool, device=items.pooled.device)
    return Encoded(items.pooled, {PIECES: items.pooled[:, None]}, {PIECES: mask})
