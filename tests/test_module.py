"""The module beside what is tested elsewhere.

Whole runs are in `test_cli`, `test_resume` and `test_two_processes`, pairs of objectives and heads
in `test_any_with_any`.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import LightningDataModule
from torch import nn
from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Tuning
from zoo.batch import Batch, Encoded, TowerShapes, build_text_bank
from zoo.caption_data import CaptionData
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.module import ZooModule
from zoo.module.compatibility import warn_of_unused_texts
from zoo.needs import Capabilities, Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.negclip import NegCLIP
from zoo.optim import Optimization
from zoo.scores import Scores
from zoo.training.trainer import ZooTrainer


class Learned(Objective):
    """An objective with a number of its own to learn."""

    def __init__(self) -> None:
        super().__init__()
        self.margin = nn.Parameter(torch.tensor(0.5))

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        total = CLIP()(batch, scores).total + self.margin
        return Loss(total, {"margin": total})


class Choosy(CLIP):
    """CLIP that wants the negatives of certain generators."""

    @property
    def needs(self) -> Needs:
        return Needs(generators=("negclip_swap", "aro_shuffle"))


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return Backbone("zoo-tiny", tuning=Tuning("none"))


class Stub(CaptionData):
    """Captions that say what they hold, and nothing else."""

    def __init__(self, provides: Capabilities) -> None:
        super().__init__()
        self._provides = provides

    @property
    def provides(self) -> Capabilities:
        return self._provides

    validates = False

    def check_devices(self, world: int) -> None:
        """Takes any number of devices."""

    def trained_images(self) -> list[str]:
        return []

    def describe(self) -> dict[str, Any]:
        return {}


def made_batch(backbone: Backbone, n: int = 3) -> Batch:
    bank, rows = build_text_bank(*backbone.tokenizer([f"{i} red cats" for i in range(n)]))
    none = torch.zeros(n, 0, dtype=torch.long)
    images = torch.randn(n, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    images = torch.nn.functional.interpolate(images, size=backbone.model.visual.image_size)
    return Batch(
        images=images,
        texts=bank,
        captions=rows,
        negatives=none,
        positives=none,
        negative_images=torch.full((n,), -1),
        units=none,
        foils=none,
        image_ids=torch.arange(n),
        hashes=bank.hashes,
        samples=torch.arange(n),
        primary=n,
    )


@pytest.mark.parametrize(
    ("objective", "negatives", "units", "named"),
    [
        (NegCLIP(), (), True, "NegCLIP needs sentence negatives"),
        (
            Choosy(),
            ("replay",),
            False,
            "Choosy needs negatives of negclip_swap or aro_shuffle, and the data have replay",
        ),
        (CSCLIP(), ("negclip_swap",), False, "CSCLIP needs units"),
    ],
)
def test_data_that_lacks_what_the_objective_needs_is_refused(
    backbone: Backbone, objective: Objective, negatives: tuple[str, ...], units: bool, named: str
) -> None:
    with pytest.raises(ZooError, match=named) as refused:
        ZooModule(backbone, objective).check_data(Stub(Capabilities(negatives, units)))
    assert "data.init_args" in str(refused.value)


@pytest.mark.parametrize(
    "names", [None, LightningDataModule(), ("aro_shuffle",), ("replay", "negclip_swap")]
)
def test_data_that_has_it_or_does_not_say_is_taken(backbone: Backbone, names: Any) -> None:
    data = Stub(Capabilities(names, True)) if isinstance(names, tuple) else names
    ZooModule(backbone, Choosy()).check_data(data)


def test_a_head_may_need_texts_of_the_data_as_well(backbone: Backbone) -> None:
    class Reader(Cosine):
        @property
        def needs(self) -> Needs:
            return Needs(pooled=True, units=True)

    module = ZooModule(backbone, CLIP(), Reader())
    with pytest.raises(ZooError, match="Reader needs units, and the data have none"):
        module.check_data(Stub(Capabilities()))
    module.check_data(Stub(Capabilities(units=True)))


@pytest.mark.parametrize(
    ("objective", "told"),
    [
        (CLIP(), []),
        (CSCLIP(global_negatives=False), ["negatives"]),
        (NegCLIP(), ["units"]),
        (Choosy(), ["units"]),
    ],
)
def test_texts_that_nobody_asks_for_are_named(
    objective: Objective, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    provides = Capabilities(("negclip_swap",), True) if told else Capabilities()
    warn_of_unused_texts(objective, Cosine(), Stub(provides))
    name = type(objective).__name__
    assert [record.getMessage() for record in caplog.records] == [
        f"{name} does not use the {what} that the data makes: set data.init_args.{what} to null to "
        "avoid encoding them"
        for what in told
    ]


def test_needs_that_are_a_method_are_refused(backbone: Backbone) -> None:
    class Method(CLIP):
        def needs(self) -> Needs:  # type: ignore[override]
            return Needs()

    with pytest.raises(ZooError, match=r"Method\.needs is a method: make it a property"):
        ZooModule(backbone, Method())


class Plain(LightningDataModule):
    """Data of a third party: two batches, and no more than Lightning asks for."""

    def __init__(self, batches: list[Any]) -> None:
        super().__init__()
        self.batches = batches

    def train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(self.batches, batch_size=None)  # type: ignore[arg-type]

    def val_dataloader(self) -> DataLoader[Any]:
        return self.train_dataloader()


def fit(module: ZooModule, data: LightningDataModule, folder: Path) -> ZooTrainer:
    trainer = ZooTrainer(
        accelerator="cpu",
        max_epochs=1,
        num_sanity_val_steps=0,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.fit(module, datamodule=data)
    return trainer


def test_any_datamodule_that_yields_batches_trains(tmp_path: Path) -> None:
    module = ZooModule(Backbone("zoo-tiny"), optimizer=Optimization(lr=1e-3))
    before = module.head.scale.item()
    trainer = fit(module, Plain([made_batch(module.backbone, n) for n in (3, 4)]), tmp_path)
    assert trainer.global_step == 2
    assert module.head.scale.item() != before
    assert trainer.callback_metrics["val/loss"].isfinite()
    checkpoint: dict[str, Any] = {}
    module.on_save_checkpoint(checkpoint)
    assert "data" not in checkpoint["zoo"]


def test_a_datamodule_that_yields_something_else_is_told_what_is_wanted(tmp_path: Path) -> None:
    module = ZooModule(Backbone("zoo-tiny"))
    pair = (torch.zeros(2, 3, 8, 8), torch.zeros(2))
    for run in (
        lambda: fit(module, Plain([pair]), tmp_path),
        lambda: ZooTrainer(accelerator="cpu", logger=False).validate(module, Plain([pair])),
    ):
        with pytest.raises(
            ZooError, match=r"Plain yields a (list|tuple), but a step needs a zoo\.batch\.Batch"
        ):
            run()


def checkpoint_of(module: ZooModule) -> dict[str, Any]:
    checkpoint: dict[str, Any] = {"state_dict": dict(module.state_dict())}
    module.on_save_checkpoint(checkpoint)
    return checkpoint


@pytest.mark.parametrize(
    ("before", "after"), [(Learned, CLIP), (CLIP, Learned), (Learned, Learned)]
)
def test_a_checkpoint_of_another_objective_brings_its_towers_alone(
    backbone: Backbone, before: Callable[[], Objective], after: Callable[[], Objective]
) -> None:
    trained, module = ZooModule(backbone, before()), ZooModule(backbone, after())
    trained.head.log_scale.data += 1  # type: ignore[operator]
    if isinstance(trained.objective, Learned):
        trained.objective.margin.data += 1
    checkpoint = checkpoint_of(trained)
    module.on_load_checkpoint(checkpoint)
    module.load_state_dict(checkpoint["state_dict"])
    assert torch.equal(module.head.scale, trained.head.scale)
    if isinstance(module.objective, Learned):
        assert float(module.objective.margin.detach()) == (1.5 if before is Learned else 0.5)


def test_a_checkpoint_of_another_architecture_is_refused_with_a_tensor(backbone: Backbone) -> None:
    checkpoint = checkpoint_of(ZooModule(Backbone("zoo-scenes")))
    with pytest.raises(
        ZooError,
        match=(
            r"does not fit backbone, head and objective \(\d+ tensors differ, such as: "
            r"backbone\.model"
        ),
    ):
        ZooModule(backbone).on_load_checkpoint(checkpoint)


class Queue(CLIP):
    """CLIP with rows that it keeps."""

    def __init__(self, size: int = 4, margin: float = 0.0) -> None:
        super().__init__()
        self.size, self.margin = size, margin

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        self.register_buffer("kept", torch.zeros(self.size, shapes.width))


class Weighted(Cosine):
    """A cosine with so many weights."""

    def __init__(self, weights: int = 2) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.ones(weights))


@pytest.mark.parametrize(
    ("there", "here", "told"),
    [
        (
            {"objective": Queue(4)},
            {"objective": Queue(8, margin=0.0)},
            r"objective\.kept is \(4, \d+\), expected \(8, \d+\); "
            r"this run has model\.objective\.size 8, was 4\)",
        ),
        (
            {"head": Weighted(2)},
            {"head": Weighted(3)},
            r"head\.weights is \(2,\), expected \(3,\); "
            r"this run has model\.head\.weights 3, was 2\)",
        ),
        (
            {"head": Weighted(2)},
            {"head": Cosine()},
            r"head\.weights is not part of this model; this run has model\.head "
            r"zoo\.heads\.Cosine, was tests\.test_module\.Weighted\)",
        ),
    ],
)
def test_a_tensor_of_another_size_is_told_with_the_argument_that_decides_it(
    backbone: Backbone, there: dict[str, Any], here: dict[str, Any], told: str
) -> None:
    checkpoint = checkpoint_of(ZooModule(backbone, **there))
    with pytest.raises(ZooError, match=rf"1 tensors differ, such as: {told}"):
        ZooModule(backbone, **here).on_load_checkpoint(checkpoint)


def test_a_tensor_that_no_recorded_argument_decides_is_told_by_itself(backbone: Backbone) -> None:
    checkpoint = checkpoint_of(ZooModule(backbone, Queue()))
    state = checkpoint["state_dict"]
    state["objective.kept"] = state["objective.kept"][:3]
    with pytest.raises(ZooError, match=r"kept is \(3, \d+\), expected \(4, \d+\)\): use those"):
        ZooModule(backbone, Queue()).on_load_checkpoint(checkpoint)


class ChangesItsBuffer(CLIP):
    """Writes into a buffer that the loss used, before the gradient is known."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.ones(2))

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        total = (super().forward(batch, scores).total * self.mean).mean()
        self.mean.mul_(0.5)
        return Loss(total, {"total": total})


class ChangesItsScores(Cosine):
    """Adds to a tensor whose values the gradient needs."""

    def block(self, images: Encoded, texts: Encoded) -> torch.Tensor:
        logits = super().block(images, texts).exp()
        logits += 1
        return logits


@pytest.mark.parametrize(
    ("parts", "at_fault"),
    [
        ({"objective": ChangesItsBuffer()}, "ChangesItsBuffer"),
        ({"head": ChangesItsScores()}, "ChangesItsScores"),
        (
            {"objective": ChangesItsBuffer(), "head": ChangesItsScores()},
            "ChangesItsBuffer or ChangesItsScores",
        ),
    ],
)
def test_a_tensor_that_is_changed_in_place_is_told_with_the_class_at_fault(
    parts: dict[str, Any], at_fault: str, tmp_path: Path
) -> None:
    module = ZooModule(Backbone("zoo-tiny"), **parts)
    with pytest.raises(
        ZooError, match=rf"^{at_fault} changed a tensor in place .*clone a buffer"
    ) as told:
        fit(module, Plain([made_batch(module.backbone)]), tmp_path)
    assert isinstance(told.value.__cause__, RuntimeError)
    assert "\n" not in str(told.value)


def test_another_error_of_the_backward_pass_stays_as_it_is(tmp_path: Path) -> None:
    class Detached(CLIP):
        def forward(self, batch: Batch, scores: Scores) -> Loss:
            total = super().forward(batch, scores).total.detach()
            return Loss(total, {"total": total})

    module = ZooModule(Backbone("zoo-tiny"), Detached())
    with pytest.raises(RuntimeError, match="does not require grad"):
        fit(module, Plain([made_batch(module.backbone)]), tmp_path)


def test_what_it_was_trained_on_survives_loading_and_saving_again(backbone: Backbone) -> None:
    checkpoint = checkpoint_of(ZooModule(backbone))
    checkpoint["zoo"] |= {"data": {"seed": 3}, "trained_images": ["coco:1"]}
    module = ZooModule(backbone)
    module.on_load_checkpoint(checkpoint)
    again = checkpoint_of(module)["zoo"]
    assert (again["data"], again["trained_images"]) == ({"seed": 3}, ["coco:1"])
    assert module.describe_model()["origin"] == {"data": {"seed": 3}}


def test_a_run_that_is_resumed_keeps_the_scale_that_it_inherited(backbone: Backbone) -> None:
    """Its backbone is built without the weights that brought the scale."""
    trained, resumed = ZooModule(backbone), ZooModule(backbone)
    trained.head.start_scale(math.log(117.0))
    checkpoint = checkpoint_of(trained)
    resumed.on_load_checkpoint(checkpoint)
    resumed.load_state_dict(checkpoint["state_dict"])
    resumed.head.clamp_scale()
    assert resumed.head.scale.item() == pytest.approx(117.0)
    resumed.head.log_scale.data.fill_(9.0)
    resumed.head.clamp_scale()
    assert resumed.head.scale.item() == pytest.approx(117.0)


def test_its_recipe_is_plain_data_that_names_every_part(backbone: Backbone) -> None:
    recipe = ZooModule(
        backbone,
        CSCLIP(lambda_u=0.25),
        Cosine(),
        Optimization(lr=1e-3),
        seed=7,
        mask_same_text=True,
    ).recipe()
    assert json.loads(json.dumps(recipe)) == recipe
    assert recipe["objective"]["init_args"]["lambda_u"] == 0.25
    assert recipe["backbone"]["class_path"] == "zoo.backbones.Backbone"
    assert (recipe["optimizer"]["lr"], recipe["seed"]) == (1e-3, 7)
    assert (recipe["mask_same_image"], recipe["mask_same_text"]) == (False, True)


def test_every_parameter_belongs_to_a_part() -> None:
    module = ZooModule(Backbone("zoo-tiny"), Learned())
    parts = {name: module.part(name) for name, _ in module.named_parameters()}
    assert set(parts.values()) == {"image", "text", "head"}
    assert parts["objective.margin"] == parts["head.log_scale"] == "head"
    assert all(part == "image" for name, part in parts.items() if "visual" in name)


def test_what_came_encoded_stays_as_it_is(backbone: Backbone) -> None:
    module = ZooModule(backbone)
    once = module.encode(made_batch(backbone))
    twice = module.encode(once)
    assert twice.images is once.images
    assert twice.texts is once.texts


def test_a_loss_is_that_of_the_objective_on_the_heads_scores(backbone: Backbone) -> None:
    module = ZooModule(backbone)
    batch = made_batch(backbone)
    encoded, scores = module.score(batch)
    images, texts = (
        nn.functional.normalize(x.pooled, dim=-1) for x in (encoded.images, encoded.texts)
    )
    logits = module.head.scale * images @ texts[batch.captions].T
    rows = torch.arange(len(batch))
    by_hand = (
        nn.functional.cross_entropy(logits, rows) + nn.functional.cross_entropy(logits.T, rows)
    ) / 2
    torch.testing.assert_close(module.objective(encoded, scores).total, by_hand)
