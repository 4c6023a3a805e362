"""Every objective trains through every head and is measured.

What cannot be is refused before any training.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from lightning import Trainer

import zoo.heads
from tests.support.parallel import SMALL, shipped, with_heads
from tests.support.runs import losses, variant
from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import TextInput, Tuning
from zoo.cli import main
from zoo.datamodules.captions import CaptionDataModule
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.max_sim import MaxSim
from zoo.module import ZooModule
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.base import Objective
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.fsc_clip import FSCCLIP
from zoo.objectives.negclip import NegCLIP
from zoo.objectives.read_clip import READCLIP
from zoo.objectives.siglip import SigLIP
from zoo.objectives.triplet_clip import TripletCLIP
from zoo.optim import Optimization
from zoo.positives.paraphrases import Paraphrases
from zoo.regions_and_phrases.crops import Grid
from zoo.sources.negative_images import NegativeImages
from zoo.sources.readers.csv_table import CsvTable
from zoo.units.sampler import UnitSampler

FEW = {"views": Grid(sizes=[(112, 112)])}
HEADS: list[tuple[type[Head], dict[str, Any]]] = [
    (cls, FEW if cls().needs.views else SMALL.get(cls.__name__, {}))
    for cls in shipped(zoo.heads, Head)
]
HEADS.append((CrossModal, SMALL["CrossModal"] | {"granularity": "global"}))


def data(made_root: Path, **changed: Any) -> CaptionDataModule:
    settings = {
        "train": CsvTable(str(made_root / "captions.tsv")),
        "image_roots": [str(made_root)],
        "batch_size": 4,
        "workers": 0,
        "negatives": NegCLIPSwap(),
        "positives": Paraphrases(made_root / "beside.jsonl"),
        "negative_images": NegativeImages(made_root / "beside.jsonl"),
        "units": UnitSampler(str(made_root / "units.jsonl")),
        "evaluation": Evaluation([f"pairs:{made_root / 'pairs.csv'}"], str(made_root), workers=0),
    }
    return CaptionDataModule(**(settings | changed))


def one_step(module: ZooModule, datamodule: CaptionDataModule, folder: Path) -> Trainer:
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = Trainer(
        accelerator="cpu",
        log_every_n_steps=1,
        max_epochs=1,
        limit_train_batches=1,
        num_sanity_val_steps=0,
        default_root_dir=folder,
        **quiet,
    )
    trainer.fit(module, datamodule=datamodule)
    return trainer


@pytest.fixture(scope="module")
def tower() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return Backbone("zoo-tiny").state_dict()


@pytest.mark.parametrize(("objective", "head", "settings"), with_heads(HEADS, always=()))
def test_every_objective_and_every_head_trains_a_step_and_is_measured(
    made_root: Path,
    tmp_path: Path,
    tower: dict[str, torch.Tensor],
    objective: type[Objective],
    head: type[Head],
    settings: dict[str, Any],
) -> None:
    backbone = Backbone("zoo-tiny")
    backbone.load_state_dict(tower)
    module = ZooModule(backbone, objective(), head(bias=-1.0, **settings), Optimization(lr=1e-3))
    datamodule = data(made_root)
    trainer = one_step(module, datamodule, tmp_path)
    assert trainer.global_step == 1
    assert torch.isfinite(trainer.callback_metrics["train/loss"])
    trained = {name: p for name, p in backbone.named_parameters() if p.requires_grad}
    moved = [name for name, p in trained.items() if not torch.equal(p, tower[name])]
    assert len(moved) > len(trained) / 2
    assert 0 <= datamodule.evaluation.results.scalars()["pairs/colours/i2t"] <= 100


@pytest.mark.parametrize(
    "head", list(dict.fromkeys(head for head, _ in HEADS)), ids=lambda cls: cls.__name__
)
def test_a_sigmoid_loss_through_a_head_without_bias_is_refused_when_it_is_built(
    head: type[Head],
) -> None:
    with pytest.raises(
        ZooError,
        match=(
            rf"SigLIP needs a head with a bias, but neither {head.__name__} nor zoo-tiny has one: "
            r"set .*bias"
        ),
    ):
        ZooModule(Backbone("zoo-tiny"), SigLIP(), head(**SMALL.get(head.__name__, {})))


LACKING = {
    "negatives": (NegCLIP, {"negatives": None}, "needs sentence negatives"),
    "units": (CSCLIP, {"units": None}, "needs units"),
    "positives": (READCLIP, {"positives": None}, "needs further positives"),
    "negative images": (TripletCLIP, {"negative_images": None}, "needs negative images"),
}


@pytest.mark.parametrize("lacking", LACKING)
def test_an_objective_without_its_data_is_refused_before_a_step(
    made_root: Path, tmp_path: Path, lacking: str
) -> None:
    objective, changed, message = LACKING[lacking]
    module = ZooModule(Backbone("zoo-tiny"), objective(), Cosine())
    with pytest.raises(ZooError, match=message):
        one_step(module, data(made_root, **changed), tmp_path)


def resnet(folder: Path) -> str:
    """An architecture whose image tower has no tokens."""
    vision = {"image_size": 32, "width": 64, "layers": [1, 1, 1, 1]}
    file = folder / "any-resnet.json"
    file.write_text(
        json.dumps(
            {
                "embed_dim": 48,
                "vision_cfg": vision,
                "text_cfg": {"width": 64, "heads": 2, "layers": 1},
            }
        )
    )
    return str(file)


TOKENS = {
    "TF-Local": (
        (CrossModal, {}),
        NegCLIP,
        "CrossModal reads patches, and this backbone's image tower returns none",
    ),
    "late interaction": (
        (MaxSim, {}),
        NegCLIP,
        "image tower of .*any-resnet.json cannot give .*no tokens to give",
    ),
    "FSC-CLIP": (
        (Cosine, {}),
        FSCCLIP,
        "image tower of .*any-resnet.json cannot give .*no tokens to give",
    ),
}


@pytest.mark.parametrize("who", TOKENS)
def test_tokens_that_a_backbone_lacks_are_refused_when_the_model_is_built(
    tmp_path: Path, who: str
) -> None:
    (head, settings), objective, message = TOKENS[who]
    with pytest.raises(ZooError, match=message):
        ZooModule(Backbone(resnet(tmp_path)), objective(), head(**settings))


def test_raw_tokens_of_two_widths_are_refused_when_the_model_is_built(tmp_path: Path) -> None:
    vision, text = (
        {"image_size": 32, "patch_size": 8, "width": 64, "layers": 1},
        {"width": 32, "heads": 2, "layers": 1},
    )
    file = tmp_path / "two-widths.json"
    file.write_text(json.dumps({"embed_dim": 48, "vision_cfg": vision, "text_cfg": text}))
    with pytest.raises(
        ZooError, match="patches of width 64 with text tokens of width 32: set project to true"
    ):
        ZooModule(Backbone(str(file)), FSCCLIP(project=False))


@pytest.mark.parametrize(
    ("settings", "head"),
    [({}, CrossModal(**SMALL["CrossModal"])), ({"local_scale": 9.0}, Cosine())],
)
def test_a_local_term_over_frozen_towers_is_refused_when_the_model_is_built(
    settings: dict[str, Any], head: Head
) -> None:
    with pytest.raises(ZooError, match=r"no trained parameters.* Set lambda_l to 0"):
        ZooModule(Backbone("zoo-tiny", tuning=Tuning("none")), FSCCLIP(**settings), head)


def test_padding_is_read_where_texts_are_left_whole(made_root: Path, tmp_path: Path) -> None:
    head = CrossModal(attend_pads=True, **SMALL["CrossModal"])
    assert (
        one_step(
            ZooModule(Backbone("zoo-tiny", text=TextInput(lengths=[])), NegCLIP(), head),
            data(made_root),
            tmp_path,
        ).global_step
        == 1
    )
    with pytest.raises(ZooError, match=r"text\.lengths to \[\] .* or set attend_pads to false"):
        one_step(ZooModule(Backbone("zoo-tiny"), NegCLIP(), head), data(made_root), tmp_path)


NAMED = {
    "CS-CLIP through TF-Local": (
        "zoo.objectives.cs_clip.CSCLIP",
        "zoo.heads.cross_modal.CrossModal",
    ),
    "FSC-CLIP through TF-Local": (
        "zoo.objectives.fsc_clip.FSCCLIP",
        "zoo.heads.cross_modal.CrossModal",
    ),
    "NegCLIP through a linear map": ("zoo.objectives.negclip.NegCLIP", "zoo.heads.linear.Linear"),
}


@pytest.mark.parametrize(
    "pair",
    [
        pair if i == 0 else pytest.param(pair, marks=pytest.mark.slow)
        for i, pair in enumerate(NAMED)
    ],
)
def test_pairs_are_named_in_yaml_alone(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: str
) -> None:
    monkeypatch.chdir(tmp_path)
    objective, head = NAMED[pair]
    parts = {
        "objective": {"class_path": objective},
        "head": {"class_path": head, "init_args": SMALL.get(head.rpartition(".")[2], {})},
    }
    engine = {
        "benchmarks": [f"pairs:{made_root / 'pairs.csv'}"],
        "data_root": str(made_root),
        "workers": 0,
    }
    recipe = variant(
        tmp_path,
        made_root,
        parts,
        {"evaluation": {"class_path": "zoo.evaluation.engine.Evaluation", "init_args": engine}},
    )
    assert yaml.safe_load(recipe.read_text())["model"]["head"]["class_path"] == head
    assert main(["fit", "--config", str(recipe), "--trainer.max_epochs", "1"]) == 0
    assert len(losses(tmp_path)) == 2
    assert len(losses(tmp_path, column="benchmark/pairs/colours/i2t")) == 1
