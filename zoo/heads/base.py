"""Head: scores pairs of encoded images and texts.

n images, m texts, P named pairs; logits = scale * similarity (+ bias).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import torch
from torch import Tensor, nn

from zoo.batch import Encoded, TowerShapes
from zoo.errors import ZooError
from zoo.needs import Needs
from zoo.support.ranges import Number, PositiveFloat, PositiveNumber
from zoo.support.spec import Configurable


@contextmanager
def without_autocast(x: Tensor) -> Iterator[None]:
    """Makes products keep the precision of their arguments, under TF32 too.

    Scores need it: a bf16 cosine has steps of 0.002 from 0.25 on, and of 0.004 from 0.5 on.
    """
    before = torch.get_float32_matmul_precision()
    with torch.autocast(x.device.type, enabled=False):
        try:
            if before != "highest":
                torch.set_float32_matmul_precision("highest")
            yield
        finally:
            if before != "highest":
                torch.set_float32_matmul_precision(before)


class Head(Configurable, nn.Module, ABC):
    """Base of heads.

    `attach` is called once with the backbone's shapes, before any weights are loaded.

    Args:
        scale: What similarities are multiplied with at the start, above 0. None takes the
            backbone's.
        max_scale: The clamp after every step of a scale that is trained. One that starts above
            it, since a backbone or a file brings it, is held at or under its start instead.
        learn_scale: Whether the scale is trained.
        bias: What is added to scaled similarities at the start. None takes the backbone's, or no
            bias where it has none.

    Attributes:
        scales_cosine: Whether the scale is the temperature of cosines of the towers' own vectors,
            so that it may stand for the backbone's. Of any other head it means nothing without
            the head.
        words_by: What `patch_words` tells of a word and a patch, as pages name it.

    Raises:
        ZooError: The scale is not above 0, or is trained and starts above max_scale by its own
            argument.
    """

    scales_cosine: ClassVar[bool] = False
    words_by: ClassVar[str] = "cosine"

    def __init__(
        self,
        scale: PositiveNumber | None = None,
        max_scale: PositiveFloat = 100.0,
        learn_scale: bool = True,
        bias: Number | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if scale is not None and learn_scale and scale > max_scale:
            raise ZooError(
                f"{name}(scale={scale}) starts above max_scale={max_scale}, under which training "
                "keeps it: change one of the two"
            )
        self.initial_scale, self.initial_bias, self.max_scale = scale, bias, max_scale
        self.log_scale = nn.Parameter(torch.zeros(()), requires_grad=learn_scale)
        self.start = 0.0  # its value where training began
        self.bias: nn.Parameter | None = None

    def attach(self, shapes: TowerShapes) -> None:
        """Builds what depends on the backbone's shapes, and starts scale and bias from it."""
        self.start_scale(
            math.log(shapes.scale if self.initial_scale is None else self.initial_scale)
        )
        bias = shapes.bias if self.initial_bias is None else self.initial_bias
        if bias is not None:
            self.bias = nn.Parameter(torch.tensor(float(bias)))

    def start_scale(self, log_scale: float) -> None:
        """Sets the scale that training starts from, which the clamp leaves where it is.

        Args:
            log_scale: The logarithm of the scale.
        """
        self.log_scale.data.fill_(log_scale)
        self.start = self.log_scale.item()

    @property
    def needs(self) -> Needs:
        """What this instance reads of the towers, and wants of the data: pooled vectors alone."""
        return Needs(pooled=True)

    @property
    def reranks(self) -> bool:
        """Whether a pair costs so much that retrieval scores only short-lists by cosine."""
        return self.needs.tokens or self.needs.pieces

    @property
    def scale(self) -> Tensor:
        """What similarities are multiplied with, a positive scalar in at least fp32."""
        return self.log_scale.exp()

    @torch.no_grad()
    def clamp_scale(self) -> None:
        """Keeps a trained scale at or under `max_scale`, or its start where that is higher.

        Called after every optimiser step.
        """
        if self.log_scale.requires_grad:
            self.log_scale.clamp_(max=max(math.log(self.max_scale), self.start))

    def logits(self, similarity: Tensor) -> Tensor:
        """Returns scale * similarity + bias of any shape, raised from half types to fp32."""
        raised = similarity if similarity.dtype is torch.float64 else similarity.float()
        scaled = self.scale.to(raised.dtype) * raised
        return scaled if self.bias is None else scaled + self.bias.to(raised.dtype)

    @abstractmethod
    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns the images as `pairs` and `block` want them.

        All work that can be done once an image is done here.
        """

    @abstractmethod
    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns the texts as `pairs` and `block` want them.

        All work that can be done once a text is done here.
        """

    @abstractmethod
    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        """Scores named pairs.

        Args:
            images: Prepared images.
            texts: Prepared texts.
            i: The image of each pair, a row of `images`, `[P]`.
            j: The text of each pair, a row of `texts`, `[P]`.

        Returns:
            The pairs' logits, `[P]`.
        """

    @abstractmethod
    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        """Scores all pairs; holds no collective.

        Args:
            images: Prepared images.
            texts: Prepared texts.

        Returns:
            The logits of images against texts, `[n, m]`.
        """

    def patch_words(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor | None:
        """Returns how like each token of a text is to each patch of an image, or looks at it.

        Args:
            images: Prepared images.
            texts: Prepared texts.
            i: The image of each pair, a row of `images`, `[P]`.
            j: The text of each pair, a row of `texts`, `[P]`.

        Returns:
            Similarities or shares of attention, `[P, L, patches]`, where L is the length of the
            texts' tokens. None of a head whose score is not made of them, which is what a head
            returns unless it says otherwise.
        """
        return None


def starts_at_random(head: Head, shapes: TowerShapes) -> bool:
    """Tells whether another head of the same arguments starts from other numbers.

    Args:
        head: A head that was just attached, with nothing loaded into it.
        shapes: What it was attached to.

    Returns:
        Whether its weights are random until they are trained.
    """
    if len(list(head.parameters())) <= len(("log_scale", "bias")):
        return False
    with torch.random.fork_rng(devices=[]):
        other = type(head)(**head._recorded)
        other.attach(shapes)
    own = head.state_dict()
    return any(not torch.equal(own[name], tensor) for name, tensor in other.state_dict().items())
