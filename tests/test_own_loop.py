"""Objectives, batches and losses without Lightning are those of training with it."""

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import zoo
from tests.support.helpers import SHAPES
from tests.support.made import make_root
from tests.support.parallel import group, on_ranks
from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, Encoded, batch_of_vectors
from zoo.datamodules import CaptionDataModule, TrainingLoader
from zoo.errors import ZooError
from zoo.heads.cosine import Cosine
from zoo.module import ZooModule
from zoo.negatives import NegCLIPSwap
from zoo.objectives import (
    CECLIP,
    CLIC,
    CLIP,
    CSCLIP,
    DAC,
    FSCCLIP,
    READCLIP,
    TSVLC,
    CoNCLIP,
    NegCLIP,
    Objective,
    SigLIP,
    TripletCLIP,
)
from zoo.optim import Optimization
from zoo.scores import Scores
from zoo.sources.readers import CsvTable
from zoo.units import UnitSampler

ROWS, WIDTH = 4, SHAPES.width
SGD = Optimization(lr=1e-2, weight_decay=0, warmup_steps=0, decay="none", algorithm="SGD")
OF_VECTORS = [
    *(CLIP(), NegCLIP(), CSCLIP(), CECLIP(), CLIC(), CoNCLIP(), READCLIP(), SigLIP()),
    *(TripletCLIP(), TSVLC(lambda_pos=1.0), DAC(), FSCCLIP(lambda_l=0)),
]


def vectors(seed: int = 0, rows: int = ROWS) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, WIDTH, dtype=torch.float64, generator=generator)

    return {
        "images": draw(rows),
        "captions": draw(rows),
        "negatives": draw(rows, 2),
        "positives": draw(rows, 1),
        "negative_images": draw(rows),
        "units": draw(rows, 2),
        "foils": draw(rows, 2),
    }


def loss_of(objective: Objective, batch: Batch) -> Tensor:
    head = Cosine(scale=3.0, bias=-1.0).double()
    objective.attach(SHAPES, head, trains=True)
    return objective.double()(batch, Scores(head, batch)).total


@pytest.mark.parametrize("objective", OF_VECTORS, ids=lambda o: type(o).__name__)
def test_a_batch_of_vectors_is_what_a_batch_of_rows_of_a_text_bank_is(objective: Objective) -> None:
    given = vectors()
    texts = torch.cat(
        [given[name].reshape(-1, WIDTH) for name in ("captions", "negatives", "positives")]
        + [given[name].reshape(-1, WIDTH) for name in ("units", "foils")]
    )

    def rows(first: int, per_row: int) -> Tensor:
        return torch.tensor(
            [[first + per_row * i + k for k in range(per_row)] for i in range(ROWS)]
        )

    by_rows = Batch(
        images=Encoded(torch.cat([given["images"], given["negative_images"]])),
        texts=Encoded(texts),
        captions=torch.arange(ROWS),
        negatives=rows(4, 2),
        positives=rows(12, 1),
        negative_images=torch.arange(ROWS, 2 * ROWS),
        units=rows(16, 2),
        foils=rows(24, 2),
        image_ids=torch.arange(ROWS),
        hashes=torch.arange(len(texts)),
        samples=torch.arange(ROWS),
        primary=ROWS,
    )
    assert loss_of(objective, batch_of_vectors(**given)) == loss_of(objective, by_rows)


def test_a_missing_negative_unit_or_foil_has_no_gradient_and_counts_nowhere() -> None:
    given = {name: tensor.requires_grad_() for name, tensor in vectors().items()}
    has_negative, has_unit = torch.ones(ROWS, 2, dtype=torch.bool), torch.ones(ROWS, 2).bool()
    has_negative[1, 0] = has_unit[2, 1] = False
    has_foil = has_unit.clone()
    has_foil[0, 0] = False
    exists = {"has_negative": has_negative, "has_unit": has_unit, "has_foil": has_foil}
    loss_of(CSCLIP(), batch_of_vectors(**given, **exists)).backward()
    for name, has in (("negatives", has_negative), ("units", has_unit), ("foils", has_foil)):
        gradient = given[name].grad
        assert gradient is not None
        assert torch.equal(gradient.abs().sum(-1) > 0, has), name


class Losses(Callback):
    """Keeps the loss of every step."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.seen.append(float(outputs["loss"]))


@pytest.mark.parametrize("objective", [CSCLIP, FSCCLIP])
def test_a_plain_loop_has_the_losses_of_fit(
    objective: type[Objective], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_root(tmp_path))
    seen: list[list[float]] = []
    for plain in (True, False):
        torch.manual_seed(0)
        module = ZooModule(Backbone("zoo-tiny"), objective(), optimizer=SGD)
        data = CaptionDataModule(
            CsvTable("captions.tsv"),
            image_roots=["."],
            batch_size=4,
            negatives=NegCLIPSwap(),
            units=UnitSampler("units.jsonl"),
            workers=0,
        )
        if plain:
            losses = []
            optimizer = torch.optim.SGD(module.parameters(), lr=1e-2)
            loader = TrainingLoader(data, module)
            for batch in [*loader, *loader]:
                encoded, scores = module.score(batch)
                loss = module.objective(encoded, scores).total
                loss.backward()
                optimizer.step()
                module.head.clamp_scale()
                optimizer.zero_grad()
                losses.append(float(loss.detach()))
            seen.append(losses)
            continue
        kept = Losses()
        trainer = Trainer(
            max_epochs=2,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            callbacks=[kept],
        )
        trainer.fit(module, datamodule=data)
        seen.append(kept.seen)
    assert len(seen[0]) == 2 * len(loader) == 6
    assert seen[0] == pytest.approx(seen[1], rel=1e-6)


def test_a_loader_resumes_at_an_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_root(tmp_path))
    module = ZooModule(Backbone("zoo-tiny"), CSCLIP())

    def make_loader(epoch: int = 0) -> TrainingLoader:
        data = CaptionDataModule(
            CsvTable("captions.tsv"), image_roots=["."], batch_size=4, workers=0,
            negatives=NegCLIPSwap(), units=UnitSampler("units.jsonl"),
        )  # fmt: skip
        return TrainingLoader(data, module, epoch)

    loader = make_loader()
    first, second = ([batch.samples.tolist() for batch in loader] for _ in range(2))
    assert first != second
    assert [batch.samples.tolist() for batch in make_loader(epoch=1)] == second


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"images": (5, 8)}, r"images has the shape \[5, 8\]: give \[4, 8\]"),
        ({"images": (4, 6)}, r"images has the shape \[4, 6\]: give \[4, 8\]"),
        ({"negatives": (4, 8)}, r"negatives has the shape \[4, 8\]: give \[4, any, 8\]"),
        ({"negatives": (2, 4, 8)}, r"negatives has the shape \[2, 4, 8\]: give \[4, any, 8\]"),
        ({"has_negative": (4, 1)}, r"has_negative has the shape \[4, 1\]: give \[4, 2\]"),
        ({"foils": (4, 3, 8)}, r"foils has the shape \[4, 3, 8\]: give \[4, 1, 8\]"),
        ({"units": None}, "foils is given without units"),
    ],
)
def test_vectors_of_another_shape_are_refused(
    changed: dict[str, tuple[int, ...] | None], message: str
) -> None:
    shapes = {"images": (4, 8), "captions": (4, 8), "negatives": (4, 2, 8), "units": (4, 1, 8)}
    shapes |= {"foils": (4, 1, 8)} | changed  # type: ignore[assignment]
    tensors = {name: torch.ones(shape) for name, shape in shapes.items() if shape is not None}
    with pytest.raises(ZooError, match=message):
        batch_of_vectors(**tensors)


def test_masks_are_boolean_and_objectives_of_tokens_need_a_module() -> None:
    images, texts = torch.randn(4, 8), torch.randn(4, 1, 8)
    with pytest.raises(ZooError, match=r"has_unit has the type torch.float32: give a mask of"):
        batch_of_vectors(images, images, units=texts, has_unit=torch.ones(4, 1))
    batch = batch_of_vectors(images, images, texts)
    with pytest.raises(ZooError, match="reads tokens, which vectors do not have"):
        FSCCLIP()(batch, Scores(Cosine(), batch))


def test_only_a_module_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"not a Linear: save that by torch\.save"):
        zoo.save(nn.Linear(2, 2), tmp_path / "a.ckpt")  # type: ignore[arg-type]


def test_units_without_foils_are_units_whose_foils_are_missing() -> None:
    torch.manual_seed(0)
    images, captions, units = torch.randn(4, 8), torch.randn(4, 8), torch.randn(4, 1, 8)
    missing = torch.zeros(4, 1, dtype=torch.bool)
    batches = (
        batch_of_vectors(images, captions, units=units),
        batch_of_vectors(images, captions, units=units, foils=units, has_foil=missing),
    )
    losses = [CSCLIP()(batch, Scores(Cosine(), batch)).total for batch in batches]
    assert losses[0] == losses[1]


class Towers(nn.Module):
    """A linear map of all vectors, trained with CS-CLIP."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.map = nn.Linear(WIDTH, WIDTH, bias=False, dtype=torch.float64)
        self.head = Cosine(scale=3.0).double()

    def forward(self, given: dict[str, Tensor]) -> Tensor:
        batch = batch_of_vectors(**{name: self.map(tensor) for name, tensor in given.items()})
        scores = Scores(self.head, batch, mask_same_image=True, mask_same_text=True)
        return CSCLIP()(batch, scores).total


def gradients(model: nn.Module, given: dict[str, Tensor]) -> list[Tensor]:
    loss = model(given)
    loss.backward()
    return [p.grad for p in model.parameters() if p.grad is not None]


def work(rank: int, folder: Path) -> None:
    given = {name: tensor[2 * rank : 2 * rank + 2] for name, tensor in vectors().items()}
    with group(rank, 2, folder):
        torch.save(gradients(DistributedDataParallel(Towers()), given), folder / f"{rank}.pt")


@pytest.mark.slow
def test_two_processes_of_a_plain_loop_have_the_gradients_of_one(tmp_path: Path) -> None:
    on_ranks(2, work, tmp_path)
    for rank in range(2):
        for found, expected in zip(
            torch.load(tmp_path / f"{rank}.pt"), gradients(Towers(), vectors()), strict=True
        ):
            torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_a_model_of_an_own_loop_is_saved_with_its_temperature_and_counts_as_trained(
    tmp_path: Path,
) -> None:
    module = ZooModule(Backbone("zoo-tiny"), CLIP())
    assert set(module.weight_origins.values()) == {"random"}
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
    sum(p.square().sum() for p in module.parameters()).backward()  # type: ignore[union-attr]
    optimizer.step()
    assert set(module.weight_origins.values()) == {"trained"}
    zoo.save(module, tmp_path / "trained.ckpt")
    loaded = zoo.load(tmp_path / "trained.ckpt", device="cpu").module  # type: ignore[union-attr]
    assert loaded.weight_origins == module.weight_origins
    for name, tensor in module.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], tensor), name
    module.load_state_dict(loaded.state_dict())  # other weights, which this loop did not train
    assert set(module.weight_origins.values()) == {"loaded"}
