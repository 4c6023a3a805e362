"""Towers: floating-point operations and kept activations of plain transformers.

A product of `[a, b]` by `[b, c]` is 2 a b c operations. Norms, activations and sums are left out,
as torch's own counter leaves them out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zoo.errors import ZooError

STREAM, IN_BLOCK = 2, 6  # widths of a token that a block keeps for its backward pass
HALF, WHOLE = 2, 4  # bytes


@dataclass(frozen=True)
class TowerCost:
    """A transformer of open_clip's own kind.

    Attributes:
        width: Width of a token.
        layers: Number of blocks.
        hidden: Width inside of a block's perceptron.
        out: Width of the pooled vector.
        patch: Numbers of a patch of the image; 0 for texts.
        prefix: Tokens beside the patches.
        tokens: Tokens of an image, or of a text at full length.
        quickgelu: Whether the activation is x sigmoid(1.702 x), which keeps one tensor more.
    """

    width: int
    layers: int
    hidden: int
    out: int
    patch: int
    prefix: int
    tokens: int
    quickgelu: bool

    def flops(self, tokens: int | None = None) -> int:
        """Returns the operations of one item forward.

        Args:
            tokens: Its tokens; all where None.
        """
        n = self.tokens if tokens is None else tokens
        linear = 2 * n * (4 * self.width**2 + 2 * self.width * self.hidden)
        attention = 4 * n * n * self.width
        patches = 2 * (n - self.prefix) * self.patch * self.width if self.patch else 0
        return self.layers * (linear + attention) + patches + 2 * self.width * self.out

    def activation_bytes(self, tokens: int | None = None, half: bool = False) -> int:
        """Returns the bytes that one item keeps for its backward pass.

        A block keeps, a token, both inputs of its norms, their outputs, query, key and value,
        what attention gives, and two or three tensors of its perceptron.

        Args:
            tokens: Its tokens; all where None.
            half: Whether products run in half precision, beside a stream in fp32.
        """
        n = self.tokens if tokens is None else tokens
        perceptron = (3 if self.quickgelu else 2) * self.hidden
        inside = IN_BLOCK * self.width + perceptron
        stream = STREAM * self.width * WHOLE
        return n * self.layers * (stream + inside * (HALF if half else WHOLE))


def towers_of(config: Mapping[str, Any], quickgelu: bool, name: str) -> tuple[TowerCost, TowerCost]:
    """Returns the image and the text tower of an architecture.

    Args:
        config: The architecture in open_clip's format.
        quickgelu: Whether its activation is QuickGELU.
        name: What messages call it.

    Raises:
        ZooError: A tower is none of open_clip's own transformers.
    """
    image, text = config["vision_cfg"], config["text_cfg"]
    foreign = [key for key in ("timm_model_name", "hf_model_name") if key in image or key in text]
    if foreign or not isinstance(image.get("layers"), int):
        raise ZooError(
            f"{name} has a tower that is no plain transformer of open_clip, and only those are "
            "counted: plan with one such as ViT-B-32-quickgelu"
        )
    size = image.get("image_size", 224)
    height, width = (size, size) if isinstance(size, int) else size
    patches = (height // image["patch_size"]) * (width // image["patch_size"])
    out = config["embed_dim"]
    return (
        TowerCost(
            width=image["width"],
            layers=image["layers"],
            hidden=int(image["width"] * image.get("mlp_ratio", 4.0)),
            out=out,
            patch=3 * image["patch_size"] ** 2,
            prefix=1,
            tokens=patches + 1,
            quickgelu=quickgelu,
        ),
        TowerCost(
            width=text["width"],
            layers=text["layers"],
            hidden=int(text["width"] * text.get("mlp_ratio", 4.0)),
            out=out,
            patch=0,
            prefix=0,
            tokens=text.get("context_length", 77),
            quickgelu=quickgelu,
        ),
    )
