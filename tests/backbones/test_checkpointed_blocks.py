"""Blocks that recompute their activations: the same gradients, bit for bit, in less memory."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.backbones.test_backbone import NONE, PENULTIMATE
from tests.backbones.test_towers import hugging_face, small
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Compute, Tuning
from zoo.batch import TextBank, TokenKey
from zoo.errors import ZooError

RESNET = {"layers": [2, 1, 1, 1], "patch_size": None}
TIMM = {
    "timm_model_name": "test_vit",
    "timm_pool": "token",
    "timm_proj": "linear",
    "image_size": 160,
}
CONVNEXT = {"timm_model_name": "test_convnext", "timm_pool": "", "timm_proj": "linear"}
SIGLIP = {"no_causal_mask": True, "pool_type": "last", "proj_bias": True}
TOWERS: dict[str, tuple[dict, dict, dict]] = {
    "ViT": ({}, {}, {}),
    "ResNet": (RESNET, {}, {}),
    "timm ViT": (TIMM, {}, {}),
    "timm ConvNeXt": (CONVNEXT | {"image_size": 64}, {}, {}),
    "SigLIP": (TIMM | {"timm_pool": "map", "timm_proj": "none"}, SIGLIP, {"custom_text": True}),
    "CoCa": ({}, {"embed_cls": True}, {"custom_text": True}),
}


def made(folder: Path, kind: str, tuning: Tuning = Tuning(), **compute: object) -> Backbone:
    torch.manual_seed(0)
    image, text, rest = TOWERS[kind]
    text = {"vocab_size": 512, **text}  # texts are made of ids, without a tokenizer
    name = small(folder, kind, image, text, rest | ({"embed_dim": 64} if kind == "SigLIP" else {}))
    return Backbone(name, tuning=tuning, compute=Compute(**compute))  # type: ignore[arg-type]


def outcome(
    backbone: Backbone, images_keys: frozenset[TokenKey], keys: frozenset[TokenKey]
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """Vectors and tokens of a small batch, and the gradients of a loss of all of them."""
    backbone.train()
    torch.manual_seed(1)
    images = torch.randn(3, 3, *backbone.image_size)
    ids = torch.zeros(4, backbone.context, dtype=torch.long)
    lengths = torch.tensor([3, 9, 12, 4])
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.arange(1, int(length) + 1)
        row[length - 1] = backbone.vocab_size - 1
    encoded = [
        backbone.encode_images(images, images_keys),
        backbone.encode_texts(TextBank(ids, lengths, torch.arange(4)), keys),
    ]
    outputs = [t for side in encoded for t in (side.pooled, *side.tokens.values())]
    sum(output.sin().sum() for output in outputs).backward()  # type: ignore[union-attr]
    gradients = {n: p.grad for n, p in backbone.named_parameters() if p.grad is not None}
    return outputs, gradients


def equal(
    plain: Backbone,
    checkpointed: Backbone,
    image_keys: frozenset[TokenKey] = NONE,
    keys: frozenset[TokenKey] = NONE,
    least: int = 20,
) -> None:
    with torch.no_grad():  # the last norms of a ResNet's bottlenecks start at 0
        for parameter in plain.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    checkpointed.load_state_dict(plain.state_dict())
    (outputs, gradients), (others, other_gradients) = (
        outcome(backbone, image_keys, keys) for backbone in (plain, checkpointed)
    )
    assert all(torch.equal(*pair) for pair in zip(outputs, others, strict=True))
    assert len(gradients) > least
    assert gradients.keys() == other_gradients.keys()
    for name, gradient in gradients.items():
        assert gradient.any(), name
        assert torch.equal(other_gradients[name], gradient), name


@pytest.mark.parametrize("kind", TOWERS)
def test_pooled_vectors_have_equal_gradients(tmp_path: Path, kind: str) -> None:
    equal(made(tmp_path, kind), made(tmp_path, kind, checkpoint_blocks=True))


@pytest.mark.parametrize("kind", ["ViT", "timm ViT"])
def test_tokens_of_blocks_have_equal_gradients(tmp_path: Path, kind: str) -> None:
    plain, checkpointed = made(tmp_path, kind), made(tmp_path, kind, checkpoint_blocks=True)
    equal(plain, checkpointed, PENULTIMATE, PENULTIMATE)


def test_bfloat16_on_a_cpu_recomputes_with_the_same_attention(tmp_path: Path) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        _, gradients = outcome(made(tmp_path, "ViT", checkpoint_blocks=True), NONE, NONE)
    assert all(gradient.any() for gradient in gradients.values())


@pytest.mark.parametrize(("autocast", "flash"), [(True, False), (False, True)])
def test_flash_attention_is_left_out_in_bfloat16_on_a_cpu(
    tmp_path: Path, autocast: bool, flash: bool
) -> None:
    backbone = made(tmp_path, "ViT")
    with (
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile,
        torch.autocast("cpu", torch.bfloat16, enabled=autocast),
    ):
        outcome(backbone, NONE, NONE)
    kernels = {event.name for event in profile.events()}
    assert any("flash_attention" in name for name in kernels) == flash
    assert torch.backends.cuda.flash_sdp_enabled()


def test_a_hugging_face_tower_with_dropout_has_equal_gradients(tmp_path: Path) -> None:
    plain = hugging_face(tmp_path, "mean_pooler")
    assert plain.model.text.transformer.config.hidden_dropout_prob > 0
    settings = {**plain.recorded_arguments, "compute": Compute(checkpoint_blocks=True)}
    checkpointed = Backbone(**settings)
    equal(plain, checkpointed)
    sizes = [stored_by(backbone.train(), "text") for backbone in (plain, checkpointed)]
    assert sizes[1] < sizes[0] / 2


@pytest.mark.parametrize(
    ("compute", "tuning"),
    [
        ({"packed": True}, Tuning()),
        ({"chunk": 2}, Tuning()),
        ({"packed": True, "chunk": 2}, Tuning()),
        ({"channels_last": True}, Tuning()),
        ({}, Tuning(lora=LoRA(rank=2))),
        ({}, Tuning(towers="text")),
        pytest.param({"compile": "aot_eager"}, Tuning(), marks=pytest.mark.slow),
    ],
)
def test_other_settings_are_combined_with_it(tmp_path: Path, compute: dict, tuning: Tuning) -> None:
    plain = made(tmp_path, "ViT", tuning, **compute)
    checkpointed = made(tmp_path, "ViT", tuning, checkpoint_blocks=True, **compute)
    keys = PENULTIMATE if tuning.trains("image") else NONE
    equal(plain, checkpointed, keys, PENULTIMATE)


def stored(run: Callable[[], Tensor], parameters: list[nn.Parameter]) -> int:
    """Returns how many numbers autograd stores, without the weights."""
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    sizes: dict[int, int] = {}
    kept = []

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        result = run()
    assert result.requires_grad
    return sum(size for place, size in sizes.items() if place not in weights)


def stored_by(backbone: Backbone, side: str) -> int:
    ids = torch.full((2, backbone.context), backbone.vocab_size - 1)
    texts = TextBank(ids, torch.full((2,), backbone.context), torch.arange(2))
    images = torch.randn(2, 3, *backbone.image_size)
    return stored(
        lambda: (
            (
                backbone.encode_images(images) if side == "image" else backbone.encode_texts(texts)
            ).pooled
        ),
        list(backbone.parameters()),
    )


@pytest.mark.parametrize("kind", TOWERS)
@pytest.mark.parametrize("side", ["image", "text"])
def test_less_than_half_is_stored(tmp_path: Path, kind: str, side: str) -> None:
    sizes = [
        stored_by(made(tmp_path, kind, checkpoint_blocks=checkpoints).train(), side)
        for checkpoints in (False, True)
    ]
    assert sizes[1] < sizes[0] / 2


def test_packed_texts_store_less_too(tmp_path: Path) -> None:
    sizes = [
        stored_by(made(tmp_path, "ViT", packed=True, checkpoint_blocks=checkpoints), "text")
        for checkpoints in (False, True)
    ]
    assert sizes[1] < sizes[0] / 2


def test_updated_statistics_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ZooError,
        match=r"would count a batch twice, since blocks are recomputed: set backbone\.compute\."
        r"checkpoint_blocks to false, or backbone\.tuning\.batch_norm to frozen$",
    ):
        made(tmp_path, "ResNet", Tuning(batch_norm="updated"), checkpoint_blocks=True)


def test_a_tower_whose_library_cannot_is_refused(tmp_path: Path) -> None:
    image = {"timm_model_name": "hrnet_w18_small", "timm_pool": "", "image_size": 64}
    backbone = small(tmp_path, "cannot", image, {}, {})
    with pytest.raises(
        ZooError, match=r"^backbone\.compute\.checkpoint_blocks: the image tower of .* cannot"
    ):
        Backbone(backbone, compute=Compute(checkpoint_blocks=True))
