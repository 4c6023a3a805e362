"""The module beside what is tested elsewhere.

Whole runs are in `test_cli`, `test_resume` and `test_two_processes`, pairs of objectives and heads
in `test_any_with_any`.
"""

import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Tuning
from zoo.batch import Batch, text_bank
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.module import ZooModule
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.negclip import NegCLIP
from zoo.optim import Optimization
from zoo.scores import Scores


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


def made_batch(backbone: Backbone, n: int = 3) -> Batch:
    bank, rows = text_bank(*backbone.tokenizer([f"{i} red cats" for i in range(n)]))
    none = torch.zeros(n, 0, dtype=torch.long)
    images = torch.randn(n, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    images = torch.nn.functional.interpolate(images, size=backbone.model.visual.image_size)
    return Batch(
        images=images,
        texts=bank,
        captions=rows,
        negatives=none,
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
            "Choosy needs negatives of negclip_swap or aro_shuffle, and the data makes replay",
        ),
        (CSCLIP(), ("negclip_swap",), False, "CSCLIP needs units"),
    ],
)
def test_data_that_lacks_what_the_objective_needs_is_refused(
    backbone: Backbone, objective: Objective, negatives: tuple[str, ...], units: bool, named: str
) -> None:
    datamodule = SimpleNamespace(provides=SimpleNamespace(negatives=negatives, units=units))
    with pytest.raises(ZooError, match=named) as refused:
        ZooModule(backbone, objective).refuse_what_cannot_be(datamodule)
    assert "data.init_args" in str(refused.value)


@pytest.mark.parametrize(
    "datamodule",
    [
        None,
        object(),
        SimpleNamespace(provides=SimpleNamespace(negatives=("aro_shuffle",), units=True)),
    ],
)
def test_data_that_has_it_or_does_not_say_is_taken(backbone: Backbone, datamodule: Any) -> None:
    ZooModule(backbone, Choosy()).refuse_what_cannot_be(datamodule)


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


def test_what_it_was_trained_on_survives_loading_and_saving_again(backbone: Backbone) -> None:
    checkpoint = checkpoint_of(ZooModule(backbone))
    checkpoint["zoo"] |= {"data": {"seed": 3}, "trained_images": ["coco:1"]}
    module = ZooModule(backbone)
    module.on_load_checkpoint(checkpoint)
    again = checkpoint_of(module)["zoo"]
    assert (again["data"], again["trained_images"]) == ({"seed": 3}, ["coco:1"])
    assert module.about()["origin"] == {"data": {"seed": 3}}


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
