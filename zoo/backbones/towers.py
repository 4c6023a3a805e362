"""The two towers of an open_clip model, run once for pooled vectors and for any token sets.

In shapes, n is the number of items, L the number of tokens, W the tower's width and D the width
that both towers share.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from functools import partial
from itertools import combinations
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from zoo.backbones.packed import Packing, run_blocks, supports_packing
from zoo.backbones.tokenizer import TextEnd
from zoo.batch import Encoded, TokenKey, concatenate
from zoo.errors import ZooError

BLOCKS = ("transformer.resblocks", "trunk.blocks")  # in open_clip's own towers and in timm's


class Tower(ABC):
    """Base class of both towers, with the properties of their tokens.

    Attributes:
        side: `image` or `text`.
        model: The open_clip model.
        blocks: How many transformer blocks the tower has; 0 if it has no tokens.
        width: W.
        prefix: How many prefix tokens it has.
        norms: Whether the final norm can be applied to single tokens.
        projects: Whether the projection to D can be applied to single tokens.
        checkpoints: Whether the activations of each block are recomputed in the backward pass.
    """

    side: Literal["image", "text"]
    model: Any  # open_clip's models share an interface and no class
    blocks = 0
    width: int
    prefix = 0
    norms = projects = checkpoints = False

    def checkpoint_blocks(self, name: str) -> None:
        """Recomputes the activations of each block in the backward pass, instead of storing them.

        Args:
            name: The architecture in messages.

        Raises:
            ZooError: The tower's library cannot do it.
        """
        try:
            self._checkpoint_blocks()
        except (AssertionError, ValueError) as error:  # timm's and transformers'
            raise ZooError(
                f"backbone.compute.checkpoint_blocks: the {self.side} tower of {name} cannot "
                f"recompute its blocks ({error}): set it to false, or set backbone.compute.chunk"
            ) from error
        self.checkpoints = True

    @abstractmethod
    def _checkpoint_blocks(self) -> None:
        """Turns on the recomputation in the tower's library."""

    def train_last_groups(self, count: int, name: str) -> None:
        """Freezes the tower's parameters except those of its last groups.

        Args:
            count: How many groups are trained.
            name: The architecture in messages.

        Raises:
            ZooError: The tower has no groups, or no more than these.
        """
        setting, groups = f"backbone.tuning.{self.side}_groups", self._count_groups()
        if groups == 0:
            raise ZooError(
                f"{setting}: open_clip cannot train a part of the {self.side} tower of {name}: set "
                f"it to null, or backbone.tuning.towers to one with the {self.side} tower"
            )
        if count >= groups:
            raise ZooError(
                f"{setting} is {count}, but the {self.side} tower of {name} has {groups} groups: "
                f"set it to one from 1 to {groups - 1}, or train the whole tower with "
                "backbone.tuning.towers"
            )
        self._lock_all_but(count)

    @abstractmethod
    def _count_groups(self) -> int:
        """Returns how many groups of blocks there are, 0 if they are unknown."""

    @abstractmethod
    def _lock_all_but(self, count: int) -> None:
        """Freezes all but the last `count` groups."""

    def check_token_key(self, name: str, key: TokenKey) -> None:
        """Checks that the tower can return some tokens.

        Args:
            name: The architecture in messages.
            key: The tokens.

        Raises:
            ZooError: The tower cannot return them.
        """
        tokens, reason, advice = "projected tokens", None, ""
        if self.blocks == 0:
            tokens, reason = (
                "patches" if self.side == "image" else "words",
                "it has no tokens to give",
            )
        elif not -self.blocks <= key.layer < self.blocks:
            tokens, reason = f"tokens of layer {key.layer}", f"it has {self.blocks} blocks"
            advice = f"set layer of the head or objective to one from {-self.blocks} to -1"
        elif key.project and not key.norm:
            reason, advice = (
                "its projection follows its final norm",
                "let the head or objective ask for norm=True, or for project=False",
            )
        elif key.norm and not self.norms:
            tokens, reason = (
                tokens if key.project else "tokens after its final norm",
                "that norm comes after pooling",
            )
            advice = "" if key.project else "where CrossModal asks, set its norm to false"
        elif key.project and not self.projects:
            reason, advice = (
                "it pools by attention before it projects",
                "where FSCCLIP asks, set its project to false",
            )
        elif key.prefix and not self.prefix:
            tokens, reason, advice = (
                "a CLS patch",
                "it has no prefix tokens",
                "set cls_patch of the head or objective to false",
            )
        if reason is not None:
            another = (
                f"{advice}, or choose another backbone.name"
                if advice
                else "choose another backbone.name"
            )
            raise ZooError(
                f"the {self.side} tower of {name} cannot give {tokens}, since {reason}: {another}"
            )

    def busiest_modules(self) -> list[nn.Module]:
        """Returns the modules that do most of the tower's work.

        Returns:
            Its blocks, or the whole tower if it has none.
        """
        tower: Any = (
            self.model.visual if self.side == "image" else getattr(self.model, "text", self.model)
        )
        blocks = [m for name, m in tower.named_modules() if name.rpartition(".")[0] in BLOCKS]
        return blocks or [tower]

    def layers(self, keys: frozenset[TokenKey]) -> list[int]:
        """Returns the blocks whose output is read, counted from 0, ascending."""
        return sorted({key.layer % self.blocks for key in keys})


class ImageTower(Tower):
    """Images to pooled vectors and patches.

    open_clip's VisionTransformer and timm's vision transformers return tokens. Those of timm pool
    by attention, so that patches have no projection.

    Args:
        model: The open_clip model.
        shared_width: D.
    """

    side = "image"

    def __init__(self, model: nn.Module, shared_width: int) -> None:
        from open_clip.modified_resnet import ModifiedResNet
        from open_clip.timm_model import TimmModel
        from open_clip.transformer import VisionTransformer

        self.model, self.width, self.patches = model, shared_width, None
        visual: Any = model.visual
        self.native = isinstance(visual, VisionTransformer)
        self._is_resnet = isinstance(visual, ModifiedResNet)
        if self.native:
            self.blocks, self.width, self.prefix = (
                len(visual.transformer.resblocks),
                visual.transformer.width,
                1,
            )
            self.patches = visual.grid_size[0] * visual.grid_size[1]
            self.norms = self.projects = visual.attn_pool is None
        elif (
            isinstance(visual, TimmModel)
            and hasattr(visual.trunk, "blocks")
            and hasattr(visual.trunk, "num_prefix_tokens")
        ):
            trunk = visual.trunk
            self.blocks, self.width, self.prefix = (
                len(trunk.blocks),
                trunk.embed_dim,
                trunk.num_prefix_tokens,
            )
            self.patches = (
                trunk.patch_embed.num_patches
                if hasattr(trunk, "patch_embed")
                else math.prod(trunk.embeds.dynamic_feat_size(self.size))  # NaFlex, at one size
            )
            self.norms = not isinstance(trunk.norm, nn.Identity)

    def drop_patches(self, share: float, name: str) -> None:
        """Leaves out patches of training images at random, by torch's generator of the CPU.

        Args:
            share: The share of patches that is left out.
            name: The architecture in messages.

        Raises:
            ZooError: The tower is not open_clip's ViT.
        """
        if not self.native:
            raise ZooError(
                f"backbone.augmentation.patch_dropout is {share:g}, and the image tower of {name} "
                "is not open_clip's own ViT: set it to 0"
            )
        from open_clip.transformer import PatchDropout

        self.model.visual.patch_dropout = PatchDropout(share)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the images, in pixels."""
        size = self.model.visual.image_size
        return (size, size) if isinstance(size, int) else (size[0], size[1])

    def __call__(self, images: Tensor, keys: frozenset[TokenKey]) -> Encoded:
        """Encodes images.

        Args:
            images: Prepared images, `[n, 3, H, W]`.
            keys: The tokens to give.

        Returns:
            Pooled vectors `[n, D]` and the tokens of every key. Every image token is real.
        """
        if not keys:
            if self.checkpoints and self._is_resnet:
                return Encoded(self._encode_by_bottlenecks(images))
            return Encoded(self.model.encode_image(images, normalize=False))
        layers = self.layers(keys)
        visual: Any = self.model.visual
        outputs = visual.forward_intermediates(
            images, indices=layers, output_fmt="NLC", output_extra_tokens=self.prefix > 0
        )
        patches = dict(zip(layers, outputs["image_intermediates"], strict=True))
        prefixes = dict(
            zip(layers, outputs.get("image_intermediates_prefix") or [], strict=self.prefix > 0)
        )
        tokens = {}
        for key in keys:
            layer = key.layer % self.blocks
            x = (
                torch.cat([prefixes[layer], patches[layer]], dim=1)
                if key.prefix
                else patches[layer]
            )
            if key.norm:
                x = visual.ln_post(x) if self.native else visual.trunk.norm(x)
            tokens[key] = x @ visual.proj if key.project else x
        return Encoded(
            outputs["image_features"],
            tokens,
            {key: t.new_ones(t.shape[:2], dtype=torch.bool) for key, t in tokens.items()},
        )

    def _checkpoint_blocks(self) -> None:
        visual: Any = self.model.visual
        # open_clip's method only warns if timm cannot, and does nothing in a ResNet
        (visual if self.native or self._is_resnet else visual.trunk).set_grad_checkpointing(True)

    def _count_groups(self) -> int:
        if self.native:
            return self.blocks + 2
        trunk = getattr(self.model.visual, "trunk", None)
        return len(_parameter_groups(trunk)) if hasattr(trunk, "group_matcher") else 0

    def _lock_all_but(self, count: int) -> None:
        visual: Any = self.model.visual
        if self.native:
            visual.lock(unlocked_groups=count)
            return
        # as open_clip's own method does, which imports a module that timm has moved
        groups = _parameter_groups(visual.trunk)
        for group in sorted(groups)[:-count]:
            for name in groups[group]:
                visual.trunk.get_parameter(name).requires_grad_(False)

    def _encode_by_bottlenecks(self, images: Tensor) -> Tensor:
        """Runs open_clip's ResNet, whose bottlenecks recompute their activations."""
        visual: Any = self.model.visual
        x = visual.stem(images)
        for bottleneck in (*visual.layer1, *visual.layer2, *visual.layer3, *visual.layer4):
            x = checkpoint(bottleneck, x, use_reentrant=False)
        pooled: Tensor = visual.attnpool(x)
        return pooled


class TextTower(Tower):
    """Token ids to pooled vectors and token vectors.

    open_clip's own forward does not accept shorter input, so this class runs the tower's parts
    itself.

    Args:
        model: The open_clip model.
        shared_width: D.

    Attributes:
        end: How its texts end.
        trims_padding: Whether shorter input gives the same result. It does in towers with a causal
            mask that pool at the end of the text, and in Hugging Face's, which mask padding. The
            towers of SigLIP and CoCa read their padding.
        packed: Whether its texts are packed into one sequence without padding.
    """

    side = "text"
    packed = False

    def __init__(self, model: nn.Module, shared_width: int) -> None:
        from open_clip.hf_model import HFTextEncoder
        from open_clip.model import CLIP
        from open_clip.transformer import TextTransformer, text_global_pool

        self.model, self.width = model, shared_width
        text: Any = getattr(model, "text", model)
        self.end, self.trims_padding = TextEnd(), False
        self.native = (
            isinstance(text, CLIP | TextTransformer) and getattr(text, "cls_emb", None) is None
        )
        self.masks_padding = isinstance(text, HFTextEncoder)
        if self.native:
            self.blocks, self.width, self.norms, self.projects = (
                len(text.transformer.resblocks),
                text.transformer.width,
                True,
                True,
            )
            pooling: Any = text.text_pool_type if text is model else text.pool_type
            token: Any = text.text_eos_id if text is model else text.eos_id
            if pooling == "eos":
                self.end = TextEnd(token=token)
            elif pooling == "last":
                self.end = TextEnd(token=1)  # the end of text in SigLIP's vocabularies
            self.trims_padding = text.attn_mask is not None and pooling in ("argmax", "eos")
            self._pool: Callable[[Tensor, Tensor], Tensor] = partial(
                text_global_pool, pool_type=pooling, eos_token_id=token
            )
        elif self.masks_padding:
            self.width, self.end = (
                text.config.hidden_size,
                TextEnd(padding=text.config.pad_token_id),
            )
            # open_clip's max pooling takes padding for text
            self.trims_padding = type(text.pooler).__name__ != "MaxPooler"
        elif getattr(text, "variable_text", False):  # of open_clip after 3.3, masks padding
            self.width, self.end = text.width, TextEnd(padding=text.pad_id)
            self.trims_padding = True

    def __call__(
        self,
        ids: Tensor,
        lengths: Tensor,
        keys: frozenset[TokenKey],
        host_lengths: Tensor | None = None,
    ) -> Encoded:
        """Encodes texts.

        Args:
            ids: Token ids, `[n, L]`, at full length or cut.
            lengths: How many tokens each text has, `[n]`.
            keys: The tokens to give.
            host_lengths: The lengths on the CPU; None reads them from the device.

        Returns:
            Pooled vectors `[n, D]` and the tokens of every key. Masks are true from the first token
            to the end token, both included.
        """
        if not self.native:
            encode: Any = (
                self.model.text
                if self.masks_padding
                else partial(self.model.encode_text, normalize=False)
            )
            return Encoded(encode(ids))
        if self.packed:
            host_lengths = lengths.cpu() if host_lengths is None else host_lengths
            return self._encode_packed(ids, Packing(lengths, host_lengths, ids.shape[1]), keys)
        text: Any = getattr(self.model, "text", self.model)
        dtype, length = text.transformer.get_cast_dtype(), ids.shape[1]
        x = text.token_embedding(ids).to(dtype) + text.positional_embedding[:length].to(dtype)
        # contiguous, since compiled blocks need other graphs for other strides
        causal = None if text.attn_mask is None else text.attn_mask[:length, :length].contiguous()
        layers = self.layers(keys) if keys else []
        x, outputs = text.transformer.forward_intermediates(
            x, attn_mask=causal, indices=layers or 1
        )
        by_layer = dict(zip(layers, outputs, strict=False))
        pooled = self._project(self._pool(text.ln_final(x), ids))
        real = torch.arange(length, device=ids.device) < lengths[:, None]
        return Encoded(pooled, self._tokens(by_layer, keys), dict.fromkeys(keys, real))

    def _checkpoint_blocks(self) -> None:
        text: Any = getattr(self.model, "text", self.model)
        if not self.masks_padding:
            getattr(text, "transformer", text).grad_checkpointing = True
            return
        tower = text.transformer
        # open_clip's method calls the older name, of which transformers 5 warns
        enable = getattr(tower, "activation_checkpointing_enable", None)
        (enable or tower.gradient_checkpointing_enable)({"use_reentrant": False})

    def _count_groups(self) -> int:
        text: Any = getattr(self.model, "text", self.model)
        if self.masks_padding:
            from open_clip.hf_configs import arch_dict

            names = arch_dict[text.config.model_type]["config_names"]
            is_known = {"layer_attr", "token_embeddings_attr"} <= names.keys()
            return int(text.config.num_hidden_layers) + 1 if is_known else 0
        if not hasattr(text, "transformer"):
            return 0
        return len(text.transformer.resblocks) + 1 + (text.text_projection is not None)

    def _lock_all_but(self, count: int) -> None:
        from open_clip.transformer import lock_text_tower

        if self.masks_padding:
            text: Any = self.model.text
            with redirect_stdout(None):  # it prints
                text.lock(unlocked_layers=count)
        else:
            lock_text_tower(self.model, unlocked_layers=count)

    def enable_packing(self, name: str) -> None:
        """Turns on packing of texts into one sequence without padding.

        Args:
            name: The architecture in messages.

        Raises:
            ZooError: The tower does not support it.
        """
        text: Any = getattr(self.model, "text", self.model)
        if not self.native:
            reason = "it is not open_clip's own"
        elif not self.trims_padding:
            reason = "it reads its padding"
        elif not all(supports_packing(block) for block in text.transformer.resblocks):
            reason = "its attention is not open_clip's plain one, or has adapters"
        else:
            self.packed = True
            return
        raise ZooError(
            f"backbone.compute.packed: the text tower of {name} cannot take packed texts, since "
            f"{reason}: set it to false"
        )

    def _encode_packed(self, ids: Tensor, packing: Packing, keys: frozenset[TokenKey]) -> Encoded:
        text: Any = getattr(self.model, "text", self.model)
        dtype = text.transformer.get_cast_dtype()
        x = text.token_embedding(packing.pack(ids)).to(dtype)
        x = x + text.positional_embedding[packing.positions].to(dtype)
        x, by_layer = run_blocks(
            text.transformer.resblocks, x, packing, self.layers(keys), self.checkpoints
        )
        pooled = self._project(text.ln_final(x[packing.ends]))
        tokens = {key: packing.unpack(t) for key, t in self._tokens(by_layer, keys).items()}
        return Encoded(pooled, tokens, dict.fromkeys(keys, packing.real))

    def _tokens(
        self, by_layer: dict[int, Tensor], keys: frozenset[TokenKey]
    ) -> dict[TokenKey, Tensor]:
        text: Any = getattr(self.model, "text", self.model)
        tokens = {}
        for key in keys:
            x = by_layer[key.layer % self.blocks]
            normed = text.ln_final(x) if key.norm else x
            tokens[key] = self._project(normed) if key.project else normed
        return tokens

    def _project(self, x: Tensor) -> Tensor:
        projection = getattr(self.model, "text", self.model).text_projection
        if projection is None:
            return x
        projected: Tensor = projection(x) if isinstance(projection, nn.Linear) else x @ projection
        return projected


def _parameter_groups(trunk: Any) -> dict[int, list[str]]:
    """Returns the names of parameters of a timm model by group, from the first to the last."""
    from timm.models import group_parameters

    groups: dict[int, list[str]] = group_parameters(trunk, trunk.group_matcher())
    return groups


def texts_per_chunk(chunk: int, patches: int, length: int) -> int:
    """Returns how many texts a tower encodes at once, where it encodes so many images.

    The texts have as many tokens as the images have patches, since texts are shorter and a
    tower's calls cost time.

    Args:
        chunk: How many images are encoded at once.
        patches: Patches of an image, 0 if the image tower has none.
        length: Tokens of a text.

    Examples:
        Of ViT-B/32, whose images have 49 patches:

        >>> texts_per_chunk(64, 49, 16)
        196
    """
    return max(chunk, chunk * patches // length)


def encode_in_chunks(
    run: Callable[[slice], Encoded], count: int, chunk: int | None, trained: bool
) -> Encoded:
    """Encodes items, optionally in chunks, and without a graph if nothing is trained.

    Args:
        run: Encodes a part of the items.
        count: How many items there are.
        chunk: How many are encoded at once; None encodes all at once.
        trained: Whether the tower is trained. Its chunks then run under activation checkpointing.
    """
    step = chunk or max(count, 1)
    parts = [slice(start, start + step) for start in range(0, max(count, 1), step)]
    if not torch.is_grad_enabled() or not trained:
        with torch.no_grad():
            return concatenate([run(part) for part in parts])
    if chunk is None:
        return run(parts[0])
    return concatenate([checkpoint(run, part, use_reentrant=False) for part in parts])


def group_by_length(
    lengths: Tensor, allowed: Sequence[int], max_groups: int | None = None
) -> list[tuple[int, Tensor]]:
    """Groups texts by the shortest length that holds them.

    Args:
        lengths: How many tokens each text has, `[n]`, on the CPU; at least one text.
        allowed: Lengths in ascending order; the last is as long as any text.
        max_groups: How many of the allowed lengths are used at most. They are chosen so that the
            texts have the fewest tokens; None sets no limit.

    Returns:
        Pairs of the length to cut to and the rows of its texts.
    """
    shortest = torch.bucketize(lengths, torch.tensor(list(allowed)))
    counts = dict(zip(allowed, shortest.bincount(minlength=len(allowed)).tolist(), strict=True))
    used = [length for length, count in counts.items() if count]
    if max_groups is not None and len(used) > max_groups:

        def count_tokens(cuts: Sequence[int]) -> int:
            return sum(counts[n] * min(cut for cut in cuts if cut >= n) for n in used)

        choices = combinations(used[:-1], max_groups - 1)
        used = min(([*choice, used[-1]] for choice in choices), key=count_tokens)
    bucket = torch.bucketize(lengths, torch.tensor(used))
    return [(cut, (bucket == b).nonzero()[:, 0]) for b, cut in enumerate(used)]
