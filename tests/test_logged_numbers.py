"""What a run logs on two processes, whose last batch is uneven, is what it logs on one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from tests.made import make_root
from tests.parallel import group, on_ranks
from zoo.backbone import Backbone
from zoo.checkpointing import BestCheckpoint
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.readers.csv_table import CsvTable
from zoo.evaluation.engine import Evaluation
from zoo.heads.cosine import Cosine
from zoo.module import ZooModule
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.base import Objective
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.fsc_clip import FSCCLIP
from zoo.objectives.siglip import SigLIP
from zoo.optim import Optimization
from zoo.units.sampler import UnitSampler

RANKS = 2
BATCH = 8  # of 11 rows: 4 and 4, then 3 and none
# with masks, since equal captions tie with each other but for rounding, which accuracy would count
OBJECTIVES: dict[str, Objective] = {
    "cs_clip": CSCLIP(mask_same_text=True),  # its loss holds CLIP's and NegCLIP's
    "fsc_clip": FSCCLIP(mask_same_text=True),
    "siglip": SigLIP(mask_same_text=True),
}
# each device has a bank of texts of its own, and its own speed
OF_DEVICES = {"train/deduplicated", "train/texts_a_second"}
Numbers = dict[str, float]


class Seen(Callback):
    """Keeps what every step of training logged."""

    def __init__(self) -> None:
        self.steps: list[Numbers] = []

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self.steps.append(logged(trainer, "train/"))


def logged(trainer: Trainer, *prefixes: str) -> Numbers:
    return {n: float(v) for n, v in trainer.callback_metrics.items() if n.startswith(prefixes)}


def uneven_root(folder: Path) -> Path:
    """Writes a root of eleven captions: one has no swap, two no units, one a broken picture, three the same words."""
    root = make_root(folder / "root", n=11)
    lines = (root / "captions.tsv").read_text().splitlines()
    paths = [line.split("\t")[0] for line in lines[1:]]
    lines[4] = f"{paths[3]}\ta square"
    same = lines[7].split("\t")[1]
    lines[5], lines[6] = f"{paths[4]}\t{same}", f"{paths[5]}\t{same}"
    (root / "captions.tsv").write_text("\n".join(lines) + "\n")
    units = [json.loads(line) for line in (root / "units.jsonl").read_text().splitlines()]
    kept = [{**u, "caption": lines[int(u["caption_id"]) + 1].split("\t")[1]} for u in units[2:]]
    (root / "units.jsonl").write_text("".join(json.dumps(unit) + "\n" for unit in kept))
    Path(paths[8]).write_bytes(b"no picture")
    questions = (root / "pairs.csv").read_text().splitlines()
    (root / "pairs.csv").write_text("\n".join(q for q in questions if paths[8] not in q))
    return root


def numbers(
    root: Path, name: str, folder: Path, ranks: int
) -> tuple[Numbers, list[Numbers], Numbers]:
    """Returns what a validation of the untrained model logs, what each step of an epoch does, and what its validation does."""
    torch.manual_seed(0)
    module = ZooModule(
        Backbone("zoo-tiny"), OBJECTIVES[name], Cosine(bias=-2.0), Optimization(lr=1e-4)
    )
    captions = CsvTable(str(root / "captions.tsv"))
    datamodule = CaptionDataModule(
        train=captions,
        val=captions,
        photographs=[str(root)],
        batch_size=BATCH,
        negatives=NegCLIPSwap(),
        units=UnitSampler(str(root / "units.jsonl")),
        workers=0,
        tolerate_broken=True,
        evaluation=Evaluation([f"pairs:{root / 'pairs.csv'}"], str(root), workers=0),
    )
    seen = Seen()
    best = BestCheckpoint("benchmark/pairs/colours/i2t", "max", str(folder / name / str(ranks)))
    trainer = Trainer(
        accelerator="cpu",
        devices=ranks,
        strategy="ddp" if ranks > 1 else "auto",
        max_epochs=1,
        num_sanity_val_steps=0,
        callbacks=[seen, best],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
    )
    trainer.validate(module, datamodule, verbose=False)
    before = logged(trainer, "val/")
    trainer.fit(module, datamodule=datamodule)
    assert Path(best.best_model_path).is_file()
    return before, seen.steps, logged(trainer, "val/", "benchmark/")


def work(rank: int, root: Path, folder: Path) -> None:
    os.environ["LOCAL_RANK"] = str(rank)  # Lightning starts no further processes
    with group(rank, RANKS, folder):
        found = {name: numbers(root, name, folder, RANKS) for name in OBJECTIVES}
        torch.save(found, folder / f"rank{rank}.pt")


Found = dict[str, tuple[Numbers, list[Numbers], Numbers]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return uneven_root(tmp_path_factory.mktemp("uneven"))


@pytest.fixture(scope="module")
def ranks(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    folder = tmp_path_factory.mktemp("two")
    on_ranks(RANKS, work, root, folder)
    return [torch.load(folder / f"rank{rank}.pt") for rank in range(RANKS)]


@pytest.mark.parametrize("name", OBJECTIVES)
def test_two_processes_log_what_one_does(
    name: str, root: Path, ranks: list[Found], tmp_path: Path
) -> None:
    before, steps, after = numbers(root, name, tmp_path, 1)
    assert {"val/loss", "val/accuracy", "val/missing_units", "val/share_same_text"} <= before.keys()
    assert 0 < before["val/missing_units"] < 1
    assert 0 < before["val/share_same_text"] < 1
    assert 0 < before["val/missing_negatives"] < 1
    assert len(steps) == 2
    for two_before, two_steps, two_after in (found[name] for found in ranks):
        assert two_before == pytest.approx(before, rel=1e-6, abs=1e-6)
        for two, one in zip(two_steps, steps, strict=True):
            assert two.keys() == one.keys()
            same = one.keys() - OF_DEVICES
            assert {n: two[n] for n in same} == pytest.approx(
                {n: one[n] for n in same}, rel=1e-5, abs=1e-6
            )
        assert two_after == pytest.approx(after, rel=1e-5, abs=1e-6)
