"""LabCLIP (Koishigarina et al., 2025): a linear map W between the towers.

v, t: pooled vectors of an image and a text. W is the identity at the start.

    s(I, T) = scale * cos(v, W t)
"""

from pathlib import Path
from typing import Literal

from torch import Tensor, nn

from zoo.batch import Encoded, TowerShapes
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.support.ranges import Number, PositiveFloat, PositiveNumber
from zoo.support.tensors import read_tensors


class Linear(Cosine):
    """Cosine after a trained linear map of the text vector, the image vector, or both.

    With `side` set to `text`, this is LabCLIP (Koishigarina et al., 2025). Before training, the map
    is the identity.

    Args:
        side: Which vectors are mapped: those of the `text`, of the `image`, or `both`.
        scale: The initial scale of cosines, above 0. LabCLIP starts at 1 and trains the scale. None
            takes the backbone's.
        weights: A file of LabCLIP's published weights: a state dict with `t` (the scale's
            logarithm) and `linear.weight` (the map of the text vector).
        max_scale: The upper bound of a trained scale, applied after every step. If a higher initial
            scale is read from the backbone or from a file of weights, it becomes the bound.
        learn_scale: Whether the scale is trained.
        bias: The initial bias, added to scaled cosines. None takes the backbone's bias, if it has
            one.

    Raises:
        ZooError: `weights` is given, and `side` is not `text`.

    Examples:
        In the `batch` from the example of `zoo.batch.Batch`, the image of a red cup matches the
        text "a blue cup" after a map that exchanges red and blue:

        >>> from zoo.batch import TowerShapes
        >>> from zoo.heads import Linear
        >>> head = Linear(side="text")
        >>> head.attach(TowerShapes(4, 4, 4, patches=None, prefix=0, context=8, scale=1.0))
        >>> head.text_map.weight.data = head.text_map.weight.data[[1, 0, 2, 3]]
        >>> images, texts = head.prepare_images(batch.images), head.prepare_texts(batch.texts)
        >>> round(head.block(images, texts)[0, 2].item(), 3)
        1.0
    """

    scales_cosine = False  # of mapped vectors

    def __init__(
        self,
        side: Literal["text", "image", "both"] = "text",
        scale: PositiveNumber | None = 1.0,
        weights: str | None = None,
        max_scale: PositiveFloat = 100.0,
        learn_scale: bool = True,
        bias: Number | None = None,
    ) -> None:
        super().__init__(scale, max_scale, learn_scale, bias)
        if weights is not None and side != "text":
            raise ZooError(
                f"Linear(weights={weights}) loads a map of the text side, and side is {side}: "
                "set side to text"
            )
        self.side, self.weights = side, weights
        self.text_map: nn.Linear | None = None
        self.image_map: nn.Linear | None = None

    def attach(self, shapes: TowerShapes) -> None:
        """Builds the maps, and loads LabCLIP's weights if a file is given.

        Args:
            shapes: The backbone's shapes.

        Raises:
            ZooError: The file of weights cannot be read, or does not fit the backbone.
        """
        super().attach(shapes)
        if self.side != "image":
            self.text_map = _identity(shapes.width)
        if self.side != "text":
            self.image_map = _identity(shapes.width)
        if self.weights is not None and self.text_map is not None:
            scale, matrix = _read_published_weights(self.weights, shapes.width)
            self.set_initial_log_scale(float(scale))
            self.text_map.weight.data.copy_(matrix)

    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns the images' vectors at unit length, mapped if `side` includes images."""
        return super().prepare_images(
            Encoded(images.pooled if self.image_map is None else self.image_map(images.pooled))
        )

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns the texts' vectors at unit length, mapped if `side` includes texts."""
        return super().prepare_texts(
            Encoded(texts.pooled if self.text_map is None else self.text_map(texts.pooled))
        )


def _identity(width: int) -> nn.Linear:
    layer = nn.Linear(width, width, bias=False)
    nn.init.eye_(layer.weight)
    return layer


def _read_published_weights(file: str, width: int) -> tuple[Tensor, Tensor]:
    """Returns the scale's logarithm and the map [width, width] of a file of authors' weights."""
    if not Path(file).is_file():
        raise ZooError(
            f"Linear(weights={file}): the file does not exist: give the path of a state dict with "
            "t and linear.weight"
        )
    state = read_tensors(Path(file), advice="download it again")
    names = sorted(map(str, state))
    if names != ["linear.weight", "t"]:
        raise ZooError(
            f"Linear(weights={file}): the file holds {', '.join(names)}, not t and linear.weight: "
            "give another file"
        )
    for name, value in state.items():
        if not isinstance(value, Tensor):
            raise ZooError(
                f"Linear(weights={file}): {name} is a {type(value).__name__}, not a tensor: give "
                "another file"
            )
    scale, matrix = state["t"], state["linear.weight"]
    if scale.numel() != 1:
        raise ZooError(
            f"Linear(weights={file}): t has {scale.numel()} numbers, and the logarithm of the "
            "scale is one number: give the file of a linear map"
        )
    if matrix.shape != (width, width):
        raise ZooError(
            f"Linear(weights={file}): the map is {' x '.join(map(str, matrix.shape))}, and the "
            f"backbone's vectors have width {width}: give the weights for this backbone"
        )
    return scale.reshape(()), matrix
