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
from zoo.support.configurable import Configurable
from zoo.support.gpu import exact_fp32_products
from zoo.support.ranges import Number, PositiveFloat, PositiveNumber


@contextmanager
def without_autocast_and_tf32(x: Tensor) -> Iterator[None]:
    """Disables autocast and TF32, so that products keep the precision of their arguments.

    Scores need it: bf16 cosines have steps of 0.002 above 0.25, and of 0.004 above 0.5.
    """
    with torch.autocast(x.device.type, enabled=False), exact_fp32_products():
        yield


class Head(Configurable, nn.Module, ABC):
    """Base class of heads.

    `attach` is called once, with the backbone's shapes, before a checkpoint is loaded into the
    head.

    Args:
        scale: The initial scale of similarities, above 0. None takes the backbone's.
        max_scale: The upper bound of a trained scale, applied after every step. If a higher initial
            scale is read from the backbone or from a file of weights, it becomes the bound.
        learn_scale: Whether the scale is trained.
        bias: The initial bias, added to scaled similarities. None takes the backbone's bias, if it
            has one.

    Attributes:
        scales_cosine: Whether the scale multiplies cosines of the towers' own vectors. Only then
            can the head's scale replace the backbone's, for example in an exported model.
        patch_measure: What `word_patch_scores` returns: `cosine` or `attention`. Report pages show
            this name.

    Raises:
        ZooError: `scale` is not above 0, or it is above `max_scale` and is trained.

    Examples:
        A custom head, the dot product of pooled vectors, with the `batch` from the example of
        `zoo.batch.Batch`:

        >>> from zoo.heads import Head
        >>> from zoo.scores import Scores
        >>> class Dot(Head):
        ...     def prepare_images(self, images): return images
        ...     def prepare_texts(self, texts): return texts
        ...     def pairs(self, images, texts, i, j):
        ...         return self.logits((images.pooled[i] * texts.pooled[j]).sum(-1))
        ...     def block(self, images, texts):
        ...         return self.logits(images.pooled @ texts.pooled.T)
        >>> Scores(Dot(learn_scale=False), batch).own_texts(batch.negatives).logits.flatten()
        tensor([1., 1.])
    """

    scales_cosine: ClassVar[bool] = False
    patch_measure: ClassVar[str] = "cosine"

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
                f"{name}(scale={scale}) starts above max_scale={max_scale}, the bound in training: "
                "change one of the two"
            )
        self.initial_scale, self.initial_bias, self.max_scale = scale, bias, max_scale
        self.log_scale = nn.Parameter(torch.zeros(()), requires_grad=learn_scale)
        self.initial_log_scale = 0.0  # its value at the start of training
        self.bias: nn.Parameter | None = None
        if scale is not None:
            self.set_initial_log_scale(math.log(scale))
        if bias is not None:
            self.bias = nn.Parameter(torch.tensor(float(bias)))

    def attach(self, shapes: TowerShapes) -> None:
        """Builds what depends on the backbone's shapes, and sets the initial scale and bias."""
        self.set_initial_log_scale(
            math.log(shapes.scale if self.initial_scale is None else self.initial_scale)
        )
        bias = shapes.bias if self.initial_bias is None else self.initial_bias
        if bias is not None:
            self.bias = nn.Parameter(torch.tensor(float(bias)))

    def set_initial_log_scale(self, log_scale: float) -> None:
        """Sets the scale at which training starts.

        If it is above `max_scale`, it takes the place of `max_scale` as the upper bound.

        Args:
            log_scale: The logarithm of the scale.
        """
        self.log_scale.data.fill_(log_scale)
        self.initial_log_scale = self.log_scale.item()

    @property
    def needs(self) -> Needs:
        """What this instance needs from the towers and the data; by default, pooled vectors."""
        return Needs(pooled=True)

    @property
    def reranks(self) -> bool:
        """Whether the head is too slow to score all pairs of a retrieval benchmark.

        If so, the cosine selects a short list of candidates per query, and the head ranks these.
        """
        return self.needs.tokens or self.needs.pieces

    @property
    def scale(self) -> Tensor:
        """The scale of similarities, a positive scalar in at least fp32."""
        return self.log_scale.exp()

    @torch.no_grad()
    def clamp_scale(self) -> None:
        """Limits a trained scale to `max_scale`, or to the initial scale if that is higher.

        It is called after every optimizer step.
        """
        if self.log_scale.requires_grad:
            self.log_scale.clamp_(max=max(math.log(self.max_scale), self.initial_log_scale))

    def logits(self, similarity: Tensor) -> Tensor:
        """Returns scale * similarity + bias, in at least fp32, for a tensor of any shape."""
        raised = similarity if similarity.dtype is torch.float64 else similarity.float()
        scaled = self.scale.to(raised.dtype) * raised
        return scaled if self.bias is None else scaled + self.bias.to(raised.dtype)

    @abstractmethod
    def prepare_images(self, images: Encoded) -> Encoded:
        """Prepares images for `pairs` and `block`.

        All work that can be done once per image is done here.
        """

    @abstractmethod
    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Prepares texts for `pairs` and `block`.

        All work that can be done once per text is done here.
        """

    @abstractmethod
    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        """Scores given pairs of images and texts.

        Args:
            images: Prepared images.
            texts: Prepared texts.
            i: The image of each pair, as an index into `images`, `[P]`.
            j: The text of each pair, as an index into `texts`, `[P]`.

        Returns:
            The pairs' logits, `[P]`.
        """

    @abstractmethod
    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        """Scores each image against each text, without communication between ranks.

        Args:
            images: Prepared images.
            texts: Prepared texts.

        Returns:
            The logits of images against texts, `[n, m]`.
        """

    def word_patch_scores(
        self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor
    ) -> Tensor | None:
        """Returns the similarity or the attention of each text token to each image patch.

        Args:
            images: Prepared images.
            texts: Prepared texts.
            i: The image of each pair, as an index into `images`, `[P]`.
            j: The text of each pair, as an index into `texts`, `[P]`.

        Returns:
            Similarities or attention weights, `[P, tokens, patches]`; None (the default) if the
            score does not compare text tokens with patches.
        """
        return None


def starts_at_random(head: Head, shapes: TowerShapes) -> bool:
    """Checks whether a head's initial weights are random.

    Args:
        head: A head that was just attached, without loaded weights.
        shapes: The shapes that it was attached to.

    Returns:
        Whether a second head with the same arguments has other weights.
    """
    if len(list(head.parameters())) <= len(("log_scale", "bias")):
        return False
    with torch.random.fork_rng(devices=[]):
        second_head = type(head)(**head.recorded_arguments)
        second_head.attach(shapes)
    state = head.state_dict()
    return any(
        not torch.equal(state[name], tensor) for name, tensor in second_head.state_dict().items()
    )
