r"""Packed texts against length buckets: one sequence of all tokens, attention within each text.

    python benchmarks/speed/packed_texts.py [--name zoo-tiny] [--texts 384] [--device cuda]

Texts of a text tower stand in one sequence without padding, so that norms, products and the
perceptron run on real tokens alone; attention is causal within each text, by nested tensors. Beside
it the backbone's own way: texts cut to few lengths, each length a call. Both give the same vectors
and gradients, which is checked. Seconds are of forward and backward, of the processor on a CPU.
Prints one table.
"""

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.batch import TextBank

SENTENCES, UNITS = (8, 24), (4, 9)  # tokens at least and at most, drawn evenly
END = 49_407


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--name", default="zoo-tiny")
    parser.add_argument("--texts", type=int, default=384)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    chosen = parser.parse_args()
    if chosen.device == "cpu":
        torch.set_num_threads(1)
    for line in measure(chosen.name, chosen.texts, chosen.turns, torch.device(chosen.device)):
        print(line)


def measure(name: str, texts: int, turns: int, device: torch.device) -> list[str]:
    """Returns the lines of a table: seconds of each way, and how far they are from each other."""
    torch.manual_seed(0)
    backbone = Backbone(name).to(device)
    bank = drawn(texts, backbone.context).map(lambda t: t.to(device))
    ways: dict[str, Callable[[], Tensor]] = {
        "buckets": lambda: backbone.encode_texts(bank).pooled,
        "packed": lambda: packed(backbone, bank),
    }
    taken: dict[str, list[float]] = {way: [] for way in ways}
    vectors, gradients = [], []
    for turn in range(turns + 1):
        for way, encode in ways.items():
            backbone.zero_grad()
            began = now(device)
            pooled = encode()
            F.normalize(pooled, dim=-1).square().cumsum(1).mean().backward()
            if turn:
                taken[way].append(now(device) - began)
            else:
                vectors.append(pooled.detach())
                given = [p.grad for p in backbone.parameters() if p.grad is not None]
                gradients.append(torch.cat([gradient.flatten() for gradient in given]))
    cut = sum(min(n for n in backbone.text_lengths if n >= m) for m in bank.lengths.tolist())
    ratio = median(b / p for b, p in zip(taken["buckets"], taken["packed"], strict=True))
    return [
        f"| {name}, {device.type}, {texts} texts | |",
        "|---|---:|",
        f"| tokens, real | {int(bank.lengths.sum()):,} |",
        f"| tokens, in buckets | {cut:,} |",
        *(f"| {way}, ms | {1000 * median(seconds):,.1f} |" for way, seconds in taken.items()),
        f"| buckets / packed | {ratio:.2f} |",
        f"| largest difference of vectors | {float((vectors[0] - vectors[1]).abs().max()):.1e} |",
        f"| of gradients | {float((gradients[0] - gradients[1]).abs().max()):.1e} |",
    ]


def now(device: torch.device) -> float:
    """Returns seconds of the processor, or of the clock where a GPU does the work."""
    if device.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def drawn(texts: int, context: int) -> TextBank:
    """Returns texts as CS-CLIP's batches have them: two sentences, two units and their foils."""
    made = torch.Generator().manual_seed(0)
    third = texts // 3
    lengths = torch.cat(
        [
            torch.randint(low, high + 1, (count,), generator=made)
            for (low, high), count in ((SENTENCES, third), (UNITS, texts - third))
        ]
    )
    ids = torch.randint(1, END - 1, (texts, context), generator=made)
    ids[torch.arange(context) >= lengths[:, None]] = 0
    ids[torch.arange(texts), lengths - 1] = END
    return TextBank(ids, lengths, torch.arange(texts), texts)


def packed(backbone: Backbone, bank: TextBank) -> Tensor:
    """Returns the pooled vectors of texts that stand in one sequence."""
    text: Any = getattr(backbone.model, "text", backbone.model)
    positions = torch.arange(bank.ids.shape[1], device=bank.ids.device)
    real = positions < bank.lengths[:, None]
    ends = bank.lengths.cumsum(0)
    starts = torch.cat([ends.new_zeros(1), ends])
    x = (
        text.token_embedding(bank.ids[real])
        + text.positional_embedding[positions.expand_as(real)[real]]
    )
    longest = int(bank.lengths.max())
    real = real[:, :longest]
    for block in text.transformer.resblocks:
        attention = block.attn
        qkv = F.linear(block.ln_1(x), attention.in_proj_weight, attention.in_proj_bias)
        heads = (attention.num_heads, attention.head_dim)
        parts = [part.unflatten(-1, heads) for part in qkv.chunk(3, dim=-1)]
        joined = padded(parts, real) if x.device.type == "cpu" else nested(parts, starts, longest)
        x = x + block.ls_1(attention.out_proj(joined.flatten(-2)))
        x = x + block.ls_2(block.mlp(block.ln_2(x)))
    pooled: Tensor = text.ln_final(x[ends - 1]) @ text.text_projection
    return pooled


def nested(parts: list[Tensor], starts: Tensor, longest: int) -> Tensor:
    """Returns what attention gives to each token within its text, by nested tensors."""
    query, key, value = (
        # of a text, as attention wants it: [texts, heads, tokens, width of a head]
        torch.nested.nested_tensor_from_jagged(part, starts, max_seqlen=longest).transpose(1, 2)
        for part in parts
    )
    given = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    joined: Tensor = given.transpose(1, 2).values()
    return joined


def padded(parts: list[Tensor], real: Tensor) -> Tensor:
    """Returns the same on a CPU, where nested tensors have no attention: it alone is padded."""

    def rows(part: Tensor) -> Tensor:
        return part.new_zeros(*real.shape, *part.shape[1:]).index_put((real,), part).transpose(1, 2)

    query, key, value = (rows(part) for part in parts)
    given = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return given.transpose(1, 2)[real]


if __name__ == "__main__":
    main()
