"""Backbone: any open_clip model with two methods, `encode_images` and `encode_texts`.

In shapes, n is the number of items, T the number of texts and D the width that both towers share.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import fields, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from zoo.backbones.construction import apply_lora, compile_blocks, construct_model
from zoo.backbones.factory import Activation
from zoo.backbones.lora import merge_adapters
from zoo.backbones.preparation import (
    normalize_pixels,
    pil_pixel_transform,
    pil_transform,
    pixel_transform,
)
from zoo.backbones.published.base import PublishedWeights
from zoo.backbones.settings import Augmentation, Compute, TextInput, Tuning
from zoo.backbones.tokenizer import Tokenizer, build_tokenizer
from zoo.backbones.towers import (
    ImageTower,
    TextTower,
    encode_in_chunks,
    group_by_length,
    texts_per_chunk,
)
from zoo.batch import Encoded, TextBank, TokenKey, TowerShapes, concatenate
from zoo.errors import ZooError
from zoo.support import provenance
from zoo.support.configurable import Configurable
from zoo.support.gpu import (
    copy_without_waiting,
    without_cudnn_attention,
    without_flash_attention_on_cpu,
)

# a pass of the text tower over short texts takes a GPU as long to launch as to compute
GROUPS_ON_GPU = 2
TEMPERATURE = ("model.logit_scale", "model.logit_bias")  # the head's to train


GROUPS: dict[str, Any] = {
    "tuning": Tuning,
    "text": TextInput,
    "augmentation": Augmentation,
    "compute": Compute,
}


def _check_group_types(**given: Any) -> None:
    """Raises ZooError if a group of arguments has a wrong type; augmentation may be None."""
    for name, value in given.items():
        kind = GROUPS[name]
        if not isinstance(value, kind) and not (name == "augmentation" and value is None):
            first_field, article = fields(kind)[0].name, "an" if kind is Augmentation else "a"
            raise ZooError(
                f"Backbone({name}={value!r}): give {article} {kind.__name__}, as in "
                f"{name}={kind.__name__}({first_field}=...)"
            )


class Backbone(Configurable, nn.Module):
    """An open_clip model: an image tower and a text tower.

    Each tower returns one pooled vector per item and, on request, token vectors. Keys
    (`zoo.batch.TokenKey`) select the layers from which token vectors are taken.

    Args:
        name: The architecture: a name of `zoo ls backbones`, or the path of a JSON file in
            open_clip's format; `ViT-B-32-quickgelu` if None.
        pretrained: The weights: a tag of open_clip (such as `openai`), a file, a folder, or
            `hf-hub:USER/NAME`. If None, the weights are random. A file is a checkpoint of zoo, or a
            state dict with open_clip's parameter names. The state dict may be nested, and its names
            may have a prefix. A folder contains a run, or a model of open_clip or Hugging Face. Of
            a checkpoint, only the backbone is used, with its adapters merged. If a file has another
            format, give a class of `zoo ls published_weights` instead. The argument `path` of the
            class is then the file.
        activation: The activation function in the towers: `gelu` or `quickgelu`. If None, the one
            that the weights file records is used, or else that of the architecture. Set this if an
            error reports that weights and architecture have different activations, or that the
            weights do not record their activation.
        preprocess: Changes to open_clip's preprocessing of images, by key: `mean`, `std`,
            `interpolation`, `resize_mode`, `fill_color`, `mode`. A key that is not given keeps the
            value of the weights, or else open_clip's default. The image size cannot be changed: it
            is always that of the image tower.
        tuning: What is trained: towers, adapters, statistics of BatchNorm.
        text: How texts become token ids: tokenizer, context length, padding.
        augmentation: Random augmentation of training images. If None, training images are prepared
            as in evaluation. CS-CLIP's public code also does this.
        compute: How the towers run, for example in chunks or compiled.

    Raises:
        ZooError: A name is unknown, a file does not fit, an argument is out of its range, or the
            activation is ambiguous.

    Examples:
        A small backbone with random weights, of which only the text tower is trained:

        >>> import torch
        >>> from zoo.backbones import Backbone, Tuning
        >>> backbone = Backbone("zoo-tiny", tuning=Tuning(towers="text"))
        >>> backbone.has_trained_parameters("image"), backbone.image_size
        (False, (64, 64))
        >>> backbone.encode_images(torch.zeros(2, 3, 64, 64)).pooled.shape
        torch.Size([2, 128])
    """

    model: Any  # open_clip's models share an interface and no class

    def __init__(
        self,
        name: str | None = None,
        pretrained: str | PublishedWeights | None = None,
        activation: Activation | None = None,
        preprocess: dict[str, Any] | None = None,
        tuning: Tuning = Tuning(),
        text: TextInput = TextInput(),
        augmentation: Augmentation | None = Augmentation(),
        compute: Compute = Compute(),
    ) -> None:
        super().__init__()
        _check_group_types(tuning=tuning, text=text, augmentation=augmentation, compute=compute)
        construction = construct_model(name, pretrained, activation, preprocess, text)
        self.name, self.activation, self.weight_origins = (
            construction.name,
            construction.activation,
            construction.weight_origins,
        )
        self._open_clip_name, self._config = construction.open_clip_name, construction.config
        self.tuning, self.text, self.augmentation = tuning, construction.text, augmentation
        self.compute = compute
        self.model = construction.model
        self.model.register_load_state_dict_post_hook(provenance.mark_loaded)
        self._images = ImageTower(self.model, self._config["embed_dim"])
        self._texts = TextTower(self.model, self._config["embed_dim"])
        self.context: int = self.text.context_length or self._config["text_cfg"].get(
            "context_length", 77
        )
        self.text_lengths = [*sorted(n for n in text.lengths if n < self.context), self.context]
        self._refuse_partial_batch_norm_updates()
        apply_lora(self.model, tuning, lambda name: self.tower_of_parameter(f"model.{name}"))
        if augmentation is not None and augmentation.patch_dropout:
            self._images.drop_patches(augmentation.patch_dropout, self.name)
        if compute.channels_last:
            self.model.visual.to(memory_format=torch.channels_last)
        if compute.packed:
            self._enable_packing()
        if compute.checkpoint_blocks:
            self._images.checkpoint_blocks(self.name)
            self._texts.checkpoint_blocks(self.name)
        compile_blocks((self._images, self._texts), compute.compile)
        for tower in (self._images, self._texts):
            if (groups := tuning.groups_of(tower.side)) is not None:
                tower.train_last_groups(groups, self.name)
        for parameter_name, parameter in self.named_parameters():
            if (
                not tuning.trains(self.tower_of_parameter(parameter_name))
                or parameter_name in TEMPERATURE
            ):
                parameter.requires_grad_(False)

    def _enable_packing(self) -> None:
        if self.compute.compile is not None:
            raise ZooError(
                f"backbone.compute.packed does not work with compiled blocks "
                f"(backbone.compute.compile={self.compute.compile}): set packed to false, or "
                "compile to null"
            )
        self._texts.enable_packing(self.name)

    def _refuse_partial_batch_norm_updates(self) -> None:
        if self.tuning.batch_norm != "updated" or not any(
            isinstance(m, _BatchNorm) for m in self.modules()
        ):
            return
        if self.compute.chunk is not None:
            reason, remedy = "be those of a chunk", "chunk to null"
        elif self.compute.checkpoint_blocks:
            reason, remedy = (
                "count a batch twice, since blocks are recomputed",
                "checkpoint_blocks to false",
            )
        else:
            return
        raise ZooError(
            f"{self.name} has BatchNorm, whose updated statistics would {reason}: "
            f"set backbone.compute.{remedy}, or backbone.tuning.batch_norm to frozen"
        )

    def inferred_arguments(self) -> dict[str, Any]:
        """Returns the arguments whose values depend on the weights or on the architecture."""
        return {
            "name": self.name,
            "activation": self.activation,
            "text": self.text,
            "preprocess": self.preprocess,
        }

    @property
    def preprocess(self) -> dict[str, Any]:
        """open_clip's settings of image preprocessing, without the size; see `image_size`."""
        return {
            name: value
            for name, value in self.model.visual.preprocess_cfg.items()
            if name != "size"
        }

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of the images, in pixels."""
        return self._images.size

    @property
    def architecture(self) -> dict[str, Any]:
        """The configuration of the towers, in open_clip's format."""
        text = {**self._config["text_cfg"], "context_length": self.context}
        return {**self._config, "text_cfg": text, "quick_gelu": self.activation == "quickgelu"}

    def with_merged_adapters(self) -> "Backbone":
        """Returns a backbone in which adapters are merged into the weights.

        Returns:
            The backbone itself if it has no adapters, else a copy without adapters.
        """
        if self.tuning.lora is None:
            return self
        changes = {"pretrained": None, "tuning": replace(self.tuning, lora=None)}
        backbone = type(self)(**{**self.recorded_arguments, **changes})
        backbone.model.load_state_dict(
            merge_adapters(self.model.state_dict(), self.tuning.lora.scaling)
        )
        return backbone

    @property
    def origin_by_tower(self) -> dict[str, str]:
        """The origin of each tower's weights before training, such as a tag, a file or random."""
        if provenance.was_loaded(self.model):
            return dict.fromkeys(self.weight_origins, provenance.LOADED)
        return self.weight_origins

    @property
    def shapes(self) -> TowerShapes:
        """The shapes of the towers, with the current scale and bias, from which heads are built."""
        bias = getattr(self.model, "logit_bias", None)
        return TowerShapes(
            width=self._config["embed_dim"],
            image_width=self._images.width,
            text_width=self._texts.width,
            patches=self._images.patches,
            prefix=self._images.prefix,
            context=self.context,
            scale=math.exp(float(self.model.logit_scale)),
            bias=None if bias is None else float(bias),
            cuts=self.trims_padding and len(self.text_lengths) > 1,
            vocabulary=self.vocab_size,
        )

    @property
    def trims_padding(self) -> bool:
        """Whether texts are padded only to the shortest allowed length that holds them.

        This does not change results, since it is only done for towers that ignore padding.
        """
        return self._texts.trims_padding

    @property
    def vocab_size(self) -> int:
        """The number of token ids of the text tower."""
        return int(getattr(self.model, "text", self.model).vocab_size)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, built on first use. The text tower can also encode token ids directly.

        Raises:
            ZooError: The tokenizer cannot be loaded, or has more ids than the text tower.
        """
        return build_tokenizer(
            self._open_clip_name,
            self._config["text_cfg"],
            self.text.tokenizer,
            self.vocab_size,
            self.context,
            self._texts.end,
        )

    @property
    def eval_transform(self) -> Callable[[Any], Tensor]:
        """The transform of a PIL image to a tensor, `[3, H, W]`, as the weights require."""
        return pil_transform(self.model.visual.preprocess_cfg, None)

    @property
    def train_transform(self) -> Callable[[Any], Tensor]:
        """Like `eval_transform`, with augmentation, drawn from torch's global generator."""
        return pil_transform(self.model.visual.preprocess_cfg, self.augmentation)

    @property
    def eval_uint8_transform(self) -> Callable[[Tensor], Tensor]:
        """The transform of a uint8 image to `[3, H, W]` in uint8; `encode_images` normalises it."""
        return pixel_transform(self.model.visual.preprocess_cfg, None)

    @property
    def eval_pil_uint8_transform(self) -> Callable[[Any], Tensor]:
        """Like `eval_uint8_transform`, for a PIL image.

        After normalisation by `encode_images`, the pixels are exactly those of `eval_transform`.
        """
        return pil_pixel_transform(self.model.visual.preprocess_cfg)

    @property
    def train_uint8_transform(self) -> Callable[[Tensor], Tensor]:
        """Like `eval_uint8_transform`, with augmentation, drawn from torch's global generator."""
        return pixel_transform(self.model.visual.preprocess_cfg, self.augmentation)

    @property
    def min_side_for_crops(self) -> int:
        """If an image's shorter side has this many pixels, square training crops are not enlarged.

        Crops with other shapes (3:4 to 4:3) are then enlarged by at most about 15 %.
        """
        least = 1.0 if self.augmentation is None else self.augmentation.crop_scale[0]
        return math.ceil(max(self.image_size) / math.sqrt(least))

    def square_transform(self, side: int) -> Callable[[Any], Tensor]:
        """Returns a transform of PIL images to squares of a given size, from which views are cut.

        Args:
            side: The side of the square to which an image is resized and centre-cropped.

        Returns:
            A transform of a PIL image to a tensor, `[3, side, side]`.
        """
        settings = {**self.model.visual.preprocess_cfg, "size": side, "resize_mode": "shortest"}
        return pil_transform(settings, None)

    def resize_images(self, images: Sequence[Tensor]) -> Tensor:
        """Resizes prepared images of any sizes, `[3, h, w]`, to the tower's size."""
        batches = [torch.stack(list(group)) for _, group in groupby(images, lambda i: i.shape)]
        return torch.cat([self._resize_batch(group) for group in batches])

    def _resize_batch(self, images: Tensor) -> Tensor:
        if images.shape[-2:] == self.image_size:
            return images
        kind = self.model.visual.preprocess_cfg.get("interpolation")
        return F.interpolate(
            images,
            self.image_size,
            mode=kind if kind in ("bilinear", "bicubic") else "bicubic",
            antialias=True,
        )

    def check_token_keys(
        self, image_keys: frozenset[TokenKey], text_keys: frozenset[TokenKey]
    ) -> None:
        """Checks that both towers can return the requested tokens.

        Args:
            image_keys: Keys of the requested image tokens.
            text_keys: Keys of the requested text tokens.

        Raises:
            ZooError: A tower cannot return tokens; the message names the tower and the tokens.
        """
        for tower, keys in ((self._images, image_keys), (self._texts, text_keys)):
            for key in sorted(keys):
                tower.check_token_key(self.name, key)

    def refuse_tokens_of_dropped_patches(self, image_keys: frozenset[TokenKey]) -> None:
        """Raises an error if training would read image tokens while patches are dropped.

        The positions of the remaining tokens would be unknown.

        Args:
            image_keys: Keys of the requested image tokens.

        Raises:
            ZooError: Image tokens are requested, and `augmentation.patch_dropout` is above 0.
        """
        share = 0.0 if self.augmentation is None else self.augmentation.patch_dropout
        if share and image_keys:
            raise ZooError(
                f"backbone.augmentation.patch_dropout is {share:g}, and the head or the objective "
                "reads image tokens, whose positions would be lost: set it to 0"
            )

    def encode_images(self, images: Tensor, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        """Encodes images.

        Args:
            images: Transformed images, `[n, 3, H, W]`: normalised, or pixels in uint8.
            keys: Keys of the token vectors to return.

        Returns:
            Pooled vectors, `[n, D]`, not normalised, and the requested tokens.
        """

        def encode(part: slice) -> Encoded:
            with self._without_kernels(without_flash_attention_on_cpu):
                return self._images(self._normalize_uint8(images[part]), keys)

        trained = self.has_trained_parameters("image")
        return encode_in_chunks(encode, len(images), self.compute.chunk, trained)

    @contextmanager
    def _without_kernels(
        self, *exclusions: Callable[[], AbstractContextManager[None]]
    ) -> Iterator[None]:
        """Leaves out slow kernels, unless blocks are recomputed.

        The backward pass recomputes them outside of this context, and needs the same kernels.
        """
        with ExitStack() as stack:
            if not self.compute.checkpoint_blocks:
                for exclude in exclusions:
                    stack.enter_context(exclude())
            yield

    def _normalize_uint8(self, images: Tensor) -> Tensor:
        if images.dtype != torch.uint8:
            return images
        numbers = normalize_pixels(images, self.model.visual.preprocess_cfg)
        return numbers.to(next(self.parameters()).dtype)

    def encode_texts(self, bank: TextBank, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        """Encodes the texts of a bank.

        The token vectors of all texts are padded to the same length, which is the trimmed length
        of the longest text. Masks are true from the first token to the end token, both included.

        Args:
            bank: Token ids and lengths of T texts.
            keys: Keys of the token vectors to return.

        Returns:
            Pooled vectors, `[T, D]`, in the bank's order, and the requested tokens.
        """
        lengths = bank.lengths_on_host()
        groups = [(self.context, torch.arange(len(bank)))]
        if self.compute.packed and len(bank):
            groups = [(int(self.trimmed_lengths(lengths.max()[None])), groups[0][1])]
        elif self.trims_padding and len(bank):
            groups = group_by_length(lengths, self.text_lengths, self._max_groups(bank.ids.device))
        if len(groups) == 1:
            ids = bank.ids[:, : groups[0][0]]
            return self._encode_trimmed_texts(ids, bank.lengths, lengths, keys)
        order = torch.cat([rows for _, rows in groups])
        device_order, restored = copy_without_waiting(
            torch.stack([order, order.argsort()]), bank.ids.device
        )
        group_rows = device_order.split([len(rows) for _, rows in groups])
        parts = [
            self._encode_trimmed_texts(
                bank.ids[device_rows, :cut], bank.lengths[device_rows], lengths[rows], keys
            )
            for (cut, rows), device_rows in zip(groups, group_rows, strict=True)
        ]
        return concatenate(parts).rows(restored)

    def _max_groups(self, device: torch.device) -> int | None:
        if self.text.max_groups is not None:
            return self.text.max_groups
        return GROUPS_ON_GPU if device.type == "cuda" else None

    def trimmed_lengths(self, lengths: Tensor) -> Tensor:
        """Returns how many tokens, with padding, the text tower gets of each text, `[T]`.

        Args:
            lengths: The number of tokens of each text without padding, `[T]`.
        """
        if not self.trims_padding:
            return torch.full_like(lengths, self.context)
        allowed = torch.tensor(self.text_lengths, device=lengths.device)
        return allowed[torch.bucketize(lengths, allowed)]

    def _encode_trimmed_texts(
        self, ids: Tensor, lengths: Tensor, host_lengths: Tensor, keys: frozenset[TokenKey]
    ) -> Encoded:
        def encode(part: slice) -> Encoded:
            # cuDNN's plans take long since the shapes of texts differ in each batch
            with self._without_kernels(without_cudnn_attention, without_flash_attention_on_cpu):
                return self._texts(ids[part], lengths[part], keys, host_lengths[part])

        chunk = self.compute.chunk
        if chunk is not None:
            chunk = texts_per_chunk(chunk, self._images.patches or 0, ids.shape[1])
        return encode_in_chunks(encode, len(ids), chunk, self.has_trained_parameters("text"))

    def has_trained_parameters(self, tower: str) -> bool:
        """Returns whether any parameter of a tower, `image` or `text`, is trained."""
        return any(
            p.requires_grad
            for name, p in self.named_parameters()
            if self.tower_of_parameter(name) == tower
        )

    def tower_of_parameter(self, parameter_name: str) -> Literal["image", "text"]:
        """Returns the tower of a parameter. The temperature belongs to the text tower."""
        return "image" if parameter_name.startswith("model.visual.") else "text"

    def freeze_unused(
        self,
        image_keys: frozenset[TokenKey],
        text_keys: frozenset[TokenKey],
        pooled: bool,
        pooled_texts: bool = False,
    ) -> list[str]:
        """Freezes the parameters that the requested outputs do not depend on.

        Args:
            image_keys: Keys of the requested image tokens.
            text_keys: Keys of the requested text tokens.
            pooled: Whether pooled vectors are requested.
            pooled_texts: Set this instead of `pooled` if only the pooled vectors of texts are
                requested.

        Returns:
            The names of all frozen parameters, including those that `tuning` freezes.

        Raises:
            ZooError: A tower cannot return the tokens.
        """
        self.check_token_keys(image_keys, text_keys)
        outputs = self._encode_blank_items(image_keys, text_keys, pooled, pooled or pooled_texts)
        reached = {id(p) for p in _parameters_in_graph(outputs)}
        frozen = []
        for name, parameter in self.named_parameters():
            if id(parameter) not in reached:
                parameter.requires_grad_(False)
                frozen.append(name)
        self.train(self.training)
        return frozen

    def _encode_blank_items(
        self,
        image_keys: frozenset[TokenKey],
        text_keys: frozenset[TokenKey],
        *pooled: bool,
    ) -> list[Tensor]:
        """Returns the towers' outputs for one blank image and one blank text, with their graph."""
        was_training = self.training
        self.eval()
        device = next(self.parameters()).device
        with torch.enable_grad():
            ids = torch.zeros(1, self.context, dtype=torch.long, device=device)
            items = [
                self._images(torch.zeros(1, 3, *self._images.size, device=device), image_keys),
                self._texts(ids, ids.new_ones(1), text_keys),
            ]
        self.train(was_training)
        return [
            t
            for item, is_requested in zip(items, pooled, strict=True)
            for t in (*item.tokens.values(), *([item.pooled] if is_requested else []))
        ]

    def train(self, mode: bool = True) -> "Backbone":
        """Sets the training mode; frozen towers and frozen BatchNorm stay in evaluation mode."""
        super().train(mode)
        for tower, modules in (
            ("image", [self.model.visual]),
            ("text", [m for n, m in self.model.named_children() if n != "visual"]),
        ):
            if not self.has_trained_parameters(tower):
                for module in modules:
                    module.eval()
        if self.tuning.batch_norm == "frozen":
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    @torch.no_grad()
    def write_scale_and_bias(self, scale: float, bias: float | None) -> None:
        """Writes a head's scale and bias into the open_clip model, for export.

        Args:
            scale: The factor of the cosine similarity, not its logarithm.
            bias: The head's bias; None keeps the model's own.

        Raises:
            ZooError: The head has a bias and the model has none.
        """
        own_scale: Tensor = self.model.logit_scale
        own_bias: Tensor | None = getattr(self.model, "logit_bias", None)
        if bias is not None and own_bias is None:
            raise ZooError(
                f"{self.name} has no logit_bias and the head was trained with one: export the head "
                "as well"
            )
        own_scale.fill_(math.log(scale))
        if bias is not None and own_bias is not None:
            own_bias.fill_(bias)


def _parameters_in_graph(outputs: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yields the trained parameters that outputs depend on, the leaves of their graph."""
    waiting = [t.grad_fn for t in outputs if t.grad_fn is not None]
    visited = set(waiting)
    while waiting:
        node = waiting.pop()
        if hasattr(node, "variable"):
            yield node.variable
        following = {f for f, _ in node.next_functions if f is not None} - visited
        visited |= following
        waiting.extend(following)
