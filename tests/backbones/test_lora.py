"""LoRA: what is trained, what it starts as, and what it merges into."""

from pathlib import Path
from typing import Literal

import open_clip
import pytest
import torch
from torch import Tensor

from tests.backbones.test_backbone import PENULTIMATE, bank, gradients, tiny
from tests.backbones.test_towers import small
from tests.support.runs import last_checkpoint, losses, variant
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA, merge_adapters
from zoo.backbones.settings import Compute, Tuning
from zoo.batch import TokenKey
from zoo.cli import main
from zoo.errors import ZooError
from zoo.optim import Optimization
from zoo.support.configurable import to_config

NONE: frozenset[TokenKey] = frozenset()
RANK_4 = {
    "backbone": {
        "class_path": "zoo.backbones.backbone.Backbone",
        "init_args": {"name": "zoo-tiny", "tuning": {"lora": {"rank": 4}}},
    }
}


def moved(backbone: Backbone) -> Backbone:
    """Returns the backbone with adapters that say something."""
    torch.manual_seed(2)
    with torch.no_grad():
        for parameter in trained(backbone).values():
            parameter.normal_(std=0.3)
    return backbone


def trained(backbone: Backbone) -> dict[str, Tensor]:
    return {
        name: parameter
        for name, parameter in backbone.named_parameters()
        if parameter.requires_grad
    }


def state(backbone: Backbone) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in backbone.model.state_dict().items()}


def outputs(backbone: Backbone) -> list[Tensor]:
    return outputs_and_gradients(backbone)[0]


def outputs_and_gradients(backbone: Backbone) -> tuple[list[Tensor], dict[str, Tensor]]:
    images, texts, found = gradients(backbone, PENULTIMATE)
    encoded = [
        images.pooled,
        *images.tokens.values(),
        texts.pooled,
        *(t[texts.masks[k]] for k, t in texts.tokens.items()),
    ]
    return encoded, found


def same(ours: list[Tensor], theirs: list[Tensor], tolerance: float = 0.0) -> bool:
    return all(
        torch.allclose(a, b, rtol=0, atol=tolerance) for a, b in zip(ours, theirs, strict=True)
    )


@pytest.mark.parametrize(
    ("name", "image", "total"),
    [
        ("zoo-tiny", 3 * 6_144 + 1_152, 2 * 3 * 6_144 + 1_152),
        pytest.param("ViT-B-32-quickgelu", 12 * 49_152 + 15_360, 998_400, marks=pytest.mark.slow),
    ],
)
def test_rank_4_trains_as_many_numbers_as_are_counted_by_hand(
    name: str, image: int, total: int
) -> None:
    """Of ViT-B/32 both towers 983,040, the patch convolution 15,360."""
    backbone = Backbone(name, tuning=Tuning(lora=LoRA(rank=4)))
    sizes = {n: p.numel() for n, p in trained(backbone).items()}
    assert sum(sizes.values()) == total
    assert image == sum(n for k, n in sizes.items() if backbone.tower_of_parameter(k) == "image")


def test_it_starts_as_the_model_itself() -> None:
    assert same(outputs(tiny(tuning=Tuning(lora=LoRA()))), outputs(tiny()))


def test_frozen_weights_stay_as_they_were_to_the_last_bit() -> None:
    backbone = moved(tiny(tuning=Tuning(lora=LoRA())))
    before = state(backbone)
    gradients(backbone, PENULTIMATE)
    with torch.no_grad():
        backbone.encode_texts(bank(backbone))
    assert all(
        torch.equal(tensor, before[name]) for name, tensor in backbone.model.state_dict().items()
    )


def test_only_adapters_are_trained_and_every_one_has_a_gradient() -> None:
    backbone = moved(tiny(tuning=Tuning(lora=LoRA())))
    _, _, found = gradients(backbone, NONE)
    assert found.keys() == trained(backbone).keys()
    assert all(".lora_" in name and gradient.abs().max() > 0 for name, gradient in found.items())


@pytest.mark.parametrize(("side", "other"), [("image", "text"), ("text", "image")])
def test_tune_says_which_tower_is_adapted(side: Literal["image", "text"], other: str) -> None:
    backbone = tiny(tuning=Tuning(side, LoRA(targets=("attn", "c_fc"))))
    assert {
        backbone.tower_of_parameter(name)
        for name, _ in backbone.named_parameters()
        if ".lora_" in name
    } == {side}
    assert backbone.has_trained_parameters(side)
    assert not backbone.has_trained_parameters(other)


@pytest.mark.parametrize("name", ["zoo-tiny", "resnet"])
def test_merged_it_is_a_plain_model_with_the_same_output(name: str, tmp_path: Path) -> None:
    """A plain model loads the state strictly.

    W + alpha / rank B A is worked out here once more for one layer.
    """
    where, targets = name, LoRA().targets
    if name == "resnet":
        where, targets = (
            small(tmp_path, name, {"layers": [1, 1, 1, 1], "patch_size": None}, {}, {}),
            ("attn", "c_fc", "conv1", "conv2"),
        )
    backbone = (
        moved(Backbone(where, tuning=Tuning(lora=LoRA(rank=3, alpha=2.0, targets=targets))))
        .eval()
        .double()
    )
    plain = Backbone(where).eval().double()
    plain.model.load_state_dict(
        merge_adapters(backbone.model.state_dict(), backbone.tuning.lora.scaling)
    )
    images = torch.randn(3, 3, *backbone._images.size, dtype=torch.float64)
    for f in (lambda b: b.encode_images(images).pooled, lambda b: b.encode_texts(bank(b)).pooled):
        torch.testing.assert_close(f(plain), f(backbone), rtol=1e-9, atol=1e-9)
    layer = backbone.model.transformer.resblocks[0].mlp.c_fc
    expected = (
        layer.base_layer.weight
        + 2 / 3 * layer.lora_B["default"].weight @ layer.lora_A["default"].weight
    )
    torch.testing.assert_close(plain.model.transformer.resblocks[0].mlp.c_fc.weight, expected)


def test_chunks_change_nothing() -> None:
    whole, chunked = (
        moved(tiny(tuning=Tuning(lora=LoRA()), compute=Compute(chunk))).double()
        for chunk in (None, 2)
    )
    (encoded, ours), (expected, theirs) = map(outputs_and_gradients, (chunked, whole))
    assert same(encoded, expected, 1e-10)
    assert all(torch.allclose(gradient, theirs[name], atol=1e-9) for name, gradient in ours.items())


def test_what_no_output_reaches_is_frozen_as_ever() -> None:
    backbone = tiny(tuning=Tuning(lora=LoRA()))
    frozen = [
        name
        for name in backbone.freeze_unused(PENULTIMATE, PENULTIMATE, pooled=False)
        if ".lora_" in name
    ]
    assert frozen
    assert all(".resblocks.2." in name for name in frozen)


def test_adapters_are_in_the_groups_of_their_towers() -> None:
    backbone = tiny(tuning=Tuning(lora=LoRA()))
    groups = Optimization(lr_image=1e-3, lr_text=1e-4).groups(
        backbone.named_parameters(), backbone.tower_of_parameter
    )
    rates = {id(p): group["lr"] for group in groups for p in group["params"]}
    assert {name: rates[id(p)] for name, p in trained(backbone).items()} == {
        name: 1e-3 if "visual" in name else 1e-4 for name in trained(backbone)
    }


def test_what_a_checkpoint_records_builds_the_same_again() -> None:
    assert to_config(tiny(tuning=Tuning(lora=LoRA(rank=2))))["init_args"]["tuning"]["lora"] == {
        "rank": 2,
        "alpha": 1.0,
        "targets": ["attn", "c_fc", "c_proj", "conv1"],
    }


MISTAKES = {
    "no tower": ("none", LoRA, "towers is none"),
    "an unknown layer": (
        "both",
        lambda: LoRA(targets=("attn", "fc1")),
        "fc1, which is not the name of a layer: choose among attn, c_fc",
    ),
    "nothing in a tower": ("both", lambda: LoRA(targets=("conv1",)), "no layer of the text tower"),
    "a part of attention": (
        "both",
        lambda: LoRA(targets=("attn", "out_proj")),
        "name the attention itself",
    ),
    "no rank": ("both", lambda: LoRA(rank=0), "LoRA.rank=0.: give a whole number from 1 up"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_what_to_set(mistake: str) -> None:
    towers, lora, message = MISTAKES[mistake]
    with pytest.raises(ZooError, match=message):
        tiny(tuning=Tuning(towers, lora()))


@pytest.mark.slow
def test_a_run_resumes_reloads_and_starts_another_from_its_merged_weights(
    tmp_path: Path,
    made_root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = ["fit", "--config", str(variant(tmp_path, made_root, RANK_4))]
    assert main([*recipe, "--trainer.max_epochs", "2"]) == 0
    kept = str(last_checkpoint(tmp_path))
    assert main([*recipe, "--trainer.max_epochs", "3", "--ckpt_path", kept]) == 0
    assert sorted(losses(tmp_path, version=1)) == [4, 5]
    assert (
        main(
            [
                *recipe,
                "--trainer.max_epochs",
                "3",
                "--ckpt_path",
                kept,
                "--model.backbone.tuning.lora.rank",
                "8",
            ]
        )
        == 1
    )
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("zoo: the checkpoint was trained with backbone.tuning.lora rank=4")
    assert "this run has rank=8" in told
    assert main([*recipe, "--ckpt_path", kept, "--model.backbone.tuning.lora", "null"]) == 1
    again = Backbone("zoo-tiny", pretrained=kept)
    content = torch.load(kept, weights_only=True)["state_dict"]
    tuned = {
        n.removeprefix("backbone.model."): t
        for n, t in content.items()
        if n.startswith("backbone.model.")
    }
    assert torch.equal(
        again.model.visual.conv1.weight, merge_adapters(tuned, 0.25)["visual.conv1.weight"]
    )
    assert not torch.equal(again.model.visual.conv1.weight, tuned["visual.conv1.base_layer.weight"])
    assert isinstance(again.model, open_clip.CLIP)


def test_adapters_without_their_alpha_are_refused(tmp_path: Path) -> None:
    torch.save(tiny(tuning=Tuning(lora=LoRA())).model.state_dict(), tmp_path / "adapters.pt")
    with pytest.raises(ZooError, match="without the alpha"):
        Backbone("zoo-tiny", pretrained=str(tmp_path / "adapters.pt"))
