"""Floating-point operations and stored activations of towers, counted by torch.

A tower runs on the meta device, whose tensors have shapes and take no memory. As in torch's FLOP
counter, a product of `[a, b]` by `[b, c]` is 2 a b c operations, and norms, activations and sums
are not counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from zoo.backbones.factory import Activation, activation_of, build, resolve_architecture
from zoo.backbones.towers import ImageTower, TextTower

HALF, FULL = 2, 4  # bytes


@dataclass(frozen=True)
class ForwardPass:
    """The forward pass of one item.

    Attributes:
        flops: Its operations.
        norm_inputs: How many numbers it stores as inputs of LayerNorm, the residual stream.
        others: How many other numbers it stores for the backward pass.
    """

    flops: int
    norm_inputs: int
    others: int


@dataclass(frozen=True)
class TowerCost:
    """A tower.

    Attributes:
        count: Counts the forward pass of an item of a given number of tokens.
        parameters: Number of parameters.
        out: Width of the pooled vector.
        pixels: Numbers of an image; 0 for texts.
        tokens: Tokens of a text at full length; 0 for images, which all have one size.
    """

    count: Callable[[int], ForwardPass]
    parameters: int
    out: int
    pixels: int = 0
    tokens: int = 0

    def flops(self, tokens: int | None = None) -> int:
        """Returns the operations of the forward pass of one item.

        Args:
            tokens: Number of tokens of a text; None for all.
        """
        return self.count(self.tokens if tokens is None else tokens).flops

    def activation_bytes(self, tokens: int | None = None, half: bool = False) -> int:
        """Returns the bytes that one item stores for its backward pass.

        Args:
            tokens: Number of tokens of a text; None for all.
            half: Whether products run in half precision; inputs of LayerNorm stay in fp32.
        """
        forward = self.count(self.tokens if tokens is None else tokens)
        return forward.norm_inputs * FULL + forward.others * (HALF if half else FULL)


def towers_of(name: str, activation: Activation | None = None) -> tuple[TowerCost, TowerCost]:
    """Returns the image and the text tower of an architecture.

    Args:
        name: The architecture, as `resolve_architecture` takes it.
        activation: The activation of the blocks; None takes the architecture's own.

    Raises:
        ZooError: The name is unknown, or the architecture cannot be built.
    """
    open_clip_name, config = resolve_architecture(name)
    activation = activation or activation_of(config)
    model: Any = build(open_clip_name, None, activation, None, device="meta").train()
    out, context = config["embed_dim"], config["text_cfg"].get("context_length", 77)
    image, text = ImageTower(model, out), TextTower(model, out)
    pixels = torch.empty(1, 3, *image.size, device="meta")
    if text.masks_padding:  # transformers reads the values of a mask, and here it has none
        model.text.transformer.register_forward_pre_hook(
            lambda _, args, kwargs: (args, kwargs | {"attention_mask": None}), with_kwargs=True
        )

    @cache
    def count_image(_: int) -> ForwardPass:
        return count_forward(model, lambda x: image(x, frozenset()).pooled, pixels)

    @cache
    def count_text(tokens: int) -> ForwardPass:
        length = min(tokens, context) if text.trims_padding else context
        ids = torch.empty(1, length, dtype=torch.long, device="meta")
        return count_forward(model, lambda x: text(x, x[:, 0], frozenset()).pooled, ids)

    in_image = _count_parameters(model.visual)
    return (
        TowerCost(count_image, in_image, out, pixels=pixels.numel()),
        TowerCost(count_text, _count_parameters(model) - in_image, out, tokens=context),
    )


def count_forward(model: nn.Module, run: Callable[[Tensor], Tensor], item: Tensor) -> ForwardPass:
    """Counts a forward pass.

    Args:
        model: The model, on the meta device.
        run: Runs a tower of the model.
        item: One item, on the meta device.
    """
    existing = {_memory(tensor) for tensor in (item, *model.parameters(), *model.buffers())}
    stored: dict[int, Tensor] = {}
    norm_inputs: set[int] = set()

    def store(tensor: Tensor) -> Tensor:
        if _memory(tensor) not in existing:
            stored.setdefault(_memory(tensor), tensor)  # once for all views of its memory
        return tensor

    def layer_norm(x: Tensor, *args: Any, normalize: Any = F.layer_norm, **kwargs: Any) -> Tensor:
        norm_inputs.add(_memory(x))
        normalized: Tensor = normalize(x, *args, **kwargs)
        return normalized

    def attention(
        *args: Any, attend: Any = F.scaled_dot_product_attention, **kwargs: Any
    ) -> Tensor:
        with torch.no_grad():
            out: Tensor = attend(*args, **kwargs)
        for tensor in args[:3]:  # the output is an input of the projection, which stores it
            store(tensor)
        return out

    # the meta device has no fused attention, and would store the matrices of all heads
    fused = patch.multiple(F, layer_norm=layer_norm, scaled_dot_product_attention=attention)
    hooks = torch.autograd.graph.saved_tensors_hooks(store, lambda tensor: tensor)
    with FlopCounterMode(display=False) as counter, hooks, fused:
        run(item)
    sizes = {key: tensor.untyped_storage().nbytes() // FULL for key, tensor in stored.items()}
    in_norms = sum(sizes.pop(key) for key in norm_inputs & sizes.keys())
    return ForwardPass(counter.get_total_flops(), in_norms, sum(sizes.values()))


def _memory(tensor: Tensor) -> int:
    return id(tensor.untyped_storage())


def _count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
