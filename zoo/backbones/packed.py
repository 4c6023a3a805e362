"""Packed texts: all tokens of all texts in one sequence without padding.

Norms, products and perceptrons run only on real tokens. Attention is causal within each text.
In shapes, n is the number of texts, L what they are cut to, N the number of all their tokens and W
the tower's width.
"""

from collections.abc import Collection, Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class Packing:
    """The positions of the tokens of texts in one sequence.

    Args:
        lengths: How many tokens each text has, `[n]`.
        host_lengths: The same on the CPU, from which shapes follow without waiting for a GPU.
        cut: L.

    Attributes:
        real: Which tokens of the cut texts are in the sequence, `[n, L]`.
        positions: The position of each token in its own text, `[N]`.
        ends: The position of the last token of each text in the sequence, `[n]`.
    """

    def __init__(self, lengths: Tensor, host_lengths: Tensor, cut: int) -> None:
        device, total = lengths.device, int(host_lengths.sum())
        self._shortest, self._longest = (
            (int(n) for n in host_lengths.aminmax()) if len(lengths) else (0, 0)
        )
        self.real = torch.arange(cut, device=device) < lengths[:, None]
        self.ends = lengths.cumsum(0) - 1
        self._starts = torch.cat([lengths.new_zeros(1), self.ends + 1])
        self._texts = torch.arange(len(lengths), device=device).repeat_interleave(
            lengths, output_size=total
        )
        self.positions = torch.arange(total, device=device) - self._starts[self._texts]

    def pack(self, x: Tensor) -> Tensor:
        """Packs padded texts, `[n, L, ...]`, into one sequence, `[N, ...]`."""
        return x[self._texts, self.positions]

    def unpack(self, x: Tensor) -> Tensor:
        """Unpacks vectors of the sequence, `[N, ...]`, to texts that are padded with zeros.

        Args:
            x: The vectors.

        Returns:
            `[n, L, ...]`.
        """
        padded = x.new_zeros(*self.real.shape, *x.shape[1:])
        return padded.index_put((self._texts, self.positions), x)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Computes causal attention of each token within its text.

        Args:
            query: `[N, heads, W / heads]`.
            key: The same shape.
            value: The same shape.

        Returns:
            The same shape. On a GPU, nested tensors avoid padding; elsewhere they do not support
            attention, so that only attention is padded.
        """
        if query.device.type == "cuda":
            return self._attend_nested(query, key, value)
        query, key, value = (self.unpack(part).transpose(1, 2) for part in (query, key, value))
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.pack(attended.transpose(1, 2))

    def _attend_nested(self, *parts: Tensor) -> Tensor:
        query, key, value = (
            torch.nested.nested_tensor_from_jagged(
                part, self._starts, min_seqlen=self._shortest, max_seqlen=self._longest
            ).transpose(1, 2)
            for part in parts
        )
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        joined: Tensor = attended.transpose(1, 2).values()
        return joined


def run_blocks(
    blocks: Iterable[Any],
    x: Tensor,
    packing: Packing,
    layers: Collection[int],
    checkpoints: bool = False,
) -> tuple[Tensor, dict[int, Tensor]]:
    """Runs blocks on packed texts.

    Args:
        blocks: open_clip's blocks.
        x: The input of the first block, `[N, W]`.
        packing: The positions of the texts.
        layers: The blocks whose output is returned, counted from 0.
        checkpoints: Whether a block's activations are recomputed in the backward pass.

    Returns:
        The output of the last block, `[N, W]`, and the outputs of `layers`.
    """
    outputs = {}
    for i, block in enumerate(blocks):
        if checkpoints:
            x = checkpoint(_run_block, block, x, packing, use_reentrant=False)
        else:
            x = _run_block(block, x, packing)
        if i in layers:
            outputs[i] = x
    return x, outputs


def _run_block(block: Any, x: Tensor, packing: Packing) -> Tensor:
    attention: nn.MultiheadAttention = block.attn
    joined = F.linear(block.ln_1(x), attention.in_proj_weight, attention.in_proj_bias)
    parts = (part.unflatten(-1, (attention.num_heads, -1)) for part in joined.chunk(3, dim=-1))
    x = x + block.ls_1(attention.out_proj(packing.attend(*parts).flatten(-2)))
    output: Tensor = x + block.ls_2(block.mlp(block.ln_2(x)))
    return output


def supports_packing(block: Any) -> bool:
    """Returns whether `encoded` runs a block as the block runs itself.

    It does for open_clip's plain block. One with adapters on its attention is another.
    """
    from open_clip.transformer import ResidualAttentionBlock

    attention = getattr(block, "attn", None)
    return (
        type(block) is ResidualAttentionBlock
        and type(attention) is nn.MultiheadAttention
        and attention.in_proj_weight is not None
        and attention.bias_k is None
        and attention.dropout == 0
        and not attention.add_zero_attn
        and not hasattr(block, "ln_1_kv")
    )
