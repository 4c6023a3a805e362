"""What a run that measured benchmarks tells and draws at its end, and gives to its loggers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from lightning.pytorch.loggers import TensorBoardLogger, WandbLogger

import zoo
from zoo.caption_data import BenchmarkedData
from zoo.cli import main
from zoo.results.report import Results
from zoo.support.metrics_csv import curves
from zoo.training.curves import LINES, ends, panels
from zoo.training.logged_tables import EXAMPLES, LoggedTables, missed

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


def test_curves_are_the_numbers_of_the_file_by_step(metrics: Path) -> None:
    assert curves(metrics) == {
        "train/loss": [(1, 2.5), (3, 2.0)],
        "train/missing_units": [(1, 0.25), (3, 0.5)],
        "benchmark/pairs/colours/i2t": [(1, 50.0), (3, 75.0), (5, 62.5)],
        "val/loss": [(1, 1.5), (3, 1.25), (5, 1.75)],
    }


def test_steps_that_were_done_again_after_an_interruption_count_once(metrics: Path) -> None:
    again = "1,2,,1.0,0.0,\n1,3,,1.5,0.0,\n1,3,80.0,,,nan\n"
    metrics.write_text(WRITTEN + again)
    found = curves(metrics)
    assert found["train/loss"] == [(1, 2.5), (2, 1.0), (3, 1.5)]
    assert found["benchmark/pairs/colours/i2t"] == [(1, 50.0), (3, 80.0)]
    assert found["val/loss"] == [(1, 1.5), (3, 1.25), (5, 1.75)]  # what is no number is left out


def test_the_best_loss_is_the_lowest_and_the_best_accuracy_the_highest(metrics: Path) -> None:
    assert sorted(ends(curves(metrics))) == [
        "pairs/colours/i2t: best 75.0 at step 3, last 62.5",
        "val/loss: best 1.2500 at step 3, last 1.7500",
    ]


def test_each_benchmark_has_a_panel_of_its_own(metrics: Path) -> None:
    more = {f"benchmark/aro/{i}/i2t": [(1, 1.0)] for i in range(LINES + 1)}
    assert {title: len(names) for title, names in panels(curves(metrics) | more).items()} == {
        "loss": 2,
        "share of missing texts": 1,
        "pairs, %": 1,
        "aro, %": LINES + 1,
    }


def test_a_run_with_benchmarks_tells_what_it_came_to_and_shows_it_in_tensorboard(
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    events = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="what TensorBoard was given is read by tensorboard: pip install 'zoo[tensorboard]'",
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
    assert (
        "CPU hours, without those of loaders, and 16 images with their captions were seen" in told
    )
    assert "val/loss: best " in told
    assert "pairs/colours/i2t: best " in told
    assert "its curves: runs/version_0/curves.png" in told
    assert "zoo export runs/version_0/checkpoints/last.ckpt EXPORTED --measured MEASURED" in told
    assert Path("runs/version_0/curves.png").read_bytes().startswith(b"\x89PNG")
    (written,) = Path("tb").rglob("events*")
    found = events.EventAccumulator(str(written.parent)).Reload()
    tables = found.Tags()["tensors"]
    assert {"benchmarks/text_summary", "missed/text_summary"} <= set(tables)
    assert [event.step for event in found.Tensors("benchmarks/text_summary")] == [2, 4]
    assert "benchmark/pairs/colours/i2t" in found.Tags()["scalars"], "a panel for each metric"


@pytest.fixture(scope="module")
def results(made_root: Path) -> Results:
    asked = f"pairs:{made_root / 'pairs.csv'},half_truth:{made_root / 'units.jsonl'}"
    return zoo.evaluate(zoo.load("zoo-tiny", device="cpu"), asked, made_root)


def test_the_cases_that_were_missed_by_most_stand_first_with_both_texts(results: Results) -> None:
    rows = missed(results).rows
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
        reason="what TensorBoard was given is read by tensorboard: pip install 'zoo[tensorboard]'",
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
    wandb = pytest.importorskip("wandb", reason="pip install 'zoo[wandb]' brings wandb")
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
