"""Floating-point operations and stored activations of towers, counted by torch.

A tower runs on the meta device, whose tensors have shapes and take no memory. As in torch's FLOP
counter, a product of `[a, b]` by `[b, c]` is 2 a b c operations, and norms, activations and sums
are not counted.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
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

    def stored_bytes(self, half: bool) -> int:
        """Returns the bytes that it stores.

        Args:
            half: Whether products run in half precision; inputs of LayerNorm stay in fp32.
        """
        return self.norm_inputs * FULL + self.others * (HALF if half else FULL)


@dataclass(frozen=True)
class TowerCost:
    """A tower.

    Attributes:
        count: Counts the forward pass of an item of a given number of tokens.
        parameters: Number of parameters.
        out: Width of the pooled vector.
        pixels: Numbers of an image; 0 for texts.
        tokens: Tokens of a text at full length, or patches of an image; 0 if a tower has none.
        count_checkpointed: Counts what is stored if the activations of blocks are recomputed; None
            if the tower has no blocks of equal size.
        blocks: How many blocks it has.
    """

    count: Callable[[int], ForwardPass]
    parameters: int
    out: int
    pixels: int = 0
    tokens: int = 0
    count_checkpointed: Callable[[int], ForwardPass] | None = None
    blocks: int = 0

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
        return self.count(self.tokens if tokens is None else tokens).stored_bytes(half)

    def checkpointed_bytes(self, tokens: int | None = None, half: bool = False) -> int:
        """Returns the same if the activations of blocks are recomputed: those of one block remain.

        Args:
            tokens: Number of tokens of a text; None for all.
            half: Whether products run in half precision; inputs of LayerNorm stay in fp32.
        """
        everything = self.activation_bytes(tokens, half)
        if self.count_checkpointed is None:
            return everything
        count = self.tokens if tokens is None else tokens
        inputs = self.count_checkpointed(count).stored_bytes(half)
        return inputs + (everything - inputs) // self.blocks


def towers_of(
    name: str, activation: Activation | None = None, checkpoints: bool = False
) -> tuple[TowerCost, TowerCost]:
    """Returns the image and the text tower of an architecture.

    Args:
        name: The architecture, as `resolve_architecture` takes it.
        activation: The activation of the blocks; None takes the architecture's own.
        checkpoints: Whether to count what is stored if the activations of blocks are recomputed.

    Raises:
        ZooError: The name is unknown, or the architecture cannot be built.
    """
    open_clip_name, config = resolve_architecture(name)
    activation = activation or activation_of(config)

    def build_towers() -> tuple[Any, ImageTower, TextTower]:
        model: Any = build(open_clip_name, None, activation, None, device="meta").train()
        return model, ImageTower(model, config["embed_dim"]), TextTower(model, config["embed_dim"])

    model, image, text = build_towers()
    context = config["text_cfg"].get("context_length", 77)
    in_image = _count_parameters(model.visual)
    costs = (
        TowerCost(
            _image_counter(model, image),
            in_image,
            config["embed_dim"],
            pixels=3 * math.prod(image.size),
            tokens=image.patches or 0,
        ),
        TowerCost(
            _text_counter(model, text, context),
            _count_parameters(model) - in_image,
            config["embed_dim"],
            tokens=context,
        ),
    )
    if not checkpoints:
        return costs
    model, image, text = build_towers()
    counters = (_image_counter(model, image), _text_counter(model, text, context))
    for tower in (image, text):
        tower.checkpoint_blocks(name)
    image_cost, text_cost = (
        replace(cost, count_checkpointed=counter, blocks=tower.blocks) if tower.blocks else cost
        for cost, counter, tower in zip(costs, counters, (image, text), strict=True)
    )
    return image_cost, text_cost


def _image_counter(model: nn.Module, tower: ImageTower) -> Callable[[int], ForwardPass]:
    pixels = torch.empty(1, 3, *tower.size, device="meta")

    @cache
    def count(_: int) -> ForwardPass:
        return count_forward(model, lambda x: tower(x, frozenset()).pooled, pixels)

    return count


def _text_counter(model: Any, tower: TextTower, context: int) -> Callable[[int], ForwardPass]:
    if tower.masks_padding:  # transformers reads the values of a mask, and here it has none
        model.text.transformer.register_forward_pre_hook(
            lambda _, args, kwargs: (args, kwargs | {"attention_mask": None}), with_kwargs=True
        )

    @cache
    def count(tokens: int) -> ForwardPass:
        length = min(tokens, context) if tower.trims_padding else context
        ids = torch.empty(1, length, dtype=torch.long, device="meta")
        return count_forward(model, lambda x: tower(x, x[:, 0], frozenset()).pooled, ids)

    return count


def count_forward(model: nn.Module, run: Callable[[Tensor], Tensor], item: Tensor) -> ForwardPass:
    """Counts a forward pass.

    Args:
        model: The model, on the meta device.
        run: Runs a tower of the model.
        item: One item, on the meta device.
    """
    existing = {_memory(tensor) for tensor in (item, *model.parameters(), *model.buffers())}
    stored: dict[int, Tensor] = {}
    norm_inputs: dict[int, Tensor] = {}  # kept, since a freed tensor's id is used again

    def store(tensor: Tensor) -> Tensor:
        if _memory(tensor) not in existing:
            stored.setdefault(_memory(tensor), tensor)  # once for all views of its memory
        return tensor

    def layer_norm(x: Tensor, *args: Any, normalize: Any = F.layer_norm, **kwargs: Any) -> Tensor:
        norm_inputs[_memory(x)] = x
        normalized: Tensor = normalize(x, *args, **kwargs)
        return normalized

    def attention(
        *args: Any, attend: Any = F.scaled_dot_product_attention, **kwargs: Any
    ) -> Tensor:
        with torch.no_grad():
            attended: Tensor = attend(*args, **kwargs)
        # the output is an input of the projection, which stores it
        saved: Tensor = _StoredInputs.apply(attended, *args[:3])
        return saved

    # the meta device has no fused attention, and would store the matrices of all heads
    fused = patch.multiple(F, layer_norm=layer_norm, scaled_dot_product_attention=attention)
    hooks = torch.autograd.graph.saved_tensors_hooks(store, lambda tensor: tensor)
    with FlopCounterMode(display=False) as counter, hooks, fused:
        run(item)
    sizes = {key: tensor.untyped_storage().nbytes() // FULL for key, tensor in stored.items()}
    in_norms = sum(sizes.pop(key) for key in norm_inputs.keys() & sizes.keys())
    return ForwardPass(counter.get_total_flops(), in_norms, sum(sizes.values()))


class _StoredInputs(torch.autograd.Function):
    """Returns a tensor and stores others, by the hooks under which autograd would store them."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(*inputs)
        return out.view_as(out)


def _memory(tensor: Tensor) -> int:
    return id(tensor.untyped_storage())


def _count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
