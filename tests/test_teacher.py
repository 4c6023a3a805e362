"""A teacher: a copy of the towers beside them, that no gradient reaches."""

from pathlib import Path

import pytest
import torch
from lightning import Trainer

from tests.support.pretend_cuda import OperationCount
from tests.test_chunks import batch
from zoo.backbones.backbone import Backbone
from zoo.checkpoints.load import load_checkpoint
from zoo.datamodules.captions import CaptionDataModule
from zoo.module import ZooModule
from zoo.module.teacher import Teacher
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.clip import CLIP
from zoo.objectives.degla import DeGLA
from zoo.optim import Optimization
from zoo.sources.readers.csv_table import CsvTable


def module(decay: float = 0.75) -> ZooModule:
    torch.manual_seed(0)
    return ZooModule(Backbone("zoo-tiny"), DeGLA(decay=decay))


def stepped(of: ZooModule) -> None:
    """Takes a step of plain gradient descent, as the optimiser would."""
    rows = batch(of.backbone)
    encoded, scores = of.score(rows._map(lambda t: t.float() if t.is_floating_point() else t))
    of.objective(encoded, scores).total.backward()
    with torch.no_grad():
        for parameter in of.parameters():
            if parameter.grad is not None:
                parameter -= 1e-3 * parameter.grad
                parameter.grad = None
    assert of.teacher is not None
    of.teacher.follow(of.backbone)


def test_a_teacher_follows_the_towers_by_its_decay() -> None:
    model = module()
    expected = {name: p.detach().clone() for name, p in model.backbone.named_parameters()}
    for _ in range(2):
        stepped(model)
        for name, p in model.backbone.named_parameters():
            expected[name] = 0.75 * expected[name] + 0.25 * p.detach()
    assert model.teacher is not None
    for name, own in model.teacher.backbone.named_parameters():
        torch.testing.assert_close(own, expected[name])
        assert not own.requires_grad
    moved = "model.text_projection"
    assert not torch.equal(expected[moved], model.backbone.get_parameter(moved))


def test_a_teacher_follows_by_few_kernels() -> None:
    model = module()
    assert model.teacher is not None
    with OperationCount() as count:
        model.teacher.follow(model.backbone)
    # scalars apart from the others, which sharding splits
    assert count.kernels["_foreach_lerp_"] == 2
    assert count.kernels["lerp_"] == 0


def test_a_frozen_teacher_stays_as_it_is() -> None:
    model = module(decay=1.0)
    before = {name: p.detach().clone() for name, p in model.backbone.named_parameters()}
    stepped(model)
    assert model.teacher is not None
    assert all(torch.equal(p, before[n]) for n, p in model.teacher.backbone.named_parameters())


def test_a_teacher_is_never_in_training_mode_and_never_in_the_optimiser() -> None:
    model = module().train()
    assert model.teacher is not None
    assert not any(part.training for part in model.teacher.modules())
    groups = Optimization().groups(model.named_parameters(), model.learning_rate_part)
    trained = {id(p) for group in groups for p in group["params"]}
    assert not trained & {id(p) for p in model.teacher.parameters()}


def test_a_loaded_module_goes_on_with_its_teacher() -> None:
    model, other = module(), module()
    stepped(model)
    other.load_state_dict(model.state_dict())
    stepped(model)
    stepped(other)
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor), name


def test_a_run_of_another_objective_lends_its_towers_to_the_teacher() -> None:
    torch.manual_seed(1)
    plain = ZooModule(Backbone("zoo-tiny"), CLIP())
    checkpoint = {"state_dict": plain.state_dict()}
    plain.on_save_checkpoint(checkpoint)
    model = module()
    model.on_load_checkpoint(checkpoint)
    model.load_state_dict(checkpoint["state_dict"])
    assert model.teacher is not None
    for name, own in model.teacher.backbone.named_parameters():
        assert torch.equal(own, plain.backbone.get_parameter(name))


def test_the_towers_of_a_checkpoint_with_a_teacher_are_loaded_without_it(
    tmp_path: Path,
) -> None:
    model = module()
    stepped(model)
    checkpoint = {"state_dict": model.state_dict()}
    model.on_save_checkpoint(checkpoint)
    torch.save(checkpoint, tmp_path / "last.ckpt")
    started = Backbone("zoo-tiny", pretrained=str(tmp_path / "last.ckpt"))
    loaded = load_checkpoint(tmp_path / "last.ckpt")
    assert loaded.teacher is None
    for name, p in model.backbone.named_parameters():
        if name != "model.logit_scale":  # the head's
            assert torch.equal(p, started.get_parameter(name))
        assert torch.equal(p, loaded.backbone.get_parameter(name))


def test_a_teacher_moves_once_an_optimiser_step(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves = []
    monkeypatch.setattr(Teacher, "follow", lambda self, backbone: moves.append(backbone))
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=1,
        limit_train_batches=3,
        accumulate_grad_batches=2,
        limit_val_batches=0,
        default_root_dir=tmp_path,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = module()
    trainer.fit(
        model,
        datamodule=CaptionDataModule(
            CsvTable(made_root / "captions.tsv"),
            [str(made_root)],
            batch_size=2,
            negatives=NegCLIPSwap(),
            workers=0,
        ),
    )
    assert moves == [model.backbone] * 2
