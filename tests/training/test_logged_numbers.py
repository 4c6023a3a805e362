"""What a run logs is what loops over its batches count.

On two and on four processes, whose last batch is uneven, it is what it is on one.
"""

import itertools
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import Logger
from torch import Tensor
from torch.utils.data import DataLoader

import zoo.objectives
from tests.objectives.loops import Formulas, cosine_score
from tests.support.helpers import Case, random_case, random_pooled
from tests.support.made import make_root
from tests.support.parallel import group, on_ranks, shipped
from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Tuning
from zoo.batch import Batch, Encoded, build_text_bank
from zoo.datamodules.captions import CaptionDataModule
from zoo.evaluation.engine import Evaluation
from zoo.heads.cosine import Cosine
from zoo.module import ZooModule
from zoo.module.step_numbers import deduplicated_share
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.base import Objective
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.fsc_clip import FSCCLIP
from zoo.objectives.siglip import SigLIP
from zoo.optim import Optimization
from zoo.positives.paraphrases import Paraphrases
from zoo.sources.negative_images import NegativeImages
from zoo.sources.readers.csv_table import CsvTable
from zoo.training.callbacks import BestCheckpoint
from zoo.units.sampler import UnitSampler

RANKS = 2
BATCH = 8  # of 11 rows: 4 and 4, then 3 and none
OBJECTIVES: dict[str, Objective] = {
    "cs_clip": CSCLIP(),  # its loss holds CLIP's and NegCLIP's
    "fsc_clip": FSCCLIP(),
    "siglip": SigLIP(),
}
EVERY = {cls.__name__: cls() for cls in shipped(zoo.objectives, Objective)}
# each device has a bank of texts of its own, and its own speed
OF_DEVICES = {"train/deduplicated", "train/texts_per_second"}
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
    """Writes a root of eleven captions.

    One has no swap, two no units, one a broken image, three the same words.
    """
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
    root: Path, name: str, objective: Objective, folder: Path, ranks: int
) -> tuple[Numbers, list[Numbers], Numbers]:
    """Returns what is logged by a validation of the untrained model, and by an epoch.

    The epoch logs each step and its validation.
    """
    torch.manual_seed(0)
    module = ZooModule(
        Backbone("zoo-tiny"),
        objective,
        Cosine(bias=-2.0),
        Optimization(lr=1e-4),
        # equal captions tie with each other but for rounding, which accuracy would count
        mask_same_text=True,
    )
    captions = CsvTable(str(root / "captions.tsv"))
    datamodule = CaptionDataModule(
        train=captions,
        val=captions,
        image_roots=[str(root)],
        batch_size=BATCH,
        negatives=NegCLIPSwap(),
        units=UnitSampler(str(root / "units.jsonl")),
        positives=Paraphrases(root / "beside.jsonl", strict=False) if name in EVERY else None,
        negative_images=NegativeImages(root / "beside.jsonl") if name in EVERY else None,
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
        log_every_n_steps=1,
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


def work(rank: int, root: Path, folder: Path, objectives: dict[str, Objective], ranks: int) -> None:
    os.environ["LOCAL_RANK"] = str(rank)  # Lightning starts no further processes
    with group(rank, ranks, folder):
        found = {
            name: numbers(root, name, objective, folder, ranks)
            for name, objective in objectives.items()
        }
        torch.save(found, folder / f"rank{rank}.pt")


Logged = tuple[Numbers, list[Numbers], Numbers]
Found = dict[str, Logged]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return uneven_root(tmp_path_factory.mktemp("uneven"))


@pytest.fixture(scope="module")
def ranks(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    return found_on(root, tmp_path_factory.mktemp("two"), OBJECTIVES, RANKS)


def found_on(root: Path, folder: Path, objectives: dict[str, Objective], ranks: int) -> list[Found]:
    on_ranks(ranks, work, root, folder, objectives, ranks)
    return [torch.load(folder / f"rank{rank}.pt") for rank in range(ranks)]


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTIVES)
def test_two_processes_log_what_one_does(
    name: str, root: Path, ranks: list[Found], tmp_path: Path
) -> None:
    one = numbers(root, name, OBJECTIVES[name], tmp_path, 1)
    before = one[0]
    assert {"val/loss", "val/accuracy", "val/missing_units", "val/share_same_text"} <= before.keys()
    assert 0 < before["val/missing_units"] < 1
    assert 0 < before["val/share_same_text"] < 1
    assert 0 < before["val/missing_negatives"] < 1
    assert_equal(one, [found[name] for found in ranks])


@pytest.mark.slow
def test_four_processes_log_what_one_does_for_every_objective(root: Path, tmp_path: Path) -> None:
    """In the last batch two of the four have no sample."""
    ranks = found_on(root, tmp_path, EVERY, 4)
    for name, objective in EVERY.items():
        one = numbers(root, name, objective, tmp_path, 1)
        assert_equal(one, [found[name] for found in ranks])


def assert_equal(one: Logged, ranks: list[Logged]) -> None:
    """Holds what every rank logged to what one process did."""
    before, steps, after = one
    assert len(steps) == 2
    for two_before, two_steps, two_after in ranks:
        assert two_before == pytest.approx(before, rel=1e-6, abs=1e-6)
        for two, step in zip(two_steps, steps, strict=True):
            assert two.keys() == step.keys()
            same = step.keys() - OF_DEVICES
            assert {n: two[n] for n in same} == pytest.approx(
                {n: step[n] for n in same}, rel=1e-5, abs=1e-6
            )
        assert two_after == pytest.approx(after, rel=1e-5, abs=1e-6)


def loaded(batches: list[Batch]) -> DataLoader[Any]:
    return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]


def by_loops(case: Case, images: torch.Tensor, texts: torch.Tensor, scale: float) -> Numbers:
    """Returns what a step of CS-CLIP logs of a batch.

    Its unit term is weighted by 0.3, and columns of a row's own words are masked.
    """
    score = cosine_score(images, texts, torch.tensor(scale).log())
    formulas, captions = Formulas(case, score, mask_same_text=True), case.captions.tolist()
    real, of_global, of_units = formulas.real, formulas.negclip(), 0.3 * formulas.unit()
    pairs = list(itertools.permutations(real, 2))
    right = [
        all(
            score(i, captions[i]) > score(i, captions[j])
            for j in real
            if j != i and formulas.stands_against(i, j, captions)
        )
        for i in real
    ]
    missing = {
        name: [text < 0 for i in real for text in getattr(case, name)[i].tolist()]
        for name in ("negatives", "positives", "units", "foils")
    }
    same_image = [bool(case.image_ids[i] == case.image_ids[j]) for i, j in pairs]
    same_text = [captions[i] == captions[j] for i, j in pairs]
    found = {f"missing_{name}": sum(told) / len(told) for name, told in missing.items()}
    return found | {
        "loss": float(of_global + of_units),
        "loss_global": float(of_global),
        "loss_unit": float(of_units),
        "loss_captions": float(formulas.clip()),
        "scale": scale,
        "accuracy": sum(right) / len(right),
        "share_same_image": sum(same_image) / len(pairs),
        "share_same_text": sum(same_text) / len(pairs),
    }


def test_what_a_step_logs_is_what_loops_over_its_batch_count() -> None:
    """A validation's numbers are means over the rows of its batches, and a step's are its own.

    Fillings are left out.
    """
    cases = [random_case(0, rows=9), random_case(3, rows=5, filling=2)]
    sides = [
        (random_pooled(i, len(case.captions)).detach(), random_pooled(i + 9, case.n_texts).detach())
        for i, case in enumerate(cases)
    ]
    batches = [
        case.batch(Encoded(images.float()), Encoded(texts.float()))
        for case, (images, texts) in zip(cases, sides, strict=True)
    ]
    expected = [by_loops(case, *both, 3.0) for case, both in zip(cases, sides, strict=True)]
    assert len(set(expected[0].values())) == len(expected[0])
    weights = [8 / 11, 3 / 11]
    module = ZooModule(
        Backbone("zoo-tiny", tuning=Tuning("none")),
        CSCLIP(lambda_u=0.3),
        Cosine(scale=3.0),
        Optimization(lr=0.5, lr_head=0.25),
        mask_same_text=True,
    )
    seen = Seen()
    trainer = Trainer(
        accelerator="cpu",
        log_every_n_steps=1,
        max_epochs=1,
        callbacks=[seen],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    (validated,) = trainer.validate(module, loaded(batches), verbose=False)
    means = {n: sum(w * e[n] for w, e in zip(weights, expected, strict=True)) for n in expected[0]}
    assert validated == pytest.approx({f"val/{n}": v for n, v in means.items()}, rel=1e-5)
    trainer.fit(module, loaded(batches[:1]))
    of_step = {n: v for n, v in expected[0].items() if n != "loss_captions"} | {"lr_head": 0.25}
    equal = Formulas(cases[0], lambda image, text: torch.zeros(()), mask_same_text=True)
    of_step["chance_loss"] = float(equal.negclip() + 0.3 * equal.unit())
    assert seen.steps == [pytest.approx({f"train/{n}": v for n, v in of_step.items()}, rel=1e-5)]


def test_texts_that_come_twice_are_counted_once() -> None:
    """Four texts are requested and three encoded."""
    module = ZooModule(Backbone("zoo-tiny", tuning=Tuning("none")))
    captions = ["a cat", "a dog", "a cat", "a bird"]
    bank, _ = build_text_bank(*module.backbone.tokenizer(captions))
    assert deduplicated_share(bank, module.device).item() == pytest.approx(0.25)


class Logged(Logger):
    """Keeps what is logged for every step."""

    name, version = "kept", 0

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, dict[str, float]] = {}

    def log_hyperparams(self, *args: Any, **kwargs: Any) -> None:
        """Keeps nothing."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        assert step is not None
        self.rows.setdefault(step, {}).update(metrics)


class StopsAt(Callback):
    """Stops a run after a step, as Lightning's Timer does."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_train_batch_end(self, trainer: Trainer, *args: Any) -> None:
        trainer.should_stop = trainer.global_step == self.step


def run_of(steps: int, every: int, **settings: Any) -> tuple[Logged, list[Tensor]]:
    """Trains on the same batch; returns what was logged, and the loss of each batch."""
    torch.manual_seed(0)
    case, losses, rows = random_case(4), [], Logged()
    images, texts = (
        Encoded(random_pooled(i, n).detach().float())
        for i, n in enumerate((len(case.captions), case.n_texts))
    )

    class Keeps(Callback):
        def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, *_: Any) -> None:
            losses.append(outputs["loss"].detach().clone())

    module = ZooModule(
        Backbone("zoo-tiny", tuning=Tuning("none")), None, Cosine(scale=3.0), Optimization(lr=0.1)
    )
    trainer = Trainer(
        accelerator="cpu",
        max_steps=steps,
        log_every_n_steps=every,
        logger=rows,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[*settings.pop("callbacks", []), Keeps()],
        **settings,
    )
    trainer.fit(module, loaded([case.batch(images, texts)] * 40))
    return rows, losses


def test_metrics_are_those_of_the_step_that_is_logged() -> None:
    rows, losses = run_of(steps=9, every=3)
    assert list(rows.rows) == [2, 5, 8]
    for step, row in rows.rows.items():
        assert row["train/loss"] == pytest.approx(losses[step].item())
        assert {"train/accuracy", "train/scale", "train/lr_head"} <= row.keys()


def test_metrics_of_a_step_of_several_batches_are_those_of_its_last() -> None:
    rows, losses = run_of(steps=4, every=2, accumulate_grad_batches=3)
    assert list(rows.rows) == [1, 3]
    for step, row in rows.rows.items():
        # Lightning divides the loss of each batch by their number
        assert row["train/loss"] == pytest.approx(3 * losses[3 * step + 2].item())


def test_a_step_after_which_a_run_is_stopped_repeats_no_metrics_of_another() -> None:
    rows, _ = run_of(steps=9, every=3, callbacks=[StopsAt(5)])
    assert "train/loss" in rows.rows[2]
    assert not any(name.startswith("train/") for name in rows.rows.get(4, {}))


def test_the_speed_is_that_of_all_steps_since_the_last_one_that_was_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two steps of three texts, each in half a second, of which the second is logged."""
    module = ZooModule(Backbone("zoo-tiny", tuning=Tuning("none")))
    bank, _ = build_text_bank(*module.backbone.tokenizer(["a cat", "a dog", "a bird"]))
    monkeypatch.setattr("zoo.module.zoo_module.time.perf_counter", lambda: 7.5)
    said: Numbers = {}
    monkeypatch.setattr(module, "log", lambda name, value, **_: said.update({name: float(value)}))
    monkeypatch.setattr(type(module), "trainer", SimpleNamespace(should_stop=False))
    none = torch.zeros(0, 0, dtype=torch.long)
    batch = Batch(none, bank, *[none] * 7, bank.hashes, none, 0)
    for step_metrics in (None, ([], torch.zeros(0))):
        module._step_began, module._step_metrics = 7.0, step_metrics
        module.on_train_batch_end(None, batch, 0)
    assert said == {"train/texts_per_second": pytest.approx(6.0)}
    assert (module._texts, module._seconds) == (0, 0.0)
