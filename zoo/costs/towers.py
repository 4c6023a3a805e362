"""Floating-point operations and stored activations of plain transformer towers.

A product of `[a, b]` by `[b, c]` is 2 a b c operations. Norms, activations and sums are not
counted, as in torch's FLOP counter.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zoo.errors import ZooError

STREAM, IN_BLOCK = 2, 6  # widths of a token that a block keeps for its backward pass
HALF, FULL = 2, 4  # bytes


@dataclass(frozen=True)
class TowerCost:
    """A plain transformer of open_clip.

    Attributes:
        width: Width of a token.
        layers: Number of blocks.
        hidden: Hidden width of a block's MLP.
        out: Width of the pooled vector.
        patch: Values per image patch; 0 for texts.
        prefix: Tokens in addition to the patches.
        tokens: Tokens of an image, or of a text at full length.
        quickgelu: Whether the activation is x sigmoid(1.702 x), which stores one more tensor.
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
        """Returns the operations of the forward pass of one item.

        Args:
            tokens: Its number of tokens; None for all.
        """
        n = self.tokens if tokens is None else tokens
        linear = 2 * n * (4 * self.width**2 + 2 * self.width * self.hidden)
        attention = 4 * n * n * self.width
        patches = 2 * (n - self.prefix) * self.patch * self.width if self.patch else 0
        return self.layers * (linear + attention) + patches + 2 * self.width * self.out

    def activation_bytes(self, tokens: int | None = None, half: bool = False) -> int:
        """Returns the bytes that one item stores for its backward pass.

        Per token, a block stores both inputs of its norms, their outputs, query, key and value,
        the output of attention, and two or three tensors of its MLP.

        Args:
            tokens: Its number of tokens; None for all.
            half: Whether products run in half precision; the residual stream stays in fp32.
        """
        n = self.tokens if tokens is None else tokens
        perceptron = (3 if self.quickgelu else 2) * self.hidden
        in_block = IN_BLOCK * self.width + perceptron
        stream = STREAM * self.width * FULL
        return n * self.layers * (stream + in_block * (HALF if half else FULL))


def towers_of(config: Mapping[str, Any], quickgelu: bool, name: str) -> tuple[TowerCost, TowerCost]:
    """Returns the image and the text tower of an architecture.

    Args:
        config: The architecture in open_clip's format.
        quickgelu: Whether its activation is QuickGELU.
        name: Its name in messages.

    Raises:
        ZooError: A tower is not a plain transformer of open_clip.
    """
    image, text = config["vision_cfg"], config["text_cfg"]
    unsupported = [
        key for key in ("timm_model_name", "hf_model_name") if key in image or key in text
    ]
    if unsupported or not isinstance(image.get("layers"), int):
        raise ZooError(
            f"{name} has a tower that is not a plain transformer of open_clip, and only those can "
            "be counted: plan with another model, such as ViT-B-32-quickgelu"
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
