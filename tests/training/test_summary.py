"""What a run that measured benchmarks tells and draws at its end, and gives to its loggers."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import yaml
from lightning.pytorch.loggers import TensorBoardLogger, WandbLogger

import zoo
from zoo.caption_data import BenchmarkedData
from zoo.cli import main
from zoo.heads import Cosine
from zoo.module import ZooModule
from zoo.objectives import CLIP
from zoo.results.report import Results
from zoo.support.metrics_csv import read_curves
from zoo.training.callbacks import LastCheckpoint
from zoo.training.curves import LINES, best_and_last_lines, draw_figure, panels
from zoo.training.logged_tables import EXAMPLES, LoggedTables, worst_errors
from zoo.training.summary import summary_lines

WRITTEN = """epoch,step,benchmark/pairs/colours/i2t,train/loss,train/missing_units,val/loss
0,1,,2.5,0.25,
0,1,50.0,,,1.5
1,3,,2.0,0.5,
1,3,75.0,,,1.25
2,5,62.5,,,1.75
"""


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    (tmp_path / "metrics.csv").write_text(WRITTEN)
    return tmp_path / "metrics.csv"


def test_curves_are_the_numbers_of_the_file_by_steps_done(metrics: Path) -> None:
    assert read_curves(metrics) == {
        "train/loss": [(2, 2.5), (4, 2.0)],
        "train/missing_units": [(2, 0.25), (4, 0.5)],
        "benchmark/pairs/colours/i2t": [(2, 50.0), (4, 75.0), (6, 62.5)],
        "val/loss": [(2, 1.5), (4, 1.25), (6, 1.75)],
    }


def test_steps_that_were_done_again_after_an_interruption_count_once(metrics: Path) -> None:
    again = "1,2,,1.0,0.0,\n1,3,,1.5,0.0,\n1,3,80.0,,,nan\n"
    metrics.write_text(WRITTEN + again)
    found = read_curves(metrics)
    assert found["train/loss"] == [(2, 2.5), (3, 1.0), (4, 1.5)]
    assert found["benchmark/pairs/colours/i2t"] == [(2, 50.0), (4, 80.0)]
    assert found["val/loss"] == [(2, 1.5), (4, 1.25), (6, 1.75)]  # what is no number is left out


def test_the_best_loss_is_the_lowest_and_the_best_accuracy_the_highest(metrics: Path) -> None:
    assert sorted(best_and_last_lines(read_curves(metrics))) == [
        "pairs/colours/i2t: best 75.0 at step 4, last 62.5 at step 6",
        "val/loss: best 1.2500 at step 4, last 1.7500 at step 6",
    ]


def test_each_benchmark_has_a_panel_of_its_own(metrics: Path) -> None:
    more = {f"benchmark/aro/{i}/i2t": [(1, 1.0)] for i in range(LINES + 1)}
    assert {title: len(names) for title, names in panels(read_curves(metrics) | more).items()} == {
        "loss": 2,
        "share of missing texts": 1,
        "pairs, %": 1,
        "aro, %": LINES + 1,
    }


def test_the_chance_line_is_drawn_dashed_with_the_losses(metrics: Path) -> None:
    curves = {**read_curves(metrics), "train/chance_loss": [(2, 2.1), (4, 2.2)]}
    assert panels(curves)["loss"] == ["train/loss", "val/loss", "train/chance_loss"]
    (axes, *_) = draw_figure(curves).axes
    lines = {str(line.get_label()): line for line in axes.lines}
    assert lines["train/loss"].get_linestyle() == "None"
    assert lines["chance: a uniform guess"].get_linestyle() == "--"
    assert list(map(float, lines["chance: a uniform guess"].get_ydata())) == [2.1, 2.2]
    assert axes.get_ylabel() == "nats"


@pytest.mark.slow
def test_a_run_with_benchmarks_tells_what_it_came_to_and_shows_it_in_tensorboard(
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="what TensorBoard was given is read by tensorboard: pip install 'clip-zoo[loggers]'",
    )
    monkeypatch.chdir(tmp_path)
    recipe = yaml.safe_load((made_root / "recipe.yaml").read_text())
    recipe["trainer"]["logger"] = [
        {"class_path": "zoo.training.MetricsLog", "init_args": {"save_dir": "runs", "name": None}},
        {
            "class_path": "lightning.pytorch.loggers.TensorBoardLogger",
            "init_args": {"save_dir": "tb"},
        },
    ]
    Path("recipe.yaml").write_text(yaml.safe_dump(recipe))
    asked = f"pairs:{made_root / 'pairs.csv'}"
    assert main(["fit", "--config", "recipe.yaml", "--benchmarks", asked]) == 0
    told = capsys.readouterr().err
    assert "CPU hours, excluding data loaders, and 16 images with their captions were seen" in told
    assert "val/loss: best " in told
    assert "pairs/colours/i2t: best " in told
    assert "curves: runs/version_0/curves.png" in told
    assert "zoo export runs/version_0/checkpoints/last.ckpt EXPORTED --results MEASURED" in told
    assert Path("runs/version_0/curves.png").read_bytes().startswith(b"\x89PNG")
    (written,) = Path("tb").rglob("events*")
    found = events.EventAccumulator(str(written.parent)).Reload()
    tables = found.Tags()["tensors"]
    assert {"benchmarks/text_summary", "missed/text_summary"} <= set(tables)
    assert [event.step for event in found.Tensors("benchmarks/text_summary")] == [2, 4]
    assert "benchmark/pairs/colours/i2t" in found.Tags()["scalars"], "a panel for each metric"


@pytest.fixture
def benchmarked(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], list[int]]:
    """A run with a benchmark, whose epochs have two steps, and the steps at which it measures."""
    monkeypatch.chdir(tmp_path)
    measured: list[int] = []
    start = ZooModule.on_validation_epoch_start

    def noted(module: ZooModule) -> None:
        if not module.trainer.sanity_checking:
            measured.append(module.trainer.global_step)
        start(module)

    monkeypatch.setattr(ZooModule, "on_validation_epoch_start", noted)
    asked = f"pairs:{made_root / 'pairs.csv'}"
    recipe = str(made_root / "recipe.yaml")
    return ["fit", "--config", recipe, "--benchmarks", asked], measured


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ends", "steps"),
    [
        (["--trainer.max_steps", "3"], [2, 3]),
        (["--trainer.max_epochs", "3", "--trainer.check_val_every_n_epoch", "2"], [4, 6]),
    ],
    ids=["within an epoch", "after an epoch that is left out"],
)
def test_the_final_weights_are_measured_once(
    benchmarked: tuple[list[str], list[int]],
    ends: list[str],
    steps: list[int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    fit, measured = benchmarked
    assert main([*fit, "--trainer.max_epochs", "9", *ends]) == 0
    assert measured == steps
    run = Path("runs/version_0")
    found = read_curves(run / "metrics.csv")
    assert [step for step, _ in found["benchmark/pairs/colours/i2t"]] == steps
    message = capsys.readouterr().err
    assert re.search(
        rf"pairs/colours/i2t: best [\d.]+ at step \d, last .* at step {steps[-1]}\n", message
    )
    last = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)
    assert last["global_step"] == steps[-1]
    (best,) = [state for name, state in last["callbacks"].items() if "BestCheckpoint" in name]
    losses = dict(found["val/loss"])
    assert float(best["best_model_score"]) == pytest.approx(min(losses.values()), abs=1e-6)


@pytest.mark.slow
def test_a_run_that_ended_within_an_epoch_resumes_at_the_next_step(
    benchmarked: tuple[list[str], list[int]],
) -> None:
    fit, measured = benchmarked
    fit = [*fit, "--trainer.max_epochs", "-1", "--model.optimizer.decay", "none"]
    assert main([*fit, "--trainer.max_steps", "4"]) == 0
    assert main([*fit, "--trainer.max_steps", "3"]) == 0
    again = [*fit, "--trainer.max_steps", "4", "--ckpt_path", "runs/version_1"]
    assert main(again) == 0
    assert measured == [2, 4, 2, 3, 4]
    unbroken, resumed = (read_curves(Path(f"runs/version_{n}/metrics.csv")) for n in (0, 2))
    assert resumed["train/loss"] == unbroken["train/loss"][3:]
    assert resumed["val/loss"] == unbroken["val/loss"][1:]


@pytest.mark.slow
def test_images_are_counted_and_not_the_empty_rows_of_batches(
    benchmarked: tuple[list[str], list[int]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each epoch has the same eight captions."""
    fit, _ = benchmarked
    assert main([*fit, "--batch_size", "500", "--trainer.max_epochs", "2"]) == 0
    message = capsys.readouterr().err
    note = (
        "data.batch_size is 500, and there are only 8 training captions: every epoch is one step "
        "with all of them, and 492 rows of its batch are empty; a smaller --batch_size gives more "
        "steps per epoch"
    )
    assert message.index(note) < message.index("trained to 2 steps")
    assert "and 16 images with their captions were seen, in batches of 8" in message


@pytest.fixture(scope="module")
def results(made_root: Path) -> Results:
    asked = f"pairs:{made_root / 'pairs.csv'},half_truth:{made_root / 'units.jsonl'}"
    return zoo.evaluate(zoo.load("zoo-tiny", device="cpu"), asked, made_root)


def test_the_cases_that_were_missed_by_most_stand_first_with_both_texts(results: Results) -> None:
    rows = worst_errors(results).rows
    by = [float(row[-1]) for row in rows]
    assert by == sorted(by, reverse=True)
    assert min(by) >= 0
    assert len(rows) <= EXAMPLES
    answers = {
        (row["benchmark"], row["subset"], row["case"], *row["texts"])
        for row in results.cases.to_pylist()
        if row["right"] is False
    }
    assert {(*row[:3], row[4], row[5]) for row in rows} <= answers


def shown(logger: object, results: Results) -> None:
    """Has the callback show results in a logger."""
    data = BenchmarkedData()
    data.evaluation = SimpleNamespace(results=results)  # type: ignore[assignment]
    trainer = SimpleNamespace(
        datamodule=data, sanity_checking=False, is_global_zero=True, global_step=3, loggers=[logger]
    )
    LoggedTables().on_validation_end(trainer, None)  # type: ignore[arg-type]


def test_half_truths_are_drawn_in_tensorboard(results: Results, tmp_path: Path) -> None:
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="what TensorBoard was given is read by tensorboard: pip install 'clip-zoo[loggers]'",
    )
    logger = TensorBoardLogger(tmp_path)
    shown(logger, results)
    logger.finalize("success")
    found = events.EventAccumulator(logger.log_dir).Reload()
    assert set(found.Tags()["images"]) == {
        "half-truths, accuracy by condition",
        "half-truths, gaps",
    }


@pytest.mark.slow
def test_wandb_keeps_tables_and_pictures_offline(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb", reason="pip install 'clip-zoo[loggers]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    logger = WandbLogger(save_dir=tmp_path, offline=True)
    log, steps = logger.experiment.log, []

    def noted(held: dict[str, Any]) -> None:
        steps.append(held.get("trainer/global_step"))
        log(held)

    monkeypatch.setattr(logger.experiment, "log", noted)
    shown(logger, results)
    wandb.finish()
    assert steps == [3, 3, 3, 3], "two tables and two pictures say of what step they are"
    kept = [file.name for file in tmp_path.rglob("media/**/*") if file.is_file()]
    for part in ("benchmarks", "missed", "half-truths, gaps"):
        assert any(name.startswith(part) for name in kept), kept


@pytest.mark.parametrize(("custom", "flags"), [(True, " --trust_code"), (False, "")])
def test_the_suggested_commands_trust_code_only_if_a_class_is_custom(
    custom: bool, flags: str
) -> None:
    checkpoint = LastCheckpoint()
    checkpoint.last_model_path = "last.ckpt"
    objective = type("Mine", (CLIP,), {})() if custom else CLIP()
    module = SimpleNamespace(objective=objective, head=Cosine())
    trainer: Any = SimpleNamespace(callbacks=[checkpoint], logger=None, lightning_module=module)
    assert list(summary_lines(trainer)) == [
        "last checkpoint: last.ckpt",
        "to evaluate it: zoo validate --benchmarks sugarcrepe,aro --data_root DIR "
        f"--ckpt_path last.ckpt --out MEASURED{flags}",
        f"to export it: zoo export last.ckpt EXPORTED --results MEASURED{flags}",
    ]
