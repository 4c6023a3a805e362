"""Patch dropout: training images lose a share of their patches, other images none."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.backbones.test_backbone import tiny
from tests.backbones.test_towers import small
from tests.support.runs import assert_resuming_changes_no_loss
from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Augmentation, Compute
from zoo.batch import TokenKey
from zoo.cli import main
from zoo.errors import ZooError

HALF = Augmentation(patch_dropout=0.5)


def tokens_seen(backbone: Backbone, images: Tensor) -> list[tuple[int, ...]]:
    seen: list[tuple[int, ...]] = []
    block = backbone.model.visual.transformer.resblocks[0]
    hook = block.register_forward_hook(lambda _m, args, _o: seen.append(tuple(args[0].shape[:2])))
    backbone.encode_images(images)
    hook.remove()
    return seen


def test_half_of_the_patches_and_the_class_token_are_left_in_training_alone() -> None:
    backbone, images = tiny(augmentation=HALF), torch.randn(2, 3, 64, 64)
    assert tokens_seen(backbone.train(), images) == [(2, 33)]
    assert tokens_seen(backbone.eval(), images) == [(2, 65)]
    plain = tiny().eval()
    assert torch.equal(backbone.encode_images(images).pooled, plain.encode_images(images).pooled)


@pytest.mark.parametrize("compute", [Compute(chunk=2), Compute(checkpoint_blocks=True)])
def test_recomputation_leaves_out_the_same_patches(compute: Compute) -> None:
    found = []
    for backbone in (tiny(augmentation=HALF), tiny(augmentation=HALF, compute=compute)):
        torch.manual_seed(3)
        pooled = backbone.train().encode_images(torch.ones(2, 3, 64, 64)).pooled
        pooled.sin().sum().backward()
        found.append((pooled, backbone.model.visual.positional_embedding.grad))
    assert all(torch.equal(mine, other) for mine, other in zip(*found, strict=True))
    dropped = (found[0][1] == 0).all(1).sum()
    assert 0 < dropped < 33  # what both images left out


def test_patches_differ_by_seed_alone() -> None:
    backbone, images = tiny(augmentation=HALF).train(), torch.randn(2, 3, 64, 64)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(backbone.encode_images(images).pooled)
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_tokens_are_refused() -> None:
    keys = frozenset({TokenKey()})
    with pytest.raises(ZooError, match=r"patch_dropout is 0\.5, .* positions would be lost"):
        tiny(augmentation=HALF).refuse_tokens_of_dropped_patches(keys)
    tiny(augmentation=HALF).refuse_tokens_of_dropped_patches(frozenset())
    tiny().refuse_tokens_of_dropped_patches(keys)


def test_other_towers_are_refused(tmp_path: Path) -> None:
    resnet = small(tmp_path, "resnet", {"layers": [1, 1, 1, 1], "patch_size": None}, {}, {})
    with pytest.raises(ZooError, match="is not open_clip's own ViT: set it to 0"):
        Backbone(resnet, augmentation=HALF)


@pytest.mark.slow
def test_a_resumed_run_leaves_out_the_same_patches_and_heads_on_patches_are_refused(
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = [
        *("fit", "--config", str(made_root / "recipe.yaml"), "--model.optimizer.decay", "none"),
        *("--model.backbone.augmentation.patch_dropout", "0.5"),
    ]
    assert_resuming_changes_no_loss(recipe, tmp_path)
    assert main([*recipe, "--model.head", "MaxSim", "--trainer.logger.version", "refused"]) == 1
    assert "positions would be lost" in capsys.readouterr().err
