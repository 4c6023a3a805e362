"""Backbone: any open_clip model behind two methods, `encode_images` and `encode_texts`.

In shapes, n is the number of items, T the number of texts and D the width that both towers share.
"""

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

NAME = "ViT-B-32-quickgelu"  # the architecture where none is chosen
SHORTEST = 3  # tokens of a context: a start, a word, an end
TUNED = {"full": ("image", "text"), "image": ("image",), "text": ("text",), "none": ()}


class Backbone(Recorded, nn.Module):
    """An open_clip model: an image tower and a text tower.

    Each tower gives one pooled vector an item and, when asked, token vectors.

    Args:
        name: The architecture: a name of open_clip (`zoo ls backbones` lists them), one that zoo
            ships, or the path of a JSON file in open_clip's format. None means
            `ViT-B-32-quickgelu`. A name that you give and that ends in `-quickgelu` also says how a
            file's weights were trained.
        pretrained: Where the weights come from: a tag of open_clip (such as `openai`), a file, or a
            folder that `zoo export` wrote for open_clip. A file is a checkpoint of zoo, of which
            the backbone alone is taken, or a state dict under open_clip's names, which may be
            wrapped or prefixed. Adapters of a zoo checkpoint are merged. None draws random weights.
        rule: The publication that `pretrained` is a file of, for files that need more than reading:
            adapters to merge, names to change, weights to interpolate. A file that is not like its
            rule is refused. None reads plain weights.
        base: The weights that rule `clove` interpolates its file with, a tag or a file. Other rules
            do not use it.
        activation: The activation of the towers' blocks. None takes what the tag, the file, `name`
            or else the architecture says. It must be given where a file does not say it and the
            architecture exists with both, and where a tag disagrees with its architecture.
        preprocess: open_clip's settings of how images are prepared: `mean`, `std`, `interpolation`,
            `resize_mode`, `fill_color`, `mode`. Each replaces the setting that comes with the tag
            or the file, or else open_clip's own. The size is always the image tower's.
        tune: Which towers are trained: both (`full`), one of them, or `none`. All weights of the
            others are frozen. The model's own temperature and bias are always frozen, since the
            head has them.
        lora: Adapters that are trained in place of the weights of the towers that `tune` names.
            None trains the weights themselves. Adapters need the extra `zoo[lora]`.
        compile: A backend of torch.compile, such as `inductor`, for the blocks of both towers. None
            runs them as they are.
        chunk: How many images or texts a tower encodes at once. A trained tower then runs under
            activation checkpointing: it needs the memory of one chunk, gives the same gradients and
            runs twice. None encodes all at once.
        text_lengths: The lengths in tokens that texts are cut to: each text to the shortest length
            that holds it. The context length is always one of them, so an empty list cuts no text.
            Towers that need their padding ignore them.
        tokenizer: The folder of a saved Hugging Face tokenizer. None takes the one that a
            checkpoint of zoo was trained with, or else the architecture's own.
        context_length: The longest text in tokens, at least 3. The table of text positions of the
            weights is interpolated to it. None takes the rule's length, or else the architecture's.
        augment: Whether training images are cropped at random. Otherwise they are prepared as in
            evaluation, as CS-CLIP's public code does.
        crop_scale: The least and the greatest share of an image's area that a random crop keeps,
            above 0 and up to 1. It has no effect without `augment`.
        batch_norm: What BatchNorm does in training, in towers that have it: run on frozen
            statistics, or update them. `updated` cannot be combined with `chunk`, since the
            statistics would be those of a chunk.

    Raises:
        ZooError: A name is unknown, a file does not fit, an argument is out of its range, or the
            activation would have to be guessed.
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
                f"backbone.crop_scale is {list(crop_scale)}: give the least and the greatest share "
                "of an image's area, as in [0.9, 1.0]"
            )
        if context_length is not None and context_length < SHORTEST:
            raise ZooError(
                f"backbone.context_length is {context_length}: give {SHORTEST} or more, room for a "
                "start, a word and an end"
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
                "backbone.lora trains adapters and backbone.tune is none: set tune to full, image "
                "or text, or lora to null"
            )
        need("peft", "lora")
        from zoo.backbones.adapters import add_adapters

        add_adapters(self.model, lora, lambda name: self.tower(f"model.{name}"), TUNED[self.tune])

    def _compile(self, backend: str) -> None:
        if backend not in torch.compiler.list_backends(exclude_tags=()):
            known = torch.compiler.list_backends()
            raise ZooError(
                f"backbone.compile {backend!r} is no backend of "
                f"torch.compile{near(backend, known)}: set it to inductor or null"
            )
        for tower in (self._images, self._texts):
            for module in tower.busiest():
                # in place, so that parameters keep their names
                module.compile(backend=backend)

    def settled(self) -> dict[str, Any]:
        """Returns the arguments whose values depend on the weights or on the architecture."""
        return {
            "name": self.name,
            "activation": self.activation,
            "context_length": self._context_length,
            "tokenizer": self._tokenizer_folder,
            "preprocess": self.preprocess,
        }

    @property
    def preprocess(self) -> dict[str, Any]:
        """How images are prepared, in open_clip's settings. The size is the image tower's."""
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
        """Returns a backbone without adapters.

        Returns:
            The backbone itself where it has no adapters, else another one with merged weights.
        """
        if self.lora is None:
            return self
        settings = {**spec(self)["init_args"], "pretrained": None, "rule": None, "lora": None}
        backbone = type(self)(**settings)
        backbone.model.load_state_dict(merged(self.model.state_dict(), self.lora.scaling))
        return backbone

    @property
    def weights(self) -> dict[str, str]:
        """How the weights of each tower came about before training (`zoo.support.provenance`)."""
        if provenance.was_loaded(self.model):
            return dict.fromkeys(self.came, provenance.LOADED)
        return self.came

    @property
    def shapes(self) -> TowerShapes:
        """What heads must know of the towers; scale and bias are as they are now."""
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
        """Whether texts are cut to the shortest length that holds them.

        The result is exact: only towers that never see what follows a text do it.
        """
        return self._texts.cuts

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer, built on first use, since token ids can be encoded without it.

        Raises:
            ZooError: The tokenizer cannot be loaded, or has more ids than the text tower.
        """
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
        """From a PIL image to a tensor `[3, H, W]`, as the weights need it."""
        return self._transform(None)

    @property
    def train_transform(self) -> Callable[[Any], Tensor]:
        """The same for training images; all its randomness comes from torch's global generator."""
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
        """Checks that both towers can give the tokens asked for.

        Args:
            image_keys: The tokens asked of the image tower.
            text_keys: The tokens asked of the text tower.

        Raises:
            ZooError: A tower cannot give tokens; the message names the tower and the tokens.
        """
        for tower, keys in ((self._images, image_keys), (self._texts, text_keys)):
            for key in sorted(keys):
                tower.check(self.name, key)

    def encode_images(self, images: Tensor, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        """Encodes images.

        Args:
            images: Prepared images, `[n, 3, H, W]`.
            keys: The tokens to give.

        Returns:
            Pooled vectors `[n, D]` as the tower gives them, not normalised, and the tokens of
            exactly these keys.
        """
        return self._encode(
            "image",
            lambda rows: self._images(images[rows], keys),
            torch.arange(len(images), device=images.device),
        )

    def encode_texts(self, bank: TextBank, keys: frozenset[TokenKey] = frozenset()) -> Encoded:
        """Encodes the texts of a bank.

        Token sets are as long as the longest text was cut to. Masks are true from the first token
        to the end token, both included.

        Args:
            bank: Token ids and lengths of T texts.
            keys: The tokens to give.

        Returns:
            Pooled vectors `[T, D]` in the bank's order, and the tokens of exactly these keys.
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
        """Encodes rows, in chunks where asked, and without a graph where the tower is frozen.

        Args:
            tower: `image` or `text`.
            run: Encodes the items of some rows.
            rows: The rows of all items.
        """
        chunks = torch.split(rows, self.chunk) if self.chunk else [rows]
        if not torch.is_grad_enabled() or not self.trains(tower):
            with torch.no_grad():
                return concatenate([run(some) for some in chunks])
        if self.chunk is None:
            return run(rows)
        return concatenate([checkpoint(run, some, use_reentrant=False) for some in chunks])

    def trains(self, tower: str) -> bool:
        """Returns whether any parameter of a tower, `image` or `text`, is trained."""
        return any(
            p.requires_grad for name, p in self.named_parameters() if self.tower(name) == tower
        )

    def tower(self, parameter_name: str) -> Literal["image", "text"]:
        """Returns the tower of a parameter, by its name here; the temperature counts as text."""
        return "image" if parameter_name.startswith("model.visual.") else "text"

    def freeze(
        self, image_keys: frozenset[TokenKey], text_keys: frozenset[TokenKey], pooled: bool
    ) -> list[str]:
        """Freezes the parameters that none of the outputs asked for depends on.

        Args:
            image_keys: The tokens asked of the image tower.
            text_keys: The tokens asked of the text tower.
            pooled: Whether the pooled vectors are asked for.

        Returns:
            The names of all frozen parameters, those of untuned towers included.

        Raises:
            ZooError: A tower cannot give the tokens.
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
        """Yields the trained parameters that the outputs depend on.

        They are the leaves of the graph of one blank image and one blank text.
        """
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
        """Sets the mode; frozen towers and frozen BatchNorm stay in evaluation mode."""
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
                f"{self.name} has BatchNorm, whose updated statistics would be those of a chunk: "
                "set backbone.chunk to null, or backbone.batch_norm to frozen"
            )

    @torch.no_grad()
    def write_scale(self, scale: float, bias: float | None) -> None:
        """Writes a head's scale and bias into the open_clip model, for export.

        Args:
            scale: The factor of the cosine similarity, not its logarithm.
            bias: What the head adds to it; None leaves the model's own.

        Raises:
            ZooError: The head has a bias and the model has no place for one.
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
