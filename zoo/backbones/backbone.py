"""Backbone: any open_clip model behind two methods, encode_images and encode_texts. n items, D the shared width."""

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.checkpoint import checkpoint

from zoo.backbones.factory import (
    Activation,
    architecture,
    build,
    check_tag,
    checked_preprocess,
    settle_activation,
)
from zoo.backbones.lora import LoRA, merged
from zoo.backbones.published import RULES, RuleName, read_published
from zoo.backbones.tokenizer import Tokenizer, build_tokenizer
from zoo.backbones.towers import ImageTower, TextTower, by_length, in_order
from zoo.backbones.weights import Weights, load_weights, read_weights, weights_file
from zoo.batch import Encoded, TextBank, TokenKey, TowerShapes, concatenate
from zoo.errors import ZooError, near, need
from zoo.support import provenance
from zoo.support.ranges import PositiveInt
from zoo.support.spec import Recorded, spec

logger = logging.getLogger(__name__)

NAME = "ViT-B-32-quickgelu"  # of the architecture, where none is chosen
SHORTEST = 3
TUNED = {"full": ("image", "text"), "image": ("image",), "text": ("text",), "none": ()}


class Backbone(Recorded, nn.Module):
    """An open_clip model: two towers that give pooled vectors and, when asked, token vectors.

    Args:
        name: An architecture of open_clip, one shipped with zoo, or a JSON file in open_clip's
            format; ViT-B-32-quickgelu where None.
        pretrained: A tag of open_clip, a file (a checkpoint of zoo, a state dict, wrapped or
            prefixed as they come), a folder that `zoo export` wrote for open_clip, or None for
            random weights.
        rule: The publication whose file `pretrained` is, where it takes more than reading
            (zoo.backbones.published).
        base: The weights, a tag or a file, that rule `clove` interpolates with.
        activation: Of the blocks; needed where weights and architecture do not agree on it or do
            not say.
        preprocess: open_clip's settings of how images are prepared (mean, std, resize_mode, ...),
            each in place of the one that comes with a tag or a file.
        tune: Which towers are trained; the rest is frozen whole.
        lora: Trains adapters of these towers in place of their weights.
        compile: A backend of torch.compile, such as inductor, that runs the towers' blocks.
        chunk: Items that a trained tower takes at once, under activation checkpointing: the memory
            of one chunk, the same gradients.
        text_lengths: The lengths that texts are cut to, in tokens, where the tower allows it; the
            context is always one of them.
        tokenizer: The folder of a Hugging Face tokenizer in place of the one that a checkpoint of
            zoo was trained with, or else of the architecture's own.
        context_length: In tokens, in place of the architecture's own.
        augment: Whether training images are cropped at random (CS-CLIP's public code trains
            without).
        crop_scale: To which share of their area they are cropped.
        batch_norm: Whether towers that have it run on frozen statistics, or update them in
            training; the latter refuses chunks.

    Raises:
        ZooError: A name is unknown, a file does not fit, or an activation would have to be guessed.
    """

    model: Any  # open_clip's models share an interface and no class

    def __init__(
        self,
        name: str | None = None,
        pretrained: str | None = None,
        rule: RuleName | None = None,
        base: str = "openai",
        activation: Activation | None = None,
        preprocess: dict[str, Any] | None = None,
        tune: Literal["full", "image", "text", "none"] = "full",
        lora: LoRA | None = None,
        compile: str | None = None,
        chunk: PositiveInt | None = None,
        text_lengths: Sequence[PositiveInt] = (8, 16, 24, 32, 48),
        tokenizer: str | None = None,
        context_length: PositiveInt | None = None,
        augment: bool = True,
        crop_scale: tuple[float, float] = (0.9, 1.0),
        batch_norm: Literal["frozen", "updated"] = "frozen",
    ) -> None:
        super().__init__()
        if len(crop_scale) != 2 or not 0 < crop_scale[0] <= crop_scale[1] <= 1:
            raise ZooError(
                f"backbone.crop_scale is {list(crop_scale)}: give the least and the greatest share of an image's area, as in [0.9, 1.0]"
            )
        if context_length is not None and context_length < SHORTEST:
            raise ZooError(
                f"backbone.context_length is {context_length}: give {SHORTEST} or more, a word between its start and its end"
            )
        self.name, self.tune, self.lora, self.chunk = name or NAME, tune, lora, chunk
        self._tokenizer_folder, self._crop_scale = tokenizer, crop_scale if augment else None
        self._known_as, self._config = architecture(self.name)
        preprocess = checked_preprocess(preprocess or {}, "backbone.preprocess")
        weights = None
        if rule is not None:
            weights, context_length = (
                read_published(rule, pretrained, self._known_as, base),
                context_length or RULES[rule].context,
            )
        elif pretrained is not None and (file := weights_file(pretrained)) is not None:
            weights = read_weights(file)
        elif pretrained is not None:
            check_tag(self._known_as, pretrained)
        if tokenizer is None and weights is not None:
            self._tokenizer_folder = weights.tokenizer
        recorded = weights.activation if weights else None
        self.activation = settle_activation(
            self._known_as, self._config, pretrained, activation, recorded, named=name is not None
        )
        tag = None if weights else pretrained
        self.model = build(
            self._known_as,
            tag,
            self.activation,
            context_length,
            ((weights.preprocess or {}) if weights else {}) | preprocess,
        )
        if weights is not None:
            load_weights(self.model, weights, resize_text=context_length is not None)
        self.came = _came(pretrained, weights)
        self.model.register_load_state_dict_post_hook(provenance.mark_loaded)
        self._images = ImageTower(self.model, self._config["embed_dim"])
        self._texts = TextTower(self.model, self._config["embed_dim"])
        self._context_length = context_length
        self.context: int = context_length or self._config["text_cfg"].get("context_length", 77)
        self.text_lengths = [*sorted(n for n in text_lengths if n < self.context), self.context]
        self._updates_statistics = batch_norm == "updated"
        if chunk is not None:
            self._check_chunk(chunk)
        if lora is not None:
            self._adapt(lora)
        if compile is not None:
            self._compile(compile)
        for parameter_name, parameter in self.named_parameters():
            if self.tower(parameter_name) not in TUNED[tune] or parameter_name in (
                "model.logit_scale",
                "model.logit_bias",
            ):
                parameter.requires_grad_(False)

    def _adapt(self, lora: LoRA) -> None:
        if self.tune == "none":
            raise ZooError(
                "backbone.lora trains adapters and backbone.tune is none: set tune to full, image or text, or lora to null"
            )
        need("peft", "lora")
        from zoo.backbones.adapters import add_adapters

        add_adapters(self.model, lora, lambda name: self.tower(f"model.{name}"), TUNED[self.tune])

    def _compile(self, backend: str) -> None:
        if backend not in torch.compiler.list_backends(exclude_tags=()):
            known = torch.compiler.list_backends()
            raise ZooError(
                f"backbone.compile {backend!r} is no backend of torch.compile{near(backend, known)}: set it to inductor or null"
            )
        for tower in (self._images, self._texts):
            for module in tower.busiest():
                module.compile(
                    backend=backend
                )  # in place, so that names of parameters stay as they are

    def settled(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "activation": self.activation,
            "context_length": self._context_length,
            "tokenizer": self._tokenizer_folder,
            "preprocess": self.preprocess,
        }

    @property
    def preprocess(self) -> dict[str, Any]:
        """How images are prepared, in open_clip's settings; the size is the tower's own."""
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
        """The towers as they were built, in open_clip's format."""
        text = {**self._config["text_cfg"], "context_length": self.context}
        return {**self._config, "text_cfg": text, "quick_gelu": self.activation == "quickgelu"}

    def plain(self) -> "Backbone":
        """Returns the backbone without adapters: itself where it has none, else another with merged weights."""
        if self.lora is None:
            return self
        settings = {**spec(self)["init_args"], "pretrained": None, "rule": None, "lora": None}
        backbone = type(self)(**settings)
        backbone.model.load_state_dict(merged(self.model.state_dict(), self.lora.scaling))
        return backbone

    @property
    def weights(self) -> dict[str, str]:
        """How the weights of each tower came about before any training (zoo.support.provenance)."""
        if provenance.was_loaded(self.model):
            return dict.fromkeys(self.came, provenance.LOADED)
        return self.came

    @property
    def shapes(self) -> TowerShapes:
        """What heads must know; scale and bias as they are now."""
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
            cuts=self.cuts_text and len(self.text_lengths) > 1,
        )

    @property
    def cuts_text(self) -> bool:
        """Whether texts are cut to the shortest length that holds them: exact for towers that never see what follows a text."""
        return self._texts.cuts

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Texts to ids; raises ZooError where it cannot be had, on first use, since token ids can be encoded without it."""
        vocabulary = getattr(self.model, "text", self.model).vocab_size
        return build_tokenizer(
            self._known_as,
            self._config["text_cfg"],
            self._tokenizer_folder,
            vocabulary,
            self.context,
            self._texts.end,
        )

    @property
    def eval_transform(self) -> Callable[[Any], Tensor]:
        """From a PIL image to a tensor [3, H, W], as the weights want it."""
        return self._transform(None)

    @property
    def train_transform(self) -> Callable[[Any], Tensor]:
        """The same for training; what is random about it comes from torch's global generator alone."""
        return self._transform(self._crop_scale)

    def _transform(self, crop_scale: tuple[float, float] | None) -> Callable[[Any], Tensor]:
        from open_clip.transform import PreprocessCfg, image_transform_v2

        settings = PreprocessCfg(**self.model.visual.preprocess_cfg)
        crop = None if crop_scale is None else {"scale": tuple(crop_scale)}
        transform: Callable[[Any], Tensor] = image_transform_v2(
            settings, is_train=crop is not None, aug_cfg=crop
        )
        return transform

    def check_keys(self, image_keys: frozenset[TokenKey], text_keys: frozenset[TokenKey]) -> None:
        """Raises ZooError that names tower and key where a tower cannot give the tokens asked for."""
        for tower, keys in ((self._images, image_keys), (self._texts, text_keys)):
            for key in sorted(keys):
                tower.check(self.name, key)

    def encode_images(self, images: Tensor, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        """images: [n, 3, H, W]. Returns pooled [n, D], as the tower gives them, and the tokens of exactly these keys."""
        return self._encode(
            "image",
            lambda rows: self._images(images[rows], keys),
            torch.arange(len(images), device=images.device),
        )

    def encode_texts(self, bank: TextBank, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        """Returns the bank's texts in its order: pooled [T, D], and the tokens of exactly these keys.

        Token sets are as long as the longest text was cut to; masks are true from the first token to the end token, both included.
        """
        groups = [(self.context, torch.arange(len(bank), device=bank.ids.device))]
        if self.cuts_text and len(bank):
            groups = by_length(bank.lengths, self.text_lengths)
        parts = [
            self._encode("text", partial(self._cut_texts, bank, keys, cut), rows)
            for cut, rows in groups
        ]
        return in_order(parts, [rows for _, rows in groups])

    def _cut_texts(
        self, bank: TextBank, keys: frozenset[TokenKey], cut: int, rows: Tensor
    ) -> Encoded:
        return self._texts(bank.ids[rows, :cut], bank.lengths[rows], keys)

    def _encode(self, tower: str, run: Callable[[Tensor], Encoded], rows: Tensor) -> Encoded:
        """run: from rows to those items, encoded. Returns all rows, in chunks where asked; without a graph where the tower is frozen."""
        chunks = torch.split(rows, self.chunk) if self.chunk else [rows]
        if not torch.is_grad_enabled() or not self.trains(tower):
            with torch.no_grad():
                return concatenate([run(some) for some in chunks])
        if self.chunk is None:
            return run(rows)
        return concatenate([checkpoint(run, some, use_reentrant=False) for some in chunks])

    def trains(self, tower: str) -> bool:
        """tower: 'image' or 'text'. Returns whether any of its parameters is trained."""
        return any(
            p.requires_grad for name, p in self.named_parameters() if self.tower(name) == tower
        )

    def tower(self, parameter_name: str) -> Literal["image", "text"]:
        """Returns the tower of a parameter, by its name in this module; the temperature counts as text."""
        return "image" if parameter_name.startswith("model.visual.") else "text"

    def freeze(
        self, image_keys: frozenset[TokenKey], text_keys: frozenset[TokenKey], pooled: bool
    ) -> list[str]:
        """Freezes what none of the outputs asked for depends on; returns the names of all that is frozen, the untuned towers included.

        pooled: whether the pooled vectors count as asked for. Raises ZooError where a tower cannot give the tokens.
        """
        self.check_keys(image_keys, text_keys)
        reached = {id(p) for p in self._reached(image_keys, text_keys, pooled)}
        frozen = []
        for name, parameter in self.named_parameters():
            if id(parameter) not in reached:
                parameter.requires_grad_(False)
                frozen.append(name)
        self.train(self.training)
        return frozen

    def _reached(
        self, image_keys: frozenset[TokenKey], text_keys: frozenset[TokenKey], pooled: bool
    ) -> Iterator[Tensor]:
        """Yields the trained parameters that the outputs depend on: the leaves of the graph of one blank image and one blank text."""
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
        outputs = [
            t for item in items for t in (*item.tokens.values(), *([item.pooled] if pooled else []))
        ]
        waiting = [t.grad_fn for t in outputs if t.grad_fn is not None]
        seen = set(waiting)
        while waiting:
            node = waiting.pop()
            if hasattr(node, "variable"):
                yield node.variable
            following = {f for f, _ in node.next_functions if f is not None} - seen
            seen |= following
            waiting.extend(following)

    def train(self, mode: bool = True) -> "Backbone":
        """Frozen towers, and BatchNorm with frozen statistics, stay in evaluation mode."""
        super().train(mode)
        for tower, modules in (
            ("image", [self.model.visual]),
            ("text", [m for n, m in self.model.named_children() if n != "visual"]),
        ):
            if not self.trains(tower):
                for module in modules:
                    module.eval()
        if not self._updates_statistics:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    def _check_chunk(self, chunk: int) -> None:
        if self._updates_statistics and any(isinstance(m, _BatchNorm) for m in self.modules()):
            raise ZooError(
                f"{self.name} has BatchNorm, whose updated statistics would be those of a chunk: set backbone.chunk to null, or "
                "backbone.batch_norm to frozen"
            )

    @torch.no_grad()
    def write_scale(self, scale: float, bias: float | None) -> None:
        """Writes a head's scale (a factor) and bias into the open_clip model, for export; raises ZooError where it has no bias to write."""
        own_scale: Tensor = self.model.logit_scale
        own_bias: Tensor | None = getattr(self.model, "logit_bias", None)
        if bias is not None and own_bias is None:
            raise ZooError(
                f"{self.name} has no logit_bias and the head was trained with one: export the head as well"
            )
        own_scale.fill_(math.log(scale))
        if bias is not None and own_bias is not None:
            own_bias.fill_(bias)


def _came(pretrained: str | None, weights: Weights | None) -> dict[str, str]:
    """Returns how the towers' weights came about; a checkpoint of zoo may hold random ones too."""
    towers = (provenance.IMAGE, provenance.TEXT)
    if pretrained is None and weights is None:
        return dict.fromkeys(towers, provenance.RANDOM)
    recorded = (weights.came if weights is not None else None) or {}
    return {
        tower: provenance.RANDOM
        if recorded.get(tower) == provenance.RANDOM
        else provenance.pretrained(pretrained)
        for tower in towers
    }
