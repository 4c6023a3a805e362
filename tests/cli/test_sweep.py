"""`zoo validate --models`: several models on the same benchmarks by one command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.file_server import mirrored_sugarcrepe, serve_files
from tests.support.made import make_root
from tests.support.mistakes import said
from zoo.backbones.backbone import Backbone
from zoo.cli.compare import parse_run_folders
from zoo.cli.studies import estimate, work
from zoo.cli.studies.trial import check_benchmarks
from zoo.cli.sweep import parse_models
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.results.reader import read_results
from zoo.sources import remote_files

FLAGS = ["--benchmarks", "pairs:pairs.csv", "--data_root", ".", "--out", "results"]
FLAGS += ["--trainer.accelerator", "cpu"]

ROWS = ("zoo_tiny", "again")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(make_root(tmp_path))
    return tmp_path


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the commands of a sweep in this process, so that each need not import torch."""

    def run(arguments: list[str], log: Path, lock: int) -> int:
        ended = said(arguments)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(f"{ended.out}{ended.err}")
        return ended.status

    def try_benchmarks(request: dict[str, Any]) -> tuple[dict[str, float], str]:
        try:
            check_benchmarks(request["validate"])
        except ZooError as error:
            return {}, str(error)
        return {}, ""

    monkeypatch.setattr(work, "run_zoo_command", run)
    monkeypatch.setattr(estimate, "_trial_in_process", try_benchmarks)


def write_checkpoint(file: Path, seed: int) -> None:
    torch.manual_seed(seed)
    module = ZooModule(Backbone("zoo-tiny"))
    held = {"state_dict": module.state_dict(), "pytorch-lightning_version": "2.6.0"}
    module.on_save_checkpoint(held)
    torch.save(held, file)


@pytest.mark.slow  # starts five processes
def test_models_are_measured_once_and_a_further_one_is_added(root: Path) -> None:
    write_checkpoint(root / "a.ckpt", 1)
    write_checkpoint(root / "b.ckpt", 2)
    Path("models.txt").write_text("# baseline first\na.ckpt\nB=b.ckpt\n")
    first = said(["validate", "--models", "models.txt", *FLAGS])
    assert first.status == 0, first.sentence
    assert "[2/2] B/seed_0" in first.out
    measured = {path: path.stat().st_mtime_ns for path in Path("results").rglob("results.json")}
    again = said(["validate", "--models", "models.txt", *FLAGS])
    assert "2 runs, 2 of them complete" in again.out
    assert "[1/" not in again.out
    third = said(["validate", "--models", "a.ckpt,B=b.ckpt,random=zoo-tiny", *FLAGS])
    assert "[1/1] random/seed_0" in third.out
    assert all(path.stat().st_mtime_ns == time for path, time in measured.items())
    runs = parse_run_folders(["results"])
    assert list(runs) == ["a.ckpt", "B", "random"]
    values = [read_results(path).value("pairs", "colours", "i2t") for path in runs.values()]
    table = json.loads(Path("results/table.json").read_text())
    assert len(table["runs"]) == 3
    assert said(["compare", "results"]).status == 0
    assert said(["report", "results", "--out", "page"]).status == 0
    assert len(values) == 3


@pytest.mark.slow  # starts the command twice
def test_a_killed_sweep_resumes(root: Path) -> None:
    write_checkpoint(root / "a.ckpt", 1)
    write_checkpoint(root / "b.ckpt", 2)
    words = ["validate", "--models", "a.ckpt,b.ckpt", *FLAGS]
    process = subprocess.Popen(
        [sys.executable, "-m", "zoo.cli", *words], env={**os.environ, "ZOO_CACHE": str(root / "c")}
    )
    deadline = time.monotonic() + 300
    record = Path("results/records/a_ckpt/seed_0.json")
    while time.monotonic() < deadline:
        if record.is_file() and '"stage": "whole"' in record.read_text():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (first,) = Path("results/measured/a_ckpt").rglob("results.json")
    done = {first: first.stat().st_mtime_ns}
    resumed = said(words)
    assert resumed.status == 0, resumed.sentence
    assert all(path.stat().st_mtime_ns == changed for path, changed in done.items())
    assert len(list(Path("results").rglob("results.json"))) == 2


@pytest.mark.parametrize(
    ("signum", "event"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "stopped by SIGTERM")],
)
def test_an_interrupted_sweep_says_that_finished_models_are_kept(
    signum: signal.Signals,
    event: str,
    root: Path,
    in_process: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["validate", "--models", "zoo-tiny,again=zoo-tiny", *FLAGS]
    run = work.run_zoo_command

    def interrupt_second(arguments: list[str], log: Path, lock: int) -> int:
        if "again" in str(log):
            signal.raise_signal(signum)
        return run(arguments, log, lock)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(work, "run_zoo_command", interrupt_second)
            stopped = said(words)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert stopped.status == 128 + signum
    kept = "finished runs are kept, run the same command to continue"
    assert stopped.sentence == f"zoo: {event}: {kept}"
    continued = said(words)
    assert continued.status == 0, continued.err
    assert "2 runs, 1 of them complete" in continued.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--models", "zoo-tiny", *FLAGS], "--models names one model: use --model zoo-tiny"),
        (["--models", "a,b", "--model", "c", *FLAGS], "--models and --model both name models"),
        (["--models", "zoo-tiny,zoo-tiny", *FLAGS], "zoo-tiny is repeated: name it once"),
        (["--models", "zoo-tiny,b", *FLAGS[:-4]], "--models requires --out: add it"),
        (["--models", "a,b", *FLAGS, "--data_root", ".", "c"], "data root c is not a folder"),
        (["--models", "a,b", *FLAGS, "--data_root=.", "c"], "c does not belong to a flag"),
        (["--models", "absent.txt", *FLAGS], "absent.txt cannot be read (No such file or direc"),
        (["--models", "zoo-tiny,b=zoo-tinny", *FLAGS], "did you mean zoo-tiny"),
        (["--models", "zoo-tiny,=b", *FLAGS], "'=b': give MODEL or NAME=MODEL"),
    ],
)
def test_a_wrong_sweep_is_refused_before_a_model_is_measured(
    words: list[str], sentence: str, root: Path
) -> None:
    refused = said(["validate", *words])
    assert refused.status == 1
    assert sentence in refused.sentence
    assert not (root / "results" / "measured").exists()


@pytest.mark.slow  # starts eight processes
def test_a_model_is_measured_on_the_benchmarks_that_its_results_do_not_have(root: Path) -> None:
    table = Path("pairs.csv").read_text()
    Path("more.csv").write_text(table.replace("colours", "swaps"))
    models = ["--models", "zoo-tiny,again=zoo-tiny"]
    assert said(["validate", *models, *FLAGS]).status == 0
    first = {row: read_results(Path("results/measured", row, "seed_0")) for row in ROWS}
    both = [*models, "--benchmarks", "pairs:pairs.csv,pairs:more.csv", *FLAGS[2:]]
    added = said(["validate", *both])
    assert added.status == 0, added.sentence
    assert "[2/2] again/seed_0" in added.out
    at_once = [word.replace("results", "at_once") for word in both[2:]]
    assert said(["validate", "--model", "zoo-tiny", *at_once]).status == 0
    expected = read_results(Path("at_once"))
    for row in ROWS:
        commands = Path("results/logs", row, "seed_0.log").read_text()
        assert "pairs.csv" not in commands.split("$ zoo validate")[2].splitlines()[0]
        results = read_results(Path("results/measured", row, "seed_0"))
        kept = results.cases.slice(0, len(first[row].cases))
        assert kept.drop("run") == first[row].cases.drop("run")
        assert results.scalars() == pytest.approx(expected.scalars())
        assert list(results.header["benchmarks"]) == ["pairs:pairs.csv", "pairs:more.csv"]
    assert not list(Path("results/added").rglob("*.json"))
    fewer = said(["validate", *models, *FLAGS])
    assert "2 runs, 2 of them complete" in fewer.out
    assert "[1/" not in fewer.out
    Path("more.csv").write_text(table)
    changed = said(["validate", *both]).sentence
    assert "more.csv changed since it was measured" in changed


@pytest.mark.slow  # starts four processes
def test_other_settings_need_another_folder(root: Path) -> None:
    models = ["--models", "zoo-tiny,again=zoo-tiny"]
    assert said(["validate", *models, *FLAGS]).status == 0
    refused = said(["validate", *models, *FLAGS, "--limit", "3"]).sentence
    assert "Choose another --out, or delete and repeat them with --overwrite" in refused
    repeated = said(["validate", *models, *FLAGS, "--limit", "3", "--overwrite"])
    assert repeated.status == 0
    assert "at most 3 cases per subset" in Path("results/logs/again/seed_0.log").read_text()


@pytest.mark.parametrize(
    "roots", [["--data_root", "a", "b"], ["--data_root", "a", "--data_root=b"]]
)
def test_benchmarks_and_images_are_read_from_all_data_roots(
    roots: list[str], root: Path, in_process: None
) -> None:
    table = Path("pairs.csv").read_text().replace(f"{root}/", "")
    Path("pairs.csv").write_text(table)
    for folder, rows in (("a", range(6)), ("b", range(6, 12))):
        Path(folder, "pictures").mkdir(parents=True)
        for i in rows:
            Path("pictures", f"{i:03}.png").rename(Path(folder, "pictures", f"{i:03}.png"))
    words = ["validate", "--models", "zoo-tiny,again=zoo-tiny", *FLAGS[:2], *roots, *FLAGS[4:]]
    measured = said([*words, "--require"])
    assert measured.status == 0, measured.err
    for row in ROWS:
        (metric,) = read_results(Path("results/measured", row, "seed_0")).metrics
        assert (metric.n, metric.n_total) == (12, 12)
    assert len(list(Path("results/report/images").iterdir())) == 12
    assert "images are not" not in Path("results/report/index.html").read_text()


def test_the_warning_of_a_model_is_printed_once(root: Path, in_process: None) -> None:
    warning = "scenes: it knows only the 180 words of the scenes' captions, and nothing of"
    words = ["validate", "--models", "scenes,again=scenes", *FLAGS]
    assert said(words).err.count(warning) == 1
    assert warning not in said(words).err  # nothing is measured


def test_a_sweep_fetches_missing_files_once_and_shows_it(
    root: Path,
    in_process: None,
    shared_data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote_files, "PAUSE", 0.01)
    words = ["validate", "--models", "zoo-tiny,again=zoo-tiny", "--get", "--out", "results"]
    words += ["--benchmarks", "sugarcrepe:swap_obj", "--data_root", "new", *FLAGS[-2:]]
    words += ["--limit", "20"]
    with serve_files(mirrored_sugarcrepe(shared_data)) as server:
        monkeypatch.setenv("ZOO_MIRROR", server.url)
        first = said(words)
        assert first.status == 0, first.err
        assert "sugarcrepe: 7 files, 1.7 MB" in first.out
        n_requests = len(server.requests)
        again = said(words)
        assert len(server.requests) == n_requests
    assert "2 runs, 2 of them complete" in again.out
    annotations = [path for path, _ in server.requests if path.endswith(".json")]
    assert len(annotations) == len(set(annotations)) == 7
    without = said([word for word in words if word != "--get"])
    assert "2 runs, 2 of them complete" in without.out, without.err


def test_require_says_what_is_missing_and_leaves_no_folder(root: Path, in_process: None) -> None:
    Path("pictures/003.png").unlink()
    words = ["validate", "--models", "zoo-tiny,again=zoo-tiny", *FLAGS]
    refused = said([*words, "--require"]).sentence
    missing = "1 of 12 cases of pairs (images missing)"
    assert refused.startswith(f"zoo: files are missing: {missing}. `zoo doctor --data_root")
    assert not Path("results").exists()
    assert said(words).status == 0
    measured = list(Path("results/measured").rglob("results.json"))
    again = said([*words, "--require", "--overwrite"])
    assert missing in again.sentence
    assert all(path.is_file() for path in measured)


def test_a_refusal_names_only_the_flags_that_differ(root: Path, in_process: None) -> None:
    words = ["validate", "--models", "zoo-tiny,again=zoo-tiny", *FLAGS, "--limit"]
    Path("more").mkdir()
    assert said([*words, "2", "--data.text_batch", "8"]).status == 0
    for given, difference in (
        (["3", "--data.text_batch", "8"], "`--limit 3` (before: `--limit 2`)"),
        (["2"], "no `--data.text_batch` (before: `--data.text_batch 8`)"),
        (
            ["2", "--data.text_batch", "8", "--data_root", "more"],
            f"`--data_root {root} {root}/more` (before: `--data_root {root}`)",
        ),
        (
            ["2", "--data.text_batch", "8", "--fast_images"],
            "`--fast_images` (before: no `--fast_images`)",
        ),
    ):
        start = f"zoo: {root}/results has runs made from other settings or data, zoo-tiny/seed_0, "
        expected = f"{start}and 1 more: {difference}. Choose another --out"
        assert said([*words, *given]).sentence.startswith(expected)
    other_order = said([*words[:3], "--data.text_batch", "8", "--limit", "2", *FLAGS, "--quiet"])
    assert "2 runs, 2 of them complete" in other_order.out, other_order.err


def test_the_names_of_rows_are_those_of_the_models_or_given(root: Path) -> None:
    (root / "a.ckpt").touch()
    assert parse_models("openai/ViT-B-32,Mine=a.ckpt,negclip:a.ckpt") == {
        "openai/ViT-B-32": "openai/ViT-B-32",
        "Mine": str(root / "a.ckpt"),
        "negclip:a.ckpt": f"negclip:{root / 'a.ckpt'}",
    }
    Path("empty.txt").write_text("# none\n")
    with pytest.raises(ZooError, match="names no model"):
        parse_models("empty.txt")
