"""The comparison with open_clip's trainer: its report, its profiler and its runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "benchmarks" / "speed"
SCRIPT = SCRIPTS / "open_clip_trainer.py"
BUSY = """
import time
from open_clip_trainer import start_profiler

start_profiler({file!r})
for name, function, call in (
    ("torch/optim/adam.py", "step", "spend(0.3)"),
    ("zoo/training/stopping.py", "advance", "step(); spend(0.1)"),
    ("torch/serialization.py", "save", "spend(0.2)"),
):
    exec(compile(f"def {{function}}(): {{call}}", name, "exec"))

def spend(seconds):
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass

spend(0.15)
advance()
save()
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import open_clip_trainer

    return open_clip_trainer


def test_ratios_are_those_of_each_pair_and_their_median(script, tmp_path: Path) -> None:
    def run(cpu: float, peak: float, *losses: float) -> dict:
        return {"cpu": cpu, "wall": cpu + 1, "peak_mib": peak, "losses": list(losses)}

    report = {
        "about": {"processor": "a core", "steps": 100, "batch": 64, "optimizer": {}},
        "pairs": [
            {"zoo": run(30, 1300, 4.5, 4.1), "open_clip": run(40, 1250, 4.4, 4.0)},
            {"zoo": run(36, 1400, 4.5, 4.1), "open_clip": run(40, 1250, 4.4, 4.0)},
            {"zoo": run(32, 1350, 4.5, 4.1), "open_clip": run(40, 1350, 4.4, 4.0)},
        ],
        "parts": {
            "zoo": {"start: imports": 4.0, "backward": 20.0, script.FIRST_STEP: 900.0},
            "open_clip": {"start: imports": 3.0, "backward": 27.5, script.FIRST_STEP: 876.0},
        },
        "check": {"zoo": [4.38401, 4.1], "open_clip": [4.384, 4.1002]},
    }
    script.write_report(report, tmp_path / "report")
    written = json.loads((tmp_path / "report.json").read_text())
    assert [pair["cpu_ratio"] for pair in written["pairs"]] == [0.75, 0.9, 0.8]
    assert (written["median_cpu_ratio"], written["median_peak_mib_ratio"]) == (0.8, 1.04)
    page = (tmp_path / "report.md").read_text()
    for row in (
        "| 2 | 36.00 | 40.00 | 0.900 | 1,400 | 1,250 | 1.120 | 4.500 to 4.100 | 4.400 to 4.000 |",
        "| median | 32.00 | 40.00 | 0.800 | 1,350 | 1,250 | 1.040 |  |  |",
        "| backward | 20.00 | 27.50 |",
        "| optimiser | 0.00 | 0.00 |",
        "| all | 24.00 | 30.50 |",
        "| MiB at the first step | 900 | 876 |",
        "| 2 | 4.1000 | 4.1002 | 2.0e-04 |",
    ):
        assert row in page


def test_the_profiler_attributes_cpu_time_to_the_innermost_listed_part(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    subprocess.run(
        [sys.executable, "-c", BUSY.format(file=str(file))],
        check=True,
        env={"PYTHONPATH": str(SCRIPTS)},
    )
    parts = json.loads(file.read_text())
    assert parts["start: rest"] == pytest.approx(0.15, abs=0.05)
    assert parts["optimiser"] == pytest.approx(0.3, abs=0.05)
    assert parts["rest"] == pytest.approx(0.1, abs=0.05)
    assert parts["checkpoint"] == pytest.approx(0.2, abs=0.05)
    assert parts["MiB at the first step"] > 5


def test_losses_are_read_from_the_logs_of_both(script, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "out.log").write_text(
        "INFO | Train Epoch: 0 [64/128] Contrastive_loss: 4.3 (4.3) Loss: 4.3325 (4.3000)\n"
        "INFO | Train Epoch: 0 [128/128] Contrastive_loss: 4.1 (4.2) Loss: 4.0101 (4.2000)\n"
        "INFO | End epoch 0 | Avg Contrastive_loss: 4.2  Avg Loss: 4.2\n"
    )
    assert script.read_open_clip_losses(tmp_path) == [4.3325, 4.0101]
    metrics = tmp_path / "runs" / "version_0" / "metrics.csv"
    metrics.parent.mkdir(parents=True)
    metrics.write_text("step,train/loss,val/loss\n0,4.5,\n1,,4.25\n2,4.125,\n")
    assert script.read_zoo_losses(tmp_path) == [4.5, 4.125]


def test_pairs_are_those_of_a_csv_or_of_flickr8k(script, tmp_path: Path, shared_data: Path) -> None:
    (tmp_path / "pairs.csv").write_text('filepath,title\nimages/a.jpg,"a dog, a cat"\n')
    assert script.read_pairs(tmp_path / "pairs.csv") == [
        (str(tmp_path.resolve() / "images" / "a.jpg"), "a dog, a cat")
    ]
    pairs = script.read_pairs(shared_data / "flickr8k")
    assert len(pairs) == 20_000
    assert all(Path(image).is_file() for image, _ in pairs[::1000])


def test_without_open_clips_trainer_it_ends_with_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--open_clip", str(tmp_path)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 1
    assert finished.stderr == (
        f"{tmp_path} has no src/open_clip_train: give a clone of open_clip\n"
    )


@pytest.mark.slow
def test_zoo_trains_the_given_steps_and_is_measured(script, tmp_path: Path) -> None:
    script.write_captions(script.draw_pairs(tmp_path / "drawn", 8), 12, tmp_path / "captions.csv")
    task = script.Task(tmp_path / "captions.csv", steps=3, batch=4)
    trainers = script.Trainers(None, tmp_path)
    measured = trainers.train("zoo", task)
    assert len(measured.losses) == 3
    assert measured.cpu > 1
    assert measured.peak_mib > 100
    parts = trainers.profile("zoo", task)
    assert parts["start: imports"] > 0.5
    assert parts["backward"] > 0
    assert parts["checkpoint"] > 0


@pytest.mark.slow
def test_both_trainers_have_the_same_losses_with_the_same_weights(script, tmp_path: Path) -> None:
    trainers = script.Trainers(None, tmp_path)
    try:
        trainers.require_open_clip()
    except SystemExit as missing:
        pytest.skip(str(missing))
    losses = trainers.compare_losses(tmp_path, 8)
    assert len(losses["zoo"]) == script.CHECKED_STEPS
    assert losses["zoo"] == pytest.approx(losses["open_clip"], abs=2e-4)
