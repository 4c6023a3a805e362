"""Groups of a backbone's arguments: tuning, texts, augmentation and computation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from zoo.backbones.lora import LoRA
from zoo.errors import ZooError
from zoo.support.ranges import HalfOpenUnitInterval, NonNegativeInt, PositiveInt, RangedType

SHORTEST = 3  # tokens of a context: a start, a word, an end
TOWERS: tuple[Literal["image", "text"], ...] = ("image", "text")
LONGEST = 1 << 16  # tokens; a longer table of positions is a typing error


@dataclass(frozen=True)
class Tuning(metaclass=RangedType):
    """Which parts of a backbone are trained.

    Args:
        towers: Which towers are trained: `both`, `image`, `text` or `none`. A tower that is not
            trained is frozen, except for its last layers if `image_groups` or `text_groups` selects
            them. The temperature and the bias of the open_clip model are always frozen, since the
            head has its own.
        lora: LoRA adapters for the towers that `towers` selects. The adapters are trained instead
            of the weights. If None, the weights are trained. Adapters need the extra
            `clip-zoo[hf]`.
        batch_norm: Whether the statistics of BatchNorm are `frozen` or `updated` in training.
            Towers with BatchNorm cannot combine `updated` with `compute.chunk` or
            `compute.checkpoint_blocks`.
        image_groups: Number of groups of layers to train at the end of the image tower, if `towers`
            does not select this tower. Groups are counted from the output. In open_clip's own ViT,
            the first group is the projection, the second is the last block with the final norm, and
            each further group is one block. In towers of timm, timm defines the groups. If None, no
            group is trained.
        text_groups: The same as `image_groups`, for the text tower.

    Examples:
        Only the image tower is trained:

        >>> from zoo.backbones import Tuning
        >>> tuning = Tuning(towers="image")
        >>> tuning.trains("image"), tuning.trains("text")
        (True, False)
    """

    towers: Literal["both", "image", "text", "none"] = "both"
    lora: LoRA | None = None
    batch_norm: Literal["frozen", "updated"] = "frozen"
    image_groups: PositiveInt | None = None
    text_groups: PositiveInt | None = None

    def __post_init__(self) -> None:
        for tower, groups in (("image", self.image_groups), ("text", self.text_groups)):
            self._check_groups(tower, groups)
        if self.lora is not None and self.towers == "none":
            raise ZooError(
                "backbone.tuning.lora trains adapters and backbone.tuning.towers is none: set "
                "towers to both, image or text, or lora to null"
            )

    def _check_groups(self, tower: str, groups: int | None) -> None:
        name, reason = f"backbone.tuning.{tower}_groups", ""
        if groups is None:
            return
        if self.towers in ("both", tower):
            reason = f"backbone.tuning.towers {self.towers} trains the whole tower"
        elif self.lora is not None:
            reason = "backbone.tuning.lora trains adapters instead of weights"
        elif self.batch_norm == "updated":
            reason = "backbone.tuning.batch_norm updated would change the frozen groups"
        if reason:
            raise ZooError(
                f"{name} is {groups}, which trains the last groups of a frozen tower, but {reason}:"
                f" set {name} to null, or change the other setting"
            )

    def groups_of(self, tower: Literal["image", "text"]) -> int | None:
        """Returns how many of a frozen tower's last groups are trained; None for no group."""
        return self.image_groups if tower == "image" else self.text_groups

    def trains(self, tower: Literal["image", "text"]) -> bool:
        """Returns whether a tower is trained, or a part of it."""
        return self.towers in ("both", tower) or self.groups_of(tower) is not None

    def describe_towers(self) -> str:
        """Returns the names of trained towers and groups, such as `text, image_groups 2`."""
        groups = ((f"{tower}_groups", self.groups_of(tower)) for tower in TOWERS)
        return ", ".join([self.towers, *(f"{name} {n}" for name, n in groups if n is not None)])


@dataclass(frozen=True)
class TextInput(metaclass=RangedType):
    """How texts become token ids.

    Args:
        tokenizer: The folder of a saved Hugging Face tokenizer. If None, the tokenizer with which a
            checkpoint of zoo was trained is used, or else that of the architecture.
        context_length: Maximum number of tokens per text, from 3 to 65,536. The position embeddings
            of the weights are interpolated to this length. If None, the context length of the
            published weights is used, or else that of the architecture.
        lengths: Lengths in tokens to which texts are padded; the context length is always one of
            them. Each text is padded to the shortest length that holds it. With an empty list, all
            texts are padded to the context length, as in open_clip. Text towers whose output
            depends on the padding, such as SigLIP's, ignore this setting.
        kept_positions: Number of position embeddings at the start that stay unchanged if
            `context_length` is longer than in the weights. The others are interpolated. Long-CLIP
            keeps 20 of 77 for a length of 248. If None, all are interpolated, as in open_clip.
        max_groups: Maximum number of `lengths` that are used per batch. The text tower runs once
            per length. If None, there is no limit on a CPU, and the limit is 2 on a GPU, where more
            passes with fewer texts save no time.

    Examples:
        Texts of up to 16 tokens. Those that fit into 8 tokens are padded only to 8:

        >>> from zoo.backbones import Backbone, TextInput
        >>> backbone = Backbone("zoo-tiny", text=TextInput(context_length=16, lengths=[8]))
        >>> backbone.text_lengths
        [8, 16]
    """

    tokenizer: str | None = None
    context_length: PositiveInt | None = None
    lengths: Sequence[PositiveInt] = (8, 16, 24, 32, 48)
    max_groups: PositiveInt | None = None
    kept_positions: NonNegativeInt | None = None

    def __post_init__(self) -> None:
        if self.context_length is not None and not SHORTEST <= self.context_length <= LONGEST:
            raise ZooError(
                f"backbone.text.context_length is {self.context_length}: give a whole number from "
                f"{SHORTEST}, room for a start, a word and an end, to {LONGEST:,}"
            )
        if self.kept_positions is not None and self.context_length is None:
            raise ZooError(
                f"backbone.text.kept_positions is {self.kept_positions}, which has a meaning where "
                "the text positions are stretched: set backbone.text.context_length, such as 248"
            )


@dataclass(frozen=True)
class Augmentation(metaclass=RangedType):
    """How training images are changed at random.

    Args:
        crop_scale: Minimum and maximum share of an image's area that a random crop keeps, above 0
            and up to 1.
        patch_dropout: Share of randomly drawn patches that the image tower leaves out of each
            training image, from 0 to below 1. This needs open_clip's own ViT, and a head and an
            objective that do not read token vectors of images.

    Examples:
        Crops of at least half of the image:

        >>> from zoo.backbones import Augmentation, Backbone
        >>> backbone = Backbone("zoo-tiny", augmentation=Augmentation(crop_scale=(0.5, 1.0)))
        >>> backbone.image_size, backbone.min_side_for_crops  # smaller images would be enlarged
        ((64, 64), 91)
    """

    crop_scale: tuple[float, float] = (0.9, 1.0)
    patch_dropout: HalfOpenUnitInterval = 0.0

    def __post_init__(self) -> None:
        if len(self.crop_scale) != 2 or not 0 < self.crop_scale[0] <= self.crop_scale[1] <= 1:
            raise ZooError(
                f"backbone.augmentation.crop_scale is {list(self.crop_scale)}: give the least and "
                "the greatest share of an image's area, as in [0.9, 1.0]"
            )


@dataclass(frozen=True)
class Compute(metaclass=RangedType):
    """How the towers are run.

    These settings affect memory and time. Results change only in their last digits.

    Args:
        chunk: Number of images that the image tower encodes at once. Texts are also encoded in
            chunks: a chunk of texts has about as many tokens as a chunk of images has patches.
            Trained towers use activation checkpointing per chunk: they need the memory of only one
            chunk, run the forward pass twice and compute the same gradients. If None, the whole
            batch is encoded at once.
        compile: A backend of `torch.compile`, such as `inductor`, or a mode of `inductor`
            (`reduce-overhead`, `max-autotune`, `max-autotune-no-cudagraphs`). Only the blocks of
            the two towers are compiled. If None, nothing is compiled.
        channels_last: Whether the convolutions of the image tower use the channels-last memory
            format. This changes the last digits of results.
        packed: Whether the texts of a batch are packed into one sequence without padding, instead
            of being grouped by length. This changes the last digits of results. Packing needs one
            of open_clip's own text towers. The output of the tower must not depend on the padding.
            The tower must not be compiled, and must not have adapters on attention.
        checkpoint_blocks: Whether the backward pass recomputes the activations of each block,
            instead of storing them. This needs less memory and about a third more operations; the
            gradients are the same. With `chunk`, the activations of each chunk are recomputed block
            by block.

    Examples:
        Vectors do not depend on the size of chunks:

        >>> import torch
        >>> from zoo.backbones import Backbone, Compute
        >>> backbone = Backbone("zoo-tiny", compute=Compute(chunk=2))
        >>> images = torch.rand(3, 3, 64, 64)
        >>> separate = torch.cat([backbone.encode_images(image[None]).pooled for image in images])
        >>> torch.allclose(backbone.encode_images(images).pooled, separate, atol=1e-5)
        True
    """

    chunk: PositiveInt | None = None
    compile: str | None = None
    channels_last: bool = False
    packed: bool = False
    checkpoint_blocks: bool = False
