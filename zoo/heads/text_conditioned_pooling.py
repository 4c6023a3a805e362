"""FLAIR's text-conditioned pooling (Xiao et al., CVPR 2025, section 3.2).

v_p: projected patches of an image; t: the projected vector of a text; D: their width; H heads, of
width d = D / H; LN: layer norms; Q, K, V, O: learned affine maps. The empty token has the key 0 and
the value 0, so that a text of which the image shows nothing can attend to nothing.

    a_hp    = (Q LN_q t)_h . (K LN_k v_p)_h / sqrt(d), and a_h0 = 0 of the empty token
    o_h     = sum_p exp(a_hp) (V LN_v v_p)_h / (1 + sum_p exp(a_hp))
    s(I, T) = scale * cos(O [o_1 .. o_H], t) (+ bias)
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from zoo.batch import Encoded, TokenKey, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head, without_autocast_and_tf32
from zoo.needs import Needs
from zoo.support.ranges import Number, PositiveFloat, PositiveInt, PositiveNumber
from zoo.support.tensors import read_tensors

PATCHES = TokenKey()
POOLING = "visual_proj."  # the pooling's names in FLAIR's files begin with it


class TextConditionedPooling(Head):
    """Cosine of a text with an image whose patches are pooled by attention; the text is the query.

    Args:
        attention_heads: The number of attention heads. It must divide the width of the pooled
            vectors.
        chunk: The maximum number of values in memory while pairs are scored, in millions. The
            values are recomputed in the backward pass.
        weights: A file of FLAIR's weights, from which pooling, scale and bias are read. By default,
            the weights of the pooling are random.
        scale: The initial scale of cosines, above 0. FLAIR starts at 1 / 0.07. None takes the
            backbone's.
        max_scale: The upper bound of a trained scale, applied after every step. If a higher initial
            scale is read from the backbone or from a file of weights, it becomes the bound.
        learn_scale: Whether the scale is trained.
        bias: The initial bias, added to scaled cosines. FLAIR starts at -10. None takes the
            backbone's bias, if it has one.

    Examples:
        FLAIR's pooling adds about a million parameters to ViT-B/16:

        >>> from zoo.batch import TowerShapes
        >>> from zoo.heads import TextConditionedPooling
        >>> head = TextConditionedPooling()
        >>> head.attach(TowerShapes(512, 768, 512, patches=196, prefix=1, context=77, scale=14.3))
        >>> sum(parameter.numel() for parameter in head.parameters())
        1053697
    """

    def __init__(
        self,
        attention_heads: PositiveInt = 8,
        chunk: PositiveInt = 32,
        weights: str | None = None,
        scale: PositiveNumber | None = None,
        max_scale: PositiveFloat = 100.0,
        learn_scale: bool = True,
        bias: Number | None = None,
    ) -> None:
        super().__init__(scale, max_scale, learn_scale, bias)
        self.attention_heads, self.chunk, self.weights = attention_heads, chunk, weights

    def attach(self, shapes: TowerShapes) -> None:
        """Builds the pooling, and loads FLAIR's weights if a file is given.

        Args:
            shapes: The backbone's shapes.

        Raises:
            ZooError: The image tower returns no patches, `attention_heads` does not divide the
                width of the pooled vectors, or the file of weights cannot be read or does not fit.
        """
        super().attach(shapes)
        if shapes.patches is None:
            raise ZooError(
                "TextConditionedPooling reads patches, and this backbone's image tower returns "
                "none: use a ViT"
            )
        if shapes.width % self.attention_heads:
            raise ZooError(
                f"TextConditionedPooling(attention_heads={self.attention_heads}): the width of "
                f"the backbone's vectors, {shapes.width}, is not a multiple of it: set "
                "attention_heads to a divisor"
            )
        self.attn = nn.MultiheadAttention(shapes.width, self.attention_heads)
        self.ln_q, self.ln_k, self.ln_v = (nn.LayerNorm(shapes.width) for _ in range(3))
        if self.weights is not None:
            self._load_published_weights(Path(self.weights))

    @property
    def needs(self) -> Needs:
        """The last layer's projected patches, without CLS, and the pooled vectors of texts."""
        return Needs(image_keys=frozenset({PATCHES}), pooled_texts=True)

    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns the keys and the values of the patches, concatenated."""
        patches = images.tokens[PATCHES].to(self.ln_k.weight.dtype)
        keys = F.linear(self.ln_k(patches), *self._projection(1))
        values = F.linear(self.ln_v(patches), *self._projection(2))
        keys_and_values = torch.cat([keys, values], dim=-1)
        return Encoded(
            keys_and_values.new_zeros(len(keys_and_values), 0),
            {PATCHES: keys_and_values},
            images.masks,
        )

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns the pooled vectors in at least fp32."""
        return Encoded(_raise_precision(texts.pooled))

    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        """Scores given pairs; see `Head.pairs`."""
        keys_and_values, mask = images.tokens[PATCHES], images.masks[PATCHES]

        def score(i: Tensor, j: Tensor) -> Tensor:
            return self._similarity(keys_and_values[i], mask[i], texts.pooled[j][:, None])[:, 0]

        step = self._items_per_chunk(keys_and_values.shape[1] * keys_and_values.shape[2])
        return self.logits(
            torch.cat(
                [
                    _checkpointed(score, a, b)
                    for a, b in zip(i.split(step), j.split(step), strict=True)
                ]
            )
        )

    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        """Scores all pairs; see `Head.block`."""
        keys_and_values, mask = images.tokens[PATCHES], images.masks[PATCHES]

        def score(some_texts: Tensor) -> Tensor:
            return self._similarity(keys_and_values, mask, some_texts)

        numbers = self.attention_heads * (keys_and_values.shape[1] + 1) + keys_and_values.shape[2]
        step = self._items_per_chunk(len(keys_and_values) * numbers)
        columns = [_checkpointed(score, vectors[None]) for vectors in texts.pooled.split(step)]
        return self.logits(torch.cat(columns, dim=1))

    def _items_per_chunk(self, numbers: int) -> int:
        return max(1, self.chunk * 1_000_000 // max(numbers, 1))

    def _projection(self, part: int) -> tuple[Tensor, Tensor]:
        """Returns matrix and offset of Q (0), K (1) or V (2)."""
        weight, bias = self.attn.in_proj_weight, self.attn.in_proj_bias
        return weight.chunk(3)[part], bias.chunk(3)[part]

    def _similarity(self, keys_and_values: Tensor, mask: Tensor, texts: Tensor) -> Tensor:
        """Returns the cosine of each text with its image as the text pools it.

        Args:
            keys_and_values: The keys and values of n images, `[n, P, 2D]`.
            mask: Which patches are real, `[n, P]`.
            texts: The m texts of each image, `[n, m, D]`, or of all, `[1, m, D]`.

        Returns:
            The cosines, `[n, m]`.
        """
        queries = F.linear(self.ln_q(texts.to(self.ln_q.weight.dtype)), *self._projection(0))
        keys_and_values = F.pad(keys_and_values.to(queries.dtype), (0, 0, 0, 1))  # the empty token
        keys, values = keys_and_values.chunk(2, dim=-1)
        visible = F.pad(mask, (0, 1), value=True)[:, None, None]
        pooled = F.scaled_dot_product_attention(
            self._split_heads(queries.expand(len(keys_and_values), -1, -1)),
            self._split_heads(keys),
            self._split_heads(values),
            visible,
        )
        pooled = self.attn.out_proj(pooled.transpose(1, 2).flatten(2))
        with without_autocast_and_tf32(texts):
            raised = _raise_precision(pooled).to(texts.dtype)
            return (F.normalize(raised, dim=-1) * F.normalize(texts, dim=-1)).sum(-1)

    def _split_heads(self, x: Tensor) -> Tensor:
        """Returns `[n, H, L, d]` of `[n, L, D]`."""
        heads: Tensor = x.unflatten(-1, (self.attention_heads, -1))
        return heads.transpose(1, 2)

    def _load_published_weights(self, file: Path) -> None:
        state, scale, bias = read_published_pooling(file)
        tensors = {name: tensor for name, tensor in self.state_dict().items() if "." in name}
        differences = [
            name
            for name in sorted(tensors.keys() | state.keys())
            if name not in tensors or name not in state or tensors[name].shape != state[name].shape
        ]
        if differences:
            raise ZooError(
                f"TextConditionedPooling(weights={file}): the pooling of the file does not fit "
                f"this backbone ({POOLING}{differences[0]} is missing or of another size): use "
                "the architecture that the file was trained with, ViT-B-16"
            )
        self.load_state_dict(state, strict=False)
        self.set_initial_log_scale(scale)
        self.bias = nn.Parameter(torch.tensor(bias))


def read_published_pooling(file: Path) -> tuple[dict[str, Tensor], float, float]:
    """Reads the pooling of FLAIR's published weights.

    Args:
        file: The file.

    Returns:
        The pooling's tensors without the prefix, the logarithm of the scale, and the bias.

    Raises:
        ZooError: The file cannot be read, or has no pooling.
    """
    if not file.is_file():
        raise ZooError(
            f"TextConditionedPooling(weights={file}): the file does not exist: give the path of "
            "FLAIR's weights"
        )
    content = read_tensors(file, advice="download it again")
    content = content.get("state_dict", content)
    state = {name.removeprefix("module."): tensor for name, tensor in content.items()}
    pooling = {n.removeprefix(POOLING): t for n, t in state.items() if n.startswith(POOLING)}
    missing = [name for name in ("logit_scale", "logit_bias") if name not in state]
    if missing or not pooling:
        raise ZooError(
            f"TextConditionedPooling(weights={file}): the file has no {(missing or [POOLING])[0]}, "
            "and is not a file of FLAIR's weights: give another file"
        )
    return pooling, float(state["logit_scale"]), float(state["logit_bias"])


def _checkpointed(score: Callable[..., Tensor], *arguments: Any) -> Tensor:
    similarity: Tensor = checkpoint(score, *arguments, use_reentrant=False)
    return similarity


def _raise_precision(x: Tensor) -> Tensor:
    return x if x.dtype.itemsize >= 4 else x.float()
