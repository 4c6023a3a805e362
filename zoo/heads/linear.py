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
    """Cosine of pooled vectors, one side or both mapped by a matrix that starts as the identity.

    Args:
        side: Which vectors are mapped: those of the `text`, of the `image`, or `both`.
        scale: What cosines are multiplied with at the start, above 0; published at 1, trained.
            None takes the backbone's.
        weights: A file of the authors' weights: a state dict of `t`, the scale's logarithm, and
            `linear.weight`, the map of the text side.
        max_scale: The clamp after every step of a scale that is trained. One that starts above
            it, since a backbone or a file brings it, is held at or under its start instead.
        learn_scale: Whether the scale is trained.
        bias: What is added to scaled cosines at the start. None takes the backbone's, or no bias
            where it has none.

    Raises:
        ZooError: Weights are given and the text is not the side that is mapped.
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
                f"Linear(weights={weights}) holds a map of the text side, and side is {side}: "
                "set side to text"
            )
        self.side, self.weights = side, weights
        self.text_map: nn.Linear | None = None
        self.image_map: nn.Linear | None = None

    def attach(self, shapes: TowerShapes) -> None:
        """Builds the maps, and loads the authors' weights where they are given.

        Args:
            shapes: The backbone's.

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
            self.start_scale(float(scale))
            self.text_map.weight.data.copy_(matrix)

    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns the images' vectors, mapped where the side says so, at unit length."""
        return super().prepare_images(
            Encoded(images.pooled if self.image_map is None else self.image_map(images.pooled))
        )

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns the texts' vectors, mapped where the side says so, at unit length."""
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
            f"Linear(weights={file}): there is no such file: give the path of a state dict with t "
            "and linear.weight"
        )
    state = read_tensors(Path(file), mend="download it again")
    found = sorted(map(str, state))
    if found != ["linear.weight", "t"]:
        raise ZooError(
            f"Linear(weights={file}) has {', '.join(found)} where t and linear.weight are wanted: "
            "give another file"
        )
    for name, held in state.items():
        if not isinstance(held, Tensor):
            raise ZooError(
                f"Linear(weights={file}) has a {type(held).__name__} as {name} where a tensor is "
                "wanted: give another file"
            )
    scale, matrix = state["t"], state["linear.weight"]
    if scale.numel() != 1:
        raise ZooError(
            f"Linear(weights={file}) has {scale.numel()} numbers as t, and the scale's logarithm "
            "is one: give a file of a linear map"
        )
    if matrix.shape != (width, width):
        raise ZooError(
            f"Linear(weights={file}) maps {' x '.join(map(str, matrix.shape))}, and the "
            f"backbone's vectors have {width} numbers: give the weights made for this backbone"
        )
    return scale.reshape(()), matrix
