"""The cross-modal transformer, TF-Local and TF-Global (Miranda et al., 2026, section 4.2).

Patches v_p and tokens t_w of frozen towers; A, B: learned projections; e: learned positions; d:
width.

    x       = [CLS + e_0, A v_1 + e_1, .., A v_N + e_N,
               SEP + e_(N+1), B t_1 + e_(N+2), .., B t_M + e_(N+M+1)]
    s(I, T) = scale * (w . TransformerEncoder(x)_CLS + c)

TF-Global reads the pooled image and text vectors instead of patches and tokens. With ViT-B/32,
TF-Local has 13,333,505 trained parameters (the paper: 13.3M), and TF-Global has 13,138,433.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from zoo.batch import Encoded, TokenKey, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head, without_autocast_and_tf32
from zoo.needs import Needs
from zoo.support.ranges import (
    HalfOpenUnitInterval,
    NonNegativeNumber,
    Number,
    PositiveFloat,
    PositiveInt,
    PositiveNumber,
)

WHOLE_TEXTS = (
    "set model.backbone.text.lengths to [] and data.features to null, since a feature store keeps "
    "no padding, or set attend_pads to false"
)


class CrossModal(Head):
    """A small transformer that scores a pair from patches and text tokens, or from pooled vectors.

    Of the arguments, the paper (Miranda et al., 2026) only specifies `granularity` and `layers`.

    Args:
        granularity: What the transformer reads: patches and tokens (`local`), or pooled vectors
            (`global`).
        layers: Number of blocks of the transformer; 4 in the paper, which tried 1 to 4.
        width: Width of the transformer. With a `width` of 512 and an `ffn` of 2,048, the
            transformer has as many parameters as in the paper.
        ffn: Hidden width of the feed-forward layers.
        attention_heads: Number of attention heads per block, which must divide the width.
        dropout: Dropout of the blocks (`torch.nn.TransformerEncoderLayer`), from 0 to under 1.
        activation: Activation of the feed-forward layers, `relu` or `gelu`.
        pre_norm: Whether norms come before attention and feed-forward layers. If so, a final norm
            is added.
        layer: The block of the towers whose tokens are read, counted from the end. Use -2, the
            penultimate, for CLIP, and -1 for PE (Perception Encoder).
        norm: Whether the tokens of `layer` pass the tower's final norm. Use False for CLIP.
        cls_patch: Whether the image's prefix tokens, such as CLS, are read.
        separator: What separates image and text: a `token` between them, or two `type` vectors. One
            of these is added to every token of the image, the other to every token of the text.
        attend_pads: Whether the padding of texts is read. If so, texts must keep their padding: set
            `model.backbone.text.lengths` to [] and `data.features` to null.
        init_std: Standard deviation of the initial CLS, separator and position vectors.
        chunk: How many pairs are scored at once. Activations are recomputed in the backward pass,
            so that only those of one chunk are in memory.
        scale: The initial scale of scores, above 0. The default of 1 leaves them as they are. None
            takes the backbone's.
        max_scale: The upper bound of a trained scale, applied after every step. If a higher initial
            scale is read from the backbone, it becomes the bound.
        learn_scale: Whether the scale is trained.
        bias: The initial bias, added to scaled scores. None takes the backbone's bias, if it has
            one.

    Raises:
        ZooError: `width` is not a multiple of `attention_heads`.

    Examples:
        Parameters of the paper's TF-Local (`local`) with the towers of ViT-B/32, in millions:

        >>> from zoo.batch import TowerShapes
        >>> from zoo.heads import CrossModal
        >>> head = CrossModal(granularity="local", layers=4)
        >>> head.attach(TowerShapes(512, 768, 512, patches=49, prefix=1, context=77, scale=100.0))
        >>> round(sum(parameter.numel() for parameter in head.parameters()) / 1e6, 1)
        13.3
    """

    patch_measure: ClassVar[str] = "attention"

    def __init__(
        self,
        granularity: Literal["local", "global"] = "local",
        layers: PositiveInt = 4,
        width: PositiveInt = 512,
        ffn: PositiveInt = 2048,
        attention_heads: PositiveInt = 8,
        dropout: HalfOpenUnitInterval = 0.1,
        activation: Literal["relu", "gelu"] = "relu",
        pre_norm: bool = False,
        layer: int = -2,
        norm: bool = False,
        cls_patch: bool = True,
        separator: Literal["token", "type"] = "token",
        attend_pads: bool = False,
        init_std: NonNegativeNumber = 0.02,
        chunk: PositiveInt = 128,
        scale: PositiveNumber | None = 1.0,
        max_scale: PositiveFloat = 100.0,
        learn_scale: bool = False,
        bias: Number | None = None,
    ) -> None:
        super().__init__(scale, max_scale, learn_scale, bias)
        if width % attention_heads:
            raise ZooError(
                f"CrossModal(width={width}, attention_heads={attention_heads}): the width is not "
                "a multiple of attention_heads: change one of the two"
            )
        self.granularity, self.width, self.separator = granularity, width, separator
        self.attend_pads, self.init_std, self.chunk = attend_pads, init_std, chunk
        self.image_key = TokenKey(layer, norm, project=False, prefix=cls_patch)
        self.text_key = TokenKey(layer, norm, project=False)
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width,
                attention_heads,
                ffn,
                dropout,
                activation,
                batch_first=True,
                norm_first=pre_norm,
            )
            for _ in range(layers)
        )
        self.final_norm = nn.LayerNorm(width) if pre_norm else nn.Identity()
        self.score = nn.Linear(width, 1)

    def attach(self, shapes: TowerShapes) -> None:
        """Builds projections, positions and separators for the backbone's widths and lengths.

        Args:
            shapes: The backbone's shapes.

        Raises:
            ZooError: The image tower returns no patches, or the backbone trims the padding that
                `attend_pads` needs.
        """
        super().attach(shapes)
        if self.granularity == "global":
            widths, counts = (shapes.width, shapes.width), (1, 1)
        elif shapes.patches is None:
            raise ZooError(
                "CrossModal reads patches, and this backbone's image tower returns none: use a "
                "ViT, or set granularity to global"
            )
        else:
            patches = shapes.patches + (shapes.prefix if self.image_key.prefix else 0)
            widths, counts = (shapes.image_width, shapes.text_width), (patches, shapes.context)
            if self.attend_pads and shapes.cuts:
                raise ZooError(
                    "CrossModal(attend_pads=True) reads padding, and this backbone shortens texts: "
                    f"{WHOLE_TEXTS}"
                )
        self.image_projection, self.text_projection = (nn.Linear(w, self.width) for w in widths)
        self._prefix = shapes.prefix if self.image_key.prefix else 0
        self.image_positions, self.text_positions = (self._learned_vectors(n) for n in counts)
        separators = self.separator == "token"
        self.special = self._learned_vectors(
            1 + separators
        )  # CLS, and the separator where it is a token
        self.special_positions = self._learned_vectors(1 + separators)
        self.types = None if separators else self._learned_vectors(2)

    def _learned_vectors(self, n: int) -> nn.Parameter:
        return nn.Parameter(torch.randn(n, self.width) * self.init_std)

    @property
    def needs(self) -> Needs:
        """Patches and text tokens for `local`, pooled vectors for `global`."""
        if self.granularity == "global":
            return Needs(pooled=True)
        return Needs(image_keys=frozenset({self.image_key}), text_keys=frozenset({self.text_key}))

    @property
    def reranks(self) -> bool:
        """True: every pair runs through the transformer."""
        return True

    def prepare_images(self, images: Encoded) -> Encoded:
        """Projects image tokens to the transformer's width, and adds positions.

        Args:
            images: Encoded images.

        Returns:
            The images with these tokens.

        Raises:
            ZooError: The number of tokens differs from the number of positions.
        """
        tokens, mask = self._tokens_and_mask(images, self.image_key)
        positions = len(self.image_positions)
        if tokens.shape[1] != positions:
            raise ZooError(
                f"CrossModal has positions for {positions} image tokens and got "
                f"{tokens.shape[1]}: use the image resolution that it was built for"
            )
        x = self.image_projection(tokens) + self.image_positions
        return self._wrap_tokens(
            x if self.types is None else x + self.types[0], mask, self.image_key
        )

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Projects text tokens to the transformer's width, and adds positions.

        Args:
            texts: Encoded texts.

        Returns:
            The texts with these tokens.

        Raises:
            ZooError: There are more tokens than positions, or `attend_pads` is set and padding is
                missing.
        """
        tokens, mask = self._tokens_and_mask(texts, self.text_key)
        length, positions = tokens.shape[1], len(self.text_positions)
        if length > positions:
            raise ZooError(
                f"CrossModal has positions for {positions} text tokens and got {length}: use the "
                "context length that it was built for"
            )
        if self.attend_pads and length < positions:
            raise ZooError(
                f"CrossModal(attend_pads=True) reads {positions} text tokens with padding and got "
                f"{length}: {WHOLE_TEXTS}"
            )
        x = self.text_projection(tokens) + self.text_positions[:length]
        return self._wrap_tokens(
            x if self.types is None else x + self.types[1], mask | self.attend_pads, self.text_key
        )

    def _tokens_and_mask(self, items: Encoded, key: TokenKey) -> tuple[Tensor, Tensor]:
        if self.granularity == "local":
            return items.tokens[key], items.masks[key]
        return items.pooled[:, None], torch.ones(
            len(items), 1, dtype=torch.bool, device=items.pooled.device
        )

    def _wrap_tokens(self, x: Tensor, mask: Tensor, key: TokenKey) -> Encoded:
        return Encoded(x.new_zeros(len(x), 0), {key: x}, {key: mask})

    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        """Scores all pairs; see `Head.block`."""
        n, m = len(images), len(texts)
        i, j = (torch.arange(k, device=self.special.device) for k in (n, m))
        return self.pairs(images, texts, i.repeat_interleave(m), j.repeat(n)).reshape(n, m)

    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        """Scores given pairs chunk by chunk; see `Head.pairs`."""
        if not len(i):
            return self.logits(images.tokens[self.image_key].new_zeros(0))
        lengths = texts.masks[self.text_key].sum(1)[j]
        order = lengths.argsort()  # each chunk is cut to its longest text
        chunks = torch.split(order, self.chunk)
        last_rows = torch.arange(1, len(chunks) + 1, device=order.device) * self.chunk - 1
        # read once, since each reading waits for the device
        longest = lengths[order[last_rows.clamp(max=len(order) - 1)]].tolist()
        scores = [
            checkpoint(
                self._chunk_similarities,
                images,
                texts,
                i[chunk],
                j[chunk],
                length,
                use_reentrant=False,
            )
            for chunk, length in zip(chunks, longest, strict=True)
        ]
        return self.logits(torch.cat(scores)[order.argsort()])

    def word_patch_scores(
        self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor
    ) -> Tensor | None:
        """Returns the attention of each word to each patch through all blocks.

        The measure is attention rollout (Abnar and Zuidema, 2020): the product over blocks of (A +
        I) / 2, where A is a block's attention, averaged over its heads, and I is the identity. The
        CLS patch is left out, since it has no position in the image. With `global`, the result is
        None. See also `Head.word_patch_scores`.
        """
        if self.granularity == "global":
            return None
        length = texts.tokens[self.text_key].shape[1]
        patches = images.tokens[self.image_key].shape[1]
        first_word = 1 + patches + (self.separator == "token")
        return self._attention_rollout(images, texts, i, j, length)[
            :, first_word:, 1 + self._prefix : 1 + patches
        ]

    def _attention_rollout(
        self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor, length: int
    ) -> Tensor:
        x, padding = self._joint_tokens_and_padding(images, texts, i, j, length)
        identity = torch.eye(x.shape[1], device=x.device)
        rollout = identity.expand(len(x), -1, -1)
        for layer in self.encoder:
            assert isinstance(layer, nn.TransformerEncoderLayer)
            inputs = layer.norm1(x) if layer.norm_first else x
            _, attention = layer.self_attn(inputs, inputs, inputs, key_padding_mask=padding)
            rollout = (attention.float() + identity) / 2 @ rollout
            x = layer(x, src_key_padding_mask=padding)
        return rollout

    def _chunk_similarities(
        self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor, length: int
    ) -> Tensor:
        """Returns the scores [P] of pairs whose texts have at most `length` tokens."""
        x, padding = self._joint_tokens_and_padding(images, texts, i, j, length)
        for layer in self.encoder:
            x = layer(x, src_key_padding_mask=padding)
        with without_autocast_and_tf32(x):
            similarity: Tensor = self.score(self.final_norm(x[:, 0].to(self.score.weight.dtype)))
        return similarity[:, 0]

    def _joint_tokens_and_padding(
        self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor, length: int
    ) -> tuple[Tensor, Tensor]:
        """Returns x for pairs whose texts have at most `length` tokens, and its padding mask."""
        patches, patch_mask = images.tokens[self.image_key][i], images.masks[self.image_key][i]
        words, word_mask = (
            texts.tokens[self.text_key][j, :length],
            texts.masks[self.text_key][j, :length],
        )
        special = (self.special + self.special_positions).to(patches.dtype).expand(len(i), -1, -1)
        special_mask = patch_mask.new_ones(len(i), special.shape[1])
        x = torch.cat([special[:, :1], patches, special[:, 1:], words], dim=1)
        return x, ~torch.cat(
            [special_mask[:, :1], patch_mask, special_mask[:, 1:], word_mask], dim=1
        )
