"""Structure-guided inference (Role of Inference, section 3.2, Eq. 1).

c_i: the views of an image, N of them; t_j: the segments of a text, M of them, the text among them;
V, T: the towers.

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
from zoo.support.names import class_of
from zoo.support.ranges import Number, PositiveFloat, PositiveInt, PositiveNumber


class StructureGuided(MaxSim):
    """Each segment of a text finds its best view of the image; the mean over segments is the score.

    It changes how a model is measured. While it is trained an image is its only view and a text
    its only segment, so that the head trains as `Cosine`.

    Args:
        views: What makes views of images. Where None, `Overlap`, the paper's choice.
        segments: What makes segments of texts. Where None, `Coarse`, the paper's choice.
        chunk: How many numbers are held at once while pairs are scored, in millions: similarities,
            or entries of the views' vectors where these are more.
        scale: What similarities are multiplied with at the start, above 0. None takes the
            backbone's.
        max_scale: The clamp after every step of a scale that is trained. One that starts above
            it, since a backbone brings it, is held at or under its start instead.
        learn_scale: Whether the scale is trained.
        bias: What is added to scaled similarities at the start. None takes the backbone's, or no
            bias where it has none.
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
        # named as in a YAML, since importing its class would load the rules that find units
        self.segments = segments or class_of("Coarse", "segments", Segments)()

    def resolved_arguments(self) -> dict[str, Any]:
        """Returns the makers of views and segments, which checkpoints and results name."""
        return {"views": self.views, "segments": self.segments}

    @property
    def needs(self) -> Needs:
        """The pooled vectors of views and segments."""
        return Needs(pooled=True, views=self.views, segments=self.segments)

    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns the views at unit length."""
        return super().prepare_images(_in_pieces(images))

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns the segments at unit length."""
        return super().prepare_texts(_in_pieces(texts))

    def patch_words(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor | None:
        """Returns None: its views overlap, and are no patches."""
        return None

    def _of_a_pair(self, patches: Tensor, words: Tensor) -> int:
        # there are many views and few segments, so that the views of the pairs take the most room
        return patches.shape[1] * max(words.shape[1], patches.shape[2])


def _in_pieces(items: Encoded) -> Encoded:
    """Returns the items' pieces; an item that was encoded whole is its only piece."""
    if PIECES in items.tokens:
        return items
    whole = torch.ones(len(items), 1, dtype=torch.bool, device=items.pooled.device)
    return Encoded(items.pooled, {PIECES: items.pooled[:, None]}, {PIECES: whole})
