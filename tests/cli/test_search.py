"""A search tries settings, keeps its trials, goes on where it was killed, and says the best."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.made import make_root
from zoo.cli import main
from zoo.cli.studies import search as searching
from zoo.cli.studies import work
from zoo.cli.studies.file import read_study
from zoo.cli.studies.records import Records
from zoo.cli.studies.runs import WorkFolder, study_runs
from zoo.cli.studies.search import refuse_benchmark_images_in_validation, search_best_settings
from zoo.cli.studies.work import StudyExecutor
from zoo.errors import ZooError

STUDY = """
recipes: {NegCLIP: recipe.yaml}
search:
  trials: 4
  ranges: {model.optimizer.lr: {low: 1.0e-5, high: 1.0e-3, log: true}}
validate: {benchmarks: "pairs:pairs.csv", cache: false}
"""
NEEDED = "settings are searched by Optuna: pip install 'clip-zoo[search]'"


class Trained:
    """Stands for the training of trials, whose loss is least at a rate of 1e-4."""

    def __init__(self) -> None:
        self.rates: list[float] = []
        self.dies_at: int | None = None
        self.fails_at: int | None = None

    def __call__(self, arguments: list[str], log: Path, lock: int) -> int:
        if len(self.rates) == self.dies_at:
            self.dies_at = None
            raise KeyboardInterrupt
        given = [json.loads(text) for text in arguments if text.startswith("{")]
        self.rates.append(given[0]["model"]["optimizer"]["lr"])
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("zoo: the loss is not a number\n")
        if len(self.rates) - 1 == self.fails_at:
            return 1
        logger = given[-1]["trainer"]["logger"]["init_args"]
        run = Path(logger["save_dir"], logger["name"], logger["version"])
        run.mkdir(parents=True)
        loss = abs(math.log10(self.rates[-1]) + 4)
        (run / "metrics.csv").write_text(f"step,val/loss\n1,9\n2,{loss}\n3,\n")
        return 0


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Trained:
    """Takes the place of training, and of what takes time before it."""
    pytest.importorskip("optuna", reason=NEEDED)
    command = Trained()
    monkeypatch.setattr(work, "run_zoo_command", command)
    monkeypatch.setattr(Records, "identity", lambda self, run: {"code": "of today"})
    monkeypatch.setattr(searching, "refuse_benchmark_images_in_validation", lambda place, run: None)
    return command


def work_of(root: Path, study: str = STUDY) -> StudyExecutor:
    """Returns the work of a search in a folder."""
    root.mkdir(exist_ok=True)
    file = root / "searched.yaml"
    file.write_text(study.replace("recipe.yaml", "clip.yaml"))
    return StudyExecutor(WorkFolder(root, "/data", read_study([str(file)])), say=lambda line: None)


def stored_trials(root: Path) -> list[tuple[str, dict[str, Any], float | None]]:
    """Returns state, settings and value of the trials that a search stored."""
    optuna = pytest.importorskip("optuna")
    backend = optuna.storages.journal.JournalFileBackend(str(root / "search" / "negclip.journal"))
    study = optuna.load_study(study_name=None, storage=optuna.storages.JournalStorage(backend))
    return [(trial.state.name, trial.params, trial.value) for trial in study.trials]


def test_the_best_settings_are_written_as_an_overlay(trained: Trained, tmp_path: Path) -> None:
    (overlay,) = search_best_settings(work_of(tmp_path))
    assert len(set(trained.rates)) == 4
    assert all(1e-5 <= rate <= 1e-3 for rate in trained.rates)
    best = min(trained.rates, key=lambda rate: abs(math.log10(rate) + 4))
    assert yaml.safe_load(overlay.read_text()) == {"model": {"optimizer": {"lr": best}}}


def test_a_killed_search_resumes_with_the_trials_of_an_uninterrupted_one(
    trained: Trained, tmp_path: Path
) -> None:
    search_best_settings(work_of(tmp_path / "whole"))
    whole, trained.rates = trained.rates, []
    trained.dies_at = 2
    with pytest.raises(KeyboardInterrupt):
        search_best_settings(work_of(tmp_path / "killed"))
    states = [state for state, _, _ in stored_trials(tmp_path / "killed")]
    assert states == ["COMPLETE", "COMPLETE", "RUNNING"]
    search_best_settings(work_of(tmp_path / "killed"))
    assert trained.rates == whole
    assert stored_trials(tmp_path / "killed") == stored_trials(tmp_path / "whole")
    search_best_settings(work_of(tmp_path / "killed"))
    assert trained.rates == whole


def test_a_trial_that_fails_is_passed_over(trained: Trained, tmp_path: Path) -> None:
    trained.fails_at = 0
    search_best_settings(work_of(tmp_path))
    states = [state for state, _, _ in stored_trials(tmp_path)]
    assert states == ["FAIL", "COMPLETE", "COMPLETE", "COMPLETE"]


def test_trials_of_other_ranges_are_refused_and_lost_by_again(
    trained: Trained, tmp_path: Path
) -> None:
    search_best_settings(work_of(tmp_path))
    other = STUDY.replace("low: 1.0e-5", "low: 1.0e-4")
    with pytest.raises(ZooError, match=r"search.ranges.model.optimizer.lr.low 0.0001, was 1e-05"):
        search_best_settings(work_of(tmp_path, other))
    trained.rates = []
    search_best_settings(work_of(tmp_path, other), delete_mismatched=True)
    assert len(trained.rates) == 4
    assert min(trained.rates) >= 1e-4


def test_settings_are_not_chosen_by_images_that_a_benchmark_asks_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_root(tmp_path / "root")
    (root / "searched.yaml").write_text(STUDY)
    monkeypatch.chdir(root)
    study = read_study(["searched.yaml"])
    with pytest.raises(ZooError, match="validation images of NegCLIP are also images of"):
        refuse_benchmark_images_in_validation(
            WorkFolder(tmp_path / "work", str(root), study), study_runs(study)[0]
        )


@pytest.mark.slow  # trains twice
def test_a_search_trains_and_takes_the_metric_that_validation_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna", reason=NEEDED)
    root = make_root(tmp_path / "root")
    monkeypatch.chdir(root)
    monkeypatch.setattr(work, "run_zoo_command", lambda arguments, log, lock: main(arguments))
    others = (root / "pairs.csv").read_text().replace("/pictures/", "/negative_pictures/")
    (root / "others.csv").write_text(others)
    (root / "searched.yaml").write_text(
        STUDY.replace("trials: 4", "trials: 2").replace("pairs:pairs", "pairs:others")
        + "with: {trainer: {max_epochs: -1, max_steps: 2, val_check_interval: 2}}\n"
    )
    asked = ["study", "searched.yaml", "--data_root", ".", "--work_dir", "work", "--search"]
    assert main(asked) == 0
    values = [value or 0.0 for _, _, value in stored_trials(root / "work")]
    assert all(value > 0 for value in values)
    assert values[0] != values[1]
    best = (root / "work" / "best_negclip.yaml").read_text()
    assert best.startswith(f"# The best of 2 trials of NegCLIP: val/loss {min(values):.4g}.\n")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("trials: 4", "trails: 4"), "search has 'trails' (did you mean trials"),
        (("trials: 4", "trials: 0"), "search.trials is 0: give an integer of at least 1"),
        (("trials: 4", "mode: least"), "search.mode is 'least': give min or max"),
        (("trials: 4", "recipes: [CLIP]"), "search.recipes has 'CLIP'"),
        (("ranges: {model", "ranges: null  # {model"), "search has no ranges"),
    ],
)
def test_a_search_that_cannot_be_is_refused_in_a_sentence(
    change: tuple[str, str], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ZooError) as raised:
        work_of(tmp_path, STUDY.replace(*change))
    assert sentence in str(raised.value)


def test_a_study_without_ranges_and_a_machine_without_optuna_are_one_sentence_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = "recipes: {NegCLIP: recipe.yaml}\nvalidate: {benchmarks: sugarcrepe}\n"
    with pytest.raises(ZooError, match="searched has no ranges to search"):
        search_best_settings(work_of(tmp_path, without))
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        ZooError, match=r"optuna is not installed: pip install 'clip-zoo\[search\]'"
    ):
        search_best_settings(work_of(tmp_path))


def test_a_range_that_is_none_is_refused(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"the range of model.optimizer.lr, .* is not valid"):
        search_best_settings(work_of(tmp_path, STUDY.replace("low:", "lowest:")))
