"""The last groups of a frozen tower are trained, in open_clip's order, and nothing else of it."""

from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from tests.backbones.test_backbone import NONE, gradients, same_in_other_class, tiny
from tests.backbones.test_checkpointed_blocks import equal, made
from tests.backbones.test_towers import hugging_face
from tests.support.runs import assert_resuming_changes_no_loss, last_checkpoint
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Compute, Tuning
from zoo.errors import ZooError
from zoo.optim import Optimization

Side = Literal["image", "text"]
OTHER: dict[Side, Side] = {"image": "text", "text": "image"}


def groups(side: Side, count: int) -> Tuning:
    """The other tower, and the last groups of this one."""
    return Tuning(towers=OTHER[side], **{f"{side}_groups": count})  # type: ignore[arg-type]


def trained(backbone: Backbone, side: Side) -> set[str]:
    return {
        name
        for name, p in backbone.named_parameters()
        if p.requires_grad and backbone.tower_of_parameter(name) == side
    }


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_groups_are_counted_from_the_projection(count: int) -> None:
    blocks = "model.visual.transformer.resblocks."
    last = (("model.visual.proj",), (f"{blocks}2.", "model.visual.ln_post"), (f"{blocks}1.",))
    prefixes = tuple(p for group in (*last, (f"{blocks}0.",))[:count] for p in group)
    backbone = tiny(tuning=groups("image", count))
    image = {n for n, _ in backbone.named_parameters() if n.startswith("model.visual.")}
    assert trained(backbone, "image") == {n for n in image if n.startswith(prefixes)}
    assert trained(backbone, "text") == trained(tiny(), "text")
    assert backbone.has_trained_parameters("image")


@pytest.mark.parametrize("side", ["image", "text"])
@pytest.mark.parametrize(("count", "custom_text"), [(1, False), (2, False), (4, False), (2, True)])
def test_they_are_those_that_open_clip_leaves_unlocked(
    tmp_path: Path, custom_text: bool, side: Side, count: int
) -> None:
    name = same_in_other_class(tmp_path) if custom_text else "zoo-tiny"
    theirs = Backbone(name)
    lock = theirs.model.lock_image_tower if side == "image" else theirs.model.lock_text_tower
    lock(count)
    assert trained(Backbone(name, tuning=groups(side, count)), side) == trained(theirs, side)


def test_groups_of_timm_are_its_own_and_its_projection_is_trained(tmp_path: Path) -> None:
    names = trained(made(tmp_path, "timm ViT", groups("image", 1)), "image")
    prefixes = ("model.visual.trunk.blocks.5.", "model.visual.trunk.norm.", "model.visual.head.")
    assert all(name.startswith(prefixes) for name in names)
    assert {prefix for prefix in prefixes if any(n.startswith(prefix) for n in names)} >= {
        prefixes[1],
        prefixes[2],
    }


@pytest.fixture(scope="module")
def whole() -> dict[str, Tensor]:
    """The gradients of whole towers."""
    return gradients(tiny().double(), NONE)[2]


@pytest.mark.parametrize(
    ("side", "compute"),
    [("image", {}), ("image", {"chunk": 2}), ("text", {"checkpoint_blocks": True})],
)
def test_a_step_changes_them_alone_by_the_gradients_of_a_whole_tower(
    side: Side, compute: dict[str, Any], whole: dict[str, Tensor]
) -> None:
    backbone = tiny(tuning=groups(side, 2), compute=Compute(**compute))
    assert not set(backbone.freeze_unused(NONE, NONE, pooled=True)) & trained(backbone, side)
    backbone.double().train()
    before = {name: p.detach().clone() for name, p in backbone.named_parameters()}
    found = gradients(backbone, NONE)[2]
    assert {n for n in found if backbone.tower_of_parameter(n) == side} == trained(backbone, side)
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, whole[name], rtol=1e-7, atol=1e-10)
    torch.optim.AdamW([p for p in backbone.parameters() if p.requires_grad], lr=0.1).step()
    changed = {n for n, p in backbone.named_parameters() if not torch.equal(before[n], p)}
    assert changed == found.keys()


@pytest.mark.parametrize("kind", ["ViT", "timm ViT"])
def test_recomputed_blocks_change_no_gradient_of_them(tmp_path: Path, kind: str) -> None:
    tuning = Tuning(towers="none", image_groups=1, text_groups=2)
    plain, checkpointed = (
        made(tmp_path, kind, tuning, checkpoint_blocks=on) for on in (False, True)
    )
    equal(plain, checkpointed, least=14)


def test_their_learning_rate_is_that_of_the_tower() -> None:
    backbone = tiny(tuning=groups("image", 1))
    module = nn.ModuleDict({"backbone": backbone})
    built = Optimization(lr=1.0, lr_image=0.25).groups(
        module.named_parameters(),
        lambda name: backbone.tower_of_parameter(name.removeprefix("backbone.")),
    )
    assert {group["part"]: group["lr"] for group in built} == {"image": 0.25, "text": 1.0}
    assert [len(g["params"]) for g in built if g["part"] == "image"] == [1]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"towers": "both"}, "backbone.tuning.towers both trains the whole tower"),
        ({"towers": "image"}, "backbone.tuning.towers image trains the whole tower"),
        ({"towers": "text", "lora": LoRA()}, "backbone.tuning.lora trains adapters"),
        ({"towers": "none", "batch_norm": "updated"}, "updated would change the frozen groups"),
    ],
)
def test_what_they_contradict_is_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ZooError, match=rf"^backbone.tuning.image_groups is 1, .* but .*{reason}"):
        Tuning(image_groups=1, **settings)


@pytest.mark.parametrize("side", ["image", "text"])
def test_as_many_groups_as_there_are_are_refused(side: Side) -> None:
    with pytest.raises(ZooError, match="has 5 groups: set it to one from 1 to 4, or train the"):
        tiny(tuning=groups(side, 5))


def test_towers_without_groups_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"^backbone\.tuning\.image_groups: .* cannot train a part"):
        made(tmp_path, "ResNet", groups("image", 1))
    settings = hugging_face(tmp_path, "mean_pooler").recorded_arguments
    with pytest.raises(ZooError, match=r"^backbone\.tuning\.text_groups: .* cannot train a part"):
        Backbone(**{**settings, "tuning": groups("text", 1)})


@pytest.mark.slow
def test_a_run_with_an_average_resumes_and_keeps_frozen_weights(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = [
        *("fit", "--config", str(made_root / "recipe.yaml"), "--model.optimizer.decay", "none"),
        *("--model.backbone.tuning.towers", "none", "--model.backbone.tuning.image_groups", "2"),
        *("--model.backbone.tuning.text_groups", "1", "--trainer.callbacks+=zoo.training.EMA"),
    ]
    assert_resuming_changes_no_loss(recipe, tmp_path)
    first, last = (
        torch.load(last_checkpoint(tmp_path, n), weights_only=True)["state_dict"] for n in (0, 1)
    )
    changed = {n for n in first if not torch.equal(first[n], last[n])}
    backbone = Backbone("zoo-tiny", tuning=Tuning("none", image_groups=2, text_groups=1))
    expected = {f"backbone.{n}" for n, p in backbone.named_parameters() if p.requires_grad}
    assert {n for n in changed if n.startswith("backbone.")} == expected
